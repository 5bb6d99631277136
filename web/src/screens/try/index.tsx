import { useEffect, useRef, useState } from "preact/hooks";
import { get, send } from "../../api";
import type { ScreenProps } from "../../app";
import { useDoing, useLoad } from "../../load";
import { count } from "../../parts/format";
import { mayWrite, NEEDS_WRITE } from "../../parts/may";
import { Empty, Notice, Panel } from "../../parts/panel";
import { Action } from "../../parts/tasks";
import { Id, Words } from "../../parts/words";
import { changed } from "../../pickers";
import { addressOf } from "../../place";
import type { Context, Page } from "../../shapes";
import "../../style/try.css";
import { Live } from "./live";
import { say, type Talk } from "./talking";

interface Said {
  role: "user" | "assistant";
  text: string;
}

function fresh(): string {
  const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return `try-${new Date().toISOString().slice(0, 10)}-${random.toString(36)}`;
}

export default function Try({ about, user }: ScreenProps) {
  const [talk, setTalk] = useState<Talk>({ user: user ?? "visitor", session: fresh(), model: about.chat_model ?? "" });
  const [said, setSaid] = useState<Said[]>([]);
  const [coming, setComing] = useState<string | null>(null);
  const [context, setContext] = useState<Context | null>(null);
  const [begun, setBegun] = useState(false);
  const [words, setWords] = useState("");
  const talking = useDoing();
  const loading = useDoing();
  const writes = mayWrite(about);
  const log = useRef<HTMLDivElement>(null);
  const models = useLoad(
    about.proxy && !about.chat_model
      ? (signal) => get<{ data?: { id: string }[] }>("/openai/v1/models", undefined, signal)
      : null,
    [about.proxy],
  );

  useEffect(() => {
    if (log.current) log.current.scrollTop = log.current.scrollHeight;
  }, [said, coming]);

  const speak = () => {
    const now = words.trim();
    if (!now || talking.busy) return;
    setWords("");
    setSaid((before) => [...before, { role: "user", text: now }]);
    setComing("");
    talking.run(async () => {
      try {
        const turn = await say(about, talk, now, setComing);
        setSaid((before) => [...before, { role: "assistant", text: turn.reply }]);
        setContext(turn.context);
      } catch (error) {
        setWords((typed) => typed || now);
        throw error;
      } finally {
        setComing(null);
        setBegun(true);
        changed();
      }
    });
  };
  const restart = (change: Partial<Talk>) => {
    setTalk((before) => ({ ...before, session: fresh(), ...change }));
    setSaid([]);
    setContext(null);
    setBegun(false);
  };

  return (
    <div class="columns">
      <Panel
        title="Talk"
        testId="talk"
        tools={
          <button type="button" onClick={() => restart({})} disabled={talking.busy}>
            New session
          </button>
        }
      >
        <p class="how">
          {about.proxy
            ? "A real model answers, through the proxy: your messages are stored, and old ones are found again."
            : "No language model is configured, so an echo answers and says what a model would have seen. Memory is built all the same, offline. With LAMINA_PROXY_BASE_URL set, a real model answers."}
        </p>
        <form class="row" onSubmit={(event) => event.preventDefault()}>
          <label>
            Talk as
            <input
              value={talk.user}
              maxLength={256}
              disabled={talking.busy}
              onChange={(event) => restart({ user: event.currentTarget.value.trim() || "visitor" })}
            />
          </label>
          {about.proxy ? (
            <label>
              Model
              <input
                value={talk.model}
                list="models"
                placeholder="name of a model"
                onInput={(event) => setTalk({ ...talk, model: event.currentTarget.value })}
              />
              <datalist id="models">
                {models.value?.data?.map((one) => (
                  <option key={one.id} value={one.id} />
                ))}
              </datalist>
            </label>
          ) : null}
          <span class="session">
            <small>Session</small>
            <Id id={talk.session} />
          </span>
        </form>
        <div class="talk" ref={log} role="log" aria-label="What was said" tabIndex={0} data-testid="said">
          {said.length === 0 && coming === null ? (
            <Empty>Say something about yourself: “I'm Alex. I live in Porto and prefer tea.” Then ask.</Empty>
          ) : null}
          {said.map((one, place) => (
            <p key={place} class={one.role}>
              <Words text={one.text} />
            </p>
          ))}
          {coming === null ? null : (
            <p class="assistant coming">
              <Words text={coming || "…"} />
            </p>
          )}
        </div>
        {talking.error ? <Notice error={talking.error} /> : null}
        <form
          class="say"
          onSubmit={(event) => {
            event.preventDefault();
            speak();
          }}
        >
          <label>
            <span class="hidden-label">Your message</span>
            <textarea
              rows={2}
              value={words}
              disabled={!writes}
              placeholder={writes ? "Your message; Enter sends, Shift+Enter is a new line" : NEEDS_WRITE}
              onInput={(event) => setWords(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
                  event.preventDefault();
                  speak();
                }
              }}
            />
          </label>
          <button type="submit" class="first" disabled={!writes || talking.busy || !words.trim()}>
            Say it
          </button>
        </form>
      </Panel>
      <div class="beside">
        <Live talk={talk} begun={begun} context={context} />
        <Panel title="Load the demo" testId="load-demo">
          <p>
            A conversation of eight months: one user, <code>mara</code>, 758 messages in many sessions. It is added to
            this memory; a second time adds nothing. Its folds and facts then appear above, as they are made.
          </p>
          <div class="tools">
            <Action
              doing={loading}
              kind="first"
              disabled={!writes}
              work={async () => {
                const added = await send<{ user_id: string; messages: number; sessions: number }>("POST", "/v1/demo");
                setTalk((before) => ({ ...before, user: added.user_id, session: fresh() }));
                setSaid([]);
                setBegun(false);
                changed();
              }}
            >
              {loading.busy ? "Loading…" : "Load the demo"}
            </Action>
            <Action
              doing={loading}
              disabled={!writes}
              work={async () => {
                await send("POST", "/v1/settle", { timeout: 120 });
                changed();
              }}
            >
              Fold what is due now
            </Action>
          </div>
          {loading.error ? <Notice error={loading.error} /> : null}
          <Loaded user={talk.user} loading={loading.busy} begun={begun} />
        </Panel>
      </div>
    </div>
  );
}

/** How much there is of the one who talks, with the ways to look at it. */
function Loaded({ user, loading, begun }: { user: string; loading: boolean; begun: boolean }) {
  const sessions = useLoad(
    loading ? null : (signal) => get<Page<{ id: string }>>("/v1/sessions", { user_id: user, limit: 1000 }, signal),
    [user, loading, begun],
  );
  const number = sessions.value?.items.length ?? 0;
  if (!number) return null;
  return (
    <p>
      <Words text={user} /> has {count(number)} {number === 1 ? "session" : "sessions"}:{" "}
      <a href={addressOf({ screen: "timeline", user, session: null })}>timeline</a>,{" "}
      <a href={addressOf({ screen: "facts", user, session: null })}>facts</a>,{" "}
      <a href={addressOf({ screen: "search", user, session: null })}>search</a>.
    </p>
  );
}
