import { useCallback, useRef, useState } from "preact/hooks";
import { at, get } from "../../api";
import type { ScreenProps } from "../../app";
import { count, minute, percent, times } from "../../parts/format";
import { mayWrite } from "../../parts/may";
import { Messages } from "../../parts/messages";
import { Empty, Figure, Notice, Panel, Waiting } from "../../parts/panel";
import { Term } from "../../parts/term";
import { changed } from "../../pickers";
import { addressOf } from "../../place";
import type { About, Coverage, Message, Session, Span } from "../../shapes";
import "../../style/timeline.css";
import { moved, type View, zoomed } from "./layout";
import { Legend } from "./legend";
import { Lineage } from "./lineage";
import { useTimeline } from "./loads";
import { Proposed } from "./proposals";
import { Strata } from "./strata";

export default function Screen({ about, user, session }: ScreenProps) {
  if (session === null) {
    return (
      <Empty>
        <p>
          <b>Nothing is stored yet.</b>
        </p>
        <p>
          <a href={addressOf({ screen: "try", user, session: null })}>Talk</a>, or{" "}
          <a href={addressOf({ screen: "start", user: null, session: null })}>import your history</a>. From a program:{" "}
          <code>POST /v1/sessions/ID/messages</code>, or <code>lamina import FILE</code>.
        </p>
      </Empty>
    );
  }
  return <Timeline key={session} id={session} about={about} />;
}

function Timeline({ id, about }: { id: string; about: About }) {
  const [round, setRound] = useState(0);
  const [texts, setTexts] = useState(false);
  const [opened, setOpened] = useState<string | null>(null);
  const [shown, setShown] = useState<number | undefined>(undefined);
  const [view, setView] = useState<View | null>(null);
  const below = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState(false);
  const timeline = useTimeline(id, { round, texts, drawn });
  const { begun, summaries, blocks } = timeline;
  const session = begun.value?.session ?? null;
  const messages = session?.counters.messages ?? 0;
  const whole = { from: 0, to: Math.max(1, messages) };
  const sight = view ?? whole;
  const writes = mayWrite(about);

  const reload = useCallback(() => {
    setRound((before) => before + 1);
    changed();
  }, []);
  const show = (pin: { seq: number; message: string | null }) => {
    const shownAt = (seq: number) => {
      setShown(seq);
      below.current?.scrollIntoView({ block: "nearest" });
    };
    if (pin.message === null) shownAt(pin.seq);
    else {
      get<Message>(at`/v1/messages/${pin.message}`)
        .then((message) => shownAt(message.seq))
        .catch(() => shownAt(pin.seq));
    }
  };
  const textOf = (of: string): string | null => summaries.get(of)?.text ?? null;

  if (begun.error) return <Notice error={begun.error} again={begun.again} />;
  if (!session) return <Waiting />;
  if (messages === 0) return <Empty>This session has no messages yet.</Empty>;
  const failed = [timeline.outline, timeline.context, timeline.pinned, timeline.proposals].find((one) => one.error);
  const proposals = [...(timeline.proposals.value ?? [])].reverse();
  return (
    <>
      <Panel
        title="Timeline"
        testId="timeline"
        tools={<Looking view={sight} messages={messages} look={setView} again={reload} />}
      >
        <Figures
          session={session}
          coverage={timeline.context.value?.manifest.coverage ?? null}
          summaries={blocks.size}
        />
        <div
          role="group"
          aria-label="Layers"
          onKeyDown={(event) => {
            const look = keyed(event, sight, messages);
            if (!look) return;
            event.preventDefault();
            setView(look);
          }}
        >
          <Strata
            session={session}
            rows={timeline.rows}
            outline={timeline.outline.value}
            coverage={timeline.context.value?.manifest.coverage ?? null}
            pins={timeline.pins}
            digest={timeline.digest}
            view={sight}
            look={setView}
            shown={shown}
            show={show}
            open={(of) => {
              setTexts(true);
              setOpened(of);
            }}
            textOf={textOf}
            want={() => setTexts(true)}
            drawn={() => setDrawn(true)}
          />
        </div>
        {timeline.outline.value && !timeline.rows.length ? (
          <p class="waiting">
            Nothing is folded yet: what was said last stays word for word until enough has been said after it.
          </p>
        ) : null}
        {failed?.error ? <Notice error={failed.error} again={failed.again} /> : null}
        <Legend
          coverage={timeline.context.value?.manifest.coverage ?? null}
          outline={timeline.outline.value}
          pins={timeline.pins}
        />
      </Panel>
      {proposals.length ? (
        <Panel title="Proposals" testId="proposals">
          {proposals.map((proposal) => (
            <Proposed key={proposal.id} proposal={proposal} mayWrite={writes} done={reload} />
          ))}
        </Panel>
      ) : null}
      <div ref={below} class="below">
        <Panel title="The log, word for word" testId="log">
          <Messages session={id} first={1} last={messages} {...(shown ? { show: shown } : {})} />
        </Panel>
      </div>
      {opened ? (
        <Lineage
          id={opened}
          session={id}
          summaries={timeline.every.value || summaries.has(opened) ? summaries : null}
          block={blocks.get(opened) ?? null}
          error={timeline.every.error}
          mayWrite={writes}
          open={setOpened}
          close={() => setOpened(null)}
          reload={reload}
        />
      ) : null}
    </>
  );
}

function keyed(event: KeyboardEvent, view: View, messages: number): View | null {
  const middle = (view.from + view.to) / 2;
  const quarter = (view.to - view.from) / 4;
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  if (event.key === "+" || event.key === "=") return zoomed(view, 0.5, middle, messages);
  if (event.key === "-") return zoomed(view, 2, middle, messages);
  if (event.key === "0") return { from: 0, to: messages };
  if (event.shiftKey && event.key === "ArrowLeft") return moved(view, -quarter, messages);
  if (event.shiftKey && event.key === "ArrowRight") return moved(view, quarter, messages);
  return null;
}

/** Closer, further, along. */
function Looking({
  view,
  messages,
  look,
  again,
}: {
  view: View;
  messages: number;
  look: (view: View) => void;
  again: () => void;
}) {
  const middle = (view.from + view.to) / 2;
  const width = view.to - view.from;
  const whole = width >= messages;
  return (
    <>
      <button
        type="button"
        aria-label="Earlier"
        disabled={view.from <= 0}
        onClick={() => look(moved(view, -width / 2, messages))}
      >
        ◂
      </button>
      <button
        type="button"
        aria-label="Closer"
        disabled={width <= 4}
        onClick={() => look(zoomed(view, 0.5, middle, messages))}
      >
        +
      </button>
      <button
        type="button"
        aria-label="Further"
        disabled={whole}
        onClick={() => look(zoomed(view, 2, middle, messages))}
      >
        −
      </button>
      <button
        type="button"
        aria-label="Later"
        disabled={view.to >= messages}
        onClick={() => look(moved(view, width / 2, messages))}
      >
        ▸
      </button>
      <button type="button" disabled={whole} onClick={() => look({ from: 0, to: messages })}>
        Whole session
      </button>
      <button type="button" class="quiet" onClick={again} aria-label="Load again" title="Load again">
        ↻
      </button>
    </>
  );
}

const size = (spans: readonly Span[]): number => spans.reduce((sum, span) => sum + span.last - span.first + 1, 0);

function unseen({ left_out, blind }: Coverage): string {
  if (size(blind)) return `${count(size(blind))} of them not visible`;
  return left_out.length ? "their summaries did not fit" : "every message is in it";
}

function Figures({ session, coverage, summaries }: { session: Session; coverage: Coverage | null; summaries: number }) {
  const { messages, turns, tokens, cursor } = session.counters;
  return (
    <dl class="figures">
      <Figure name="Messages" value={count(messages)} note={<Term of="turn">{times(turns, "turn")}</Term>} />
      <Figure name="Tokens" of="tokens" value={count(tokens)} note={`last ${minute(session.last_at)}`} />
      <Figure
        name="Folded"
        of="fold"
        value={percent(Math.floor((cursor / Math.max(1, messages)) * 100) / 100)}
        note={`up to message ${count(cursor)}`}
      />
      <Figure name="Summaries" value={count(summaries)} note={`session is ${session.status}`} />
      {coverage ? (
        <>
          <Figure
            name="Word for word"
            of="verbatim"
            value={count(size(coverage.verbatim))}
            note="messages in a context"
          />
          <Figure
            name="Not shown"
            of="notShown"
            value={count(size(coverage.left_out) + size(coverage.blind))}
            note={unseen(coverage)}
          />
        </>
      ) : null}
    </dl>
  );
}
