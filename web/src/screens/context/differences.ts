/** What two contexts do not have in common. */

import { bySection } from "../../parts/sections";
import type { Found } from "../../parts/source";
import type { Manifest, Piece, Span } from "../../shapes";

export interface Difference {
  sections: { section: string; left: number; right: number }[];
  left: Only[];
  right: Only[];
}

/** Something that only one has; its tokens are not known where only some of a piece's messages are. */
export interface Only extends Found {
  tokens: number | null;
}

export function differences(left: Manifest, right: Manifest): Difference {
  const names = new Set([...Object.keys(left.sections), ...Object.keys(right.sections)]);
  return {
    sections: [...names]
      .sort(bySection)
      .map((section) => ({ section, left: left.sections[section] ?? 0, right: right.sections[section] ?? 0 })),
    left: onlyIn(left, right),
    right: onlyIn(right, left),
  };
}

function onlyIn(one: Manifest, other: Manifest): Only[] {
  const ids = new Set(other.items.map((piece) => piece.id));
  const there = said(other);
  const found: Only[] = one.items
    .filter((piece) => !verbatim(piece) && !ids.has(piece.id))
    .map(({ kind, id, session_id, span, message_ids, tokens }) => ({
      kind,
      id,
      session_id,
      span,
      message_ids,
      tokens,
    }));
  for (const [session_id, numbers] of said(one)) {
    const missing = [...numbers].filter((seq) => !there.get(session_id)?.has(seq));
    for (const span of spansOf(missing)) found.push({ kind: "messages", id: null, session_id, span, tokens: null });
  }
  return found;
}

/** Messages are compared one by one, whether they are here as recent ones or as recalled ones. */
function verbatim(piece: Piece): boolean {
  return piece.session_id !== null && piece.span !== null && (piece.kind === "messages" || piece.kind === "passage");
}

function said(manifest: Manifest): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>();
  for (const piece of manifest.items) {
    if (!verbatim(piece) || !piece.session_id || !piece.span) continue;
    const numbers = found.get(piece.session_id) ?? new Set();
    for (let seq = piece.span.first; seq <= piece.span.last; seq++) numbers.add(seq);
    found.set(piece.session_id, numbers);
  }
  return found;
}

/** Numbers as spans without gaps. */
export function spansOf(numbers: readonly number[]): Span[] {
  const spans: Span[] = [];
  for (const seq of [...numbers].sort((one, other) => one - other)) {
    const last = spans.at(-1);
    if (last && seq <= last.last + 1) last.last = Math.max(last.last, seq);
    else spans.push({ first: seq, last: seq });
  }
  return spans;
}
