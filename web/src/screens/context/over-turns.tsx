import * as Plot from "@observablehq/plot";
import { useMemo, useState } from "preact/hooks";
import { at, get } from "../../api";
import { useLoad } from "../../load";
import { Chart } from "../../parts/chart";
import { count, short, times } from "../../parts/format";
import { Empty, Notice, Panel, Waiting } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { More } from "../../parts/tasks";
import type { Outline } from "../../shapes";
import { type Course, course, UNFOLDED } from "./turns";

const MARKED = 300; // folds that are marked one by one

/** What the session would have cost, message after message: the saw-tooth of the folds under the full history. */
export function OverTurns({ session, budget }: { session: string; budget: number }) {
  const loaded = useLoad(
    (signal) => get<Outline>(at`/v1/sessions/${session}/outline`, { parts: 400 }, signal),
    [session],
  );
  const [whole, setWhole] = useState(false);
  const found = useMemo(() => (loaded.value ? course(loaded.value) : null), [loaded.value]);
  return (
    <Panel
      title="Over the turns"
      testId="turns"
      tools={
        <label class="beside">
          <input type="checkbox" checked={whole} onChange={(event) => setWhole(event.currentTarget.checked)} />
          scale to the full history
        </label>
      }
    >
      {loaded.error ? (
        <Notice error={loaded.error} again={loaded.again} />
      ) : !found ? (
        <Waiting />
      ) : found.full.length === 0 ? (
        <Empty>No messages yet.</Empty>
      ) : (
        <Curve found={found} budget={budget} whole={whole} />
      )}
    </Panel>
  );
}

function Curve({ found, budget, whole }: { found: Course; budget: number; whole: boolean }) {
  const full = found.full.at(-1)?.tokens ?? 0;
  const most = Math.max(found.most, budget) * 1.15;
  const top = whole ? Math.max(full, most) : most;
  const colours = found.bands.map((band, place) => bandColour(band, place, found.bands.length));
  const marked = found.folds.length <= MARKED ? found.folds : [];
  const last = found.full.at(-1)?.n ?? 0;
  const about =
    `Tokens at each of ${times(last, "message")}: unfolded messages and summaries together at most ` +
    `${count(Math.round(found.most))}, the full history ${count(Math.round(full))}, the budget ${count(budget)}; ` +
    `${times(found.folds.length, "fold")}.`;
  const draw = (width: number): Plot.PlotOptions => ({
    height: width < 500 ? 220 : 280,
    marginLeft: 46,
    marginTop: 16,
    x: { label: "message", domain: [1, Math.max(2, last)], tickFormat: short, ticks: width < 500 ? 4 : 8 },
    y: { label: "tokens", domain: [0, top], tickFormat: short, grid: true, ticks: 5 },
    color: { domain: found.bands, range: colours },
    marks: [
      Plot.areaY(found.points, {
        x: "n",
        y: "tokens",
        fill: "band",
        order: found.bands,
        clip: true,
        stroke: "var(--sheet)",
        strokeWidth: 0.5,
      }),
      Plot.lineY(found.full, { x: "n", y: "tokens", stroke: "var(--soft)", strokeWidth: 1.5, clip: true }),
      Plot.ruleY([budget], { stroke: "var(--danger)", strokeDasharray: "5 4" }),
      Plot.dot(marked, {
        x: "n",
        y: "before",
        symbol: "triangle",
        rotate: 180,
        r: 3,
        dy: -6,
        fill: "var(--ink)",
        clip: false,
      }),
    ],
  });
  return (
    <>
      <Chart draw={draw} about={about} inputs={[found, budget, whole]} />
      <ul class="legend">
        {found.bands.map((band, place) => (
          <li key={band}>
            <i style={{ background: colours[place] }} />
            {band === UNFOLDED ? "messages not folded yet" : `summaries of ${band}`}
          </li>
        ))}
        <li>
          <i class="line" />
          the full history, {short(full)} in the end
        </li>
        <li>
          <i class="dashes" />
          budget {count(budget)}
        </li>
        <li>
          <span aria-hidden="true">▼ </span>
          {times(found.folds.length, "fold")}
          {marked.length < found.folds.length ? ", too many to mark each" : ""}
        </li>
      </ul>
      {found.folds.length === 0 ? <p class="note">Nothing has been folded yet: the session is short.</p> : null}
      {found.unknown ? (
        <p class="note">
          Without {times(found.unknown, "summary", "summaries")} of which it is not known when the fold fell due.
        </p>
      ) : null}
      {found.folds.length ? (
        <More label="The folds in numbers">
          <Scroll label="Folds" kind="folds">
            <table>
              <thead>
                <tr>
                  <th class="right">At message</th>
                  <th class="right">Tokens before</th>
                  <th class="right">Tokens after</th>
                </tr>
              </thead>
              <tbody>
                {found.folds.slice(-MARKED).map((fold) => (
                  <tr key={fold.n}>
                    <td class="right">{count(fold.n)}</td>
                    <td class="right">{count(Math.round(fold.before))}</td>
                    <td class="right">{count(Math.round(fold.after))}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </More>
      ) : null}
    </>
  );
}

/** Deep layers are dark, as in the timeline. */
function bandColour(band: string, place: number, bands: number): string {
  if (band === UNFOLDED) return "var(--c-recent)";
  const deep = bands > 2 ? 100 - (place / (bands - 2)) * 75 : 40;
  return `color-mix(in oklab, var(--strata-deep) ${Math.round(deep)}%, var(--strata-light))`;
}
