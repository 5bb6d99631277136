import { at, get } from "../api";
import { useLoad } from "../load";
import type { Message, Page } from "../shapes";
import { MessageRow } from "./messages";
import { Notice } from "./panel";
import type { Mark } from "./words";

const MOST = 400; // characters of a neighbour

/** A message between the one before and the one after it, so that a short answer is understood. */
export function Nearby({ message, marks }: { message: Message; marks?: readonly Mark[] }) {
  const { session_id, seq } = message;
  const { value, error, again } = useLoad(
    (signal) =>
      get<Page<Message>>(at`/v1/sessions/${session_id}/messages`, { first: Math.max(1, seq - 1), limit: 3 }, signal),
    [session_id, seq],
  );
  const beside = (place: number) => {
    const found = value?.items.find((one) => one.seq === place);
    return found ? <MessageRow message={begun(found)} /> : null;
  };
  return (
    <div class="nearby" data-testid="nearby">
      {beside(seq - 1)}
      <div class="meant">
        <MessageRow message={message} {...(marks ? { marks } : {})} />
      </div>
      {beside(seq + 1)}
      {error ? <Notice error={error} again={again} /> : null}
    </div>
  );
}

/** A message with the beginning of its words. */
function begun(message: Message): Message {
  const signs = Array.from(message.text);
  return signs.length > MOST ? { ...message, text: `${signs.slice(0, MOST).join("")}…` } : message;
}
