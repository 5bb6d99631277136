import { useRef, useState } from "preact/hooks";
import { ask, get } from "../../api";
import { useJob, watchJob } from "../../jobs";
import { times } from "../../parts/format";
import { Progress } from "../../parts/progress";
import { More } from "../../parts/tasks";
import { Words } from "../../parts/words";
import { changed } from "../../pickers";
import { addressOf, goTo } from "../../place";
import type { About, Imported, Job, Page } from "../../shapes";
import { chosen, dropped, type Taken } from "./dropped";
import { Sheets } from "./pictures";
import { size } from "./size";
import { speakersIn } from "./speakers";
import { slim } from "./zip";

interface Row {
  key: string;
  name: string;
  bytes: number;
  state:
    | { is: "waits" }
    | { is: "goes"; job: Job | null }
    | { is: "in"; imported: Imported }
    | { is: "asks"; speakers: string[]; file: File }
    | { is: "failed"; why: string };
}

interface Waiting {
  row: Row;
  file: File;
  me?: string; // which of the people in a chat the user is
}

/** Files that are dropped or chosen, imported one after the other. */
export function Import({ about }: { about: About }) {
  const [rows, setRows] = useState<Row[]>([]);
  const [owner, setOwner] = useState("");
  const [over, setOver] = useState(false);
  const [whose, setWhose] = useState<string | null>(null);
  const queue = useRef<Waiting[]>([]);
  const busy = useRef(false);
  const earlier = useJob("import", true, () => changed());
  const put = (row: Row, state: Row["state"]) =>
    setRows((before) => before.map((one) => (one.key === row.key ? { ...one, state } : one)));

  const take = async ({ files, refused }: Taken) => {
    if (!files.length && !refused.length) return;
    goTo({ screen: "start" });
    const row = (name: string, bytes: number, state: Row["state"]): Row => ({ key: newKey(), name, bytes, state });
    const added = files.map(({ name, file }) => ({ row: row(name, file.size, { is: "waits" }), file }));
    const others = refused.map(({ name, why }) => row(name, 0, { is: "failed", why }));
    setRows((before) => [
      ...before.filter((one) => busy.current || one.state.is === "asks"),
      ...others,
      ...added.map((one) => one.row),
    ]);
    work(added);
  };

  const work = async (added: readonly Waiting[]) => {
    queue.current.push(...added);
    if (busy.current || !added.length) return;
    busy.current = true;
    setWhose(null);
    const before = await users();
    for (let next = queue.current.shift(); next; next = queue.current.shift()) {
      const { row, file, me } = next;
      put(row, { is: "goes", job: null });
      put(
        row,
        await outcome(about, file, row.name, { user_id: owner.trim() || null, me }, (seen) =>
          put(row, { is: "goes", job: seen }),
        ),
      );
    }
    busy.current = false;
    const after = await users();
    setWhose(owner.trim() || (after.find((one) => !before.includes(one)) ?? after[0] ?? null));
    changed();
  };

  return (
    <section class="door" data-testid="door-import" aria-label="Import your history">
      <Sheets />
      <h3>Bring your history</h3>
      <p>
        The export of ChatGPT or Claude, as you downloaded it; chats of other tools; what Lamina exports. Nothing leaves
        this service.
      </p>
      <div class="foot">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button inside is for keys */}
        <div
          class={over ? "drop over" : "drop"}
          data-testid="drop"
          onDragOver={(event) => {
            event.preventDefault();
            setOver(true);
          }}
          onDragLeave={() => setOver(false)}
          onDrop={(event) => {
            event.preventDefault();
            setOver(false);
            if (event.dataTransfer) dropped(event.dataTransfer).then(take);
          }}
        >
          <p>Drop files or folders here</p>
          <label class="choose">
            <span>
              or choose <u>files</u>
            </span>
            <input
              type="file"
              multiple
              class="hidden-label"
              aria-label="Files to import"
              onChange={(event) => {
                take(chosen(event.currentTarget.files ?? []));
                event.currentTarget.value = "";
              }}
            />
          </label>{" "}
          <label class="choose">
            <span>
              or <u>a folder</u>
            </span>
            <input
              type="file"
              ref={(input) => {
                if (input) input.webkitdirectory = true;
              }}
              class="hidden-label"
              aria-label="A folder to import"
              onChange={(event) => {
                take(chosen(event.currentTarget.files ?? []));
                event.currentTarget.value = "";
              }}
            />
          </label>
          <small class="most">up to {size(about.max_body_bytes)} each</small>
        </div>
        <label class="owner">
          Whose history it is
          <input
            value={owner}
            maxLength={256}
            placeholder="as the file says"
            onInput={(event) => setOwner(event.currentTarget.value)}
          />
        </label>
        {earlier.job && earlier.job.status === "running" ? (
          <Progress job={earlier.job} label="An import is under way" />
        ) : null}
        <ul class="files" aria-live="polite">
          {rows.map((row) => (
            <li key={row.key} data-testid="file">
              <FileRow
                row={row}
                answer={(file, me) => {
                  put(row, { is: "waits" });
                  work([{ row, file, me }]);
                }}
              />
            </li>
          ))}
        </ul>
        {whose !== null && rows.some((row) => row.state.is === "in") ? (
          <p class="next" data-testid="imported">
            Facts are read from it now, in the background.{" "}
            <a href={addressOf({ screen: "you", user: whose, session: null })}>You, as Lamina knows you</a> ·{" "}
            <a href={addressOf({ screen: "timeline", user: whose, session: null })}>Timeline</a>
          </p>
        ) : null}
        <More label="What can be imported">
          <Formats about={about} />
        </More>
      </div>
    </section>
  );
}

let keys = 0;
const newKey = (): string => `${++keys}`;

/** The users there are; none where the service does not answer, which the import itself tells. */
async function users(): Promise<string[]> {
  return get<Page<string>>("/v1/users", { limit: 1000 }).then(
    (page) => page.items,
    () => [],
  );
}

interface Whose {
  user_id: string | null;
  me: string | undefined;
}

async function outcome(
  about: About,
  file: File,
  name: string,
  whose: Whose,
  seen: (job: Job) => void,
): Promise<Row["state"]> {
  const why = (text: string): Row["state"] => {
    const speakers = speakersIn(text);
    return speakers.length ? { is: "asks", speakers, file } : { is: "failed", why: text };
  };
  try {
    const job = await bring(about, file, name, whose, seen);
    return job.imported ? { is: "in", imported: job.imported } : why(job.error ?? "It failed.");
  } catch (error) {
    return why(error instanceof Error ? error.message : String(error));
  }
}

/** Send a file and wait for its import. Of a zip file, only what can be read is sent: no pictures, no sound. */
async function bring(about: About, file: File, name: string, whose: Whose, seen: (job: Job) => void): Promise<Job> {
  const small = file.size > about.max_body_bytes ? await slim(file) : file;
  if (small.size > about.max_body_bytes) throw new Error(tooLarge(about, small.size));
  const answer = await ask("POST", "/v1/jobs/import", {
    file: small,
    query: { ...whose, zone: Intl.DateTimeFormat().resolvedOptions().timeZone },
    headers: { "X-Lamina-Filename": encodeURIComponent(name.split("/").at(-1) ?? name) },
  });
  return watchJob((await answer.json()) as Job, seen, new AbortController().signal);
}

const tooLarge = (about: About, bytes: number): string =>
  `It has ${size(bytes)}, and this service takes up to ${size(about.max_body_bytes)} at once. ` +
  "On the machine of the service, `lamina import FILE` has no such limit; or raise LAMINA_MAX_BODY_BYTES.";

function FileRow({ row, answer }: { row: Row; answer: (file: File, me: string) => void }) {
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
      ) : state.is === "failed" ? (
        <p class="notice why" role="alert">
          <Words text={state.why} />
        </p>
      ) : null}
    </>
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
