/** Where every fact lies in the chart of validity: a row for what it is about, a lane for what holds at the same time. */

import { placeOf, timeAt } from "../../parts/format";
import type { Fact, FactStatus } from "../../shapes";

export const DAY = 86_400_000;
export const LANE = 26; // pixels
const PADDING = 10; // pixels of a row beside its lanes

export interface Window {
  from: number;
  to: number;
}

export interface Bar {
  fact: Fact;
  from: number;
  to: number;
  open: boolean; // it has no end yet
  lane: number;
}

export interface Tie {
  from: Bar;
  to: Bar;
  kind: "superseded" | "conflicted";
}

export interface Row {
  id: string;
  category: string;
  name: string; // its key, or what it says if it has none
  bars: Bar[];
  ties: Tie[];
  lanes: number;
  top: number;
  height: number;
}

export interface Filter {
  statuses: ReadonlySet<FactStatus>;
  category: string;
  type: string;
  about: string;
  text: string;
}

/** In the filter of people: the user alone; no name is blank. */
export const THE_USER = " ";

export function chosen(facts: readonly Fact[], filter: Filter): Fact[] {
  const wanted = filter.text.trim().toLocaleLowerCase();
  return facts.filter(
    (fact) =>
      filter.statuses.has(fact.status) &&
      (!filter.category || fact.category === filter.category) &&
      (!filter.type || fact.type === filter.type) &&
      (!filter.about || (fact.about ?? THE_USER) === filter.about) &&
      (!wanted ||
        [fact.about ?? "", fact.key ?? "", fact.value, fact.quote, ...fact.tags].some((text) =>
          text.toLocaleLowerCase().includes(wanted),
        )),
  );
}

/** Rows of keys, then of statements: each by category and then by the time of their first value. */
export function rowsOf(facts: readonly Fact[], now: number): Row[] {
  const groups = new Map<string, Fact[]>();
  for (const fact of facts) {
    const id = JSON.stringify([fact.category, fact.slot]);
    const group = groups.get(id);
    if (group) group.push(fact);
    else groups.set(id, [fact]);
  }
  const rows = [...groups].map(([id, group]) => rowOf(id, group, now));
  const first = (row: Row) => row.bars[0]?.from ?? 0;
  const unkeyed = (row: Row) => Number(!row.bars[0]?.fact.key);
  rows.sort(
    (a, b) => unkeyed(a) - unkeyed(b) || compare(a.category, b.category) || first(a) - first(b) || compare(a.id, b.id),
  );
  let top = 0;
  for (const row of rows) {
    row.top = top;
    top += row.height;
  }
  return rows;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function rowOf(id: string, facts: readonly Fact[], now: number): Row {
  const bars = facts
    .map((fact): Bar => {
      const from = placeOf(fact.valid_from);
      const ended = fact.valid_until === null ? null : placeOf(fact.valid_until);
      // what bears out another fact is a point in time: when it was said again
      const to = fact.status === "evidence" ? from : Math.max(from, ended ?? now);
      return { fact, from, to, open: ended === null && fact.status !== "evidence", lane: 0 };
    })
    .sort((a, b) => a.from - b.from || a.to - b.to || compare(a.fact.id, b.fact.id));
  const lanes = packed(bars);
  const [one] = facts;
  return {
    id,
    category: one?.category ?? "",
    name: one?.key ? [one.about, one.key].filter(Boolean).join(": ") : (one?.text ?? ""),
    bars,
    ties: tiesOf(bars),
    lanes,
    top: 0,
    height: lanes * LANE + PADDING,
  };
}

/** Give each bar the first lane that is free; how many there are. Points go below what they bear out. */
function packed(bars: Bar[]): number {
  const ends: number[] = [];
  for (const bar of [...bars].sort((a, b) => Number(isPoint(a)) - Number(isPoint(b)))) {
    if (isPoint(bar)) continue;
    const free = ends.findIndex((end) => end <= bar.from);
    bar.lane = free < 0 ? ends.length : free;
    ends[bar.lane] = Math.max(bar.to, bar.from + 1);
  }
  const points = bars.filter(isPoint);
  for (const point of points) point.lane = ends.length;
  return Math.max(1, ends.length + (points.length ? 1 : 0));
}

export const isPoint = (bar: Bar): boolean => bar.fact.status === "evidence";

function tiesOf(bars: readonly Bar[]): Tie[] {
  const known = new Map(bars.map((bar) => [bar.fact.id, bar]));
  return bars.flatMap((bar): Tie[] => {
    const { status, of } = bar.fact;
    const other = of === null ? undefined : known.get(of);
    return other && (status === "superseded" || status === "conflicted")
      ? [{ from: bar, to: other, kind: status }]
      : [];
  });
}

/** The rows of which something is between two heights; rows are in order, so that two searches find them. */
export function inSight(rows: readonly Row[], top: number, bottom: number): { first: number; last: number } {
  const below = (height: number) => {
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const row = rows[middle];
      if (row && row.top + row.height <= height) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return { first: below(top), last: Math.min(rows.length, below(bottom) + 1) };
}

const FEW = 0.1; // of the facts

/** The time that the chart shows: all of it; or without a few that began so long before that the rest would be a sliver. */
export function windowOf(facts: readonly Fact[], now: number, whole: boolean): Window {
  const begun = facts.map((fact) => placeOf(fact.valid_from)).sort((a, b) => a - b);
  const first = Math.min(begun[0] ?? now, now - DAY);
  let from = first;
  for (let place = 1; !whole && place <= Math.ceil(begun.length * FEW); place++) {
    const [before, after] = [begun[place - 1], begun[place]];
    if (before !== undefined && after !== undefined && after < now && after - before > (now - first) / 2) from = after;
  }
  return { from: Math.floor(from / DAY) * DAY, to: now };
}

const FARTHEST = 14 * 3_600_000; // that a zone is ahead of UTC

/** Where today ends on the line of days: now, or later where something was said in a zone that is ahead. */
export const endOf = (facts: readonly Fact[], now: number): number =>
  facts.reduce((end, fact) => {
    const said = placeOf(fact.learnt_at);
    return said <= now + FARTHEST ? Math.max(end, said) : end;
  }, now);

/** A place as a time, in the zone of what began last up to it; of what began first, if nothing had. */
export function timeOf(facts: readonly Fact[], place: number): string {
  let nearest: Fact | null = null;
  for (const fact of facts) {
    const [begun, best] = [placeOf(fact.valid_from), nearest ? placeOf(nearest.valid_from) : null];
    if (best === null || (best > place ? begun < best : begun <= place && begun >= best)) nearest = fact;
  }
  return timeAt(place, nearest?.valid_from ?? "");
}

/** Days to write at the axis, not more than fit. */
export function ticks(window: Window, most: number): number[] {
  const days = (window.to - window.from) / DAY;
  const years = (step: number) => step * 12;
  if (days <= most) return spread(window, DAY);
  if (days <= most * 7) return spread(window, 7 * DAY);
  for (const months of [1, 2, 3, 6, years(1), years(2), years(5), years(10), years(50)]) {
    if (days / 30.4 / months > most) continue;
    const found: number[] = [];
    const start = new Date(window.from);
    let place = start.getUTCFullYear() * 12 + start.getUTCMonth();
    place -= place % months;
    for (; ; place += months) {
      const time = Date.UTC(Math.floor(place / 12), place % 12, 1);
      if (time > window.to) return found;
      if (time >= window.from) found.push(time);
    }
  }
  return [];
}

function spread(window: Window, step: number): number[] {
  const found: number[] = [];
  for (let time = Math.ceil(window.from / DAY) * DAY; time <= window.to; time += step) found.push(time);
  return found;
}
