import type { ComponentChildren } from "preact";

// Signs that change how text runs, or that nobody sees: shown by their number, so that they cannot deceive.
const UNSEEN = /((?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\u2028\u2029])/u; // but for those that scripts and emoji need

/** Where a stretch of a text is, counted in code points as Python does. */
export interface Mark {
  start: number;
  end: number;
}

/**
 * What somebody said or a model wrote, as text and nothing else, kept apart from the direction of what is around it.
 *
 * As a `block`, it also stands at the side from which it is read. `marks` are in order.
 */
export function Words({ text, marks, block }: { text: string; marks?: readonly Mark[]; block?: boolean }) {
  return (
    <bdi class={block ? "words block" : "words"} dir="auto">
      {marks?.length ? marked(text, marks) : shown(text)}
    </bdi>
  );
}

function marked(text: string, marks: readonly Mark[]): ComponentChildren {
  const signs = Array.from(text);
  const part = (from: number, to?: number) => shown(signs.slice(from, to).join(""));
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const mark of marks) {
    if (mark.end <= mark.start || mark.start < end) continue;
    parts.push(part(end, mark.start), <mark>{part(mark.start, mark.end)}</mark>);
    end = mark.end;
  }
  return [...parts, part(end)];
}

function shown(text: string): ComponentChildren {
  if (!UNSEEN.test(text)) return text;
  return text.split(UNSEEN).map((part, place) =>
    place % 2 ? (
      <span class="unseen" key={place}>
        {numbered(part)}
      </span>
    ) : (
      part
    ),
  );
}

/** The same where only a string can be: in options, labels and titles. */
export function visible(text: string): string {
  return text
    .split(UNSEEN)
    .map((part, place) => (place % 2 ? `[${numbered(part)}]` : part))
    .join("");
}

function numbered(sign: string): string {
  return `U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The beginning of a text, on one line. */
export function Line({ text, most = 160 }: { text: string; most?: number }) {
  const line = text.replace(/\s+/g, " ").trim();
  return <Words text={line.length > most ? `${line.slice(0, most)}…` : line} />;
}

/** An id: exact, in a fixed font, kept apart as words are. */
export function Id({ id }: { id: string }) {
  return (
    <code class="id" title={visible(id)}>
      <Words text={id} />
    </code>
  );
}
