import { useEffect, useRef, useState } from "preact/hooks";
import { listen, type Told } from "../events";
import { type Entry, inWords, joined } from "../feed";
import { Empty } from "./panel";
import { Line } from "./words";
import "../style/feed.css";

const KEPT = 50; // entries that stay on the page
const CALM_MS = 300; // so long events are waited for that belong together
const LONGEST_MS = 1_500; // and no longer than this

export interface Feed {
  entries: readonly Entry[];
  listening: boolean;
  round: number; // counts up whenever something has changed
}

/** What happens to a user's memory from now on. */
export function useFeed(user: string): Feed {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [listening, setListening] = useState(false);
  const [round, setRound] = useState(0);
  const telling = useRef(Promise.resolve());
  useEffect(() => {
    const stop = new AbortController();
    let [heard, since]: [Told[], number] = [[], 0];
    let timer: ReturnType<typeof setTimeout> | undefined;
    setEntries([]);
    const tell = () => {
      const events = heard;
      heard = [];
      setRound((before) => before + 1);
      telling.current = telling.current.then(async () => {
        const came = await inWords(events, stop.signal).catch(() => []);
        if (stop.signal.aborted) return;
        // earlier entries may have the words that were forgotten
        const clean = events.some((event) => event.type === "forgotten");
        setEntries((before) => joined(clean ? [] : before, came, KEPT));
      });
    };
    const hear = (event: Told) => {
      if (!heard.length) since = Date.now();
      heard.push(event);
      clearTimeout(timer);
      timer = setTimeout(tell, Math.max(0, Math.min(CALM_MS, since + LONGEST_MS - Date.now())));
    };
    listen({ user_id: user }, hear, stop.signal, (now) => {
      if (!stop.signal.aborted) setListening(now);
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [user]);
  return { entries, listening, round };
}

/** The newest on top, in words; equal ones once, with their number. */
export function FeedList({ entries }: { entries: readonly Entry[] }) {
  if (!entries.length) return <Empty>Nothing has happened since this was opened.</Empty>;
  return (
    <section class="feed" data-testid="heard" aria-live="polite" aria-label="What happened" tabIndex={0}>
      <ol>
        {entries.map((one) => (
          <li key={JSON.stringify([one.what, one.verb, one.text, one.before, one.quote])} data-testid="happened">
            <span class={`badge of-${one.what}`}>{one.verb}</span>
            <div>
              <p>
                <Line text={one.text} />
                {one.before === null ? null : (
                  <span class="before">
                    , {one.verb === "in conflict" ? "but also" : "before"}: <Line text={one.before} most={80} />
                  </span>
                )}
                {one.number > 1 ? <b class="times"> ×{one.number}</b> : null}
              </p>
              {one.quote ? (
                <blockquote>
                  <Line text={one.quote} />
                </blockquote>
              ) : null}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
