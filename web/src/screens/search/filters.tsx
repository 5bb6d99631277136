import { Term } from "../../parts/term";
import type { HitKind } from "../../shapes";

export const KINDS: readonly HitKind[] = ["message", "summary", "fact", "episode"];

export interface Given {
  top_k: number;
  kinds: readonly HitKind[];
  as_of: string; // as the field has it, in universal time
  budget: number;
  weights: Record<string, number> | null;
}

const NAMES: Record<HitKind, string> = {
  message: "messages",
  summary: "summaries",
  fact: "facts",
  episode: "episodes",
};

export function Filters({ given, change }: { given: Given; change: (given: Given) => void }) {
  const number = (text: string, most: number, use: (value: number) => Partial<Given>) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= most) change({ ...given, ...use(value) });
  };
  return (
    <div class="search-filters">
      <label>
        Candidates
        <input
          type="number"
          min={1}
          max={200}
          value={given.top_k}
          onInput={(event) => number(event.currentTarget.value, 200, (top_k) => ({ top_k }))}
        />
      </label>
      <label>
        <span>
          <Term of="budget">Budget</Term> in tokens
        </span>
        <input
          type="number"
          min={1}
          value={given.budget}
          data-testid="budget"
          onInput={(event) => number(event.currentTarget.value, 10_000_000, (budget) => ({ budget }))}
        />
      </label>
      <label>
        As of (UTC), if not now
        <input
          type="datetime-local"
          value={given.as_of}
          onInput={(event) => change({ ...given, as_of: event.currentTarget.value.slice(0, 16) })}
        />
      </label>
      <fieldset>
        <legend>Kinds</legend>
        {KINDS.map((kind) => (
          <label key={kind} class="beside">
            <input
              type="checkbox"
              checked={given.kinds.includes(kind)}
              onChange={(event) => {
                const on = event.currentTarget.checked;
                change({ ...given, kinds: KINDS.filter((one) => (one === kind ? on : given.kinds.includes(one))) });
              }}
            />
            {NAMES[kind]}
          </label>
        ))}
      </fieldset>
    </div>
  );
}
