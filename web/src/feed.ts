/** What happens to a memory, in words: events say which things changed, the service is asked what they say. */

import { all, at, get } from "./api";
import type { Told } from "./events";
import { spanned, times } from "./parts/format";
import { factLine } from "./parts/names";
import type { Fact, FactStatus, Message, Page, Receipt, Session, Summary } from "./shapes";

export interface Entry {
  what: "facts" | "messages" | "summaries" | "forgotten" | "gap";
  verb: string;
  text: string;
  before: string | null; // the value that it took the place of, or disagrees with
  quote: string | null;
  number: number; // of equal things that happened
}

const FEW = 6; // things of a kind that are told one by one; more of them are counted
const VERBS: Record<FactStatus, string> = {
  active: "learnt",
  candidate: "maybe",
  superseded: "no longer",
  retracted: "withdrawn",
  conflicted: "in conflict",
  archived: "archived",
  evidence: "said again",
};

const entry = (what: Entry["what"], verb: string, text: string, more: Partial<Entry> = {}): Entry => ({
  what,
  verb,
  text,
  before: null,
  quote: null,
  number: 1,
  ...more,
});

/** What some events that came together say, the last first. */
export async function inWords(events: readonly Told[], signal: AbortSignal): Promise<Entry[]> {
  const of = (type: string) => events.filter((event) => event.type === type).map((event) => event.data);
  const told = await Promise.all([
    of("gap").length ? [entry("gap", "missed", "some events; what is shown elsewhere is current")] : [],
    forgotten(of("forgotten"), signal),
    factsIn(of("fact.changed"), signal),
    folds(of("session.folded"), signal),
    messages(of("message.added"), signal),
  ]);
  return told.flat();
}

/** Entries with new ones on top; what is equal to one that is there is counted with it. */
export function joined(before: readonly Entry[], came: readonly Entry[], most: number): Entry[] {
  const found = new Map<string, Entry>();
  for (const one of [...came, ...before]) {
    const key = JSON.stringify([one.what, one.verb, one.text, one.before, one.quote]);
    const equal = found.get(key);
    if (equal) equal.number += one.number;
    else found.set(key, { ...one });
  }
  return [...found.values()].slice(0, most);
}

type Data = Record<string, unknown>;

/** What is still there of some things; what is gone meanwhile is left out. */
async function still<T>(reads: readonly Promise<T>[]): Promise<T[]> {
  const found = await Promise.allSettled(reads);
  return found.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

async function factsIn(changed: readonly Data[], signal: AbortSignal): Promise<Entry[]> {
  const read = (id: string) => get<Fact>(at`/v1/facts/${id}`, { record_access: false }, signal);
  const statuses = new Map(changed.map((one) => [String(one.fact_id), one.status as FactStatus]));
  // a value whose place was taken is told with the one that took it
  const told = [...statuses].filter(([, status]) => status !== "superseded").map(([id]) => id);
  const past = [...statuses].filter(([, status]) => status === "superseded").map(([id]) => id);
  if (told.length + past.length > FEW * 4) return counted(statuses);
  const [facts, replaced] = await Promise.all([still(told.map(read)), still(past.map(read))]);
  const others = await still(
    facts.flatMap((one) => (one.status === "conflicted" && one.of !== null ? [read(one.of)] : [])),
  );
  const entries = facts.map((fact) => {
    const before = replaced.find((one) => one.of === fact.id) ?? others.find((one) => one.id === fact.of);
    const status = statuses.get(fact.id) ?? fact.status; // it may be another by now
    const verb = before && status === "active" ? "changed" : VERBS[status];
    return entry("facts", verb, factLine(fact), { before: before?.value ?? null, quote: fact.quote || null });
  });
  const alone = replaced.filter((one) => !facts.some((fact) => fact.id === one.of));
  return [...entries, ...alone.map((one) => entry("facts", VERBS.superseded, factLine(one)))];
}

function counted(statuses: ReadonlyMap<string, FactStatus>): Entry[] {
  const numbers = new Map<FactStatus, number>();
  for (const status of statuses.values()) numbers.set(status, (numbers.get(status) ?? 0) + 1);
  return [...numbers].map(([status, number]) => entry("facts", VERBS[status], times(number, "fact")));
}

async function sessionNamed(id: string, signal: AbortSignal): Promise<string> {
  const [session] = await still([get<Session>(at`/v1/sessions/${id}`, undefined, signal)]);
  return session?.title ? `“${session.title}”` : id;
}

const spanOf = (data: Data) => ({ first: Number(data.first), last: Number(data.last) });
const sessionsOf = (some: readonly Data[]): string[] => [...new Set(some.map((one) => String(one.session_id)))];

async function folds(folded: readonly Data[], signal: AbortSignal): Promise<Entry[]> {
  const ids = sessionsOf(folded);
  if (folded.length > FEW) {
    const where = ids.length === 1 ? "one session" : times(ids.length, "session");
    return [entry("summaries", "folded", `${where} into ${times(folded.length, "summary", "summaries")}`)];
  }
  const known = await still(
    ids.map((id) => get<Page<Summary>>(at`/v1/sessions/${id}/summaries`, { live: false }, signal)),
  );
  const texts = new Map(known.flatMap((page) => page.items.map((one) => [one.id, one.text])));
  return Promise.all(
    folded.map(async (one) => {
      const where = await sessionNamed(String(one.session_id), signal);
      return entry("summaries", "folded", `${spanned(spanOf(one))} of ${where} into a summary of layer ${one.layer}`, {
        quote: texts.get(String(one.summary_id)) ?? null,
      });
    }),
  );
}

async function messages(added: readonly Data[], signal: AbortSignal): Promise<Entry[]> {
  const ids = sessionsOf(added);
  if (ids.length > FEW) {
    const number = added.reduce((sum, one) => sum + Number(one.last) - Number(one.first) + 1, 0);
    return [entry("messages", "added", `${times(number, "message")} to ${times(ids.length, "session")}`)];
  }
  return Promise.all(
    added.map(async (one) => {
      const { first, last } = spanOf(one);
      const session = String(one.session_id);
      const [page] = await still([
        get<Page<Message>>(at`/v1/sessions/${session}/messages`, { first: last, limit: 1 }, signal),
      ]);
      const number = times(last - first + 1, "message");
      return entry("messages", "added", `${number} to ${await sessionNamed(session, signal)}`, {
        quote: page?.items[0]?.text || null,
      });
    }),
  );
}

/** How much was forgotten; never what. */
async function forgotten(some: readonly Data[], signal: AbortSignal): Promise<Entry[]> {
  if (!some.length) return [];
  const [receipts = []] = await still([all<Receipt>("/v1/receipts", {}, signal)]);
  return some.map((one) => {
    const receipt = receipts.find((other) => other.id === one.receipt_id);
    return entry("forgotten", "forgotten", receipt ? erased(receipt) : "something");
  });
}

/** What a receipt says is gone, in numbers. */
export function erased(one: Receipt): string {
  const parts = [
    [one.messages.length, "message"],
    [one.redacted.length, "part of a message", "parts of messages"],
    [one.facts.length, "fact"],
    [one.episodes.length, "episode"],
    [one.milestones, "milestone"],
    [one.titles, "title"],
    [one.sessions.length, "session"],
  ] as const;
  const told = parts.filter(([number]) => number).map(([number, name, many]) => times(number, name, many));
  return told.join(", ") || "summaries only";
}
