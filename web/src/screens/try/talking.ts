/** One turn of the chat: with the model that is configured, or with an echo that says what a model would have seen. */

import { ask, at, send } from "../../api";
import { eventsIn } from "../../events";
import { count, now, times } from "../../parts/format";
import type { About, Context } from "../../shapes";

export interface Talk {
  user: string;
  session: string;
  model: string;
}

export interface Turn {
  reply: string;
  isEcho: boolean;
  context: Context;
  sent: number | null; // tokens of memory that the model was sent, as the proxy says; null of an echo
  fault: string | null; // why memory did not take part
}

/** A model that stopped in the middle of its answer. */
export class BrokenOff extends Error {
  constructor(
    readonly reply: string,
    message: string,
  ) {
    super(message);
  }
}

const BUDGET = 2_000; // tokens of memory for a turn
const SECTIONS: Record<string, [string, string]> = {
  facts: ["fact", "facts"],
  digest: ["digest", "digests"],
  summaries: ["summary", "summaries"],
  recalled: ["passage from earlier", "passages from earlier"],
  recent: ["recent message", "recent messages"],
};

/** Say something; `heard` is given the reply as far as it has come. */
export async function say(
  about: About,
  talk: Talk,
  words: string,
  heard: (reply: string) => void,
  signal: AbortSignal,
): Promise<Turn> {
  const asked = { user_id: talk.user, session_id: talk.session, query: words, budget: BUDGET };
  // where a model answers, the proxy builds the same context again, and counts its use
  const context = await send<Context>("POST", "/v1/context", { ...asked, record_access: !about.proxy }, signal);
  if (about.proxy) return { ...(await answered(talk, words, heard, signal)), isEcho: false, context };
  const messages = at`/v1/sessions/${talk.session}/messages`;
  const message = { role: "user", content: words, created_at: now() }; // in the zone of who says it
  await send("POST", messages, { user_id: talk.user, messages: message }, signal);
  return { reply: echo(words, context), isEcho: true, context, sent: null, fault: null };
}

const LONGEST_TITLE = 60;

/** Give a new session a title: how it began, up to the end of a word. */
export async function giveTitle(talk: Talk, words: string): Promise<void> {
  const signs = Array.from(words.replace(/\s+/g, " ").trim());
  const begin = signs.slice(0, LONGEST_TITLE).join("");
  const end = begin.lastIndexOf(" ");
  const title = signs.length <= LONGEST_TITLE ? begin : `${end > 0 ? begin.slice(0, end) : begin}…`;
  await send("PATCH", at`/v1/sessions/${talk.session}`, { title }).catch(() => undefined); // then its id names it
}

export function echo(words: string, context: Context): string {
  return `Echo: “${words}”. A model would have seen ${seen(context) || "nothing yet"}, in ${times(context.tokens, "token")}.`;
}

/** What a context has from memory, in words; nothing where it has nothing. */
export function seen(context: Context): string {
  return Object.entries(SECTIONS)
    .map(([section, names]) => {
      const pieces = context.manifest.items.filter((piece) => piece.section === section);
      const number = pieces.reduce((sum, piece) => sum + (section === "recent" ? piece.message_ids.length || 1 : 1), 0);
      return number ? `${count(number)} ${names[number === 1 ? 0 : 1]}` : "";
    })
    .filter(Boolean)
    .join(", ");
}

async function answered(
  talk: Talk,
  words: string,
  heard: (reply: string) => void,
  signal: AbortSignal,
): Promise<Pick<Turn, "reply" | "sent" | "fault">> {
  const answer = await ask("POST", "/openai/v1/chat/completions", {
    body: { model: talk.model, stream: true, messages: [{ role: "user", content: words }] },
    headers: {
      "X-Lamina-User": encodeURIComponent(talk.user),
      "X-Lamina-Session": encodeURIComponent(talk.session),
      "X-Lamina-Budget": String(BUDGET),
    },
    signal,
  });
  const [sent, fault] = ["X-Lamina-Memory-Tokens", "X-Lamina-Fault"].map((name) => answer.headers.get(name));
  let reply = "";
  let isWhole = false;
  try {
    for await (const event of answer.body ? eventsIn(answer.body) : []) {
      isWhole = event.data === "[DONE]";
      if (isWhole) break;
      const told = JSON.parse(event.data);
      if (told.error) throw new Error(told.error.message ?? "the model failed");
      reply += told.choices?.[0]?.delta?.content ?? "";
      heard(reply);
    }
  } catch (error) {
    throw new BrokenOff(
      reply,
      signal.aborted ? "You stopped it." : error instanceof Error ? error.message : String(error),
    );
  }
  if (!isWhole) throw new BrokenOff(reply, "The model stopped in the middle of its answer.");
  return { reply, sent: sent === null || sent === undefined ? null : Number(sent), fault: fault ?? null };
}
