import { clock, count, day } from "../../parts/format";
import type { Stretch } from "../../shapes";
import { type Scale, ticks, xOf } from "./layout";

/** Numbers of messages along the foot, with their days once they are known. */
export function Axis({
  scale,
  parts,
  top,
  base,
  narrow,
}: {
  scale: Scale;
  parts: readonly Stretch[] | null;
  top: number;
  base: number;
  narrow: boolean;
}) {
  const first = parts?.[0];
  const last = parts?.at(-1);
  const oneDay = first && last && day(first.began_at) === day(last.ended_at);
  const when = (seq: number): string => {
    const part = parts?.find((one) => one.last >= seq);
    if (!part) return "";
    return oneDay ? clock(part.began_at) : day(part.began_at);
  };
  const right = scale.left + scale.width;
  return (
    <g class="axis">
      <line x1={scale.left} x2={right} y1={base} y2={base} />
      {ticks(scale, narrow ? 84 : 104).map((seq) => {
        const x = xOf(scale, seq - 0.5);
        const anchor = x < scale.left + 30 ? "start" : x > right - 30 ? "end" : "middle";
        const edge = anchor === "start" ? scale.left : anchor === "end" ? right : x;
        return (
          <g key={seq}>
            <line class="grid" x1={x} x2={x} y1={top} y2={base + 4} />
            <text x={edge} y={base + 17} text-anchor={anchor}>
              {count(seq)}
            </text>
            <text class="note" x={edge} y={base + 31} text-anchor={anchor}>
              {when(seq)}
            </text>
          </g>
        );
      })}
    </g>
  );
}
