/** The rows of the timeline from the top down, in pixels. */

import type { Row } from "./layout";
import type { PinKind } from "./pins";

const LANE = 20; // of pins
const RAW = 76;
const STRIP = 7;
const BLOCK = 42;
export const THIN = 6; // of an earlier version
const AXIS = 36;
const LABEL = 17; // over a row, where there is no room at its side

export interface Band {
  y: number;
  height: number;
}

export interface Heights {
  left: number;
  width: number;
  narrow: boolean;
  pins: { kind: PinKind; y: number }[];
  raw: Band;
  strip: Band;
  rows: (Band & { thin: number })[];
  digest: Band | null;
  axis: number;
  total: number;
}

export function heights(wide: number, rows: readonly Row[], kinds: readonly PinKind[], digest: boolean): Heights {
  const narrow = wide < 640;
  const label = narrow ? LABEL : 0;
  const left = narrow ? 1 : 112;
  let y = 22;
  const pins = kinds.map((kind) => {
    y += label + LANE;
    return { kind, y: y - LANE / 2 };
  });
  y += label + 6;
  const raw = { y, height: RAW };
  y += RAW + 3;
  const strip = { y, height: STRIP };
  y += STRIP + 12;
  const layers = rows.map((row) => {
    y += label;
    const band = { y, height: BLOCK, thin: y + BLOCK + 2 };
    y += BLOCK + (row.depth ? row.depth * THIN + 4 : 0) + 5;
    return band;
  });
  let last: Band | null = null;
  if (digest) {
    y += label;
    last = { y, height: 24 };
    y += 29;
  }
  y += 4;
  return {
    left,
    width: wide - left - 1,
    narrow,
    pins,
    raw,
    strip,
    rows: layers,
    digest: last,
    axis: y,
    total: y + AXIS,
  };
}
