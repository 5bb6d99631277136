import { count } from "../../parts/format";
import { Figure, Panel } from "../../parts/panel";
import type { Explained } from "../../shapes";

const TOLD: Record<string, string> = {
  open: "load the index",
  understand: "query read",
  embed: "meaning of the query",
  rank: "candidates ranked",
  read: "hits fetched",
};
const COLOURS = ["--c-system", "--c-query", "--c-digest", "--c-summaries", "--c-recent"];

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : count(Math.round(value))} ms`;

/** How long each step of the search took, and how many rows came through. */
export function Stages({ found }: { found: Explained }) {
  const total = found.stages.reduce((sum, stage) => sum + stage.ms, 0);
  const colour = (place: number) => `var(${COLOURS[place % COLOURS.length]})`;
  const about = found.stages.map((stage) => `${stage.name} ${ms(stage.ms)}`).join(", ");
  return (
    <Panel title="Steps and times" testId="stages">
      <dl class="figures">
        <Figure name="considered" value={count(found.considered)} note="let through by the filters" />
        <Figure name="related" value={count(found.related)} note="have to do with the query" />
        <Figure name="shown" value={count(found.hits.length)} note="best first" />
        <Figure name="took" value={ms(total)} note={found.weights ? "by your weights" : "by the calibrated sum"} />
      </dl>
      <div class="stage-bar" role="img" aria-label={`Stages: ${about}`}>
        {found.stages.map((stage, place) => (
          <i
            key={stage.name}
            title={`${stage.name}: ${ms(stage.ms)}`}
            style={{ width: `${total ? (100 * stage.ms) / total : 0}%`, background: colour(place) }}
          />
        ))}
      </div>
      <ul class="legend">
        {found.stages.map((stage, place) => (
          <li key={stage.name}>
            <i style={{ background: colour(place) }} />
            {stage.name}
            {TOLD[stage.name] ? ` (${TOLD[stage.name]})` : ""} <b>{ms(stage.ms)}</b>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
