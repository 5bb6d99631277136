/** One turn of the chat: with the model that is configured, or with an echo that says what a model would have seen. */

import { ask, at, send } from "../../api";
import { eventsIn } from "../../events";
import { count, times } from "../../parts/format";
import type { About, Context } from "../../shapes";

export interface Talk {
  user: string;
  session: string;
  model: string;
}

export interface Turn {
  context: Context | null;
  reply: string;
}

const BUDGET = 2_000; // tokens of a context for the echo
const SECTIONS: Record<string, [string, string]> = {
  facts: ["fact", "facts"],
  digest: ["digest", "digests"],
  summaries: ["summary", "summaries"],
  recalled: ["passage from earlier", "passages from earlier"],
  recent: ["recent message", "recent messages"],
};

/** Say something; `heard` is given the reply as far as it has come. */
export async function say(about: About, talk: Talk, words: string, heard: (reply: string) => void): Promise<Turn> {
  return about.proxy ? { context: null, reply: await asked(talk, words, heard) } : echoed(talk, words, heard);
}

async function echoed(talk: Talk, words: string, heard: (reply: string) => void): Promise<Turn> {
  const about = { user_id: talk.user, session_id: talk.session };
  const context = await send<Context>("POST", "/v1/context", { ...about, query: words, budget: BUDGET });
  const messages = at`/v1/sessions/${talk.session}/messages`;
  await send("POST", messages, { user_id: talk.user, messages: { role: "user", content: words } });
  const reply = echo(words, context);
  await send("POST", messages, { user_id: talk.user, messages: { role: "assistant", content: reply } });
  heard(reply);
  return { context, reply };
}

export function echo(words: string, context: Context): string {
  const seen = Object.entries(SECTIONS)
    .map(([section, names]) => {
      const pieces = context.manifest.items.filter((piece) => piece.section === section);
      const number = pieces.reduce((sum, piece) => sum + (section === "recent" ? piece.message_ids.length || 1 : 1), 0);
      return number ? times(number, ...names) : "";
    })
    .filter(Boolean);
  const shown = seen.length ? seen.join(", ") : "nothing yet";
  return `Echo: “${words}”. A model would have seen ${shown}, in ${count(context.tokens)} tokens.`;
}

async function asked(talk: Talk, words: string, heard: (reply: string) => void): Promise<string> {
  const answer = await ask("POST", "/openai/v1/chat/completions", {
    body: { model: talk.model, stream: true, messages: [{ role: "user", content: words }] },
    headers: {
      "X-Lamina-User": encodeURIComponent(talk.user),
      "X-Lamina-Session": encodeURIComponent(talk.session),
    },
  });
  let reply = "";
  if (answer.body) {
    for await (const event of eventsIn(answer.body)) {
      if (event.data === "[DONE]") break;
      const told = JSON.parse(event.data);
      if (told.error) throw new Error(told.error.message ?? "the model failed");
      reply += told.choices?.[0]?.delta?.content ?? "";
      heard(reply);
    }
  }
  return reply;
}
