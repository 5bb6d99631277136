import { useEffect, useRef, useState } from "preact/hooks";
import { ALL_PROJECTS, at, get } from "../../api";
import { useLoad } from "../../load";
import { count, percent, times } from "../../parts/format";
import { Waiting } from "../../parts/panel";
import { type Found, SourceDialog } from "../../parts/source";
import { More } from "../../parts/tasks";
import { Words } from "../../parts/words";
import type { Context, Fact, Page } from "../../shapes";
import { Pieces } from "../context/pieces";
import { seen, type Talk, type Turn } from "./talking";

const ABOVE = 8; // pixels over a fold that was opened

/** What the model saw for an answer: closed, one line; open, every piece with its tokens and why, and the very words. */
export function Seen({ turn, talk }: { turn: Turn; talk: Talk }) {
  const [open, setOpen] = useState(false);
  const { context } = turn;
  const who = turn.isEcho ? "What a model would have seen" : "What the model saw";
  return (
    <details
      class="seen"
      data-testid="seen"
      open={open}
      onToggle={(event) => {
        if (event.target === event.currentTarget) setOpen(event.currentTarget.open);
      }}
    >
      <summary>
        {who}: {seen(context) || "nothing from memory"} <small>{times(context.tokens, "token")}</small>
      </summary>
      {open ? <Opened turn={turn} talk={talk} context={context} /> : null}
    </details>
  );
}

function Opened({ turn, talk, context }: { turn: Turn; talk: Talk; context: Context }) {
  const [found, setFound] = useState<Found | null>(null);
  const facts = useLoad(
    (signal) => get<Page<Fact>>(at`/v1/users/${talk.user}/facts`, { ...ALL_PROJECTS, limit: 1000 }, signal),
    [talk.user],
  );
  const reading = {
    session: talk.session,
    facts: new Map(facts.value?.items.map((fact) => [fact.id, fact.text])),
    open: setFound,
  };
  const top = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!facts.loading) showFold(top.current);
  }, [facts.loading]);
  const other = turn.sent !== null && turn.sent > 0 && turn.sent !== context.tokens;
  return (
    <div class="opened" ref={top}>
      <p class="note">
        {count(context.tokens)} of {times(context.budget.total, "token")} (
        {percent(context.tokens / context.budget.total)}
        ). Each piece says why it is there; a click shows its source.
        {other ? ` The model was sent ${times(turn.sent ?? 0, "token")}: memory changed in between.` : ""}
      </p>
      {facts.loading ? <Waiting /> : <Pieces items={context.manifest.items} reading={reading} />}
      {context.manifest.warnings.map((warning) => (
        <p key={warning} class="note">
          <Words text={warning} />
        </p>
      ))}
      <More label="Word for word">
        {context.messages.map((message, place) => (
          <div key={place} class="sent">
            <small>{String(message.role)}</small>
            <pre dir="auto">
              <Words text={typeof message.content === "string" ? message.content : JSON.stringify(message, null, 2)} />
            </pre>
          </div>
        ))}
      </More>
      {found ? <SourceDialog found={found} user={talk.user} close={() => setFound(null)} /> : null}
    </div>
  );
}

/** Bring a fold that was opened to the top of what was said, and that into sight. */
function showFold(inside: HTMLElement | null): void {
  const fold = inside?.closest("details");
  const log = fold?.closest(".talk");
  if (!fold || !log) return;
  log.scrollTop += fold.getBoundingClientRect().top - log.getBoundingClientRect().top - ABOVE;
  log.scrollIntoView({ block: "nearest" });
}
