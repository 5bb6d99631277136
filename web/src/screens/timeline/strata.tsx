import { useEffect, useRef, useState } from "preact/hooks";
import { count, spanned } from "../../parts/format";
import { useWidth } from "../../parts/width";
import type { Block, Coverage, Outline, Session, Summary } from "../../shapes";
import { Axis } from "./axis";
import { Layer, pressed } from "./blocks";
import { BlockCard, PinCard } from "./card";
import { heights, THIN } from "./heights";
import { Lane, PIN_NAMES } from "./lanes";
import { blockOver, earlierOver, edgeAt, messageAt, type Row, rowKey, type Scale, type View, xOf } from "./layout";
import { Log } from "./log";
import { layerName } from "./names";
import type { Group, Pin, PinKind } from "./pins";

interface Given {
  session: Session;
  rows: Row[];
  outline: Outline | null;
  coverage: Coverage | null;
  pins: readonly Pin[];
  digest: Summary | null;
  view: View;
  look: (view: View) => void;
  shown: number | undefined;
  show: (pin: { seq: number; message: string | null }) => void;
  open: (id: string) => void;
  textOf: (id: string) => string | null;
  want: () => void;
  drawn: () => void;
}

/** The session as strata: the log on top, below it what it was folded into, layer by layer. */
export function Strata(given: Given) {
  const { session, rows, outline, coverage, pins, digest, view, look, shown, show, open, textOf, want } = given;
  const box = useRef<HTMLDivElement>(null);
  const drawing = useRef<SVGSVGElement>(null);
  const now = useWidth(box);
  const known = useRef(0);
  if (now) known.current = now; // a page that is hidden for a moment has no width
  const wide = known.current;
  const [pointed, setPointed] = useState<Block | null>(null);
  const [pinned, setPinned] = useState<Group | null>(null);
  const { messages, cursor } = session.counters;
  // lanes for episodes and facts are there from the first drawing on, so that nothing moves when they come
  const kinds: PinKind[] = pins.some((pin) => pin.kind === "milestone")
    ? ["milestone", "episode", "fact"]
    : ["episode", "fact"];
  const place = heights(Math.max(wide, 200), rows, kinds, digest !== null);
  const scale: Scale = { view, left: place.left, width: place.width };

  const drawn = wide > 0;
  useEffect(() => {
    if (!drawn) return;
    performance.mark("strata-drawn");
    given.drawn();
  }, [drawn]);

  const missing = pointed !== null && textOf(pointed.id) === null;
  useEffect(() => {
    if (missing) want();
  }, [missing]);

  const over = (event: MouseEvent): Block | null => {
    const from = drawing.current?.getBoundingClientRect();
    if (!from) return null;
    const x = event.clientX - from.left;
    const y = event.clientY - from.top;
    if (x < place.left) return null;
    for (const [number, band] of place.rows.entries()) {
      const row = rows[number] as Row;
      if (y >= band.y && y < band.y + band.height) return blockOver(row.blocks, edgeAt(scale, x));
      const lane = Math.floor((y - band.thin) / THIN);
      if (lane >= 0 && lane < row.depth) return earlierOver(row, lane, edgeAt(scale, x));
    }
    return null;
  };
  const kin = new Set<string>();
  if (pointed) {
    if (pointed.folded_into) kin.add(pointed.folded_into);
    for (const row of rows) {
      for (const block of [...row.blocks, ...row.earlier]) if (block.folded_into === pointed.id) kin.add(block.id);
    }
    kin.add(pointed.id);
  }
  const line = cursor > 0 ? xOf(scale, cursor) : Number.NaN;
  const label = `folded up to ${count(cursor)}`;

  return (
    <div class="strata" ref={box}>
      {wide ? (
        <svg
          ref={drawing}
          width={wide}
          height={place.total}
          viewBox={`0 0 ${wide} ${place.total}`}
          role="group"
          aria-label={`The session as strata, ${spanned({ first: Math.floor(view.from) + 1, last: Math.ceil(view.to) })} in sight`}
          data-testid="strata"
          data-drawn="yes"
          onPointerMove={(event) => {
            if (event.pointerType !== "touch") setPointed(over(event));
          }}
          onPointerLeave={() => setPointed(null)}
          onClick={(event) => {
            const found = over(event);
            if (found) open(found.id);
          }}
          onKeyDown={(event) => {
            if (event.key !== "Escape") return;
            setPointed(null);
            setPinned(null);
          }}
          onDblClick={() => look({ from: 0, to: messages })}
        >
          <Patterns clip={{ x: place.left, width: place.width, height: place.total }} />
          <Axis
            scale={scale}
            parts={outline?.parts ?? null}
            top={place.raw.y}
            base={place.axis}
            narrow={place.narrow}
          />
          {place.pins.map(({ kind, y }) => (
            <RowLabel key={kind} narrow={place.narrow} y={y - 9} height={18} text={PIN_NAMES[kind]} />
          ))}
          <RowLabel
            narrow={place.narrow}
            y={place.raw.y}
            height={place.raw.height}
            text="Log"
            note="tokens a message"
          />
          {rows.map((row, number) => {
            const band = place.rows[number];
            if (!band) return null;
            const tokens = row.blocks.filter((block) => block.status === "live").length;
            const note = `${count(tokens)} live of ${count(row.blocks.length + row.earlier.length)}`;
            return (
              <g key={rowKey(row)}>
                <rect class="bed" x={place.left} y={band.y} width={place.width} height={band.height} rx={3} />
                <RowLabel
                  narrow={place.narrow}
                  y={band.y}
                  height={band.height}
                  text={layerName(row.kind, row.layer)}
                  note={note}
                />
                <g clip-path="url(#strata-sight)">
                  <Layer scale={scale} row={row} {...band} kin={kin} point={setPointed} open={open} />
                </g>
              </g>
            );
          })}
          <Log
            scale={scale}
            messages={messages}
            parts={outline?.parts ?? null}
            forgotten={outline?.forgotten ?? []}
            coverage={coverage}
            raw={place.raw}
            strip={place.strip}
            shown={shown}
            show={(seq) => show({ seq, message: null })}
            look={look}
            messageAt={(x) => messageAt(scale, x, messages)}
          />
          {place.pins.map(({ kind, y }) => (
            <Lane
              key={kind}
              scale={scale}
              kind={kind}
              pins={pins.filter((pin) => pin.kind === kind)}
              y={y}
              base={place.raw.y}
              point={setPinned}
              show={show}
            />
          ))}
          {digest && place.digest ? (
            <g
              class="digest"
              role="button"
              tabindex={0}
              aria-label={`Digest over sessions, ${digest.tokens} tokens`}
              data-testid="digest"
              onClick={(event) => {
                event.stopPropagation();
                open(digest.id);
              }}
              onKeyDown={pressed(() => open(digest.id))}
            >
              <RowLabel narrow={place.narrow} y={place.digest.y} height={24} text="Digest" />
              <rect x={place.left} y={place.digest.y} width={place.width} height={24} rx={3} />
              <text x={place.left + place.width / 2} y={place.digest.y + 16}>
                {place.narrow ? "over the last sessions" : "shown at the start of the next session"} · {digest.tokens}{" "}
                tokens
              </text>
            </g>
          ) : null}
          {line >= place.left && line <= place.left + place.width ? (
            <g class="cursor" data-testid="cursor">
              <line x1={line} x2={line} y1={16} y2={place.axis} />
              <text x={line} y={11} text-anchor={line > wide / 2 ? "end" : "start"}>
                {label}
              </text>
            </g>
          ) : null}
        </svg>
      ) : null}
      {pointed ? (
        <BlockCard
          block={pointed}
          text={textOf(pointed.id)}
          x={xOf(scale, (Math.max(pointed.covers.first - 1, view.from) + Math.min(pointed.covers.last, view.to)) / 2)}
          y={place.axis + 3}
          wide={wide}
        />
      ) : pinned ? (
        <PinCard group={pinned} y={place.raw.y + 6} wide={wide} />
      ) : null}
    </div>
  );
}

function RowLabel(label: { narrow: boolean; y: number; height: number; text: string; note?: string }) {
  const { narrow, y, height, text, note } = label;
  return narrow ? (
    <text class="name" x={1} y={y - 5}>
      {text}
      {note ? <tspan class="note"> · {note}</tspan> : null}
    </text>
  ) : (
    <text class="name" x={0} y={y + height / 2 + (note ? -3 : 4)}>
      {text}
      {note ? (
        <tspan class="note" x={0} dy={15}>
          {note}
        </tspan>
      ) : null}
    </text>
  );
}

function Patterns({ clip }: { clip: { x: number; width: number; height: number } }) {
  return (
    <defs>
      <clipPath id="strata-sight">
        <rect y={0} {...clip} />
      </clipPath>
      <pattern id="strata-redacted" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="under" width="6" height="6" />
        <line class="stroke" x1="0" y1="0" x2="0" y2="6" />
      </pattern>
      <pattern id="strata-blind" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
        <rect class="danger" width="6" height="6" />
        <line class="over" x1="0" y1="0" x2="0" y2="6" />
      </pattern>
    </defs>
  );
}
