import type { ComponentChildren } from "preact";
import { all, at, get } from "../api";
import { useLoad } from "../load";
import { addressOf } from "../place";
import type { Episode, Message, Page, Span, Summary, Why } from "../shapes";
import { Dialog } from "./dialog";
import { day, minute, spanned, times } from "./format";
import { MessageRow, Messages } from "./messages";
import { statusName } from "./names";
import { Nearby } from "./nearby";
import { Empty, Notice, Waiting } from "./panel";
import { SessionName } from "./session";
import { More } from "./tasks";
import { Words } from "./words";
import "../style/pieces.css";

/** What a piece of a context, something left out of it, or a hit of a search can be found by. */
export interface Found {
  kind: string;
  id: string | null;
  session_id: string | null;
  span: Span | null;
  message_ids?: readonly string[];
}

/** A kind as people read it: `summary:chunk` is a summary. */
export function kindOf(found: { kind: string }): string {
  return found.kind.split(":")[0] ?? found.kind;
}

/** Where something comes from, in a window along the edge. `children` stand above it. */
export function SourceDialog({
  found,
  user,
  close,
  children,
}: {
  found: Found;
  user: string;
  close: () => void;
  children?: ComponentChildren;
}) {
  return (
    <Dialog title={`Source: ${kindOf(found)}`} close={close} side>
      <div class="source" data-testid="source">
        {children}
        <Source found={found} user={user} />
      </div>
    </Dialog>
  );
}

function Source({ found, user }: { found: Found; user: string }) {
  const kind = kindOf(found);
  if (kind === "fact" && found.id) return <FactSource id={found.id} />;
  if (kind === "episode" && found.id) return <EpisodeSource id={found.id} user={user} />;
  if (kind === "digest" || (kind === "summary" && !found.session_id)) return <DigestSource user={user} />;
  if (kind === "summary" && found.id && found.session_id)
    return <SummarySource id={found.id} session={found.session_id} user={user} />;
  if (kind === "messages" && found.session_id && found.span)
    return <Spoken session={found.session_id} {...found.span} />;
  const ids = found.message_ids?.length ? found.message_ids : found.id ? [found.id] : [];
  return ids.length ? <Said ids={ids} /> : <Empty>This has no source of its own: it came with the request.</Empty>;
}

function Spoken({ session, first, last }: { session: string; first: number; last: number }) {
  return (
    <>
      <dl class="facts">
        <dt>Session</dt>
        <dd>
          <SessionName id={session} />
        </dd>
        <dt>Place</dt>
        <dd>{spanned({ first, last })}</dd>
      </dl>
      <Messages session={session} first={first} last={last} />
    </>
  );
}

function Said({ ids }: { ids: readonly string[] }) {
  const some = ids.slice(0, 20);
  const loaded = useLoad(
    (signal) => Promise.all(some.map((id) => get<Message>(at`/v1/messages/${id}`, undefined, signal))),
    [some.join(" ")],
  );
  if (loaded.error) return <Notice error={loaded.error} again={loaded.again} />;
  if (!loaded.value) return <Waiting />;
  return (
    <>
      {loaded.value.map((message) => (
        <div key={message.id}>
          <p>
            <small>
              Session <SessionName id={message.session_id} />, turn {message.turn}
            </small>
          </p>
          {some.length === 1 ? <Nearby message={message} /> : <MessageRow message={message} />}
        </div>
      ))}
      {ids.length > some.length ? <p>And {times(ids.length - some.length, "message")} more.</p> : null}
    </>
  );
}

function SummarySource({ id, session, user }: { id: string; session: string; user: string }) {
  const loaded = useLoad(
    (signal) => get<Page<Summary>>(at`/v1/sessions/${session}/summaries`, { live: false }, signal),
    [session],
  );
  if (loaded.error) return <Notice error={loaded.error} again={loaded.again} />;
  if (!loaded.value) return <Waiting />;
  const summary = loaded.value.items.find((one) => one.id === id);
  if (!summary) return <Empty>This summary no longer exists.</Empty>;
  return (
    <>
      <SummaryText summary={summary} />
      <p>
        <a href={addressOf({ screen: "timeline", user, session })}>Show it in the timeline</a>
      </p>
      {summary.covers ? (
        <More label={`Messages it covers: ${spanned(summary.covers)}`}>
          <Messages session={session} {...summary.covers} />
        </More>
      ) : null}
    </>
  );
}

function DigestSource({ user }: { user: string }) {
  const loaded = useLoad((signal) => get<Summary>(at`/v1/users/${user}/digest`, undefined, signal), [user]);
  if (loaded.error) return <Notice error={loaded.error} again={loaded.again} />;
  return loaded.value ? <SummaryText summary={loaded.value} /> : <Waiting />;
}

function SummaryText({ summary }: { summary: Summary }) {
  return (
    <>
      <dl class="facts">
        <dt>Kind</dt>
        <dd>
          {summary.kind}, layer {summary.layer}, version {summary.version}, {summary.status}
        </dd>
        <dt>Covers</dt>
        <dd>{summary.covers ? spanned(summary.covers) : "earlier sessions"}</dd>
        <dt>Tokens</dt>
        <dd>{summary.tokens}</dd>
        <dt>Written</dt>
        <dd>
          {minute(summary.updated_at)} by <Words text={summary.recipe.model} />
        </dd>
      </dl>
      <p class="told">
        <Words text={summary.text} block />
      </p>
    </>
  );
}

function FactSource({ id }: { id: string }) {
  const loaded = useLoad((signal) => get<Why>(at`/v1/facts/${id}/why`, undefined, signal), [id]);
  if (loaded.error) return <Notice error={loaded.error} again={loaded.again} />;
  if (!loaded.value) return <Waiting />;
  const { fact, message, reasons } = loaded.value;
  return (
    <>
      <p class="told">
        <Words text={fact.value} block />
      </p>
      <dl class="facts">
        <dt>About</dt>
        <dd>
          <Words text={fact.key ?? fact.category} />
        </dd>
        <dt>Status</dt>
        <dd>
          {statusName(fact.status)} since {day(fact.valid_from)}
          {fact.valid_until ? ` until ${day(fact.valid_until)}` : ""}
        </dd>
        <dt>Importance</dt>
        <dd>
          {fact.importance}, confidence {fact.confidence}
        </dd>
      </dl>
      {reasons.length ? (
        <ul>
          {reasons.map((reason) => (
            <li key={reason}>
              <Words text={reason} />
            </li>
          ))}
        </ul>
      ) : null}
      {message ? (
        <>
          <p>
            <small>
              Session <SessionName id={message.session_id} />
            </small>
          </p>
          <Nearby message={message} marks={[{ start: fact.start, end: fact.end }]} />
        </>
      ) : (
        <p>It was stored by hand: there is no message behind it.</p>
      )}
    </>
  );
}

function EpisodeSource({ id, user }: { id: string; user: string }) {
  const loaded = useLoad((signal) => all<Episode>(at`/v1/users/${user}/episodes`, {}, signal), [user]);
  if (loaded.error) return <Notice error={loaded.error} again={loaded.again} />;
  if (!loaded.value) return <Waiting />;
  const episode = loaded.value.find((one) => one.id === id);
  if (!episode) return <Empty>This episode no longer exists.</Empty>;
  return (
    <>
      <h3>
        <Words text={episode.title} />
      </h3>
      <p class="told">
        <Words text={episode.summary} block />
      </p>
      <dl class="facts">
        <dt>Kind</dt>
        <dd>
          <Words text={episode.kind} />
        </dd>
        <dt>Happened</dt>
        <dd>{minute(episode.happened_at)}</dd>
        <dt>Session</dt>
        <dd>
          <SessionName id={episode.session_id} />
        </dd>
        {episode.outcome ? (
          <>
            <dt>Outcome</dt>
            <dd>
              <Words text={episode.outcome} />
            </dd>
          </>
        ) : null}
      </dl>
      {episode.message_ids.length ? (
        <More label={`Its ${times(episode.message_ids.length, "message")}`}>
          <Said ids={episode.message_ids} />
        </More>
      ) : null}
    </>
  );
}
