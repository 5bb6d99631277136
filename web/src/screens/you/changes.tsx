import { Line } from "../../parts/words";
import type { Fact } from "../../shapes";
import { briefDay, type Change, sinceIn } from "./person";
import { Origin } from "./sections";

/** What was one thing and became another: each value with the day from which it was true. */
export function Changes({
  changes,
  titles,
  user,
  open,
  read,
}: {
  changes: readonly Change[];
  titles: ReadonlyMap<string, string>;
  user: string;
  open: (fact: Fact) => void;
  read: (fact: Fact) => void;
}) {
  if (!changes.length) return null;
  return (
    <section class="changes" data-testid="changes" aria-label="How it changed">
      <h3>How it changed</h3>
      <ul>
        {changes.map((change) => {
          const last = change.values.at(-1);
          return (
            <li key={change.id} data-testid="change">
              <h4>
                <Line text={change.name} most={60} />
              </h4>
              <ol>
                {change.values.map((fact) => (
                  <li key={fact.id} class={fact === last ? "now" : ""}>
                    <button type="button" class="value" title="Source and history" onClick={() => open(fact)}>
                      <Line text={fact.value} most={80} />
                    </button>
                    <Since since={sinceIn(change, fact)} />
                  </li>
                ))}
              </ol>
              {last ? <Origin fact={last} titles={titles} user={user} read={read} /> : null}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Since({ since }: { since: string | null }) {
  return since === null ? <small>before</small> : <time dateTime={since}>{briefDay(since)}</time>;
}
