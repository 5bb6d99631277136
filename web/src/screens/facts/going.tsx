import { all, at, get } from "../../api";
import { useLoad } from "../../load";
import { minute, times } from "../../parts/format";
import { factLine } from "../../parts/names";
import { Notice, Waiting } from "../../parts/panel";
import { SessionName } from "../../parts/session";
import { Term } from "../../parts/term";
import { Line, type Mark, Words } from "../../parts/words";
import type { Episode, Fact, Message, Receipt } from "../../shapes";

const MOST = 20; // of a kind that are shown; the others are counted

interface Read {
  whole: Message[];
  parts: Message[];
  mentions: Message[];
  facts: Fact[];
  episodes: Episode[];
}

/** What is there of some ids; ids that tell nothing are left out. */
async function read<T>(ids: readonly string[], path: (id: string) => string, signal: AbortSignal): Promise<T[]> {
  const query = { record_access: path("").startsWith("/v1/facts") ? false : null };
  const found = await Promise.allSettled(ids.slice(0, MOST).map((id) => get<T>(path(id), query, signal)));
  return found.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

async function readAll(plan: Receipt, user: string, signal: AbortSignal): Promise<Read> {
  const message = (id: string) => at`/v1/messages/${id}`;
  const [whole, parts, mentions, facts, episodes] = await Promise.all([
    read<Message>(plan.messages, message, signal),
    read<Message>(plan.redacted, message, signal),
    read<Message>(plan.mentions_left, message, signal),
    read<Fact>(plan.facts, (id) => at`/v1/facts/${id}`, signal),
    plan.episodes.length ? all<Episode>(at`/v1/users/${user}/episodes`, {}, signal) : [],
  ]);
  return { whole, parts, mentions, facts, episodes: episodes.filter((one) => plan.episodes.includes(one.id)) };
}

/** The words that would be erased, as they stand now; and how much else changes. */
export function Going({ plan, user, wanted }: { plan: Receipt; user: string; wanted: string | null }) {
  const { value, error, again } = useLoad((signal) => readAll(plan, user, signal), [plan.id]);
  if (error) return <Notice error={error} again={again} />;
  if (!value) return <Waiting what="Reading the words" />;
  const { whole, parts, mentions, facts, episodes } = value;
  const cut = (message: Message) =>
    apart(
      facts
        .filter((fact) => fact.message_id === message.id)
        .flatMap((fact) => [{ start: fact.start, end: fact.end }, ...found(message.text, fact.value)]),
    );
  return (
    <div class="going" data-testid="going">
      <Said
        title="Whole messages"
        number={plan.messages.length}
        messages={whole}
        marks={(one) => found(one.text, wanted)}
      />
      <Said title="Words in messages" number={plan.redacted.length} messages={parts} marks={cut} />
      <Listed title="Facts" number={plan.facts.length} lines={facts.map(factLine)} />
      <Listed title="Episodes" number={plan.episodes.length} lines={episodes.map((one) => one.title)} />
      {rewritten(plan).length ? (
        <p data-testid="rewritten">{rewritten(plan).join(", ")}: what is left of them is written again.</p>
      ) : null}
      {plan.values_blocked ? (
        <p>
          <Term of="valuesBlocked">{times(plan.values_blocked, "value")} will not be learnt again</Term> from what is
          left.
        </p>
      ) : null}
      {plan.mentions_left.length ? (
        <Said
          title="These still mention it, and stay"
          number={plan.mentions_left.length}
          messages={mentions}
          marks={(one) => apart(facts.flatMap((fact) => found(one.text, fact.value)))}
          stay
        />
      ) : null}
      {plan.mentions_left.length ? <p class="soft">To erase these, too, forget by words.</p> : null}
    </div>
  );
}

function rewritten(plan: Receipt): string[] {
  const counts = [
    [plan.summaries.length, "summary", "summaries"],
    [plan.digests.length, "digest", "digests"],
    [plan.milestones, "milestone", "milestones"],
    [plan.titles, "title of a session", "titles of sessions"],
  ] as const;
  return counts.filter(([number]) => number).map(([number, one, many]) => times(number, one, many));
}

function Said({
  title,
  number,
  messages,
  marks,
  stay = false,
}: {
  title: string;
  number: number;
  messages: readonly Message[];
  marks: (message: Message) => readonly Mark[];
  stay?: boolean;
}) {
  if (!number) return null;
  return (
    <section aria-label={title} class={stay ? "stay" : ""}>
      <h3>
        {title}: {number}
      </h3>
      <ul>
        {messages.map((message) => (
          <li key={message.id} data-testid={stay ? "stays" : "goes"}>
            <small>
              {message.role}, {minute(message.created_at)}, <SessionName id={message.session_id} />
            </small>
            <Words text={message.text} marks={marks(message)} block />
          </li>
        ))}
      </ul>
      <More number={number - messages.length} />
    </section>
  );
}

function Listed({ title, number, lines }: { title: string; number: number; lines: readonly string[] }) {
  if (!number) return null;
  return (
    <section aria-label={title}>
      <h3>
        {title}: {number}
      </h3>
      <ul>
        {lines.slice(0, MOST).map((line, place) => (
          <li key={place} data-testid="goes">
            <Line text={line} />
          </li>
        ))}
      </ul>
      <More number={number - Math.min(lines.length, MOST)} />
    </section>
  );
}

const More = ({ number }: { number: number }) =>
  number > 0 ? <p class="soft">and {times(number, "more", "more")}</p> : null;

/** Stretches in order; those that touch are one. */
function apart(given: readonly Mark[]): Mark[] {
  const marks: Mark[] = [];
  for (const { start, end } of [...given].sort((one, other) => one.start - other.start)) {
    const last = marks.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else marks.push({ start, end });
  }
  return marks;
}

/** Where words stand in a text, whatever their case and the spaces between them. */
function found(text: string, wanted: string | null): Mark[] {
  const words = (wanted ?? "").trim().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const pattern = new RegExp(words.map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("\\s+"), "giu");
  const signs = (part: string) => Array.from(part).length;
  return [...text.matchAll(pattern)].map((one) => {
    const start = signs(text.slice(0, one.index));
    return { start, end: start + signs(one[0]) };
  });
}
