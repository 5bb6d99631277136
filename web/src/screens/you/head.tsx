import { ask } from "../../api";
import { useDoing } from "../../load";
import { placeOf, times } from "../../parts/format";
import { mayRule, NEEDS_ADMIN } from "../../parts/may";
import { Notice } from "../../parts/panel";
import { Action } from "../../parts/tasks";
import { Line } from "../../parts/words";
import { addressOf } from "../../place";
import type { About, Fact, Session } from "../../shapes";
import { lineOf, longDay } from "./person";

/** Who this is about, in one glance, and what it is known from. */
export function Head({
  about,
  user,
  name,
  sessions,
  known,
}: {
  about: About;
  user: string;
  name: string;
  sessions: readonly Session[];
  known: readonly Fact[];
}) {
  const doing = useDoing();
  const messages = sessions.reduce((sum, one) => sum + one.counters.messages, 0);
  const begun = sessions.map((one) => one.started_at).sort((a, b) => placeOf(a) - placeOf(b));
  const ended = sessions.map((one) => one.last_at).sort((a, b) => placeOf(b) - placeOf(a));
  const first = begun[0];
  const last = ended[0];
  const brief = known
    .filter((fact) => fact.category === "identity" && fact.key !== null && fact.key !== "name" && fact.about === null)
    .map((fact) => lineOf(fact));
  return (
    <header class="person" data-testid="person">
      <span class="face" aria-hidden="true">
        {Array.from(name)[0]?.toLocaleUpperCase()}
      </span>
      <div>
        <small>You, as Lamina knows you</small>
        <h2>
          <Line text={name} most={80} />
        </h2>
        {brief.length ? (
          <p class="brief">
            {brief.map((line, place) => (
              <span key={place}>
                {line.name ? <small>{line.name.toLowerCase()} </small> : null}
                <Line text={line.words} most={60} />
              </span>
            ))}
          </p>
        ) : null}
        <p class="soft">
          {messages
            ? `From ${times(messages, "message")} in ${times(sessions.length, "conversation")}`
            : "Nothing was said yet"}
          {first && last ? `, ${daysBetween(first, last)}` : ""}.
        </p>
      </div>
      <div class="tools">
        <a href={addressOf({ screen: "facts", user, session: null })}>All facts</a>
        <span title={mayRule(about) ? undefined : NEEDS_ADMIN}>
          <Action doing={doing} disabled={!mayRule(about)} work={() => save(user)}>
            {doing.busy ? "Exporting…" : "Export"}
          </Action>
        </span>
      </div>
      {doing.error ? <Notice error={doing.error} /> : null}
    </header>
  );
}

function daysBetween(first: string, last: string): string {
  return longDay(first) === longDay(last) ? longDay(first) : `${longDay(first)} to ${longDay(last)}`;
}

/** Everything of a user, as a file that `lamina import` reads. */
async function save(user: string): Promise<void> {
  const answer = await ask("GET", "/v1/export", { query: { user_id: user } });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = `lamina-${user.replace(/[^\w-]+/g, "_")}.jsonl`;
  link.click();
  URL.revokeObjectURL(link.href);
}
