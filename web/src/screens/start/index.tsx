import { useEffect } from "preact/hooks";
import { get, send } from "../../api";
import type { ScreenProps } from "../../app";
import { useJob } from "../../jobs";
import { useLoad } from "../../load";
import { mayRule, mayWrite } from "../../parts/may";
import { Notice } from "../../parts/panel";
import { Progress } from "../../parts/progress";
import { ProxyAddress } from "../../parts/proxy";
import { changed } from "../../pickers";
import { addressOf, goTo } from "../../place";
import type { About, Job, Page } from "../../shapes";
import "../../style/start.css";
import { Files } from "./files";
import { Import } from "./import";
import { useImports } from "./importing";
import { Layers, Talkers } from "./pictures";

/** Three doors into a memory: a demo to look at, a chat, and a history that is brought along. */
export default function Start({ about }: ScreenProps) {
  const users = useLoad((signal) => get<Page<string>>("/v1/users", { limit: 1 }, signal), []);
  const empty = users.value?.items.length === 0;
  useEffect(() => {
    addEventListener("lamina:changed", users.again);
    return () => removeEventListener("lamina:changed", users.again);
  }, [users.again]);
  return (
    <div class="start">
      <header>
        <h2>{empty ? "This memory is empty" : "Add to this memory"}</h2>
        <p>
          {mayWrite(about)
            ? "Lamina remembers conversations in layers: every word, summaries of what lies further back, and the facts in it. Choose how to begin."
            : "Your key may only read, and adding needs another. Enter one at the top right, or come back later."}
        </p>
      </header>
      {mayRule(about) ? (
        <Doors about={about} />
      ) : mayWrite(about) ? (
        <div class="doors">
          <Talk />
        </div>
      ) : null}
      {mayWrite(about) && !mayRule(about) ? <NeedsAdmin about={about} /> : null}
      {mayWrite(about) ? <ProxyAddress about={about} /> : null}
    </div>
  );
}

function Doors({ about }: { about: About }) {
  const imports = useImports(about);
  return (
    <>
      <div class="doors">
        <Demo />
        <Talk />
        <Import about={about} imports={imports} />
      </div>
      <Files about={about} imports={imports} />
    </>
  );
}

function NeedsAdmin({ about }: { about: About }) {
  return (
    <p class="soft">
      Loading the demo and importing files need a key with the role admin; this one has the role {about.role}.
    </p>
  );
}

const STEPS: Record<string, string> = {
  add: "Adding messages",
  fold: "Folding them into layers",
  forget: "Forgetting a card number, as its owner asked",
};

function Demo() {
  const { job, error, run } = useJob("demo", true, (done) => {
    changed();
    if (done.demo) goTo({ screen: "timeline", user: done.demo.session_id, session: done.demo.session_id });
  });
  return (
    <section class="door" data-testid="door-demo" aria-label="Load the demo">
      <Layers />
      <h3>Look at a demo</h3>
      <p>
        Eight months of one person's conversations, 758 messages: in sessions, and as one long session with its layers.
        Its users are <code>mara</code> and <code>mara-in-one</code>.
      </p>
      <div class="foot">
        {job ? (
          <Progress job={job} label={STEPS[job.step] ?? "Beginning"} />
        ) : (
          <button
            type="button"
            class="first"
            onClick={() => {
              goTo({ screen: "start" });
              run((signal) => send<Job>("POST", "/v1/jobs/demo", {}, signal));
            }}
          >
            Load the demo
          </button>
        )}
        {error ? <Notice error={error} /> : null}
      </div>
    </section>
  );
}

function Talk() {
  return (
    <section class="door" data-testid="door-talk" aria-label="Talk">
      <Talkers />
      <h3>Talk</h3>
      <p>
        Say something about yourself, then ask. You see what is remembered while you talk, and under each answer what a
        model was shown.
      </p>
      <div class="foot">
        <a class="button" href={addressOf({ screen: "try", user: null, session: null })}>
          Open the chat
        </a>
      </div>
    </section>
  );
}
