import { percent } from "../../parts/format";
import { Term } from "../../parts/term";

const NAMES = ["semantic", "keyword", "recency", "importance", "access"] as const;

/** The weighted sum by hand; while it is calibrated, none is sent. */
export function Weights({
  usual,
  weights,
  change,
}: {
  usual: Record<string, number>;
  weights: Record<string, number> | null;
  change: (weights: Record<string, number> | null) => void;
}) {
  const shown = weights ?? usual;
  const total = NAMES.reduce((sum, name) => sum + (shown[name] ?? 0), 0);
  return (
    <fieldset class="weights" data-testid="weights">
      <legend>Weights</legend>
      <label class="beside">
        <input
          type="checkbox"
          checked={weights === null}
          data-testid="calibrated"
          onChange={(event) => change(event.currentTarget.checked ? null : { ...usual })}
        />
        <Term of="calibrated">calibrated</Term>
      </label>
      {NAMES.map((name) => (
        <label key={name} class="weight">
          <span>
            {name} <output>{weights && total ? percent((shown[name] ?? 0) / total) : "–"}</output>
          </span>
          <input
            type="range"
            min={0}
            max={1}
            step={0.05}
            value={shown[name] ?? 0}
            disabled={weights === null}
            title={weights === null ? "Switch “calibrated” off to weigh by hand" : undefined}
            data-testid={`weight-${name}`}
            onInput={(event) => change({ ...shown, [name]: Number(event.currentTarget.value) })}
          />
        </label>
      ))}
      <button type="button" disabled={weights === null} onClick={() => change({ ...usual })}>
        As the profile has them
      </button>
    </fieldset>
  );
}
