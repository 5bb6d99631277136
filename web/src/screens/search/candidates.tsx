import { useState } from "preact/hooks";
import { count, day } from "../../parts/format";
import { Empty, Panel } from "../../parts/panel";
import { Score } from "../../parts/score";
import { Term } from "../../parts/term";
import { Line } from "../../parts/words";
import type { Context, Explained, Hit } from "../../shapes";
import { look } from "./parts";
import { cutAt, extent, type Fate, partNames, type Standing, segments } from "./standing";

const FATES: Record<Fate, { told: string; badge: string }> = {
  taken: { told: "in the context", badge: "badge good" },
  "over budget": { told: "cut by the budget", badge: "badge warn" },
  below: { told: "below the threshold", badge: "badge hatched" },
  "not wanted": { told: "not in the context", badge: "badge" },
};

/** The candidates with the parts of their scores, and where threshold and budget cut. */
export function Candidates({
  found,
  standings,
  context,
  moves,
  loading,
  open,
}: {
  found: Explained;
  standings: readonly Standing[];
  context: Context | null;
  moves: readonly (number | null)[];
  loading: boolean;
  open: (hit: Hit) => void;
}) {
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const names = partNames(found.hits);
  const shown = names.filter((name) => !hidden.has(name));
  const reach = extent(found.hits, shown);
  const cut = cutAt(found);
  const taken = standings.filter((one) => one.fate === "taken").length;
  if (!found.hits.length) return <Empty>Nothing in this memory is related. Try other words, or more kinds.</Empty>;
  return (
    <Panel
      title="Candidates"
      testId="candidates"
      tools={
        <small aria-live="polite">
          {loading
            ? "searching…"
            : context
              ? `${taken} of ${found.hits.length} in a context of ${count(context.budget.total)} tokens`
              : ""}
        </small>
      }
    >
      <div class="toggles" role="group" aria-label="Parts of the scores">
        {names.map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={!hidden.has(name)}
            onClick={() => {
              const next = new Set(hidden);
              if (!next.delete(name)) next.add(name);
              setHidden(next);
            }}
          >
            <i class={look(name)} /> {name}
          </button>
        ))}
      </div>
      <ol class="hits">
        {found.hits.map((hit, place) => (
          <li key={hit.id} data-testid="hit" data-id={hit.id} class={cut !== null && place >= cut ? "under" : ""}>
            {place === cut ? (
              <p class="cut" data-testid="threshold">
                <span>
                  <Term of="threshold">threshold</Term> {found.least}: a context takes nothing below
                </span>
              </p>
            ) : null}
            <div class="hit">
              <span class="rank">
                {place + 1}
                <Move by={moves[place] ?? null} />
              </span>
              <Bar hit={hit} names={shown} reach={reach} />
              <Score score={hit.score} weighted={found.weights !== null} />
              <div class="what">
                <button type="button" class="link" onClick={() => open(hit)}>
                  <Line text={hit.text} />
                </button>
                <p>
                  <span class="badge">{hit.kind}</span>
                  <Fated standing={standings[place]} known={context !== null} />
                  <small>
                    {count(hit.tokens)} tokens, {day(hit.created_at)}
                    {hit.count > 1 ? `, said ${count(hit.count)} times` : ""}
                  </small>
                </p>
              </div>
            </div>
          </li>
        ))}
      </ol>
      <p>
        <small>
          {cut === null
            ? found.least
              ? `All are above the threshold ${found.least}.`
              : "The profile has no threshold."
            : ""}{" "}
          {found.weights
            ? "Parts add up to the score."
            : "Parts add up to a sum, which ranks. The word beside it says how likely a hit with that sum answers the query."}
        </small>
      </p>
    </Panel>
  );
}

function Move({ by }: { by: number | null }) {
  if (by === 0) return null;
  if (by === null) return <b class="move new">new</b>;
  return (
    <b class={by > 0 ? "move up" : "move down"}>
      <span aria-hidden="true">{by > 0 ? "▲" : "▼"}</span>
      <span class="hidden-label">{by > 0 ? "up " : "down "}</span>
      {Math.abs(by)}
    </b>
  );
}

function Fated({ standing, known }: { standing: Standing | undefined; known: boolean }) {
  if (!standing || (!known && standing.fate !== "below")) return null;
  const { told, badge } = FATES[standing.fate];
  return (
    <>
      <span class={badge} data-testid="fate">
        {told}
      </span>
      {standing.why && standing.fate !== "over budget" ? <small>({standing.why})</small> : null}
    </>
  );
}

function Bar({ hit, names, reach }: { hit: Hit; names: readonly string[]; reach: { least: number; most: number } }) {
  const size = reach.most - reach.least;
  const at = (value: number) => `${(100 * (value - reach.least)) / size}%`;
  const drawn = segments(hit, names);
  const about = drawn.map((one) => `${one.name} ${one.value.toFixed(2)}`).join(", ");
  return (
    <div class="score-bar" role="img" aria-label={`Parts of the score: ${about || "none shown"}`}>
      {drawn.map((one) => (
        <i
          key={one.name}
          class={look(one.name)}
          title={`${one.name}: ${one.value.toFixed(3)}`}
          style={{ left: at(one.from), width: `${(100 * (one.to - one.from)) / size}%` }}
        />
      ))}
      <i class="zero" style={{ left: at(0) }} />
    </div>
  );
}
