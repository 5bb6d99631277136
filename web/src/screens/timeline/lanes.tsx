import { useState } from "preact/hooks";
import { times } from "../../parts/format";
import { pressed } from "./blocks";
import type { Scale } from "./layout";
import { type Group, grouped, type Pin, type PinKind } from "./pins";

export const PIN_NAMES: Record<PinKind, string> = { milestone: "Milestones", episode: "Episodes", fact: "Facts" };

/** Pins of one kind over the log, each over its message. */
export function Lane({
  scale,
  kind,
  pins,
  y,
  base,
  point,
  show,
}: {
  scale: Scale;
  kind: PinKind;
  pins: readonly Pin[];
  y: number;
  base: number;
  point: (group: Group | null) => void;
  show: (pin: Pin) => void;
}) {
  const groups = grouped(scale, pins);
  const [at, setAt] = useState(0);
  return (
    <g class={`lane ${kind}`}>
      {groups.map((group, place) => {
        const first = group.pins[0] as Pin;
        const many = group.pins.length > 1;
        const label = many
          ? `${times(group.pins.length, kind)} from message ${first.seq} on`
          : `${kind} at message ${first.seq}`;
        return (
          <g
            key={first.id}
            class={`pin${group.pins.some((pin) => pin.holds) ? "" : " past"}`}
            role="button"
            tabindex={place === Math.min(at, groups.length - 1) ? 0 : -1}
            aria-label={label}
            data-testid="pin"
            data-stop=""
            onFocus={() => {
              setAt(place);
              point(group);
            }}
            onBlur={() => point(null)}
            onPointerEnter={() => point(group)}
            onPointerLeave={() => point(null)}
            onClick={(event) => {
              event.stopPropagation();
              show(first);
            }}
            onKeyDown={pressed(() => show(first))}
          >
            <line x1={group.x} x2={group.x} y1={y} y2={base} />
            {shape(kind, group.x, y, group.pins.length > 9 ? 8.5 : many ? 7.5 : 5)}
            {many ? (
              <text x={group.x} y={y + 3.5}>
                {group.pins.length}
              </text>
            ) : null}
          </g>
        );
      })}
    </g>
  );
}

function shape(kind: PinKind, x: number, y: number, size: number) {
  if (kind === "fact") return <circle cx={x} cy={y} r={size} />;
  if (kind === "episode") {
    const wide = size * 1.25;
    return <path d={`M${x},${y - wide}L${x + wide},${y}L${x},${y + wide}L${x - wide},${y}Z`} />;
  }
  return <path d={`M${x - size},${y - size}H${x + size}V${y + size}H${x - size}Z`} />;
}
