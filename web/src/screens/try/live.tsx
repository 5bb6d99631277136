import { ALL_PROJECTS, at, get } from "../../api";
import { useLoad } from "../../load";
import { FeedList, useFeed } from "../../parts/feed";
import { count, percent, times } from "../../parts/format";
import { factLine } from "../../parts/names";
import { Empty, Figure, Notice, Panel } from "../../parts/panel";
import { Line } from "../../parts/words";
import { addressOf } from "../../place";
import type { Context, Fact, Page, Session } from "../../shapes";
import type { Talk } from "./talking";

/** What happens to the memory of the one who talks, as it happens. */
export function Live({ talk, begun, context }: { talk: Talk; begun: boolean; context: Context | null }) {
  const { entries, listening, round } = useFeed(talk.user);
  const facts = useLoad(
    (signal) => get<Page<Fact>>(at`/v1/users/${talk.user}/facts`, { ...ALL_PROJECTS, limit: 30 }, signal),
    [talk.user, round, begun],
  );
  const session = useLoad(
    begun ? (signal) => get<Session>(at`/v1/sessions/${talk.session}`, undefined, signal) : null,
    [talk.session, round, begun],
  );
  const counters = session.value?.counters;
  return (
    <>
      <Panel
        title="Memory, live"
        testId="live"
        tools={<span class={`badge ${listening ? "good" : "warn"}`}>{listening ? "listening" : "not listening"}</span>}
      >
        {counters ? (
          <dl class="figures">
            <Figure name="Messages" value={count(counters.messages)} note={times(counters.tokens, "token")} />
            <Figure name="Folded" value={count(counters.cursor)} note="messages in summaries" />
            {context ? (
              <Figure
                name="The last context"
                value={count(context.tokens)}
                note={`tokens, ${percent(context.tokens / context.budget.total)} of the budget`}
              />
            ) : null}
          </dl>
        ) : null}
        {begun ? (
          <p>
            <a href={addressOf({ screen: "timeline", user: talk.user, session: talk.session })}>Timeline</a> ·{" "}
            <a href={addressOf({ screen: "context", user: talk.user, session: talk.session })}>Context</a>
          </p>
        ) : null}
        <FeedList entries={entries} />
      </Panel>
      <Panel title="What is known now" testId="known">
        {facts.error ? <Notice error={facts.error} again={facts.again} /> : null}
        {facts.value?.items.length ? (
          <section class="known-now" aria-label="Facts" tabIndex={0}>
            <ul>
              {facts.value.items.map((fact) => (
                <li key={fact.id}>
                  <small>
                    <Line text={fact.category} most={60} />
                  </small>
                  <Line text={factLine(fact)} />
                </li>
              ))}
            </ul>
          </section>
        ) : (
          <Empty>No facts yet. What you say is read in the background; what it tells appears here.</Empty>
        )}
      </Panel>
    </>
  );
}
