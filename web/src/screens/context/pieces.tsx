import { useState } from "preact/hooks";
import { at, get } from "../../api";
import { useLoad } from "../../load";
import { count, spanned, times } from "../../parts/format";
import { isWeighted, scoreLine } from "../../parts/score";
import { bySection, SECTION_TERMS, sectionColour, sectionName } from "../../parts/sections";
import { SessionName } from "../../parts/session";
import { type Found, kindOf } from "../../parts/source";
import { More } from "../../parts/tasks";
import { Term } from "../../parts/term";
import { Id, Line, Words } from "../../parts/words";
import type { Message, Omission, Piece } from "../../shapes";

const FEW = 8; // of a section that are shown at first

/** What pieces are told by: the values of facts, the session they are read in, and what opens them. */
export interface Reading {
  session: string;
  facts: ReadonlyMap<string, string>;
  open: (found: Found) => void;
}

/** What a piece is called: by what it says or its place if that is known, else by its id. */
export function PieceName({ found, reading, words }: { found: Found; reading: Reading; words?: string | undefined }) {
  const said = words ?? (found.id === null ? undefined : reading.facts.get(found.id));
  const elsewhere = found.span && found.session_id && found.session_id !== reading.session;
  return (
    <button type="button" class="link" onClick={() => reading.open(found)}>
      {said !== undefined ? (
        <Line text={said} />
      ) : found.span ? (
        spanned(found.span)
      ) : found.id ? (
        <Id id={found.id} />
      ) : (
        kindOf(found)
      )}
      {elsewhere && found.session_id && words === undefined ? (
        <>
          {" of "}
          <SessionName id={found.session_id} />
        </>
      ) : null}
    </button>
  );
}

function grouped<T>(items: readonly T[], name: (item: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const group = found.get(name(item));
    if (group) group.push(item);
    else found.set(name(item), [item]);
  }
  return found;
}

/** `summary:layer` is a summary like any other: its layer stands beside it. */
const kindName = (kind: string): string => kind.replace(/:.*/, "");

/** Why a piece is there; of one that was searched for, first how likely it answers. */
function reasonOf(piece: Piece): string {
  if (piece.score === null) return piece.reason;
  const found = piece.reason.replace(/^answers the query(: )?/, "");
  return [scoreLine(piece.score, isWeighted(piece.parts)), found && `found by ${found}`].filter(Boolean).join(", ");
}

const sum = (items: readonly { tokens: number }[]): number => items.reduce((all, one) => all + one.tokens, 0);

export function Pieces({ items, reading }: { items: readonly Piece[]; reading: Reading }) {
  if (!items.length) return <p class="note">It has nothing from memory.</p>;
  const sections = [...grouped(items, (piece) => piece.section)].sort(([one], [other]) => bySection(one, other));
  return (
    <div class="pieces" data-testid="pieces">
      {sections.map(([section, pieces]) => (
        <Section key={section} section={section} pieces={pieces} reading={reading} />
      ))}
    </div>
  );
}

function Section({ section, pieces, reading }: { section: string; pieces: readonly Piece[]; reading: Reading }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? pieces : pieces.slice(0, FEW);
  const term = SECTION_TERMS[section];
  const words = useWords(shown);
  return (
    <section aria-label={sectionName(section)}>
      <h4>
        <i style={{ background: sectionColour(section) }} />
        {term ? <Term of={term}>{sectionName(section)}</Term> : sectionName(section)}
        <small>
          {times(pieces.length, "piece")}, {times(sum(pieces), "token")}
        </small>
      </h4>
      <ul>
        {shown.map((piece, place) => (
          <li key={piece.id ?? `${piece.session_id} ${piece.span?.first} ${place}`}>
            <span class="badge">{kindName(piece.kind)}</span>
            <PieceName found={piece} reading={reading} words={words.get(firstOf(piece))} />
            <span class="reason">
              {words.has(firstOf(piece)) ? <PlaceOf piece={piece} reading={reading} /> : null}
              <Words text={reasonOf(piece)} />
              {piece.cut ? ", cut" : ""}
            </span>
            <span class="cost">{count(piece.tokens)}</span>
          </li>
        ))}
      </ul>
      {pieces.length > FEW ? (
        <button type="button" class="quiet" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? "Show fewer" : `Show all ${count(pieces.length)}`}
        </button>
      ) : null}
    </section>
  );
}

const SAID: ReadonlySet<string> = new Set(["message", "messages", "passage"]);
const firstOf = (piece: Piece): string => (SAID.has(piece.kind) ? (piece.message_ids[0] ?? "") : "");

/** What the first message of each piece says, by its id; of facts and summaries, nothing is asked. */
function useWords(pieces: readonly Piece[]): ReadonlyMap<string, string> {
  const wanted = pieces.map(firstOf).filter(Boolean);
  const { value } = useLoad(
    async (signal) => {
      const found = await Promise.allSettled(
        wanted.map((id) => get<Message>(at`/v1/messages/${id}`, undefined, signal)),
      );
      return new Map(found.flatMap((one) => (one.status === "fulfilled" ? [[one.value.id, wordsOf(one.value)]] : [])));
    },
    [wanted.join(" ")],
  );
  return value ?? NOTHING;
}

const NOTHING: ReadonlyMap<string, string> = new Map();
const wordsOf = (message: Message): string => `${message.role}: ${message.text || "no text"}`;

/** Where the words of a piece stand. */
function PlaceOf({ piece, reading }: { piece: Piece; reading: Reading }) {
  const session = piece.session_id !== reading.session ? piece.session_id : null;
  return (
    <>
      {piece.span ? spanned(piece.span) : "message"}
      {session ? (
        <>
          {" of "}
          <SessionName id={session} />
        </>
      ) : null}
      {", "}
    </>
  );
}

const SHOWN = 50; // of those left out for one reason

export function LeftOut({ omitted, reading }: { omitted: readonly Omission[]; reading: Reading }) {
  if (!omitted.length) return <p data-testid="omitted">Nothing was left out.</p>;
  return (
    <div class="omitted" data-testid="omitted">
      <h3>Left out</h3>
      {[...grouped(omitted, (one) => one.reason.replace(/ in sum_\w+$/, " in a summary"))].map(([reason, some]) => (
        <More key={reason} label={`${reason}: ${count(some.length)} (${times(sum(some), "token")})`}>
          <ul>
            {some.slice(0, SHOWN).map((one, place) => (
              <li key={one.id ?? `${one.span?.first} ${place}`}>
                <span class="badge">{kindName(one.kind)}</span>
                <PieceName found={one} reading={reading} />
                <span class="reason">{sectionName(one.section)}</span>
                <span class="cost">{count(one.tokens)}</span>
              </li>
            ))}
          </ul>
          {some.length > SHOWN ? <p>And {count(some.length - SHOWN)} more.</p> : null}
        </More>
      ))}
    </div>
  );
}
