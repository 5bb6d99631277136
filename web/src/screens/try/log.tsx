import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { times } from "../../parts/format";
import { Words } from "../../parts/words";
import type { Conversation, Said } from "./conversation";
import { Seen } from "./seen";
import type { Talk } from "./talking";

const SLOW_S = 2; // after so long, how long it takes is told

/** What was said, and the answer that is coming; `children` stand there before anything is. */
export function Log({ chat, children }: { chat: Conversation; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [chat.said, chat.coming]);
  return (
    <div class="talk" ref={box} role="log" aria-label="What was said" tabIndex={0} data-testid="said">
      {chat.said.length === 0 && !chat.busy ? children : null}
      {chat.said.map((one, place) => (
        <Spoken key={place} one={one} talk={chat.talk} />
      ))}
      {chat.coming === null ? null : chat.coming ? (
        <p class="assistant coming">
          <Words text={chat.coming} />
        </p>
      ) : (
        <Awaited />
      )}
    </div>
  );
}

function Spoken({ one, talk }: { one: Said; talk: Talk }) {
  if (one.is === "mine") {
    return (
      <p class="user" dir="auto">
        <Words text={one.text} />
      </p>
    );
  }
  if (one.is === "failed") {
    return (
      <div class="turn">
        {one.part ? (
          <p class="assistant broken" dir="auto">
            <Words text={one.part} /> <span class="badge warn">broken off</span>
          </p>
        ) : null}
        <p class="notice" role="alert">
          <span>
            No {one.part ? "whole " : ""}answer: <Words text={one.why} /> Your words are still in the box.
          </span>
        </p>
      </div>
    );
  }
  return (
    <div class="turn">
      <p class={one.turn.isEcho ? "assistant echo" : "assistant"} dir="auto">
        {one.turn.isEcho ? <span class="badge">echo, no model</span> : null}{" "}
        {one.turn.reply ? <Words text={one.turn.reply} /> : <i>The model answered without words.</i>}
      </p>
      {one.turn.fault ? <p class="note">Memory did not take part: {one.turn.fault.replaceAll("_", " ")}.</p> : null}
      <Seen turn={one.turn} talk={talk} />
    </div>
  );
}

function Awaited() {
  const [seconds, setSeconds] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setSeconds((before) => before + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="assistant coming" role="status">
      {seconds < SLOW_S ? "…" : `Waiting for the answer, ${times(seconds, "second")}…`}
    </p>
  );
}
