import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { at, get } from "../api";
import type { Message, Page } from "../shapes";
import { Dialog } from "./dialog";
import { minute } from "./format";
import { Notice } from "./panel";
import { Term } from "./term";
import { type Mark, Words } from "./words";

const PAGE = 50; // messages that are fetched together
const ROW = 76; // pixels of a row, as in messages.css
const TALLEST = 8_000_000; // pixels that every browser can scroll through
const FEW = 40; // so many are shown in full

/** One message in full, or as one row that opens it. */
export function MessageRow({
  message,
  marks,
  open,
}: {
  message: Message;
  marks?: readonly Mark[];
  open?: (() => void) | undefined;
}) {
  const name = typeof message.body.name === "string" ? message.body.name : message.role;
  return (
    <article class={`message ${message.role}`} data-seq={message.seq}>
      <header>
        <span class="number">#{message.seq}</span>
        <b>
          <Words text={name} />
        </b>
        <time dateTime={message.created_at}>{minute(message.created_at)}</time>
        <span class="tokens">{message.tokens} tokens</span>
        {message.forgotten ? (
          <span class="badge hatched">
            <Term of="redacted">redacted</Term>
          </span>
        ) : null}
        {open ? (
          <button type="button" class="quiet" onClick={open} aria-label={`Open message ${message.seq}`}>
            open
          </button>
        ) : null}
      </header>
      <p>
        {message.text ? (
          <Words text={message.text} {...(marks ? { marks } : {})} block />
        ) : (
          <i>{message.forgotten ? "forgotten" : "no text"}</i>
        )}
      </p>
    </article>
  );
}

/** Messages `first` to `last` of a session; of many, only those in sight are fetched and drawn. */
export function Messages({
  session,
  first,
  last,
  show,
}: {
  session: string;
  first: number;
  last: number;
  show?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const total = Math.max(0, last - first + 1);
  const few = total <= FEW;
  const scale = Math.min(1, TALLEST / Math.max(total * ROW, 1));
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(480);
  const [opened, setOpened] = useState<Message | null>(null);

  const from = Math.max(0, Math.floor(top / scale / ROW));
  const begin = few ? 0 : Math.max(0, from - 5);
  const end = few ? total : Math.min(total, from + Math.ceil(height / ROW) + 5);
  const { found, error, again } = usePages(session, first, last, begin, end);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    element.scrollTop = show ? (show - first) * ROW * scale : 0;
    const seen = new ResizeObserver(() => setHeight(element.clientHeight));
    seen.observe(element);
    return () => seen.disconnect();
  }, [first, show, scale]);

  const rows = [];
  for (let place = begin; place < end; place++) {
    const message = found(place);
    rows.push(
      <div class="row" key={first + place}>
        {message ? (
          <MessageRow message={message} open={few ? undefined : () => setOpened(message)} />
        ) : (
          <p class="waiting">#{first + place} …</p>
        )}
      </div>,
    );
  }
  return (
    <>
      {error ? <Notice error={error} again={again} /> : null}
      <div
        class={few ? "messages" : "messages many"}
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={`Messages ${first} to ${last}`}
        data-testid="messages"
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        {few ? (
          rows
        ) : (
          <div class="tall" style={{ height: `${total * ROW * scale}px` }}>
            <div class="sight" style={{ transform: `translateY(${top - (top / scale - begin * ROW)}px)` }}>
              {rows}
            </div>
          </div>
        )}
      </div>
      {opened ? (
        <Dialog title={`Message ${opened.seq}`} close={() => setOpened(null)}>
          <MessageRow message={opened} />
        </Dialog>
      ) : null}
    </>
  );
}

/** The messages at some places of a span, fetched by the page as they come in sight. */
function usePages(session: string, first: number, last: number, begin: number, end: number) {
  const [pages, setPages] = useState<ReadonlyMap<string, Message[]>>(new Map());
  const [error, setError] = useState<Error | null>(null);
  const asked = useRef(new Set<string>());
  const name = (page: number) => JSON.stringify([session, first, last, page]);
  useEffect(() => {
    if (error) return;
    for (let page = Math.floor(begin / PAGE); page * PAGE < end; page++) {
      const key = name(page);
      if (asked.current.has(key)) continue;
      asked.current.add(key);
      const start = first + page * PAGE;
      get<Page<Message>>(at`/v1/sessions/${session}/messages`, {
        first: start,
        limit: Math.min(PAGE, last - start + 1),
      })
        .then((found) => setPages((before) => new Map(before).set(key, found.items)))
        .catch((failed: unknown) => {
          asked.current.delete(key);
          setError(failed instanceof Error ? failed : new Error(String(failed)));
        });
    }
  }, [name(0), begin, end, error]);
  const found = (place: number) =>
    pages.get(name(Math.floor(place / PAGE)))?.find((message) => message.seq === first + place);
  return { found, error, again: () => setError(null) };
}
