import * as Plot from "@observablehq/plot";
import { useMemo } from "preact/hooks";
import { Chart } from "../../parts/chart";
import { count, dayAt, percent, short, times } from "../../parts/format";
import { statusName } from "../../parts/names";
import { Empty, Figure, Panel } from "../../parts/panel";
import { Scroll } from "../../parts/scroll";
import { Term } from "../../parts/term";
import { Line } from "../../parts/words";
import type { Stats } from "../../shapes";
import { grown, layersOf, saved } from "./series";

/** The full history beside what stands for it. */
export function Saved({ stats }: { stats: Stats }) {
  const share = saved(stats);
  const most = Math.max(stats.tokens, stats.at_hand_tokens, 1);
  const bars = [
    { name: "Full history", tokens: stats.tokens, looks: "raw" },
    { name: "In use", tokens: stats.at_hand_tokens, looks: "hand" },
  ];
  return (
    <Panel title="Tokens saved" testId="saved">
      {stats.tokens ? (
        <>
          <p>
            <b class="big">{percent(share)} saved.</b> All that was said has {count(stats.tokens)} tokens. What stands
            for it now, summaries and messages that are not folded yet, has {count(stats.at_hand_tokens)}.
          </p>
          <div class="amounts">
            {bars.map((bar) => (
              <div key={bar.name} class="amount">
                <span>{bar.name}</span>
                <span class="filled">
                  <i class={bar.looks} style={{ width: `${(bar.tokens / most) * 100}%` }} />
                </span>
                <span class="number">{short(bar.tokens)}</span>
              </div>
            ))}
          </div>
        </>
      ) : (
        <Empty>No messages yet.</Empty>
      )}
    </Panel>
  );
}

/** How much there is of everything, and the folds by layer. */
export function Layers({ stats }: { stats: Stats }) {
  const layers = useMemo(() => layersOf(stats.summaries), [stats]);
  const facts = stats.facts.reduce((sum, one) => sum + one.count, 0);
  const told = stats.facts.map((one) => `${count(one.count)} ${statusName(one.status)}`).join(", ");
  return (
    <Panel title="Layers" testId="layers">
      <dl class="figures">
        <Figure name="Sessions" value={count(stats.sessions)} />
        <Figure name="Messages" value={count(stats.messages)} />
        <Figure name="Facts" of="fact" value={count(facts)} note={told} />
        <Figure name="Episodes" of="episode" value={count(stats.episodes)} />
      </dl>
      {layers.length ? (
        <Scroll label="Summaries by layer">
          <table>
            <thead>
              <tr>
                <th>
                  <Term of="layer">Layer</Term>
                </th>
                <th>Kind</th>
                <th class="right">Live</th>
                <th class="right">Folded on</th>
                <th class="right">Replaced</th>
                <th class="right">Tokens live</th>
              </tr>
            </thead>
            <tbody>
              {layers.map((one) => (
                <tr key={`${one.kind} ${one.layer}`}>
                  <td>{one.layer}</td>
                  <td class="still">
                    <Line text={one.kind} />
                  </td>
                  <td class="right">{count(one.live)}</td>
                  <td class="right">{count(one.folded)}</td>
                  <td class="right">{count(one.replaced)}</td>
                  <td class="right">{count(one.tokens)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      ) : (
        <p class="soft">Nothing was folded yet: a session is folded once it is long enough or has ended.</p>
      )}
    </Panel>
  );
}

export function Growth({ stats }: { stats: Stats }) {
  const series = useMemo(() => grown(stats.growth), [stats]);
  const last = series.at(-2);
  if (!last) {
    return (
      <Panel title="Growth" testId="growth">
        <Empty>No messages yet.</Empty>
      </Panel>
    );
  }
  const until = dayAt(last.day.getTime());
  return (
    <Panel
      title="Growth"
      testId="growth"
      tools={
        <span class="legend">
          <span>
            <i class="curve said" /> messages
          </span>
          <span>
            <i class="curve summed" /> summaries
          </span>
        </span>
      }
    >
      <h3>
        Tokens so far <small>by days of UTC</small>
      </h3>
      <Chart
        about={`Tokens up to ${until}: messages ${count(last.said)}, summaries ${count(last.summed)}`}
        inputs={[series]}
        draw={(width) => ({
          ...axes(width, 200),
          marks: [
            Plot.gridY({ stroke: "var(--rule)", strokeOpacity: 1 }),
            Plot.lineY(series, { x: "day", y: "said", curve: "step-after", stroke: "var(--c-recent)", strokeWidth: 2 }),
            Plot.lineY(series, {
              x: "day",
              y: "summed",
              curve: "step-after",
              stroke: "var(--c-summaries)",
              strokeWidth: 2,
              strokeDasharray: "5 3",
            }),
          ],
        })}
      />
      <h3>Facts so far</h3>
      <Chart
        about={`${times(last.facts, "fact")} learnt up to ${until}`}
        inputs={[series]}
        draw={(width) => ({
          ...axes(width, 120),
          marks: [
            Plot.gridY({ stroke: "var(--rule)", strokeOpacity: 1 }),
            Plot.lineY(series, { x: "day", y: "facts", curve: "step-after", stroke: "var(--c-facts)", strokeWidth: 2 }),
          ],
        })}
      />
    </Panel>
  );
}

function axes(width: number, height: number): Plot.PlotOptions {
  return {
    height,
    marginLeft: 44,
    marginRight: 16,
    x: { type: "utc", label: null, ticks: Math.max(2, Math.floor(width / 110)) },
    y: { label: null, zero: true, ticks: height / 40, tickFormat: (value: number) => short(value) },
  };
}
