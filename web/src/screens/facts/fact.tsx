import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ask, at, get } from "../../api";
import { useLoad } from "../../load";
import { Dialog } from "../../parts/dialog";
import { count, day, doneMinute, minute, percent, times } from "../../parts/format";
import { MessageRow } from "../../parts/messages";
import { statusName } from "../../parts/names";
import { Notice, Waiting } from "../../parts/panel";
import { SessionName } from "../../parts/session";
import { More } from "../../parts/tasks";
import { Term } from "../../parts/term";
import { Id, Line, Words } from "../../parts/words";
import type { About, Fact, Page, Why } from "../../shapes";
import { FactActions } from "./actions";
import { STATUSES } from "./signs";

export interface Tagged {
  fact: Fact;
  tag: string;
  why: Why;
  history: Fact[];
}

async function read(id: string, signal: AbortSignal): Promise<Tagged> {
  const answer = await ask("GET", at`/v1/facts/${id}`, { query: { record_access: false }, signal });
  const [fact, why, history] = await Promise.all([
    answer.json() as Promise<Fact>,
    get<Why>(at`/v1/facts/${id}/why`, {}, signal),
    get<Page<Fact>>(at`/v1/facts/${id}/history`, {}, signal),
  ]);
  return { fact, tag: answer.headers.get("ETag") ?? "*", why, history: history.items };
}

/** One fact with all that is known of it, and what can be done to it. */
export function FactDialog({
  id,
  about,
  close,
  changed,
}: {
  id: string;
  about: About;
  close: () => void;
  changed: () => void;
}) {
  const [trail, setTrail] = useState([id]);
  const shown = trail.at(-1) ?? id;
  const top = useRef<HTMLDivElement>(null);
  const { value, error, loading, again } = useLoad((signal) => read(shown, signal), [shown]);
  useEffect(() => {
    top.current?.closest("dialog")?.scrollTo(0, 0);
  }, [shown]);
  const open = (fact: Fact) => setTrail((before) => [...before, fact.id]);
  const known = value?.fact.id === shown ? value : null;
  return (
    <Dialog title="Fact" close={close} side>
      <div ref={top} data-testid="fact" class="fact">
        {trail.length > 1 ? (
          <button type="button" class="quiet" onClick={() => setTrail((before) => before.slice(0, -1))}>
            ← Back
          </button>
        ) : null}
        {error ? <Notice error={error} again={again} /> : null}
        {!known && !error ? <Waiting /> : null}
        {known ? (
          <>
            <Standing fact={known.fact} />
            <FactActions
              key={known.fact.id}
              tagged={known}
              about={about}
              reading={loading}
              again={again}
              close={close}
              changed={(next) => {
                changed();
                if (next && next !== shown) setTrail((before) => [...before, next]);
                else again();
              }}
            />
            <Reasons why={known.why} open={open} />
            <History facts={known.history} shown={shown} open={open} />
          </>
        ) : null}
      </div>
    </Dialog>
  );
}

export function Badge({ fact }: { fact: Fact }) {
  return (
    <span class={`badge standing ${fact.status}`} title={STATUSES[fact.status].tells}>
      {STATUSES[fact.status].sign} {statusName(fact.status)}
    </span>
  );
}

function Standing({ fact }: { fact: Fact }) {
  return (
    <>
      <p class="value">
        <Words text={fact.value} block />
      </p>
      <p class="tools">
        <Badge fact={fact} />
        <span class="badge">{fact.type}</span>
        <span class="badge">version {fact.version}</span>
        {fact.holds ? null : <span class="badge warn">said to have ended</span>}
        {fact.verdict ? <span class="badge">{fact.verdict} by hand or by consolidation</span> : null}
      </p>
      <dl class="facts">
        <dt>About</dt>
        <dd>
          <Line text={fact.category} /> /{" "}
          {fact.key === null ? (
            <i>
              <Term of="key">no key</Term>
            </i>
          ) : (
            <Line text={fact.key} />
          )}
        </dd>
        <dt>Valid</dt>
        <dd>
          {day(fact.valid_from)} – {fact.valid_until === null ? "open" : day(fact.valid_until)}
        </dd>
        <dt>Learnt</dt>
        <dd>
          {minute(fact.learnt_at)}, {fact.origin === "said" ? "said in a conversation" : "stored by hand"}
        </dd>
        <dt>
          <Term of="confidence">Confidence</Term>
        </dt>
        <dd>{percent(fact.confidence)}</dd>
        <dt>
          <Term of="importance">Importance</Term>
        </dt>
        <dd>{percent(fact.importance)}</dd>
        <dt>Used</dt>
        <dd>
          {times(fact.accesses, "time")}
          {fact.accessed_at === null ? "" : `, last ${doneMinute(fact.accessed_at)}`}
        </dd>
        {fact.tags.length ? (
          <>
            <dt>Tags</dt>
            <dd>
              <Line text={fact.tags.join(", ")} />
            </dd>
          </>
        ) : null}
        <dt>Id</dt>
        <dd>
          <Id id={fact.id} />
        </dd>
      </dl>
    </>
  );
}

function FactButton({ fact, open }: { fact: Fact; open: (fact: Fact) => void }) {
  return (
    <button type="button" class="other" onClick={() => open(fact)}>
      <Badge fact={fact} />
      <span class="text">
        <Line text={fact.value} />
      </span>
      <small>
        {day(fact.valid_from)} – {fact.valid_until === null ? "open" : day(fact.valid_until)}
      </small>
    </button>
  );
}

function Others({ name, facts, open }: { name: ComponentChildren; facts: Fact[]; open: (fact: Fact) => void }) {
  if (!facts.length) return null;
  return (
    <div class="others">
      <h4>{name}</h4>
      {facts.map((fact) => (
        <FactButton key={fact.id} fact={fact} open={open} />
      ))}
    </div>
  );
}

function Reasons({ why, open }: { why: Why; open: (fact: Fact) => void }) {
  const { fact, message } = why;
  return (
    <section aria-label="Why" data-testid="why">
      <h3>Why</h3>
      <ul>
        {why.reasons.map((reason) => (
          <li key={reason}>
            <Words text={reason} />
          </li>
        ))}
      </ul>
      {message ? (
        <div class="source">
          <MessageRow message={message} marks={[{ start: fact.start, end: fact.end }]} />
          <small>
            message {count(message.seq)} of <SessionName id={message.session_id} />
          </small>
        </div>
      ) : null}
      <Others name="It took the place of" facts={why.before ? [why.before] : []} open={open} />
      <Others name="Its place was taken by" facts={why.after ? [why.after] : []} open={open} />
      <Others name="It disagrees with" facts={why.conflicts} open={open} />
      <Others name="It was also said here" facts={why.evidence} open={open} />
      {why.links.length ? (
        <More label={`${times(why.links.length, "link")} to other memories`}>
          <ul>
            {why.links.map((link) => (
              <li key={`${link.source} ${link.target} ${link.type}`}>
                {link.type.replaceAll("_", " ")} <Id id={link.source === fact.id ? link.target : link.source} />
              </li>
            ))}
          </ul>
        </More>
      ) : null}
    </section>
  );
}

function History({ facts, shown, open }: { facts: Fact[]; shown: string; open: (fact: Fact) => void }) {
  return (
    <section aria-label="History" data-testid="history">
      <h3>History: {times(facts.length, "value")}</h3>
      <ol class="others">
        {facts.map((fact) => (
          <li key={fact.id}>
            {fact.id === shown ? (
              <span class="other" aria-current="true">
                <Badge fact={fact} />
                <span class="text">
                  <Line text={fact.value} />
                </span>
                <small>this one, learnt {day(fact.learnt_at)}</small>
              </span>
            ) : (
              <FactButton fact={fact} open={open} />
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
