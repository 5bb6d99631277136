import { Term } from "../../parts/term";
import type { Coverage, Outline } from "../../shapes";
import { STEPS } from "./layout";
import type { Pin } from "./pins";

/** What colours and signs mean; those that are not there are left out. */
export function Legend({
  coverage,
  outline,
  pins,
}: {
  coverage: Coverage | null;
  outline: Outline | null;
  pins: readonly Pin[];
}) {
  const has = (kind: string) => pins.some((pin) => pin.kind === kind);
  const past = pins.some((pin) => !pin.holds);
  const folded = outline?.blocks.some((block) => block.status !== "live");
  return (
    <div class="legends">
      <div class="legend" role="group" aria-label="Colours of summaries">
        <span>shorter than what it covers by</span>
        <span class="ramp">
          {STEPS.map((times, step) => (
            <span key={times} class={`swatch step-${step}`}>
              {times}
              {step === STEPS.length - 1 ? "+" : ""}×
            </span>
          ))}
        </span>
        <span>
          <i class="live" /> live
        </span>
        {folded ? (
          <span>
            <i class="folded" /> <Term of="layer">folded further</Term>
          </span>
        ) : null}
      </div>
      <div class="legend" role="group" aria-label="Signs over the log">
        {coverage ? (
          <>
            <span>
              <i class="verbatim" /> <Term of="verbatim">word for word</Term> in a context
            </span>
            <span>
              <i class="summarised" /> as a summary
            </span>
            {coverage.left_out.length ? (
              <span>
                <i class="left_out" /> <Term of="leftOut">left out</Term>: did not fit
              </span>
            ) : null}
            {coverage.blind.length ? (
              <span>
                <i class="blind" /> <Term of="notVisible">not visible</Term>: in no summary either
              </span>
            ) : null}
          </>
        ) : null}
        {outline?.forgotten.length ? (
          <span>
            <i class="redacted hatched" /> <Term of="redacted">redacted</Term>
          </span>
        ) : null}
        {has("fact") ? (
          <span>
            ● <Term of="fact">fact</Term>
          </span>
        ) : null}
        {past ? <span>○ past fact</span> : null}
        {has("episode") ? (
          <span>
            ◆ <Term of="episode">episode</Term>
          </span>
        ) : null}
        {has("milestone") ? (
          <span>
            ■ <Term of="milestone">milestone</Term>
          </span>
        ) : null}
      </div>
      <p class="hint">
        A click on the log shows a message, a drag looks closer, a double click shows all again. Keys: Tab and arrows go
        from block to block, + and − look closer and further, Shift with an arrow goes along.
      </p>
    </div>
  );
}
