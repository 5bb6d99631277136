import { useState } from "preact/hooks";
import { times } from "../../parts/format";
import { Line } from "../../parts/words";
import { addressOf } from "../../place";
import type { Fact } from "../../shapes";
import { type Group, isQuote, lineOf, sinceWords } from "./person";

const STEP = 80; // that a click adds

/** What is known, by kinds; of each so many at first. */
export function Sections({
  groups,
  most,
  titles,
  user,
  open,
  read,
}: {
  groups: readonly Group[];
  most: number;
  titles: ReadonlyMap<string, string>;
  user: string;
  open: (fact: Fact) => void;
  read: (fact: Fact) => void;
}) {
  return (
    <div class="groups">
      {groups.map((group) => (
        <Section key={group.title} group={group} first={most} titles={titles} user={user} open={open} read={read} />
      ))}
    </div>
  );
}

function Section({
  group,
  first,
  titles,
  user,
  open,
  read,
}: {
  group: Group;
  first: number;
  titles: ReadonlyMap<string, string>;
  user: string;
  open: (fact: Fact) => void;
  read: (fact: Fact) => void;
}) {
  const [more, setMore] = useState(0);
  const most = first + more;
  return (
    <section class={`group of-${group.id.replace(/\W/g, "-")}`} data-testid="group" aria-label={group.title}>
      <h3>{group.title}</h3>
      <ul>
        {group.facts.slice(0, most).map((fact) => (
          <li key={fact.id} data-testid="known-line">
            <Known fact={fact} open={open} />
            <Origin fact={fact} titles={titles} user={user} read={read} />
          </li>
        ))}
      </ul>
      {group.facts.length > most ? (
        <button type="button" class="link" onClick={() => setMore(more + STEP)}>
          {times(group.facts.length - most, "more", "more")}
        </button>
      ) : null}
    </section>
  );
}

/** What is known, as a line that opens its source, its history, and what can be done to it. */
function Known({ fact, open }: { fact: Fact; open: (fact: Fact) => void }) {
  const line = lineOf(fact);
  return (
    <button type="button" class="line" title="Source, history, correct, forget" onClick={() => open(fact)}>
      {line.name ? (
        <small>
          <Line text={line.name} most={60} />
        </small>
      ) : null}
      <span>
        <Line text={line.words} />
      </span>
      {fact.status === "conflicted" ? <em class="badge warn">something else was said, too</em> : null}
    </button>
  );
}

/** In whose words it was said, when, and in which conversation. */
export function Origin({
  fact,
  titles,
  user,
  read,
}: {
  fact: Fact;
  titles: ReadonlyMap<string, string>;
  user: string;
  read: (fact: Fact) => void;
}) {
  return (
    <p class="origin">
      {fact.quote ? (
        <button
          type="button"
          class={isQuote(fact) ? "quote link" : "quote"}
          title="Where it was said, with what was said before and after"
          onClick={() => read(fact)}
        >
          {isQuote(fact) ? (
            sinceWords(fact)
          ) : (
            <q>
              <Line text={fact.quote} />
            </q>
          )}
        </button>
      ) : (
        "told by hand"
      )}{" "}
      {isQuote(fact) ? null : <time dateTime={fact.valid_from}>{sinceWords(fact)}</time>}
      {fact.session_id === null ? null : (
        <>
          {" · "}
          <a href={addressOf({ screen: "timeline", user, session: fact.session_id })}>
            <Line text={titles.get(fact.session_id) ?? fact.session_id} most={60} />
          </a>
        </>
      )}
    </p>
  );
}
