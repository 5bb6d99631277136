import { useRef, useState } from "preact/hooks";
import { spanned } from "../../parts/format";
import type { Coverage, Span, Stretch } from "../../shapes";
import type { Band } from "./heights";
import { edgeAt, profile, reach, type Scale, type View, xOf } from "./layout";

const STILL = 5; // pixels that a click may move

const WAYS = [
  ["summarised", "Seen as a summary"],
  ["left_out", "Left out: did not fit"],
  ["verbatim", "Seen word for word"],
  ["blind", "Not visible"],
] as const;

/** The log itself: as high as its messages are long; a click shows a message, a drag looks closer. */
export function Log({
  scale,
  messages,
  parts,
  forgotten,
  coverage,
  raw,
  strip,
  shown,
  show,
  look,
  messageAt,
}: {
  scale: Scale;
  messages: number;
  parts: readonly Stretch[] | null;
  forgotten: readonly Span[];
  coverage: Coverage | null;
  raw: Band;
  strip: Band;
  shown: number | undefined;
  show: (seq: number) => void;
  look: (view: View) => void;
  messageAt: (x: number) => number;
}) {
  const own = useRef<SVGGElement>(null);
  const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
  const base = raw.y + raw.height;
  const place = (event: PointerEvent): number =>
    event.clientX - (own.current?.ownerSVGElement?.getBoundingClientRect().left ?? 0);
  const all = [{ first: 1, last: messages }];
  const known = parts ?? [];
  const here = shown ?? Math.floor(scale.view.from) + 1;
  const wide = Math.max(1, Math.round((scale.view.to - scale.view.from) / 10));
  return (
    <g
      class="log"
      ref={own}
      role="slider"
      tabindex={0}
      aria-label="Message shown below"
      aria-valuemin={1}
      aria-valuemax={messages}
      aria-valuenow={here}
      aria-valuetext={`message ${here} of ${messages}`}
      data-testid="raw"
      onKeyDown={(event) => {
        const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: wide, PageDown: -wide, Home: -messages, End: messages }[
          event.key
        ];
        if (step === undefined || event.shiftKey) return;
        event.preventDefault();
        show(Math.max(1, Math.min(messages, here + step)));
      }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setBrush({ from: place(event), to: place(event) });
      }}
      onPointerMove={(event) => {
        if (brush) setBrush({ ...brush, to: place(event) });
      }}
      onPointerCancel={() => setBrush(null)}
      onPointerUp={(event) => {
        if (!brush) return;
        setBrush(null);
        const to = place(event);
        if (Math.abs(to - brush.from) < STILL) show(messageAt(to));
        else {
          const [one, other] = [edgeAt(scale, brush.from), edgeAt(scale, to)].sort((a, b) => a - b) as [number, number];
          const least = Math.min(4, messages);
          const from = Math.min(Math.floor(one), messages - least);
          look({ from, to: Math.max(Math.ceil(other), from + least) });
        }
      }}
    >
      <rect class="bed" x={scale.left} y={raw.y} width={scale.width} height={raw.height} rx={3} />
      <g clip-path="url(#strata-sight)">
        {parts ? (
          <path class="profile" d={profile(scale, known, all, base, raw.height - 6)} />
        ) : (
          <rect
            class="profile rough"
            x={scale.left}
            y={base - raw.height / 2}
            width={scale.width}
            height={raw.height / 2}
          />
        )}
        {coverage?.verbatim.map((span) => {
          const found = reach(scale, span);
          return found ? (
            <rect key={span.first} class="window" y={raw.y} height={raw.height} {...found} data-testid="verbatim" />
          ) : null;
        })}
        {coverage ? (
          <>
            <path class="profile verbatim" d={profile(scale, known, coverage.verbatim, base, raw.height - 6)} />
            <path class="profile blind" d={profile(scale, known, coverage.blind, base, raw.height - 6)} />
          </>
        ) : null}
        {forgotten.map((span) => {
          const found = reach(scale, span);
          return found ? (
            <rect
              key={span.first}
              class="redacted"
              x={found.x - Math.max(0, 4 - found.width) / 2}
              y={raw.y}
              width={Math.max(4, found.width)}
              height={raw.height}
              data-testid="redacted"
            />
          ) : null;
        })}
        {WAYS.map(([way, name]) =>
          coverage?.[way].map((span) => {
            const found = reach(scale, span);
            return found ? (
              <rect
                key={`${way}${span.first}`}
                class={`way ${way}`}
                y={strip.y}
                height={strip.height}
                x={found.x}
                width={Math.max(1.5, found.width)}
                data-testid={way}
              >
                <title>
                  {name}: {spanned(span)}
                </title>
              </rect>
            ) : null;
          }),
        )}
        {shown ? (
          <path
            class="shown"
            d={`M${xOf(scale, shown - 0.5)},${raw.y}v${raw.height + strip.height + 3}m-5,7l5,-7l5,7z`}
          />
        ) : null}
        {brush ? (
          <rect
            class="brush"
            x={Math.min(brush.from, brush.to)}
            y={raw.y}
            width={Math.abs(brush.to - brush.from)}
            height={raw.height}
          />
        ) : null}
      </g>
    </g>
  );
}
