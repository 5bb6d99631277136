import { count, spanned, times } from "../../parts/format";
import { Term } from "../../parts/term";
import type { Coverage, Span } from "../../shapes";

const SHOWN = 12; // spans that are named one by one

const size = (spans: readonly Span[]): number => spans.reduce((sum, span) => sum + span.last - span.first + 1, 0);

/** Where each message of the session is: every one in exactly one of the four. */
export function Covered({ coverage }: { coverage: Coverage }) {
  const blind = size(coverage.blind);
  const kinds = [
    ["verbatim", coverage.verbatim, "word for word", "verbatim"],
    ["summarised", coverage.summarised, "in summaries", "fold"],
    ["left", coverage.left_out, "summary left out", "leftOut"],
    ["blind", coverage.blind, "not visible", "notVisible"],
  ] as const;
  return (
    <div class="covered" data-testid="coverage">
      <p>
        {times(coverage.messages, "message")}:{" "}
        {kinds.map(([name, spans, told, term], place) => (
          <span key={name} class={name === "blind" && blind ? "blind" : ""}>
            {place ? ", " : ""}
            <b>{count(size(spans))}</b> <Term of={term}>{told}</Term>
          </span>
        ))}
      </p>
      {coverage.messages ? (
        <div class="track" aria-hidden="true">
          {kinds.flatMap(([name, spans, told]) =>
            spans.map((span) => (
              <i
                key={`${name}${span.first}`}
                class={name}
                title={`${spanned(span)}: ${told}`}
                style={{
                  left: `${(100 * (span.first - 1)) / coverage.messages}%`,
                  width: `${(100 * (span.last - span.first + 1)) / coverage.messages}%`,
                }}
              />
            )),
          )}
        </div>
      ) : null}
      {blind ? (
        <div class="notice" role="alert" data-testid="blind">
          <span>
            The model cannot see {times(blind, "message")}: in no summary and not in this context:{" "}
            {coverage.blind.slice(0, SHOWN).map(spanned).join(", ")}
            {coverage.blind.length > SHOWN
              ? ` and ${times(coverage.blind.length - SHOWN, "stretch", "stretches")} more`
              : ""}
            . A larger budget or another profile would show them.
          </span>
        </div>
      ) : null}
    </div>
  );
}
