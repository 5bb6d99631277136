/** The lines between bars: an arrow from a value to the one that took its place, a zig-zag between two that disagree. */

export interface Place {
  left: number;
  right: number;
  middle: number; // height of its middle
  half: number; // of its height
}

export interface Line {
  line: string;
  head: string | null;
}

/** Places of marks along a line, each at least `gap` from the one before as far as there is room. */
export function asideOf(wanted: readonly number[], gap: number, from: number, to: number): number[] {
  const step = Math.min(gap, (to - from) / Math.max(1, wanted.length - 1));
  const places: number[] = [];
  for (const place of wanted) places.push(Math.max(place, from, (places.at(-1) ?? Number.NEGATIVE_INFINITY) + step));
  for (let number = places.length - 1, most = to; number >= 0; number--, most -= step) {
    places[number] = Math.min(places[number] ?? most, most);
  }
  return places;
}

const CLOSE = 18; // pixels; bars nearer than this get an arc over their seam
const REACH = 7;
const HEAD = 4;
const STEP = 4;
const TIP = 10; // of a bar without an end
const BESIDE = 14; // from one zig-zag to the next
const END = 3; // of its round ends

export function arrow(from: Place, to: Place): Line {
  if (from.middle === to.middle && Math.abs(to.left - from.right) < CLOSE) {
    const start = from.right - Math.min(REACH, (from.right - from.left) / 2);
    const end = to.left + Math.min(REACH, (to.right - to.left) / 2);
    const high = Math.min(from.middle - from.half, to.middle - to.half);
    const low = to.middle - to.half;
    return {
      line: `M${start},${from.middle - from.half} C${start},${high - 7} ${end},${high - 7} ${end},${low - 2}`,
      head: `M${end - HEAD},${low - HEAD} L${end + HEAD},${low - HEAD} L${end},${low + 1} Z`,
    };
  }
  if (to.left >= from.right + HEAD) {
    const turn = (from.right + to.left) / 2;
    return {
      line: `M${from.right},${from.middle} C${turn},${from.middle} ${turn},${to.middle} ${to.left - HEAD},${to.middle}`,
      head: `M${to.left - HEAD - 2},${to.middle - HEAD} L${to.left},${to.middle} L${to.left - HEAD - 2},${to.middle + HEAD} Z`,
    };
  }
  const down = to.middle > from.middle ? 1 : -1;
  const end = to.left + Math.min(REACH, (to.right - to.left) / 2);
  const edge = to.middle - down * to.half;
  return {
    line: `M${from.right},${from.middle} C${from.right + REACH},${from.middle} ${end},${edge - down * 8} ${end},${edge - down * 2}`,
    head: `M${end - HEAD},${edge - down * HEAD} L${end + HEAD},${edge - down * HEAD} L${end},${edge + down} Z`,
  };
}

/** Near the right end, where bars seldom have words; `number`: how many there are already. */
export function zigzag(from: Place, to: Place, number: number): Line {
  const left = Math.max(from.left, to.left) + STEP;
  const right = Math.min(from.right, to.right) - STEP;
  const place = right < left ? (left + right) / 2 : Math.max((left + right) / 2, right - TIP - number * BESIDE);
  const parts = Math.max(3, Math.round(Math.abs(to.middle - from.middle) / STEP));
  const points = Array.from({ length: parts + 1 }, (_, part) => {
    const aside = part === 0 || part === parts ? 0 : part % 2 ? STEP : -STEP;
    return `${place + aside},${from.middle + ((to.middle - from.middle) * part) / parts}`;
  });
  const end = (middle: number) =>
    `M${place - END},${middle} a${END},${END} 0 1,0 ${END * 2},0 a${END},${END} 0 1,0 ${-END * 2},0 Z`;
  return { line: `M${points.join(" L")}`, head: `${end(from.middle)} ${end(to.middle)}` };
}

/** The pixels at the right end of a row's bars that its zig-zags take. */
export const taken = (zigzags: number): number => (zigzags ? TIP + STEP * 2 + zigzags * BESIDE : 0);

/** From where to where nothing else lies at the height of a bar. */
export function roomBeside(own: Place, others: readonly Place[]): { left: number; right: number } {
  return {
    left: Math.max(0, ...others.map((one) => one.right).filter((right) => right <= own.left)),
    right: Math.min(Number.POSITIVE_INFINITY, ...others.map((one) => one.left).filter((left) => left >= own.right)),
  };
}
