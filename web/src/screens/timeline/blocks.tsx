import { useState } from "preact/hooks";
import type { Block } from "../../shapes";
import { THIN } from "./heights";
import { inSight, joinedPath, type Row, reach, type Scale, stepOf } from "./layout";
import { shorter, told } from "./names";

export interface Blocks {
  scale: Scale;
  row: Row;
  y: number;
  height: number;
  thin: number;
  kin: ReadonlySet<string>;
  point: (block: Block | null) => void;
  open: (id: string) => void;
}

/** One layer: its blocks, each a button; those too narrow to be seen alone as one path. */
export function Layer({ scale, row, y, height, thin, kin, point, open }: Blocks) {
  const { alone, together } = inSight(scale, row.blocks);
  const earlier = inSight(scale, row.earlier);
  const stops = [...alone, ...earlier.alone];
  const [at, setAt] = useState<string | null>(null);
  const current = stops.some((block) => block.id === at) ? at : stops[0]?.id;
  const button = (block: Block) => ({
    role: "button" as const,
    tabindex: block.id === current ? 0 : -1,
    "aria-label": told(block),
    "data-testid": "block",
    "data-id": block.id,
    "data-stop": "",
    onFocus: () => {
      setAt(block.id);
      point(block);
    },
    onBlur: () => point(null),
    onClick: (event: MouseEvent) => {
      event.stopPropagation();
      open(block.id);
    },
    onKeyDown: pressed(() => open(block.id)),
  });
  return (
    <g class="layer">
      {[...together].map(([look, blocks]) => (
        <path key={look} class={`block ${look}`} d={joinedPath(scale, blocks, y, height)} />
      ))}
      {alone.map((block) => {
        const place = reach(scale, block.covers);
        if (!place) return null;
        const look = block.status === "live" ? "live" : "folded";
        const width = Math.max(1, place.width - (place.width > 6 ? 1.5 : 0.4));
        return (
          <g
            key={block.id}
            class={`block ${look} step-${stepOf(block)}${kin.has(block.id) ? " kin" : ""}`}
            {...button(block)}
          >
            <rect x={place.x} y={y} width={width} height={height} rx={Math.min(3, width / 3)} />
            {width > 44 ? (
              <text x={place.x + width / 2} y={y + height / 2 + (width > 84 ? -3 : 4)}>
                {shorter(block)}
              </text>
            ) : null}
            {width > 84 ? (
              <text class="small" x={place.x + width / 2} y={y + height / 2 + 12}>
                {block.tokens} tokens
              </text>
            ) : null}
          </g>
        );
      })}
      {[...earlier.together].map(([look, blocks]) => (
        <path key={look} class={`earlier ${look}`} d={joinedPath(scale, blocks, thin, THIN - 2)} />
      ))}
      {earlier.alone.map((block) => {
        const place = reach(scale, block.covers);
        return place ? (
          <rect
            key={block.id}
            class={`earlier step-${stepOf(block)}${kin.has(block.id) ? " kin" : ""}`}
            x={place.x}
            y={thin + (row.lanes.get(block.id) ?? 0) * THIN}
            width={Math.max(1, place.width - 1)}
            height={THIN - 2}
            rx={1.5}
            {...button(block)}
          />
        ) : null;
      })}
    </g>
  );
}

/** Enter and space do what a click does; left and right go along the row, which is one stop of the tab key. */
export function pressed(work: () => void): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      work();
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
    if (step === undefined || event.shiftKey) return;
    event.preventDefault();
    const here = event.currentTarget as SVGElement;
    const stops = [...(here.parentElement?.querySelectorAll<SVGElement>("[data-stop]") ?? [])];
    stops[Math.max(0, Math.min(stops.length - 1, stops.indexOf(here) + step))]?.focus();
  };
}
