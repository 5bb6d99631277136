import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { Id, Line, visible } from "./words";

/** What the sessions of the chosen user are called, by their ids. */
export const SessionNames = createContext<ReadonlyMap<string, string>>(new Map());

/** A session by its title, or by its id. */
export function SessionName({ id }: { id: string }) {
  const name = useContext(SessionNames).get(id);
  if (name === undefined || name === id) return <Id id={id} />;
  return (
    <span title={visible(id)}>
      <Line text={name} most={80} />
    </span>
  );
}
