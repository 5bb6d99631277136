/** What differs between two texts, word by word; bounded, so that long ones do not keep the page waiting. */

export interface Piece {
  kind: "same" | "gone" | "new";
  text: string;
}

const MOST = 2_000_000; // cells of the table
const LEAST = 0.3; // share that has to be the same

export function differences(before: string, after: string): Piece[] {
  for (const cut of [/(\s+)/, /(?<=[.!?\n])/]) {
    const old = before.split(cut).filter(Boolean);
    const now = after.split(cut).filter(Boolean);
    const pieces = compared(old, now);
    if (pieces && alike(pieces, Math.max(before.length, after.length))) return joined(pieces);
  }
  return joined([
    { kind: "gone", text: before },
    { kind: "new", text: after },
  ]);
}

/** Whether so much stayed that one wants to see the words between; else the two are better read one after the other. */
function alike(pieces: Piece[], length: number): boolean {
  const same = pieces.reduce((sum, piece) => sum + (piece.kind === "same" ? piece.text.trim().length : 0), 0);
  return same >= length * LEAST;
}

/** The changed sentences of a proposal, `- gone` and `+ new` by the line, as pairs of texts. */
export function pairs(lines: string): { before: string; after: string }[] {
  const found: { before: string[]; after: string[] }[] = [];
  for (const line of lines.split("\n")) {
    const gone = line.startsWith("- ");
    const last = found.at(-1);
    const own = last && !(gone && last.after.length) ? last : { before: [], after: [] };
    if (own !== last) found.push(own);
    (gone ? own.before : own.after).push(line.replace(/^[-+] /, ""));
  }
  return found.map((pair) => ({ before: pair.before.join("\n"), after: pair.after.join("\n") }));
}

/** By the longest common run of parts; null if that would take too long. */
function compared(old: string[], now: string[]): Piece[] | null {
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const left = old.slice(head, old.length - tail);
  const right = now.slice(head, now.length - tail);
  const width = right.length + 1;
  if ((left.length + 1) * width > MOST || Math.max(left.length, right.length) > 65_000) return null;
  const common = new Uint16Array((left.length + 1) * width);
  const cell = (row: number, column: number) => common[row * width + column] ?? 0;
  for (let row = left.length - 1; row >= 0; row--) {
    for (let column = right.length - 1; column >= 0; column--) {
      common[row * width + column] =
        left[row] === right[column]
          ? cell(row + 1, column + 1) + 1
          : Math.max(cell(row + 1, column), cell(row, column + 1));
    }
  }
  const pieces: Piece[] = old.slice(0, head).map((text) => ({ kind: "same", text }));
  let row = 0;
  let column = 0;
  while (row < left.length || column < right.length) {
    const gone = left[row];
    const added = right[column];
    if (gone !== undefined && gone === added) {
      pieces.push({ kind: "same", text: gone });
      row++;
      column++;
    } else if (gone !== undefined && (added === undefined || cell(row + 1, column) >= cell(row, column + 1))) {
      pieces.push({ kind: "gone", text: gone });
      row++;
    } else {
      pieces.push({ kind: "new", text: added ?? "" });
      column++;
    }
  }
  for (const text of old.slice(old.length - tail)) pieces.push({ kind: "same", text });
  return pieces;
}

/** Neighbours of one kind as one piece; a space alone between two changes is part of them. */
function joined(pieces: Piece[]): Piece[] {
  const found: Piece[] = [];
  let gone = "";
  let added = "";
  const flush = () => {
    if (gone) found.push({ kind: "gone", text: gone });
    if (added) found.push({ kind: "new", text: added });
    gone = "";
    added = "";
  };
  pieces.forEach((piece, place) => {
    if (piece.kind === "gone") gone += piece.text;
    else if (piece.kind === "new") added += piece.text;
    else {
      const next = pieces[place + 1];
      if ((gone || added) && next && next.kind !== "same" && !piece.text.trim()) {
        if (gone) gone += piece.text;
        if (added) added += piece.text;
        return;
      }
      flush();
      const last = found.at(-1);
      if (last?.kind === "same") last.text += piece.text;
      else found.push({ ...piece });
    }
  });
  flush();
  return found.filter((piece) => piece.text);
}
