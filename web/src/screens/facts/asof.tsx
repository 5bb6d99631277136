import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ALL_PROJECTS, at, get } from "../../api";
import { useLoad } from "../../load";
import { day, dayAt, times, zone } from "../../parts/format";
import { useLate } from "../../parts/late";
import { factLine, valueLine } from "../../parts/names";
import { Empty, Notice, Panel, Waiting } from "../../parts/panel";
import { Line } from "../../parts/words";
import type { Fact, UserProfile } from "../../shapes";
import { Badge } from "./fact";
import { DAY, type Window } from "./rows";
import { held, type Known as KnownFact } from "./then";

const THUMB = 16; // pixels; half of it stands out at either end
const FIRST = 10; // of a category that are shown at once
const PAUSE = 180; // milliseconds without a move before it is asked

/** Chooses a day from the first to today; null is today. It lies along the axis of the chart. */
export function Slider({
  window,
  then,
  choose,
  label,
  room,
}: {
  window: Window;
  then: number | null;
  choose: (time: number | null) => void;
  label: number;
  room: number;
}) {
  const days = Math.max(1, Math.ceil((window.to - window.from) / DAY));
  const place = then === null ? days : Math.max(0, Math.min(days, Math.floor((then - window.from) / DAY)));
  return (
    <div class="slider">
      <label for="as-of" style={{ width: `${label - THUMB}px` }}>
        As of{" "}
        <output for="as-of" data-testid="as-of-day">
          {then === null ? "today" : dayAt(then)}
        </output>
      </label>
      <input
        id="as-of"
        type="range"
        min={0}
        max={days}
        step={1}
        value={place}
        style={{ width: `${room + THUMB}px` }}
        data-testid="as-of"
        aria-label="As of"
        aria-valuetext={then === null ? "today" : dayAt(then)}
        onInput={(event) => {
          const chosen = Number(event.currentTarget.value);
          // the end of that day, so that what was learnt on it counts
          choose(chosen >= days ? null : Math.min(window.to, window.from + (chosen + 1) * DAY - 1000));
        }}
      />
    </div>
  );
}

/** What was known of the user then, and how today differs. */
export function ProfileThen({
  user,
  ready,
  then,
  round,
  open,
}: {
  user: string;
  ready: boolean;
  then: string | null; // the end of a day; null is today
  round: number;
  open: (fact: Fact) => void;
}) {
  const calm = useLate(then, PAUSE);
  const today = useLoad(
    ready ? (signal) => get<UserProfile>(at`/v1/users/${user}/profile`, ALL_PROJECTS, signal) : null,
    [user, ready, round],
  );
  const past = useLoad(
    calm === null
      ? null
      : (signal) => get<UserProfile>(at`/v1/users/${user}/profile`, { ...ALL_PROJECTS, as_of: calm }, signal),
    [user, calm, round],
  );
  const shown = calm === null ? today.value : past.value;
  const error = today.error ?? past.error;
  const waiting = !shown || !today.value;
  const found = useMemo(
    () => (shown && today.value ? held(shown.facts, today.value.facts) : null),
    [shown, today.value],
  );
  const title = then === null ? "The profile today" : `The profile on ${day(then)} (${zone(then)})`;
  return (
    <Panel title={title} testId="profile" tools={past.loading || calm !== then ? <small role="status">…</small> : null}>
      {error ? <Notice error={error} again={today.error ? today.again : past.again} /> : null}
      {waiting && !error ? <Waiting /> : null}
      {found && !found.categories.length ? (
        <Empty>{then === null ? "No current facts." : "No facts were known for that day."}</Empty>
      ) : null}
      {found?.categories.map((category) => (
        <Known key={category.name} title={<Line text={category.name} most={40} />} known={category.known} open={open} />
      ))}
      {found?.later.length ? (
        <Known
          title={`+ ${times(found.later.length, "thing")} known only later`}
          known={found.later.map((fact) => ({ fact, today: { is: "same" } }))}
          open={open}
          later
        />
      ) : null}
    </Panel>
  );
}

/** The key, where a fact reads as key and value; others say all by themselves. */
const keyOf = (fact: Fact): string | null => (valueLine(fact) === factLine(fact) ? null : fact.key);

function Known({
  title,
  known,
  open,
  later = false,
}: {
  title: ComponentChildren;
  known: readonly KnownFact[];
  open: (fact: Fact) => void;
  later?: boolean;
}) {
  const [most, setMost] = useState(FIRST);
  return (
    <div class={later ? "known later" : "known"} data-testid={later ? "later" : "known"}>
      <h3>{title}</h3>
      <ul>
        {known.slice(0, most).map(({ fact, today: now }) => (
          <li key={fact.id} data-today={now.is}>
            {keyOf(fact) === null ? null : (
              <small>
                <Line text={keyOf(fact) ?? ""} most={60} />{" "}
              </small>
            )}
            <button type="button" class="link" onClick={() => open(fact)}>
              <Line text={valueLine(fact)} />
            </button>
            {fact.status === "conflicted" ? <Badge fact={fact} /> : null}
            {now.is === "gone" ? <span class="badge warn">− gone today</span> : null}
            {now.is === "other" ? (
              <span class="badge change">
                → today <Line text={now.facts.map((one) => one.value).join(", ")} most={60} />
              </span>
            ) : null}
          </li>
        ))}
      </ul>
      {known.length > most ? (
        <button type="button" class="quiet" onClick={() => setMost(most + FIRST * 10)}>
          {times(known.length - most, "more", "more")}
        </button>
      ) : null}
    </div>
  );
}
