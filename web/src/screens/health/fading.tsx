import { useMemo, useRef, useState } from "preact/hooks";
import { all, MOST_KNOWN, at as to } from "../../api";
import { useLoad } from "../../load";
import { ago, count, times } from "../../parts/format";
import { Empty, Notice, Panel, Waiting } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { More } from "../../parts/tasks";
import { Term } from "../../parts/term";
import { useWidth } from "../../parts/width";
import { Line } from "../../parts/words";
import type { Fading } from "../../shapes";
import { apart, type Fate, fate, limit } from "./series";

const MOST = 2000; // points that are drawn
const ROWS = 100; // of the table, at first
const HEIGHT = 320;
const EDGE = { left: 40, right: 64, top: 12, bottom: 36 };
const POINT = 6; // pixels, half of a point
const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
const TOLD: Record<Fate, string> = {
  fresh: "stays, as it is above the line",
  kept: "kept, whatever its freshness",
  archived: "would be archived",
};

/** Which memories of a user fade, and which the next consolidation would put away. */
export function FadingPanel({ user, round }: { user: string | null; round: number }) {
  const found = useLoad(
    user === null ? null : (signal) => all<Fading>(to`/v1/users/${user}/fading`, { limit: MOST_KNOWN }, signal),
    [user, round],
  );
  const items = found.value ?? [];
  const going = items.filter((one) => fate(one) === "archived").length;
  return (
    <Panel title="What fades" testId="fading">
      {user === null ? <Empty>No users yet.</Empty> : null}
      {found.error ? <Notice error={found.error} again={found.again} /> : null}
      {!found.value && found.loading ? <Waiting /> : null}
      {found.value && !items.length ? <Empty>This user has no facts or episodes yet that could fade.</Empty> : null}
      {items.length ? (
        <>
          <p>
            {going
              ? `${times(going, "memory", "memories")} of ${count(items.length)} would be archived by the next `
              : `None of ${times(items.length, "memory", "memories")} would be archived by the next `}
            <Term of="consolidation">consolidation</Term>.
            {items.length > MOST ? ` The ${count(MOST)} most faded are drawn.` : ""} Points that would lie on each other
            are set side by side.
          </p>
          <p class="legend">
            <span>
              <Sample fate="fresh" /> fact
            </span>
            <span>
              <Sample fate="kept" /> kept
            </span>
            <span>
              <Sample fate="archived" /> would be archived
            </span>
            <span>
              <i class="curve archive" /> <Term of="archive line">archive line</Term>
            </span>
          </p>
          <Scatter items={items.slice(0, MOST)} />
          <More label="As a table">
            <Table items={items} />
          </More>
        </>
      ) : null}
    </Panel>
  );
}

function Sign({ fate: what, x, y }: { fate: Fate; x: number; y: number }) {
  if (what === "kept") return <rect class="sign kept" x={x - 4} y={y - 4} width={8} height={8} />;
  if (what === "fresh") return <circle class="sign fresh" cx={x} cy={y} r={4.5} />;
  return (
    <path class="sign archived" d={`M${x - 5},${y - 5} L${x + 5},${y + 5} M${x - 5},${y + 5} L${x + 5},${y - 5}`} />
  );
}

function Sample({ fate: what }: { fate: Fate }) {
  return (
    <svg width={14} height={14} aria-hidden="true" class="sample">
      <Sign fate={what} x={7} y={7} />
    </svg>
  );
}

/** Freshness across, importance up; arrow keys go from point to point. */
function Scatter({ items }: { items: readonly Fading[] }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [current, setCurrent] = useState<number | null>(null);
  const line = useMemo(() => limit(items), [items]);
  const across = (value: number) => EDGE.left + value * Math.max(1, width - EDGE.left - EDGE.right);
  const down = (value: number) => HEIGHT - EDGE.bottom - value * (HEIGHT - EDGE.top - EDGE.bottom);
  const places = useMemo(
    () =>
      apart(
        items.map((one) => ({ x: across(one.decay), y: down(one.importance) })),
        width - POINT,
      ),
    [items, width],
  );
  const shown = current === null ? undefined : items[current];
  const move = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined || !(event.currentTarget instanceof Element)) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(items.length - 1, (current ?? 0) + step));
    setCurrent(next);
    event.currentTarget.querySelectorAll<SVGGElement>(".point")[next]?.focus();
  };
  return (
    <div class="scatter" ref={box} data-testid="scatter">
      <div
        class="plane"
        role="listbox"
        tabIndex={-1}
        aria-label="Memories by freshness and importance; arrow keys go from one to the next"
        onKeyDown={move}
      >
        <Axes across={across} down={down} line={line} width={width} />
        <svg class="points" width={width} height={HEIGHT} role="presentation">
          {items.map((one, place) => (
            <Point
              key={one.id}
              one={one}
              at={places[place] ?? { x: 0, y: 0 }}
              chosen={place === current}
              next={place === (current ?? 0)}
              choose={() => setCurrent(place)}
            />
          ))}
        </svg>
      </div>
      <p class="readout" data-testid="readout">
        {shown ? (
          <>
            <b>
              <Line text={shown.label} most={120} />
            </b>
            {`: ${shown.kind}, freshness ${shown.decay.toFixed(2)}, importance ${shown.importance.toFixed(2)}, `}
            {`used ${ago(shown.used_at)}; ${TOLD[fate(shown)]}`}
            {shown.archive_below === null ? "" : ` (below ${shown.archive_below.toFixed(2)})`}
          </>
        ) : (
          <span class="soft">Point at a memory, or go through them with Tab and the arrow keys.</span>
        )}
      </p>
    </div>
  );
}

function Point({
  one,
  at,
  chosen,
  next,
  choose,
}: {
  one: Fading;
  at: { x: number; y: number };
  chosen: boolean;
  next: boolean;
  choose: () => void;
}) {
  const what = fate(one);
  return (
    <g
      class="point"
      role="option"
      aria-selected={chosen}
      tabIndex={next ? 0 : -1}
      aria-label={`${one.label}: freshness ${one.decay.toFixed(2)}, importance ${one.importance.toFixed(2)}, ${TOLD[what]}`}
      onFocus={choose}
      onPointerEnter={choose}
    >
      {chosen ? <circle class="ring" cx={at.x} cy={at.y} r={9} /> : null}
      <circle class="reach" cx={at.x} cy={at.y} r={6} />
      <Sign fate={what} x={at.x} y={at.y} />
    </g>
  );
}

function Axes({
  across,
  down,
  line,
  width,
}: {
  across: (value: number) => number;
  down: (value: number) => number;
  line: readonly { x: number; y: number }[];
  width: number;
}) {
  return (
    <svg class="axes" width={width} height={HEIGHT} aria-hidden="true">
      {[0, 0.25, 0.5, 0.75, 1].map((value) => (
        <g key={value}>
          <line x1={across(value)} x2={across(value)} y1={down(0)} y2={down(1)} />
          <line x1={across(0)} x2={across(1)} y1={down(value)} y2={down(value)} />
          <text x={across(value)} y={down(0) + 14} text-anchor="middle">
            {value}
          </text>
          <text x={across(0) - 6} y={down(value) + 4} text-anchor="end">
            {value}
          </text>
        </g>
      ))}
      <text x={across(1)} y={HEIGHT - 4} text-anchor="end">
        freshness now →
      </text>
      <text x={2} y={HEIGHT - 4}>
        ↑ importance
      </text>
      {line.length ? (
        <path class="archive" d={`M${line.map(({ x, y }) => `${across(x)},${down(y)}`).join(" L")}`} />
      ) : null}
    </svg>
  );
}

function Table({ items }: { items: readonly Fading[] }) {
  const [most, setMost] = useState(ROWS);
  return (
    <>
      <Scroll label="Memories by freshness">
        <table>
          <thead>
            <tr>
              <th>Memory</th>
              <th>Kind</th>
              <th class="right">Freshness</th>
              <th class="right">Importance</th>
              <th class="right">Archived below</th>
              <th class="right">Used</th>
              <th>Next</th>
            </tr>
          </thead>
          <tbody>
            {items.slice(0, most).map((one) => (
              <tr key={one.id}>
                <td class="text">
                  <Line text={one.label} />
                </td>
                <td>{one.kind}</td>
                <td class="right">{one.decay.toFixed(2)}</td>
                <td class="right">{one.importance.toFixed(2)}</td>
                <td class="right">{one.archive_below === null ? "never" : one.archive_below.toFixed(2)}</td>
                <td class="right still">{times(one.accesses, "time")}</td>
                <td class="text">{TOLD[fate(one)]}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {items.length > most ? (
        <button type="button" onClick={() => setMost(most + ROWS * 10)}>
          Show more
        </button>
      ) : null}
    </>
  );
}
