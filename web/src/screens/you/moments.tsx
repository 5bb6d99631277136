import { useState } from "preact/hooks";
import { times } from "../../parts/format";
import { episodeKind } from "../../parts/names";
import { SourceDialog } from "../../parts/source";
import { Line, Words } from "../../parts/words";
import { addressOf } from "../../place";
import type { Episode } from "../../shapes";
import { briefDay } from "./person";

const FIRST = 8; // that are shown at once

/** What happened, the newest first; each opens the messages it was read from. */
export function Moments({
  moments,
  titles,
  user,
}: {
  moments: readonly Episode[];
  titles: ReadonlyMap<string, string>;
  user: string;
}) {
  const [most, setMost] = useState(FIRST);
  const [opened, setOpened] = useState<Episode | null>(null);
  if (!moments.length) return null;
  return (
    <section class="moments" data-testid="moments" aria-label="Moments">
      <h3>Moments</h3>
      <ol>
        {moments.slice(0, most).map((one) => (
          <li key={one.id} class={one.kind}>
            <time dateTime={one.happened_at}>{briefDay(one.happened_at)}</time>
            <div>
              <button type="button" class="line" title="The messages it was read from" onClick={() => setOpened(one)}>
                <span>
                  <Line text={one.title} />
                </span>
              </button>
              {says(one) ? (
                <p class="origin">
                  <Line text={one.summary} most={240} />
                </p>
              ) : null}
              <p class="origin">
                {episodeKind(one.kind)} ·{" "}
                <a href={addressOf({ screen: "timeline", user, session: one.session_id })}>
                  <Words text={titles.get(one.session_id) ?? one.session_id} />
                </a>
              </p>
            </div>
          </li>
        ))}
      </ol>
      {moments.length > most ? (
        <button type="button" class="link" onClick={() => setMost(most + FIRST * 10)}>
          {times(moments.length - most, "earlier moment")}
        </button>
      ) : null}
      {opened ? (
        <SourceDialog
          found={{ kind: "episode", id: opened.id, session_id: opened.session_id, span: null }}
          user={user}
          close={() => setOpened(null)}
        />
      ) : null}
    </section>
  );
}

/** Whether its summary says more than its title. */
function says(one: Episode): boolean {
  const plain = (text: string) =>
    text
      .toLocaleLowerCase()
      .replace(/[\s.,;:!]+/g, " ")
      .trim();
  return plain(one.summary) !== plain(one.title);
}
