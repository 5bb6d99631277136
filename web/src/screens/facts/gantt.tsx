import { Fragment } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { day, dayAt, percent } from "../../parts/format";
import { statusName, valueLine } from "../../parts/names";
import { Empty } from "../../parts/panel";
import { useWidth } from "../../parts/width";
import { Line } from "../../parts/words";
import type { Fact } from "../../shapes";
import { Slider } from "./asof";
import { type Bar, inSight, isPoint, LANE, type Row, ticks, type Window } from "./rows";
import { STATUSES } from "./signs";
import { arrow, asideOf, type Place, roomBeside, taken, zigzag } from "./ties";

const BEYOND = 200; // pixels that are drawn above and below what is in sight
const EDGE = 16; // pixels at the right, for the tips of what has no end
const LEAST = 14; // pixels of a bar
const POINT = 8; // pixels, half of what bears out another
const TIPPED = 24; // pixels from which on a bar without an end has a tip
const ROOMY = 34; // pixels from which on a bar has words
const WIDEST = 260; // pixels of words that a bar is asked to have room for
const SIGN = 6; // pixels of a letter, about
const WORDY = 60; // pixels from which on words stand beside a bar
const GAP = 5; // pixels between a bar and words beside it
const MONTHS = 90 * 86_400_000;

export const labels = (width: number): number => (width < 600 ? 104 : 190);

/** What held when: a row for each key, a bar for each value; only the rows in sight are drawn. */
export function Gantt({
  rows,
  window,
  then,
  choose,
  open,
}: {
  rows: readonly Row[];
  window: Window;
  then: number | null;
  choose: (time: number | null) => void;
  open: (fact: Fact) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const width = useWidth(inner);
  const [top, setTop] = useState(0);
  const [sight, setSight] = useState(560);
  const [focused, setFocused] = useState<string | null>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const seen = new ResizeObserver(() => setSight(element.clientHeight));
    seen.observe(element);
    return () => seen.disconnect();
  }, []);

  const left = labels(width);
  const room = Math.max(40, width - left - EDGE);
  const across = (time: number) => left + ((time - window.from) / Math.max(1, window.to - window.from)) * room;
  const last = rows.at(-1);
  const height = last ? last.top + last.height : 0;
  const { first, last: beyond } = inSight(rows, top - BEYOND, top + sight + BEYOND);
  const shown = rows.filter((row, place) => (place >= first && place < beyond) || row.id === focused);
  const marks = useMemo(() => ticks(window, Math.max(2, Math.floor(room / 80))), [window.from, window.to, room]);
  const long = window.to - window.from > MONTHS;
  return (
    <div
      class="gantt"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label="Validity of facts over time"
      data-testid="gantt"
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="times" ref={inner}>
        <Slider window={window} then={then} choose={choose} label={left} room={room} />
        {marks.map((time) => (
          <span key={time} aria-hidden="true" style={{ left: `${across(time)}px` }}>
            {dayAt(time).slice(0, long ? 7 : 10)}
          </span>
        ))}
      </div>
      <div class="tall" style={{ minHeight: `${height}px` }}>
        {marks.map((time) => (
          <i class="tick" key={time} style={{ left: `${across(time)}px` }} />
        ))}
        {shown.map((row) => (
          <GanttRow
            key={row.id}
            row={row}
            across={across}
            window={window}
            label={left}
            open={open}
            focus={setFocused}
            width={width}
          />
        ))}
        {rows.length ? null : <Empty>No fact matches. Remove a filter.</Empty>}
        {then === null ? null : <i class="then" data-testid="then" style={{ left: `${across(then)}px` }} />}
      </div>
    </div>
  );
}

function GanttRow({
  row,
  across,
  window,
  label,
  open,
  focus,
  width,
}: {
  row: Row;
  across: (time: number) => number;
  window: Window;
  label: number;
  open: (fact: Fact) => void;
  focus: (row: string | null) => void;
  width: number;
}) {
  const points = row.bars.filter(isPoint);
  const wanted = points.map((bar) => across(Math.min(bar.from, window.to)));
  const aside = asideOf(wanted, POINT * 2 + 2, label + POINT, width - POINT);
  const place = (bar: Bar): Place => {
    const half = isPoint(bar) ? POINT : (12 + 10 * bar.fact.confidence) / 2;
    const middle = 6 + bar.lane * LANE + LANE / 2;
    if (isPoint(bar)) {
      const at = aside[points.indexOf(bar)] ?? label;
      return { left: at - POINT, right: at + POINT, middle, half };
    }
    const left = Math.max(label, across(Math.min(bar.from, window.to)));
    return { left, right: Math.max(across(Math.min(bar.to, window.to)), left + LEAST), middle, half };
  };
  const rivals = row.ties.filter((tie) => tie.kind === "conflicted");
  return (
    <div
      class="row"
      data-testid="gantt-row"
      style={{ top: `${row.top}px`, height: `${row.height}px` }}
      onFocusIn={() => focus(row.id)}
      onFocusOut={() => focus(null)}
    >
      <div class="name" style={{ width: `${label - 8}px` }}>
        <Line text={row.name} most={60} />
        <small>
          <Line text={row.category} most={40} />
        </small>
      </div>
      <svg class="ties" width={width} height={row.height} aria-hidden="true">
        {row.ties.map((tie) => {
          const [from, to] = [place(tie.from), place(tie.to)];
          const { line, head } = tie.kind === "superseded" ? arrow(from, to) : zigzag(from, to, rivals.indexOf(tie));
          return (
            <g key={tie.from.fact.id} class={tie.kind}>
              <path d={line} />
              {head ? <path class="head" d={head} /> : null}
            </g>
          );
        })}
      </svg>
      {row.bars.map((bar) => {
        const [own, beside] = [place(bar), besideOf(row, bar, place, label, width)];
        return (
          <Fragment key={bar.fact.id}>
            {beside ? (
              <span class="bar-words" aria-hidden="true" style={{ ...beside, top: `${own.middle - LANE / 2}px` }}>
                <Line text={valueLine(bar.fact)} most={80} />
              </span>
            ) : null}
            <BarButton
              bar={bar}
              place={own}
              early={bar.from < window.from}
              free={taken(rivals.length)}
              wordless={beside !== null}
              open={open}
            />
          </Fragment>
        );
      })}
    </div>
  );
}

interface Beside {
  right?: string;
  left?: string;
  maxWidth: string;
}

/** Where the words of a bar stand that has no room for them: beside it, if there is more; else null. */
function besideOf(row: Row, bar: Bar, place: (bar: Bar) => Place, from: number, to: number): Beside | null {
  const own = place(bar);
  const inside = own.right - own.left;
  const tied = row.ties.some((tie) => tie.from === bar || tie.to === bar);
  const wanted = Math.min(WIDEST, valueLine(bar.fact).length * SIGN + ROOMY);
  if (tied || isPoint(bar) || inside >= wanted) return null;
  const { left, right } = roomBeside(own, row.bars.filter((one) => one !== bar && one.lane === bar.lane).map(place));
  const [before, after] = [own.left - Math.max(from, left) - GAP * 2, Math.min(to, right) - own.right - GAP * 2];
  const room = Math.max(before, after);
  if (room < Math.max(WORDY, inside)) return null;
  const side = before > after ? { right: `${to - own.left + GAP}px` } : { left: `${own.right + GAP}px` };
  return { ...side, maxWidth: `${room}px` };
}

function BarButton({
  bar,
  place,
  early,
  free,
  wordless,
  open,
}: {
  bar: Bar;
  place: Place;
  early: boolean;
  wordless: boolean; // its words stand beside it
  free: number; // pixels at its right end that words leave alone, where there is room
  open: (fact: Fact) => void;
}) {
  const { fact } = bar;
  const width = place.right - place.left;
  const goesOn = bar.open && fact.status !== "retracted" && width >= TIPPED;
  const looks = ["bar", fact.status, goesOn ? "open" : "", early ? "early" : "", width < ROOMY ? "narrow" : ""]
    .filter(Boolean)
    .join(" ");
  const until = fact.valid_until === null ? "until now" : `until ${day(fact.valid_until)}`;
  return (
    <button
      type="button"
      class={looks}
      data-testid="bar"
      data-fact={fact.id}
      style={{
        left: `${place.left}px`,
        top: `${place.middle - place.half}px`,
        width: `${width}px`,
        height: `${place.half * 2}px`,
        "--sure": String(fact.confidence),
        paddingInlineEnd: free && width > free * 2 ? `${free}px` : undefined,
      }}
      onClick={() => open(fact)}
    >
      <span aria-hidden="true" class="sign">
        {STATUSES[fact.status].sign}
      </span>
      <span class={width >= ROOMY && !wordless ? "" : "hidden-label"}>
        <Line text={valueLine(fact)} most={80} />
      </span>
      <span class="hidden-label">
        , {statusName(fact.status)}, from {day(fact.valid_from)} {until}, confidence {percent(fact.confidence)}
      </span>
    </button>
  );
}
