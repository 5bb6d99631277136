import { useRef, useState } from "preact/hooks";
import { ask, get } from "../../api";
import { watchJob } from "../../jobs";
import { changed } from "../../pickers";
import { goTo } from "../../place";
import type { About, Imported, Job, Page } from "../../shapes";
import type { Taken } from "./dropped";
import { size } from "./size";
import { speakersIn } from "./speakers";
import { slim } from "./zip";

export interface Row {
  key: string;
  name: string;
  bytes: number;
  state:
    | { is: "waits" }
    | { is: "goes"; job: Job | null }
    | { is: "in"; imported: Imported }
    | { is: "asks"; speakers: string[]; file: File }
    | { is: "whose"; waiting: Waiting }
    | { is: "failed"; why: string };
}

interface Waiting {
  row: Row;
  file: File;
  me?: string; // which of the people in a chat the user is
  owner?: string; // whose history it is, as was answered
}

export interface Imports {
  rows: readonly Row[];
  owner: string; // whose history it is, where the files do not say
  setOwner: (owner: string) => void;
  take: (taken: Taken) => void;
  answer: (row: Row, file: File, me: string) => void;
  name: (owner: string) => void; // whose all files are that ask for it
  whose: string | null; // of whom something came in; null while something is under way
}

/** Files that were dropped or chosen, imported one after the other. */
export function useImports(about: About): Imports {
  const [rows, setRows] = useState<Row[]>([]);
  const [owner, setOwner] = useState("");
  const [whose, setWhose] = useState<string | null>(null);
  const queue = useRef<Waiting[]>([]);
  const busy = useRef(false);
  const put = (row: Row, state: Row["state"]) =>
    setRows((before) => before.map((one) => (one.key === row.key ? { ...one, state } : one)));

  const take = ({ files, refused }: Taken) => {
    if (!files.length && !refused.length) return;
    goTo({ screen: "start" });
    const row = (name: string, bytes: number, state: Row["state"]): Row => ({ key: newKey(), name, bytes, state });
    const added = files.map(({ name, file }) => ({ row: row(name, file.size, { is: "waits" }), file }));
    const others = refused.map(({ name, why }) => row(name, 0, { is: "failed", why }));
    setRows((before) => [
      ...before.filter((one) => busy.current || one.state.is === "asks" || one.state.is === "whose"),
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
    let named = owner.trim();
    for (let next = queue.current.shift(); next; next = queue.current.shift()) {
      const { row } = next;
      named = next.owner ?? named;
      put(row, { is: "goes", job: null });
      put(row, await outcome(about, next, named || null, (seen) => put(row, { is: "goes", job: seen })));
    }
    busy.current = false;
    const after = await users();
    // who is new; else the user of what names nobody
    const fresh = after.find((one) => !before.includes(one)) ?? after.find((one) => one === "default");
    setWhose(named || (fresh ?? null));
    changed();
  };
  const answer = (row: Row, file: File, me: string) => {
    put(row, { is: "waits" });
    work([{ row, file, me }]);
  };
  const name = (given: string) => {
    setOwner(given);
    const asking = rows.flatMap(({ state }) => (state.is === "whose" ? [{ ...state.waiting, owner: given }] : []));
    for (const { row } of asking) put(row, { is: "waits" });
    work(asking);
  };
  return { rows, owner, setOwner, take, answer, name, whose: rows.some((row) => row.state.is === "in") ? whose : null };
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

const ASKS_WHOSE = /whose memory is meant/; // of a file that names nobody, where there are several users

async function outcome(
  about: About,
  waiting: Waiting,
  user_id: string | null,
  seen: (job: Job) => void,
): Promise<Row["state"]> {
  const { row, file, me } = waiting;
  const why = (text: string): Row["state"] => {
    const speakers = speakersIn(text);
    if (speakers.length) return { is: "asks", speakers, file };
    return ASKS_WHOSE.test(text) ? { is: "whose", waiting } : { is: "failed", why: text };
  };
  try {
    const job = await bring(about, file, row.name, { user_id, me }, seen);
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
