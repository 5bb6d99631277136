import { percent } from "./format";
import { Term } from "./term";

const WORDS = [
  [0.6, "very likely"],
  [0.3, "likely"],
  [0.1, "possible"],
  [0, "unlikely"],
] as const;

/** How likely a hit answers, in a word: scores are calibrated, and mean the same for all questions. */
export const likelihood = (score: number): string => WORDS.find(([least]) => score >= least)?.[1] ?? "unlikely";

const share = (score: number): string => (score > 0 && score < 0.01 ? "under 1 %" : percent(score));

/** A score as people read it; one by weights of one's own ranks, but says nothing about how likely it is. */
export function Score({ score, weighted }: { score: number; weighted: boolean }) {
  return weighted ? (
    <span class="score">
      <Term of="weightedSum">{score.toFixed(2)} of 1</Term>
    </span>
  ) : (
    <span class="score">
      <Term of="score">{likelihood(score)}</Term> <small>{share(score)}</small>
    </span>
  );
}

/** The same on one line of text. */
export const scoreLine = (score: number, weighted: boolean): string =>
  weighted ? `weighted sum ${score.toFixed(2)} of 1` : `${likelihood(score)} answer (${share(score)})`;

/** Whether these parts are those of weights: then they are of a sum that somebody chose. */
export const isWeighted = (parts: Record<string, number>): boolean => "semantic" in parts || "keyword" in parts;
