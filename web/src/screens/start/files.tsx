import { useState } from "preact/hooks";
import { useJob } from "../../jobs";
import { times } from "../../parts/format";
import { Progress } from "../../parts/progress";
import { More } from "../../parts/tasks";
import { Words } from "../../parts/words";
import { changed } from "../../pickers";
import { addressOf } from "../../place";
import type { About, Imported, Job } from "../../shapes";
import type { Imports, Row } from "./importing";
import { size } from "./size";

/** What became of each file, and below it what may be asked before one is chosen. */
export function Files({ about, imports }: { about: About; imports: Imports }) {
  const { rows, owner, setOwner, answer, name, whose } = imports;
  const earlier = useJob("import", true, () => changed());
  return (
    <section class="imports" aria-label="Imported files">
      {earlier.job && earlier.job.status === "running" ? (
        <Progress job={earlier.job} label="An import is under way" />
      ) : null}
      <ul class="files" aria-live="polite">
        {rows.map((row) => (
          <li key={row.key} data-testid="file">
            <FileRow row={row} answer={(file, me) => answer(row, file, me)} name={name} />
          </li>
        ))}
      </ul>
      {whose === null ? null : (
        <div class="next" data-testid="imported">
          <p>Facts are read from it now, in the background.</p>
          <a class="button first" href={addressOf({ screen: "you", user: whose, session: null })}>
            You, as Lamina knows you
          </a>
          <a class="button" href={addressOf({ screen: "timeline", user: whose, session: null })}>
            Timeline
          </a>
        </div>
      )}
      <div class="import-folds">
        <More label="What can be imported">
          <Formats about={about} />
        </More>
        <More label="Whose history it is" open={Boolean(owner)}>
          <label class="owner">
            Name of the user
            <input
              value={owner}
              maxLength={256}
              placeholder="as the file says, else default"
              onInput={(event) => setOwner(event.currentTarget.value)}
            />
          </label>
        </More>
      </div>
    </section>
  );
}

function FileRow({
  row,
  answer,
  name,
}: {
  row: Row;
  answer: (file: File, me: string) => void;
  name: (owner: string) => void;
}) {
  const { state } = row;
  return (
    <>
      <b>
        <Words text={row.name} />
      </b>{" "}
      {row.bytes ? <small>{size(row.bytes)}</small> : null}
      {state.is === "waits" ? <small> waits</small> : null}
      {state.is === "goes" ? (
        <Progress job={state.job ?? { done: 0, total: 0 }} label={label(state.job)} />
      ) : state.is === "in" ? (
        <>
          <p class="in">✓ {told(state.imported)}</p>
          <LeftOut skipped={state.imported.skipped} />
          <Notes notes={state.imported.files.flatMap((one) => one.notes)} />
        </>
      ) : state.is === "asks" ? (
        <fieldset class="speakers" data-testid="speakers">
          <legend>Which of these are you?</legend>
          {state.speakers.map((name) => (
            <button key={name} type="button" onClick={() => answer(state.file, name)}>
              <Words text={name} />
            </button>
          ))}
        </fieldset>
      ) : state.is === "whose" ? (
        <Whose name={name} />
      ) : state.is === "failed" ? (
        <p class="notice why" role="alert">
          <Words text={state.why} />
        </p>
      ) : null}
    </>
  );
}

/** Asks for the user of a file that names nobody, where there is more than one. */
function Whose({ name }: { name: (owner: string) => void }) {
  const [given, setGiven] = useState("");
  return (
    <form
      class="row whose"
      data-testid="whose"
      onSubmit={(event) => {
        event.preventDefault();
        if (given.trim()) name(given.trim());
      }}
    >
      <label>
        The file does not say whose history it is. Which user gets it?
        <input
          value={given}
          maxLength={256}
          required
          placeholder="a name, such as yours"
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="first" disabled={!given.trim()}>
        Import it
      </button>
    </form>
  );
}

/** What of a file was not taken, and why. */
function LeftOut({ skipped }: Pick<Imported, "skipped">) {
  const left = Object.entries(skipped);
  if (!left.length) return null;
  return (
    <ul class="left-out">
      {left.map(([why, number]) => (
        <li key={why}>
          Left out: <Words text={why} />
          {number > 1 ? `, ${number} times` : ""}
        </li>
      ))}
    </ul>
  );
}

/** What was assumed, such as the zone of its times; each once, without the option of the command line. */
function Notes({ notes }: { notes: readonly string[] }) {
  return [...new Set(notes)].map((note) => (
    <p key={note} class="left-out">
      <Words text={note.replace(/ \(--[\w-]+\)/g, "")} />
    </p>
  ));
}

function label(job: Job | null): string {
  if (job === null) return "Sending";
  return job.step === "import" ? "Importing" : "Reading";
}

/** What an import brought, in words. */
export function told(imported: Imported): string {
  const came = [
    imported.messages ? `${times(imported.messages, "message")} in ${times(imported.sessions, "conversation")}` : "",
    imported.facts ? times(imported.facts, "fact") : "",
    imported.episodes ? times(imported.episodes, "episode") : "",
    imported.summaries ? times(imported.summaries, "summary", "summaries") : "",
  ].filter(Boolean);
  return [
    came.length ? `${came.join(", ")} came in.` : "Nothing new came in.",
    imported.duplicates
      ? `${times(imported.duplicates, "message")} ${imported.duplicates === 1 ? "was" : "were"} here already.`
      : "",
  ]
    .filter(Boolean)
    .join(" ");
}

function Formats({ about }: { about: About }) {
  return (
    <ul class="formats">
      <li>
        ChatGPT: Settings → Data controls → Export. The <code>.zip</code> of the mail, or{" "}
        <code>conversations.json</code> in it.
      </li>
      <li>
        Claude: Settings → Privacy → Export data. The <code>.zip</code>, or <code>conversations.json</code> in it.
      </li>
      <li>
        Claude Code: the <code>.jsonl</code> files below <code>~/.claude/projects</code>.
      </li>
      <li>
        WhatsApp: Export chat, without media. The <code>.txt</code> or <code>.zip</code>.
      </li>
      <li>mem0, ShareGPT, logs of chat requests, and what Lamina exports.</li>
      <li>
        A folder with such files. Larger than {size(about.max_body_bytes)}: <code>lamina import PATH</code> on the
        machine of the service.
      </li>
    </ul>
  );
}
