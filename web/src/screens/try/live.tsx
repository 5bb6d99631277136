import { useEffect, useRef, useState } from "preact/hooks";
import { at, get } from "../../api";
import { listen, type Told } from "../../events";
import { useLoad } from "../../load";
import { count, percent, spanned, times } from "../../parts/format";
import { Empty, Figure, Notice, Panel } from "../../parts/panel";
import { Line } from "../../parts/words";
import { addressOf } from "../../place";
import type { Context, Fact, Page, Session } from "../../shapes";
import type { Talk } from "./talking";

const KEPT = 50; // events that stay on the page
const CALM_MS = 400; // after so long without another event, what changed is fetched

interface Heard {
  number: number;
  text: string;
}

/** What happens to the memory of the one who talks, as it happens. */
export function Live({ talk, begun, context }: { talk: Talk; begun: boolean; context: Context | null }) {
  const [heard, setHeard] = useState<Heard[]>([]);
  const [listening, setListening] = useState(false);
  const [round, setRound] = useState(0);
  const numbers = useRef(0);

  useEffect(() => {
    const stop = new AbortController();
    let waiting: ReturnType<typeof setTimeout> | undefined;
    setHeard([]);
    const hear = (event: Told) => {
      const text = told(event);
      if (!text) return;
      numbers.current += 1;
      const one = { number: numbers.current, text };
      setHeard((before) => [one, ...before].slice(0, KEPT));
      clearTimeout(waiting);
      waiting = setTimeout(() => setRound((before) => before + 1), CALM_MS);
    };
    listen({ user_id: talk.user }, hear, stop.signal, setListening);
    return () => {
      stop.abort();
      clearTimeout(waiting);
    };
  }, [talk.user]);

  const facts = useLoad(
    (signal) => get<Page<Fact>>(at`/v1/users/${talk.user}/facts`, { limit: 30 }, signal),
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
        {heard.length ? (
          <section class="heard" data-testid="heard" aria-live="polite" aria-label="Events" tabIndex={0}>
            <ol>
              {heard.map((one) => (
                <li key={one.number}>
                  <Line text={one.text} />
                </li>
              ))}
            </ol>
          </section>
        ) : (
          <Empty>Nothing has happened since this was opened.</Empty>
        )}
      </Panel>
      <Panel title="What is known now" testId="known">
        {facts.error ? <Notice error={facts.error} again={facts.again} /> : null}
        {facts.value?.items.length ? (
          <section class="known" aria-label="Facts" tabIndex={0}>
            <ul>
              {facts.value.items.map((fact) => (
                <li key={fact.id}>
                  <small>
                    <Line text={[fact.category, fact.key].filter(Boolean).join(" · ")} most={60} />
                  </small>
                  <Line text={fact.value} />
                </li>
              ))}
            </ul>
          </section>
        ) : (
          <Empty>No facts yet: they are found in what is said.</Empty>
        )}
      </Panel>
    </>
  );
}

/** An event in words. */
function told(event: Told): string | null {
  const about = event.data;
  switch (event.type) {
    case "message.added":
      return `${spanOf(about)} added to ${about.session_id}`;
    case "session.folded":
      return `${spanOf(about)} of ${about.session_id} folded into a summary of layer ${about.layer}`;
    case "fact.changed":
      return `a fact is ${about.status}`;
    case "forgotten":
      return "something was forgotten";
    case "gap":
      return "some events were missed";
    default:
      return null;
  }
}

function spanOf(about: Record<string, unknown>): string {
  return spanned({ first: Number(about.first), last: Number(about.last) });
}
