import { count } from "../../parts/format";
import { dayAtPlace } from "./person";

export type Kind = string;
export const EVERYTHING: Kind = "";
const DAY = 86_400_000;

/** Which words, which kind of thing, and as of which day. */
export function Finder({
  from,
  then,
  choose,
  words,
  search,
  kind,
  show,
  kinds,
}: {
  from: number;
  then: number | null;
  choose: (time: number | null) => void;
  words: string;
  search: (words: string) => void;
  kind: Kind;
  show: (kind: Kind) => void;
  kinds: readonly { id: Kind; name: string; count: number }[];
}) {
  const now = Date.now();
  const start = Math.floor(from / DAY) * DAY;
  const days = Math.max(1, Math.ceil((now - start) / DAY));
  const place = then === null ? days : Math.min(days, Math.floor((then - start) / DAY));
  const told = then === null ? "today" : dayAtPlace(then);
  const shown = kinds.filter((one) => one.count || one.id === kind);
  return (
    <form class="finder" onSubmit={(event) => event.preventDefault()}>
      <label class="find">
        <span class="hidden-label">Find on this page</span>
        <input
          type="search"
          value={words}
          autocomplete="off"
          placeholder="Find on this page"
          onInput={(event) => search(event.currentTarget.value)}
        />
      </label>
      <label class="when">
        <span>
          As known <b data-testid="you-day">{told === "today" ? told : `on ${told}`}</b>
        </span>
        <input
          type="range"
          min={0}
          max={days}
          step={1}
          value={place}
          aria-label="As of"
          aria-valuetext={told}
          data-testid="you-as-of"
          onInput={(event) => {
            const chosen = Number(event.currentTarget.value);
            // the end of that day, so that what was said on it counts
            choose(chosen >= days ? null : start + (chosen + 1) * DAY - 1000);
          }}
        />
      </label>
      <fieldset class="kinds">
        <legend class="hidden-label">What is shown</legend>
        {[{ id: EVERYTHING, name: "Everything", count: 0 }, ...shown].map((one) => (
          <button
            key={one.id}
            type="button"
            class="kind"
            aria-pressed={kind === one.id}
            onClick={() => show(kind === one.id ? EVERYTHING : one.id)}
          >
            {one.name} {one.count ? <small>{count(one.count)}</small> : null}
          </button>
        ))}
      </fieldset>
    </form>
  );
}
