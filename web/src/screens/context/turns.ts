/** What a session would have cost at each of its messages: the unfolded ones, the summaries of each layer, and all. */

import type { Block, Outline, Stretch } from "../../shapes";

export interface Point {
  n: number;
  band: string;
  tokens: number;
}

export interface Fold {
  n: number;
  before: number;
  after: number;
}

export interface Course {
  bands: string[]; // from the bottom up: the deepest layer first, what is not folded on top
  points: Point[];
  full: { n: number; tokens: number }[];
  folds: Fold[];
  most: number; // the highest stack
  unknown: number; // blocks that are left out, since it is not known when they fell due
}

export const UNFOLDED = "not folded";

type Due = Block & { due: number };

export function course(outline: Outline): Course {
  const known = outline.blocks.filter((block) => block.status !== "replaced");
  const blocks = known.filter((block): block is Due => block.due !== null);
  const ends = new Map(outline.blocks.map((block) => [block.id, block.due]));
  const sum = runningSum(outline.parts);
  const last = outline.parts.at(-1)?.last ?? 0;
  const layers = [...new Set(blocks.map((block) => block.layer))].sort((one, other) => other - one);
  const bands = [...layers.map(layerName), UNFOLDED];

  const steps = timeline(blocks, ends);
  const standing = new Map<number, number>(layers.map((layer) => [layer, 0]));
  let cursor = 0;
  let next = 0;
  const points: Point[] = [];
  const full: Course["full"] = [];
  const heights = new Map<number, number>();
  let most = 0;
  for (const n of samples(outline.parts, blocks, last)) {
    for (let step = steps[next]; step && step.n <= n; step = steps[++next]) {
      standing.set(step.layer, (standing.get(step.layer) ?? 0) + step.tokens);
      cursor = Math.max(cursor, step.cursor);
    }
    const unfolded = Math.max(0, sum(n) - sum(Math.min(cursor, n)));
    const stack = [...layers.map((layer) => standing.get(layer) ?? 0), unfolded];
    stack.forEach((tokens, place) => {
      points.push({ n, band: bands[place] ?? UNFOLDED, tokens });
    });
    full.push({ n, tokens: sum(n) });
    const height = stack.reduce((one, other) => one + other, 0);
    heights.set(n, height);
    most = Math.max(most, height);
  }
  const folds = [...new Set(blocks.map((block) => block.due))]
    .filter((n) => n <= last)
    .sort((one, other) => one - other)
    .map((n) => ({ n, before: heights.get(n - 1) ?? 0, after: heights.get(n) ?? 0 }));
  return { bands, points, full, folds, most, unknown: known.length - blocks.length };
}

export const layerName = (layer: number): string => `layer ${layer}`;

interface Step {
  n: number;
  layer: number;
  tokens: number;
  cursor: number;
}

/** When each summary came and, if it was folded in turn, went. */
function timeline(blocks: readonly Due[], ends: ReadonlyMap<string, number | null>): Step[] {
  const steps: Step[] = [];
  for (const block of blocks) {
    const moves = block.layer === 1 || block.kind === "rolling";
    steps.push({ n: block.due, layer: block.layer, tokens: block.tokens, cursor: moves ? block.covers.last : 0 });
    const end = block.folded_into === null ? null : (ends.get(block.folded_into) ?? null);
    if (end !== null) {
      steps.push({ n: Math.max(end, block.due), layer: block.layer, tokens: -block.tokens, cursor: 0 });
    }
  }
  return steps.sort((one, other) => one.n - other.n);
}

function samples(parts: readonly Stretch[], blocks: readonly Due[], last: number): number[] {
  const found = new Set(parts.map((part) => part.last));
  for (const block of blocks) found.add(block.due - 1).add(block.due);
  if (last) found.add(1);
  return [...found].filter((n) => n >= 1 && n <= last).sort((one, other) => one - other);
}

/** Tokens of the messages up to a number; those of a part are spread evenly over it. */
function runningSum(parts: readonly Stretch[]): (n: number) => number {
  const before: number[] = [];
  let total = 0;
  for (const part of parts) {
    before.push(total);
    total += part.tokens;
  }
  return (n) => {
    let low = 0;
    let high = parts.length; // the first part that begins after n
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((parts[middle]?.first ?? 0) <= n) low = middle + 1;
      else high = middle;
    }
    const part = parts[low - 1];
    if (!part) return 0;
    const share = Math.min(1, (n - part.first + 1) / (part.last - part.first + 1));
    return (before[low - 1] ?? 0) + share * part.tokens;
  };
}
