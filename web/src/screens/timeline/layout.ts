/** Where everything of the timeline lies. Pure: numbers in, places out. Message `s` reaches from `s - 1` to `s`. */

import type { Block, Session, Span, Stretch, Summary } from "../../shapes";

/** The part of a session in sight, by the edges of its messages. */
export interface View {
  from: number;
  to: number;
}

export interface Scale {
  view: View;
  left: number;
  width: number;
}

/** One layer: the summaries that lie side by side, and behind them the versions that one took the place of. */
export interface Row {
  layer: number;
  kind: Block["kind"];
  blocks: Block[];
  earlier: Block[];
  lanes: Map<string, number>;
  depth: number; // how many lanes
}

export const MOST_LANES = 8;
const MOST_TAKEN = 200; // beyond, they lie on each other anyway
export const NARROW = 1.5; // pixels below which blocks are drawn together

/** How much shorter than what it covers, in steps that each halve it: 0 is as long, 5 is 1 to 32 or shorter. */
export const STEPS = [1, 2, 4, 8, 16, 32] as const;

export function stepOf(block: Pick<Block, "tokens" | "covered_tokens">): number {
  const times = block.covered_tokens / Math.max(1, block.tokens);
  return Math.max(0, Math.min(STEPS.length - 1, Math.round(Math.log2(Math.max(1, times)))));
}

export const xOf = (scale: Scale, edge: number): number =>
  scale.left + ((edge - scale.view.from) / (scale.view.to - scale.view.from)) * scale.width;

export function edgeAt(scale: Scale, x: number): number {
  const share = Math.max(0, Math.min(1, (x - scale.left) / Math.max(1, scale.width)));
  return scale.view.from + share * (scale.view.to - scale.view.from);
}

export const messageAt = (scale: Scale, x: number, messages: number): number =>
  Math.max(1, Math.min(messages, Math.floor(edgeAt(scale, x)) + 1));

/** The places of a span in sight, or null when it is not. */
export function reach(scale: Scale, span: Span): { x: number; width: number } | null {
  const first = Math.max(span.first - 1, scale.view.from);
  const last = Math.min(span.last, scale.view.to);
  if (last <= first) return null;
  const x = xOf(scale, first);
  return { x, width: xOf(scale, last) - x };
}

/** A live summary as a block, while it is not known yet how many tokens it covers: those of the session, by share. */
export function roughly(summary: Summary, session: Session): Block | null {
  const { covers } = summary;
  if (!covers) return null;
  const each = session.counters.tokens / Math.max(1, session.counters.messages);
  return {
    id: summary.id,
    kind: summary.kind,
    layer: summary.layer,
    version: summary.version,
    covers,
    tokens: summary.tokens,
    covered_tokens: Math.round(each * (covers.last - covers.first + 1)),
    due: null,
    status: summary.status,
    folded_into: summary.folded_into,
    created_at: summary.created_at,
  };
}

/** Summaries that lie in one row: of a layer, or of a kind of which each takes the place of the one before. */
export const rowKey = (one: Pick<Block, "kind" | "layer">): string =>
  one.kind === "layer" ? `layer ${one.layer}` : one.kind;

/** Layers from the top down. What a block of the same row took the place of lies behind it, in lanes. */
export function rowsOf(blocks: readonly Block[]): Row[] {
  const keys = new Map(blocks.map((block) => [block.id, rowKey(block)]));
  const found = new Map<string, Row>();
  for (const block of blocks) {
    const key = rowKey(block);
    let row = found.get(key);
    if (!row) {
      row = { layer: block.layer, kind: block.kind, blocks: [], earlier: [], lanes: new Map(), depth: 0 };
      found.set(key, row);
    }
    row.layer = Math.min(row.layer, block.layer);
    const within = block.folded_into !== null && keys.get(block.folded_into) === key;
    (block.status === "replaced" || within ? row.earlier : row.blocks).push(block);
  }
  const rows = [...found.values()].sort((one, other) => one.layer - other.layer);
  for (const row of rows) {
    row.blocks.sort(byPlace);
    row.earlier.sort(newestFirst);
    row.depth = laid(row);
  }
  return rows;
}

const byPlace = (one: Block, other: Block) =>
  one.covers.first - other.covers.first || one.covers.last - other.covers.last;
const newestFirst = (one: Block, other: Block) =>
  other.version - one.version || other.layer - one.layer || byPlace(one, other);

function laid(row: Row): number {
  const taken: Span[][] = [];
  const wanted = row.earlier.map((block) => {
    const free = taken.findIndex((lane) => lane.every((span) => apart(span, block.covers)));
    const lane = free < 0 ? taken.length : free;
    if (lane === taken.length && lane < MOST_TAKEN) taken.push([]);
    taken[lane]?.push(block.covers);
    return Math.min(lane, MOST_TAKEN - 1);
  });
  const depth = Math.min(MOST_LANES, taken.length);
  row.earlier.forEach((block, place) => {
    row.lanes.set(block.id, Math.floor(((wanted[place] ?? 0) * depth) / Math.max(1, taken.length)));
  });
  return depth;
}

const apart = (one: Span, other: Span) => one.last < other.first || other.last < one.first;

/** The block of a row over this edge; of several, the one that begins last. */
export function blockOver(blocks: readonly Block[], edge: number): Block | null {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle] as Block).covers.first - 1 <= edge) low = middle + 1;
    else high = middle;
  }
  for (let place = low - 1; place >= 0 && place > low - 20; place--) {
    const block = blocks[place] as Block;
    if (edge <= block.covers.last) return block;
  }
  return null;
}

export function earlierOver(row: Row, lane: number, edge: number): Block | null {
  const over = row.earlier.filter(
    (block) => row.lanes.get(block.id) === lane && block.covers.first - 1 <= edge && edge <= block.covers.last,
  );
  return over.reduce<Block | null>((best, one) => (best && size(best) <= size(one) ? best : one), null);
}

const size = (block: Block) => block.covers.last - block.covers.first;

/** The blocks in sight that are wide enough to be drawn alone, and those that are drawn together, by how they look. */
export function inSight(scale: Scale, blocks: readonly Block[]): { alone: Block[]; together: Map<string, Block[]> } {
  const alone: Block[] = [];
  const together = new Map<string, Block[]>();
  for (const block of blocks) {
    const place = reach(scale, block.covers);
    if (!place) continue;
    if (place.width >= NARROW) alone.push(block);
    else {
      const look = `${block.status === "live" ? "live" : "folded"} step-${stepOf(block)}`;
      const like = together.get(look);
      if (like) like.push(block);
      else together.set(look, [block]);
    }
  }
  return { alone, together };
}

/** One path for many blocks; what touches is one rectangle. */
export function joinedPath(scale: Scale, blocks: readonly Block[], y: number, height: number): string {
  const parts: string[] = [];
  let start = Number.NaN;
  let end = Number.NaN;
  const close = () => {
    if (!Number.isNaN(start)) {
      parts.push(
        `M${start.toFixed(1)},${y}H${Math.max(end, start + 0.6).toFixed(1)}V${y + height}H${start.toFixed(1)}Z`,
      );
    }
  };
  for (const block of blocks) {
    const place = reach(scale, block.covers);
    if (!place) continue;
    if (place.x <= end + 0.5) end = Math.max(end, place.x + place.width);
    else {
      close();
      start = place.x;
      end = place.x + place.width;
    }
  }
  close();
  return parts.join("");
}

/** The log as a profile: at each stretch as high as its messages are long, within these spans. */
export function profile(
  scale: Scale,
  parts: readonly Stretch[],
  within: readonly Span[],
  base: number,
  height: number,
) {
  const tallest = Math.max(1, ...parts.map(density));
  const path: string[] = [];
  for (const span of within) {
    for (const part of parts) {
      const place = reach(scale, { first: Math.max(part.first, span.first), last: Math.min(part.last, span.last) });
      if (!place) continue;
      const y = base - Math.max(2, height * Math.sqrt(density(part) / tallest));
      const right = place.x + place.width;
      path.push(`M${place.x.toFixed(1)},${base}V${y.toFixed(1)}H${right.toFixed(1)}V${base}Z`);
    }
  }
  return path.join("");
}

export const density = (part: Stretch): number => part.tokens / Math.max(1, part.last - part.first + 1);

/** The message at which a turn begins, as near as the stretches tell. */
export function messageOf(turn: number, parts: readonly Stretch[]): number {
  let before = -1;
  for (const part of parts) {
    if (part.turn >= turn) {
      const turns = Math.max(1, part.turn - before);
      const share = Math.max(0, turn - before - 1) / turns;
      return Math.min(part.last, Math.round(part.first + share * (part.last - part.first + 1)));
    }
    before = part.turn;
  }
  return parts.at(-1)?.last ?? 1;
}

/** Numbers to write along the axis: round ones, not closer than so many pixels. */
export function ticks(scale: Scale, apartBy: number): number[] {
  const { from, to } = scale.view;
  const least = ((to - from) * apartBy) / Math.max(1, scale.width);
  let step = 1;
  for (let power = 1; step < least; power *= 10) {
    for (const one of [1, 2, 5, 10]) {
      step = one * power;
      if (step >= least) break;
    }
  }
  const found: number[] = [];
  for (let one = Math.max(step === 1 ? 1 : step, Math.ceil((from + 1) / step) * step); one <= to; one += step) {
    found.push(one);
  }
  if (from < 1 && found[0] !== 1 && ((found[0] ?? to) - 1) / (to - from) > (apartBy * 1.2) / Math.max(1, scale.width)) {
    found.unshift(1);
  }
  return found;
}

/** A view around a place, `by` times as wide, within the session. */
export function zoomed(view: View, by: number, around: number, messages: number): View {
  const width = Math.min(messages, Math.max(Math.min(4, messages), (view.to - view.from) * by));
  const share = (around - view.from) / (view.to - view.from);
  return moved({ from: around - share * width, to: around + (1 - share) * width }, 0, messages);
}

export function moved(view: View, by: number, messages: number): View {
  const width = view.to - view.from;
  const from = Math.max(0, Math.min(messages - width, view.from + by));
  return { from, to: from + width };
}
