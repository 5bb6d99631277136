/** What became of each hit, how the order changed, and where the parts of its score lie. */

import type { Explained, Hit, Manifest } from "../../shapes";

export type Fate = "taken" | "over budget" | "below" | "not wanted";

export interface Standing {
  fate: Fate;
  why: string; // in words, where there is more to say
}

/** What a context under the budget makes of the hits; without one only the threshold is known. */
export function standings(found: Explained, manifest: Manifest | null): Standing[] {
  const ids = new Set<string | null>();
  const messages = new Set<string>();
  for (const piece of manifest?.items ?? []) {
    if (piece.id) ids.add(piece.id);
    for (const id of piece.message_ids) messages.add(id);
  }
  const left = new Map(manifest?.omitted.map((one) => [one.id, one.reason]));
  return found.hits.map((hit) => {
    if (ids.has(hit.id) || messages.has(hit.id)) return { fate: "taken", why: "" };
    if (hit.message_ids.some((id) => messages.has(id))) {
      return { fate: "taken", why: hit.kind === "message" ? "" : "by a message that it comes from" };
    }
    if (hit.score < found.least) return { fate: "below", why: "" };
    const reason = left.get(hit.id);
    if (reason?.startsWith("over budget")) return { fate: "over budget", why: reason };
    return { fate: "not wanted", why: reason ?? "the profile does not take it up for this query" };
  });
}

/** Places that each hit rose (above 0) or fell since another order; null for one that was not in it. */
export function moves(hits: readonly Hit[], before: readonly string[] | null): (number | null)[] {
  const places = new Map(before?.map((id, place) => [id, place]));
  return hits.map((hit, place) => {
    const former = places.get(hit.id);
    return before === null ? 0 : former === undefined ? null : former - place;
  });
}

/** The place of the first hit that the threshold cuts off; null if it cuts none. */
export function cutAt(found: Explained): number | null {
  const place = found.hits.findIndex((hit) => hit.score < found.least);
  return place < 0 ? null : place;
}

const ASIDE = "cosine"; // told with a score, but no part of it

/** The names of the parts, those that matter most first. */
export function partNames(hits: readonly Hit[]): string[] {
  const weight = new Map<string, number>();
  for (const hit of hits) {
    for (const [name, value] of Object.entries(hit.parts)) {
      if (name !== ASIDE) weight.set(name, (weight.get(name) ?? 0) + Math.abs(value));
    }
  }
  return [...weight].sort((one, other) => other[1] - one[1]).map(([name]) => name);
}

export interface Segment {
  name: string;
  value: number;
  from: number;
  to: number;
}

/** The parts of a score as stretches: what speaks for it to the right of zero, what speaks against it to the left. */
export function segments(hit: Hit, names: readonly string[]): Segment[] {
  let right = 0;
  let left = 0;
  return names.flatMap((name) => {
    const value = hit.parts[name] ?? 0;
    if (!value) return [];
    const from = value > 0 ? right : left + value;
    if (value > 0) right += value;
    else left += value;
    return [{ name, value, from, to: from + Math.abs(value) }];
  });
}

/** From where to where the bars of all hits reach, zero among it. */
export function extent(hits: readonly Hit[], names: readonly string[]): { least: number; most: number } {
  let [least, most] = [0, 0];
  for (const hit of hits) {
    for (const one of segments(hit, names)) {
      least = Math.min(least, one.from);
      most = Math.max(most, one.to);
    }
  }
  return most > least ? { least, most } : { least: 0, most: 1 };
}
