import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import { Chart } from "../../parts/chart";
import { count, day, dayAt, times } from "../../parts/format";
import { Figure, Panel } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { More } from "../../parts/tasks";
import { Line } from "../../parts/words";
import type { Cost } from "../../shapes";
import { type Spent, some, spent } from "./series";

const COLOURS: Record<string, string> = {
  summary: "summaries",
  facts: "facts",
  episodes: "digest",
  embedding: "recalled",
};
const HALF = 43_200_000; // a day, in milliseconds
const LABEL = 90; // pixels of a day's name
const SMALL = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const LARGE = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const money = (value: number): string => (value < 1 ? SMALL : LARGE).format(value);

/** What language models have cost, by day and purpose. */
export function Costs({ costs }: { costs: readonly Cost[] }) {
  const bars = useMemo(() => spent(costs), [costs]);
  const purposes = useMemo(() => [...new Set(bars.map((one) => one.purpose))].sort(), [bars]);
  if (!costs.length) {
    return (
      <Panel title="Cost" testId="costs">
        <dl class="figures">
          <Figure name="Total" value="0" note="no model is configured, or none was asked yet: nothing was paid" />
        </dl>
      </Panel>
    );
  }
  const sum = (of: (one: Cost) => number) => costs.reduce((total, one) => total + of(one), 0);
  const total = sum((one) => one.cost);
  const colour = (purpose: string) => `var(--c-${COLOURS[purpose] ?? "system"})`;
  return (
    <Panel title="Cost" testId="costs">
      <dl class="figures">
        <Figure name="Total" value={money(total)} note="as the price list has it; days are those of UTC" />
        <Figure name="Calls" value={count(sum((one) => one.calls))} />
        <Figure name="Tokens in" value={count(sum((one) => one.tokens_in))} />
        <Figure name="Tokens out" value={count(sum((one) => one.tokens_out))} />
      </dl>
      <p class="legend">
        {purposes.map((purpose) => (
          <span key={purpose}>
            <i style={{ background: colour(purpose) }} />
            <Line text={purpose} most={40} />
          </span>
        ))}
      </p>
      <Chart
        about={`Cost by day, ${money(total)} in all for ${times(purposes.length, "purpose")}; the table below has the figures`}
        inputs={[bars]}
        draw={(width) => ({
          height: 180,
          marginLeft: 50,
          x: {
            type: "utc",
            label: null,
            ticks: some([...new Set(bars.map((one) => one.day.getTime()))], Math.max(1, Math.floor(width / LABEL) - 1)),
            tickFormat: (time: number) => dayAt(time),
          },
          y: { label: null, grid: true, ticks: 4 },
          color: { domain: purposes, range: purposes.map(colour) },
          marks: [
            Plot.rectY(bars, {
              x1: (one: Spent) => new Date(one.day.getTime() - HALF), // around the mark of its day
              x2: (one: Spent) => new Date(one.day.getTime() + HALF),
              y: "cost",
              fill: "purpose",
              inset: 0.5,
            }),
            Plot.ruleY([0], { stroke: "var(--rule)" }),
          ],
        })}
      />
      <More label="As a table">
        <Scroll label="Cost by day">
          <table>
            <thead>
              <tr>
                <th>Day</th>
                <th>Purpose</th>
                <th>Model</th>
                <th class="right">Calls</th>
                <th class="right">Tokens in</th>
                <th class="right">Tokens out</th>
                <th class="right">Cost</th>
              </tr>
            </thead>
            <tbody>
              {costs.map((one) => (
                <tr key={`${one.day} ${one.purpose} ${one.model}`}>
                  <td class="still">{day(one.day)}</td>
                  <td class="still">
                    <Line text={one.purpose} />
                  </td>
                  <td class="still">
                    <Line text={one.model} />
                  </td>
                  <td class="right">{count(one.calls)}</td>
                  <td class="right">{count(one.tokens_in)}</td>
                  <td class="right">{count(one.tokens_out)}</td>
                  <td class="right">{money(one.cost)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </More>
    </Panel>
  );
}
