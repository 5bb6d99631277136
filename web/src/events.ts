/** Server-sent events by `fetch`, since `EventSource` cannot show a key. */

import { ask } from "./api";

export interface Told {
  type: string;
  data: Record<string, unknown>;
}

/** The events in a stream of bytes, each as soon as it is whole. */
export async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<{ type: string; data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const whole = rest.split(/\r?\n\r?\n/);
      rest = whole.pop() ?? "";
      for (const text of whole) {
        const fields = text.split(/\r?\n/);
        const type =
          fields
            .find((line) => line.startsWith("event:"))
            ?.slice(6)
            .trim() ?? "message";
        const data = fields.filter((line) => line.startsWith("data:")).map((line) => line.slice(5).replace(/^ /, ""));
        if (data.length) yield { type, data: data.join("\n") };
      }
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

const AGAIN_MS = 2_000;

/** Listen until the signal says stop; a line that breaks is taken up again. */
export async function listen(
  query: Record<string, string | readonly string[]>,
  heard: (event: Told) => void,
  signal: AbortSignal,
  state: (listening: boolean) => void = () => undefined,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const answer = await ask("GET", "/v1/events", { query, signal });
      state(true);
      if (answer.body) {
        for await (const event of eventsIn(answer.body)) heard({ type: event.type, data: JSON.parse(event.data) });
      }
    } catch {
      if (signal.aborted) return;
    }
    state(false);
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}
