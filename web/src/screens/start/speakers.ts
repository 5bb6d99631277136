/** The names in an answer of the service that asks which of the people in a chat is the user. */

const ASKS = /is a WhatsApp chat of (.+); say which of them is the user/su;
const NAME = /'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"/gsu; // as Python writes texts
const ESCAPED = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))/gsu;

/** Who speaks in a chat, if that is what an import failed for; else nobody. */
export function speakersIn(why: string): string[] {
  const listed = ASKS.exec(why)?.[1] ?? "";
  return [...listed.matchAll(NAME)].map(([, one, other]) => plain(one ?? other ?? ""));
}

const plain = (text: string): string =>
  text.replace(ESCAPED, (_, short, four, eight, sign) =>
    sign === undefined ? String.fromCodePoint(Number.parseInt(short ?? four ?? eight, 16)) : sign,
  );
