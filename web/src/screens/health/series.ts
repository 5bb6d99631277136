/** The figures of the health screen, made ready to be drawn. */

import type { Cost, Fading, Stats } from "../../shapes";

export interface Grown {
  day: Date;
  said: number; // tokens of messages so far
  summed: number; // tokens of summaries so far
  facts: number; // so far
}

const DAY = 86_400_000;

/** Day by day, all that there was up to it; the last day is there with its end, too. */
export function grown(growth: Stats["growth"]): Grown[] {
  let [said, summed, facts] = [0, 0, 0];
  const days = [...growth]
    .sort((a, b) => (a.day < b.day ? -1 : 1))
    .map((one) => {
      said += one.message_tokens;
      summed += one.summary_tokens;
      facts += one.facts;
      return { day: new Date(one.day), said, summed, facts };
    });
  const last = days.at(-1);
  return last ? [...days, { ...last, day: new Date(last.day.getTime() + DAY) }] : [];
}

export interface Layer {
  kind: string;
  layer: number;
  live: number;
  folded: number;
  replaced: number;
  tokens: number; // of the live ones
}

export function layersOf(summaries: Stats["summaries"]): Layer[] {
  const found = new Map<string, Layer>();
  for (const one of summaries) {
    const id = JSON.stringify([one.kind, one.layer]);
    const layer = found.get(id) ?? { kind: one.kind, layer: one.layer, live: 0, folded: 0, replaced: 0, tokens: 0 };
    layer[one.status] += one.count;
    if (one.status === "live") layer.tokens += one.tokens;
    found.set(id, layer);
  }
  return [...found.values()].sort((a, b) => a.layer - b.layer || (a.kind < b.kind ? -1 : 1));
}

/** What of the full history a context need not carry; between 0 and 1. */
export const saved = (stats: Pick<Stats, "tokens" | "at_hand_tokens">): number =>
  stats.tokens ? Math.max(0, 1 - stats.at_hand_tokens / stats.tokens) : 0;

export interface Spent {
  day: Date;
  purpose: string;
  cost: number;
}

/** Costs by day and purpose, whatever the model. */
export function spent(costs: readonly Cost[]): Spent[] {
  const found = new Map<string, Spent>();
  for (const one of costs) {
    const id = JSON.stringify([one.day, one.purpose]);
    const known = found.get(id) ?? { day: new Date(one.day), purpose: one.purpose, cost: 0 };
    known.cost += one.cost;
    found.set(id, known);
  }
  return [...found.values()].sort((a, b) => a.day.getTime() - b.day.getTime() || (a.purpose < b.purpose ? -1 : 1));
}

/** At most so many of a list, evenly taken. */
export function some<T>(list: readonly T[], most: number): T[] {
  const step = Math.ceil(list.length / most);
  return list.filter((_, place) => place % step === 0);
}

export type Fate = "kept" | "archived" | "fresh";

/** What the next consolidation would do to it. */
export function fate(one: Fading): Fate {
  if (one.kept || one.archive_below === null) return "kept";
  return one.decay < one.archive_below ? "archived" : "fresh";
}

const STEPS = 60;

/**
 * The line below which things are archived, as places (freshness, importance).
 *
 * What counts is freshness times importance, so that it is a curve; if the limits are not of that kind, they are joined.
 */
export function limit(items: readonly Fading[]): { x: number; y: number }[] {
  const given = items.flatMap((one) =>
    one.archive_below !== null && one.archive_below > 0 && one.archive_below <= 1
      ? [{ x: one.archive_below, y: one.importance }]
      : [],
  );
  const [first] = given;
  if (!first) return [];
  const product = first.x * first.y;
  if (product > 0 && given.every(({ x, y }) => Math.abs(x * y - product) < 0.001)) {
    return Array.from({ length: STEPS + 1 }, (_, step) => {
      const y = product + ((1 - product) * step) / STEPS;
      return { x: product / y, y };
    });
  }
  return given.sort((a, b) => a.y - b.y);
}

const APART = 11; // pixels
const FARTHEST = 12; // steps

/** Places in pixels, those that would lie on each other set side by side, as far as there is room at the right. */
export function apart(places: readonly { x: number; y: number }[], right: number): { x: number; y: number }[] {
  const taken = new Set<string>();
  const cell = (x: number, y: number) => `${Math.round(x / APART)} ${Math.round(y / APART)}`;
  return places.map(({ x, y }) => {
    const most = Math.min(FARTHEST, Math.floor((right - x) / APART));
    let step = 0;
    while (step < most && taken.has(cell(x + step * APART, y))) step++;
    taken.add(cell(x + step * APART, y));
    return { x: x + step * APART, y };
  });
}
