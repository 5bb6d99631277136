import { useMemo } from "preact/hooks";
import { Words } from "../../parts/words";
import { differences } from "./diff";

/** Two texts as one: what went is struck through, what came is underlined. */
export function Differences({ before, after }: { before: string; after: string }) {
  const pieces = useMemo(() => differences(before, after), [before, after]);
  if (pieces.every((piece) => piece.kind === "same")) return <p class="waiting">The words are the same.</p>;
  return (
    <div class="differences" role="region" aria-label="What differs" tabIndex={0} data-testid="differences">
      {pieces.map((piece, place) => {
        const words = <Words text={piece.text} />;
        if (piece.kind === "gone") return <del key={place}>{words}</del>;
        if (piece.kind === "new") return <ins key={place}>{words}</ins>;
        return <span key={place}>{words}</span>;
      })}
    </div>
  );
}
