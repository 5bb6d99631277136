/** What is known of a person, put in the order in which one would tell it. */

import { placeOf } from "../../parts/format";
import type { Episode, Fact, UserProfile } from "../../shapes";

export interface Group {
  id: string;
  title: string;
  facts: Fact[];
}

/** A value that changed: all its values, the oldest first. */
export interface Change {
  id: string;
  name: string;
  values: Fact[];
}

const TITLES: Record<string, string> = {
  identity: "Who you are",
  relation: "People around you",
  health: "Your health",
  preference: "What you prefer",
  constraint: "What to respect",
  instruction: "How to answer you",
  goal: "Where you are heading",
  commitment: "What you have promised",
  event: "What happened",
  decision: "What you decided",
  procedure: "How you do things",
  relationship: "People around you",
  person: "People around you",
  entity: "Things and projects",
};

const ORDER = Object.keys(TITLES);

/** A category as a heading. */
export function titleOf(category: string): string {
  return TITLES[category] ?? capital(category.replaceAll("_", " "));
}

export function capital(text: string): string {
  const [first = "", ...rest] = Array.from(text);
  return first.toLocaleUpperCase() + rest.join("");
}

/** Facts by what they are about; each person's own group stands with the people. */
export function groupsOf(facts: readonly Fact[], people: UserProfile["people"]): Group[] {
  const found = new Map<string, Group>();
  for (const fact of facts) {
    if (fact.about !== null) continue;
    const title = titleOf(fact.category);
    const group = found.get(title) ?? { id: fact.category, title, facts: [] };
    found.set(title, { ...group, facts: [...group.facts, fact] });
  }
  for (const [name, ids] of Object.entries(people)) {
    const own = facts.filter((fact) => ids.includes(fact.id));
    if (own.length) found.set(`person ${name}`, { id: "relation", title: capital(name), facts: own });
  }
  const place = (group: Group) => {
    const known = ORDER.indexOf(group.id);
    return known < 0 ? ORDER.length : known;
  };
  return [...found.values()]
    .map((group) => ({ ...group, facts: group.facts.sort(byWeight) }))
    .sort((a, b) => place(a) - place(b));
}

/** Facts with a key first, as they are important; then statements, the newest first. */
const byWeight = (a: Fact, b: Fact): number =>
  Number(a.key === null) - Number(b.key === null) ||
  b.importance - a.importance ||
  placeOf(b.valid_from) - placeOf(a.valid_from);

/** A line `location: Utrecht` as a name and a value; other lines have no name. Whom it is about stands above it. */
export function lineOf(fact: Fact): { name: string | null; words: string } {
  const text = without(fact.text, fact.about);
  const words = without(text, fact.key);
  if (words !== text) return { name: capital(fact.key ?? ""), words };
  // a key may say more than the line shows: `sister mia` for `sister: Mia`
  const name = text.endsWith(`: ${fact.value}`) ? text.slice(0, -fact.value.length - 2) : "";
  return name && fact.key?.startsWith(name.toLowerCase())
    ? { name: capital(name), words: fact.value }
    : { name: null, words: capital(text) };
}

const without = (text: string, begin: string | null): string =>
  begin !== null && text.startsWith(`${begin}: `) ? text.slice(begin.length + 2) : text;

/** Whether a line says the words that were said, and nothing else. */
export const isQuote = (fact: Fact): boolean => fact.key === null && fact.value === fact.quote;

export function nameOf(facts: readonly Fact[], user: string): string {
  return facts.find((fact) => fact.key === "name" && fact.about === null && fact.status === "active")?.value ?? user;
}

const STOOD: ReadonlySet<Fact["status"]> = new Set(["active", "superseded"]);

/** What changed up to a time, the newest change first. */
export function changesOf(facts: readonly Fact[], until: number): Change[] {
  const found = new Map<string, Fact[]>();
  for (const fact of facts) {
    if (fact.key === null || !STOOD.has(fact.status) || placeOf(fact.valid_from) > until) continue;
    const id = JSON.stringify([fact.category, fact.slot]);
    found.set(id, [...(found.get(id) ?? []), fact]);
  }
  return [...found]
    .map(([id, some]) => {
      const values = some.sort(byEnd);
      return {
        id,
        name: [values[0]?.about, changedName(values)].filter(Boolean).join(": "),
        values: values.filter(isOther),
      };
    })
    .filter((change) => change.values.length > 1)
    .sort((a, b) => lastOf(b) - lastOf(a));
}

const endOf = (fact: Fact): number =>
  fact.valid_until === null ? Number.POSITIVE_INFINITY : placeOf(fact.valid_until);

/** What is true now comes last, also where an older value was told on a later day than the one from which it changed. */
function byEnd(a: Fact, b: Fact): number {
  if (endOf(a) !== endOf(b)) return endOf(a) - endOf(b);
  return placeOf(a.valid_from) - placeOf(b.valid_from) || placeOf(a.learnt_at) - placeOf(b.learnt_at);
}

const changedName = ([first]: readonly Fact[]): string =>
  first ? (lineOf(first).name ?? capital(first.key ?? "")) : "";

/** The day from which a value of a change was true; null where only its end is known. */
export function sinceIn(change: Change, fact: Fact): string | null {
  const next = change.values[change.values.indexOf(fact) + 1];
  return next && placeOf(next.valid_from) <= placeOf(fact.valid_from) ? null : fact.valid_from;
}

/** Since when a fact is true, in words: one without a day of its own was said on a day. */
export function sinceWords(fact: Fact): string {
  const verb = fact.valid_from !== fact.learnt_at ? "since" : fact.quote ? "said" : "on";
  const until = fact.valid_until === null ? "" : `, until ${briefDay(fact.valid_until)}`;
  return `${verb} ${briefDay(fact.valid_from)}${until}`;
}

/** Whether a value is another than the one before it. */
const isOther = (fact: Fact, place: number, all: readonly Fact[]): boolean =>
  place === 0 || all[place - 1]?.value !== fact.value;
const lastOf = (change: Change): number => placeOf(change.values.at(-1)?.valid_from ?? "");

export function has(words: string, ...texts: (string | null)[]): boolean {
  const asked = words.trim().toLocaleLowerCase();
  return !asked || texts.some((text) => text?.toLocaleLowerCase().includes(asked));
}

export const momentsOf = (episodes: readonly Episode[], until: number): Episode[] =>
  episodes
    .filter((one) => placeOf(one.happened_at) <= until)
    .sort((a, b) => placeOf(b.happened_at) - placeOf(a.happened_at));

const LONG = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
const BRIEF = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

/** `26 July 2025`: the day that was said, in the zone in which it was said. */
export const longDay = (time: string): string => LONG.format(placeOf(time));
export const briefDay = (time: string): string => BRIEF.format(placeOf(time));
export const dayAtPlace = (place: number): string => LONG.format(place);
