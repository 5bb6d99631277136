/** A conversation of the chat: what was said in it, and what is under way. */

import { useRef, useState } from "preact/hooks";
import { changed } from "../../pickers";
import type { About, Context } from "../../shapes";
import { BrokenOff, giveTitle, say, type Talk, type Turn } from "./talking";

export type Said =
  | { is: "mine"; text: string }
  | { is: "answer"; turn: Turn }
  | { is: "failed"; part: string; why: string };

export interface Conversation {
  talk: Talk;
  said: Said[];
  coming: string | null; // as much of the answer as there is; null: none is awaited
  busy: boolean;
  begun: boolean;
  context: Context | null;
  speak: (words: string, failed: () => void) => void;
  stop: () => void;
  restart: (change: Partial<Talk>) => void;
  choose: (model: string) => void;
}

function fresh(): string {
  const random = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  return `try-${new Date().toISOString().slice(0, 10)}-${random.toString(36)}`;
}

export function useConversation(about: About, user: string): Conversation {
  const [talk, setTalk] = useState<Talk>({ user, session: fresh(), model: about.chat_model ?? "" });
  const [said, setSaid] = useState<Said[]>([]);
  const [coming, setComing] = useState<string | null>(null);
  const [begun, setBegun] = useState(false);
  const going = useRef<AbortController | null>(null);
  const add = (one: Said) => setSaid((before) => [...before, one]);

  const last = said.findLast((one) => one.is === "answer");

  const speak = async (words: string, failed: () => void) => {
    const asked = new AbortController();
    going.current = asked;
    add({ is: "mine", text: words });
    setComing("");
    try {
      const turn = await say(about, talk, words, setComing, asked.signal);
      if (!last) await giveTitle(talk, words);
      add({ is: "answer", turn });
    } catch (error) {
      const why = asked.signal.aborted ? "You stopped it." : error instanceof Error ? error.message : String(error);
      add({ is: "failed", part: error instanceof BrokenOff ? error.reply : "", why });
      failed();
    } finally {
      setComing(null);
      setBegun(true);
      changed();
    }
  };
  return {
    talk,
    said,
    coming,
    busy: coming !== null,
    begun,
    context: last?.is === "answer" ? last.turn.context : null,
    speak,
    stop: () => going.current?.abort(),
    restart: (change) => {
      going.current?.abort();
      setTalk((before) => ({ ...before, session: fresh(), ...change }));
      setSaid([]);
      setBegun(false);
    },
    choose: (model) => setTalk((before) => ({ ...before, model })),
  };
}
