import { useState } from "preact/hooks";
import { at, send } from "../../api";
import { useDoing } from "../../load";
import { Dialog } from "../../parts/dialog";
import { count, doneMinute, minute, spanned, times } from "../../parts/format";
import { NEEDS_WRITE } from "../../parts/may";
import { Messages } from "../../parts/messages";
import { Notice, Waiting } from "../../parts/panel";
import { Action, More } from "../../parts/tasks";
import { Id, Line, Words } from "../../parts/words";
import type { Block, Proposal, Summary } from "../../shapes";
import { Differences } from "./differences";
import { rowKey } from "./layout";
import { layerName, shorter } from "./names";
import { Proposed } from "./proposals";

interface Given {
  id: string;
  session: string;
  summaries: ReadonlyMap<string, Summary> | null;
  block: Block | null;
  error: Error | null;
  mayWrite: boolean;
  open: (id: string) => void;
  close: () => void;
  reload: () => void;
}

/** Where a summary comes from and what became of it. */
export function Lineage({ id, session, summaries, block, error, mayWrite, open, close, reload }: Given) {
  const summary = summaries?.get(id) ?? null;
  const known = summary ?? block;
  const title = known ? layerName(known.kind, known.layer) : "Summary";
  return (
    <Dialog title={known?.covers ? `${title}, ${spanned(known.covers)}` : title} close={close} side>
      {error ? <Notice error={error} /> : null}
      {summary ? (
        <div class="lineage" data-testid="lineage" key={id}>
          <p class="badges">
            <span class={`badge ${summary.status === "live" ? "good" : ""}`}>{summary.status}</span>
            <span class="badge">version {summary.version}</span>
            <Id id={summary.id} />
          </p>
          <div class="told" role="region" aria-label="Its text" tabIndex={0}>
            <Words text={summary.text} />
          </div>
          {summary.topics.length ? (
            <p class="badges">
              {summary.topics.map((topic) => (
                <span class="badge" key={topic}>
                  <Line text={topic} most={40} />
                </span>
              ))}
            </p>
          ) : null}
          <Numbers summary={summary} block={block} />
          <Kin summary={summary} summaries={summaries} open={open} />
          <Earlier summary={summary} summaries={summaries} />
          {summary.covers ? (
            <>
              <More label={`The ${times(summary.covers.last - summary.covers.first + 1, "message")} it covers`}>
                <Messages session={session} first={summary.covers.first} last={summary.covers.last} />
              </More>
              <Regenerate session={session} first={summary.covers.first} mayWrite={mayWrite} reload={reload} />
            </>
          ) : null}
        </div>
      ) : error ? null : summaries ? (
        <p>This summary no longer exists: its messages were forgotten, or the session was regenerated.</p>
      ) : (
        <Waiting />
      )}
    </Dialog>
  );
}

function Numbers({ summary, block }: { summary: Summary; block: Block | null }) {
  const { recipe } = summary;
  const rows: [string, string | null][] = [
    [
      "Tokens",
      block ? `${count(summary.tokens)} for ${count(block.covered_tokens)} (${shorter(block)})` : count(summary.tokens),
    ],
    ["Read", summary.reads ? spanned(summary.reads) : summary.inputs.length ? "earlier summaries only" : null],
    ["Due", block?.due ? `at message ${count(block.due)}` : null],
    ["Written", `${doneMinute(summary.created_at)}; its newest message is of ${minute(summary.updated_at)}`],
    ["Profile", `${recipe.profile}, ${recipe.kind}`],
    ["Model", recipe.model],
    ["Prompt", recipe.prompt],
    ["Cap", recipe.cap === null ? null : times(recipe.cap, "token")],
    ["Fallback", recipe.fallback],
    ["Attempts", count(recipe.attempts)],
  ];
  return (
    <dl class="facts">
      {rows.map(([name, value]) =>
        value === null ? null : (
          <>
            <dt>{name}</dt>
            <dd>
              <Words text={value} />
            </dd>
          </>
        ),
      )}
    </dl>
  );
}

function Kin({
  summary,
  summaries,
  open,
}: {
  summary: Summary;
  summaries: ReadonlyMap<string, Summary> | null;
  open: (id: string) => void;
}) {
  const named = (id: string) => {
    const other = summaries?.get(id);
    return other ? (
      <button type="button" key={id} onClick={() => open(id)} data-testid="kin">
        {layerName(other.kind, other.layer)}, {spanned(other.covers) || "no messages"}
        {other.version > 1 ? `, version ${other.version}` : ""}
      </button>
    ) : (
      <Id key={id} id={id} />
    );
  };
  return (
    <>
      {summary.inputs.length ? (
        <section>
          <h3>Made from</h3>
          <div class="tools">{summary.inputs.map(named)}</div>
        </section>
      ) : null}
      {summary.folded_into ? (
        <section>
          <h3>Folded into</h3>
          <div class="tools">{named(summary.folded_into)}</div>
        </section>
      ) : null}
    </>
  );
}

/** Versions that this one took the place of: of the same messages, or those it carries on. */
function earlierThan(summary: Summary, summaries: ReadonlyMap<string, Summary>): Summary[] {
  const { covers } = summary;
  if (!covers) return [];
  return [...summaries.values()]
    .filter(
      (other) =>
        other.id !== summary.id &&
        rowKey(other) === rowKey(summary) &&
        other.status !== "live" &&
        other.created_at <= summary.created_at &&
        (summary.inputs.includes(other.id) || other.covers?.first === covers.first),
    )
    .sort(
      (one, other) =>
        other.version - one.version || other.layer - one.layer || other.created_at.localeCompare(one.created_at),
    );
}

function Earlier({ summary, summaries }: { summary: Summary; summaries: ReadonlyMap<string, Summary> | null }) {
  const earlier = summaries ? earlierThan(summary, summaries) : [];
  const [most, setMost] = useState(10);
  if (!earlier.length) return null;
  return (
    <section>
      <h3>Earlier versions</h3>
      {earlier.slice(0, most).map((other) => (
        <More
          key={other.id}
          label={`Version ${other.version}, ${spanned(other.covers)}, ${doneMinute(other.created_at)}: what changed since`}
        >
          <Differences before={other.text} after={summary.text} />
        </More>
      ))}
      {earlier.length > most ? (
        <button type="button" class="link" onClick={() => setMost(most + 50)}>
          Show {count(Math.min(50, earlier.length - most))} more
        </button>
      ) : null}
    </section>
  );
}

function Regenerate({
  session,
  first,
  mayWrite,
  reload,
}: {
  session: string;
  first: number;
  mayWrite: boolean;
  reload: () => void;
}) {
  const doing = useDoing();
  const [proposal, setProposal] = useState<Proposal | null>(null);
  const keep = (made: Proposal) => {
    setProposal(made);
    reload();
  };
  return (
    <section class="anew">
      <h3>Regenerate</h3>
      <p>
        Writes the summaries and facts from message {count(first)} on once more, beside what there is. Nothing changes
        until it is accepted.
      </p>
      <span title={mayWrite ? undefined : NEEDS_WRITE}>
        <Action
          doing={doing}
          disabled={!mayWrite}
          work={async () => keep(await send<Proposal>("POST", at`/v1/sessions/${session}/regenerate`, { first }))}
        >
          {doing.busy ? "Writing…" : "Regenerate from here"}
        </Action>
      </span>
      {doing.error ? <Notice error={doing.error} /> : null}
      {proposal ? <Proposed proposal={proposal} mayWrite={mayWrite} done={keep} /> : null}
    </section>
  );
}
