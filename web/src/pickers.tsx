import type { ComponentType } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { all, get } from "./api";
import type { ScreenProps } from "./app";
import { useLoad } from "./load";
import { type Choice, Combobox } from "./parts/combobox";
import { day, times } from "./parts/format";
import { sessionName } from "./parts/names";
import { Notice, Waiting } from "./parts/panel";
import { SessionNames } from "./parts/session";
import { visible } from "./parts/words";
import { goTo, moveOn, type Place, type Screen } from "./place";
import type { About, Page, Session } from "./shapes";

const MOST = 1000; // users that are offered; others are reached by their address
const MOST_SESSIONS = 10_000;
const ALWAYS: ReadonlySet<Screen> = new Set(["start", "try", "health"]); // of use also where there is nothing yet

/** Whose memory, and which session of it; below, the screen. */
export function Pickers({
  about,
  place,
  screen: Shown,
}: {
  about: About;
  place: Place;
  screen: ComponentType<ScreenProps>;
}) {
  const users = useLoad((signal) => get<Page<string>>("/v1/users", { limit: MOST }, signal), [about.tenant]);
  const known = users.value?.items ?? [];
  const user = place.user ?? known[0] ?? null;
  const sessions = useLoad(
    user === null ? null : (signal) => all<Session>("/v1/sessions", { user_id: user }, signal, MOST_SESSIONS),
    [user],
  );
  const own = user !== null && sessions.value?.every((one) => one.user_id === user) ? sessions.value : null;
  const newest = own?.reduce<Session | null>((best, one) => (!best || one.last_at > best.last_at ? one : best), null);
  const session = place.session ?? newest?.id ?? null;

  useEffect(() => {
    const changed = () => {
      users.again();
      sessions.again();
    };
    addEventListener("lamina:changed", changed);
    return () => removeEventListener("lamina:changed", changed);
  }, [users.again, sessions.again]);

  const choices = useMemo(() => [...(own ?? [])].sort(byNewest).map(choiceOf), [own]);

  const names = useMemo(() => new Map(own?.map((one) => [one.id, sessionName(one)])), [own]);

  const needed = !ALWAYS.has(place.screen) && place.user === null && users.value !== null && !known.length;
  useEffect(() => {
    if (needed) moveOn({ screen: "start", user: null, session: null });
  }, [needed]);

  // while the sessions of another user are fetched, the screen stays as it is
  const shown = useRef<Pick<ScreenProps, "user" | "session"> | null>(null);
  if (users.value && (user === null || place.session !== null || own || sessions.error)) {
    shown.current = { user, session };
  }
  if (users.error && !shown.current) return <Notice error={users.error} again={users.again} />;
  if (!shown.current || needed) return <Waiting />;
  const screen = (
    <>
      {users.error ? <Notice error={users.error} again={users.again} /> : null}
      <SessionNames.Provider value={names}>
        <Shown about={about} {...shown.current} />
      </SessionNames.Provider>
    </>
  );
  if (place.screen === "start" || place.screen === "try") return screen;
  return (
    <>
      <form class="pickers" onSubmit={(event) => event.preventDefault()}>
        <label>
          User
          <select
            value={user ?? ""}
            disabled={!known.length && user === null}
            onChange={(event) => goTo({ user: event.currentTarget.value, session: null })}
          >
            {user !== null && !known.includes(user) ? (
              <option value={user} dir="auto">
                {visible(user)}
              </option>
            ) : null}
            {known.map((one) => (
              <option key={one} value={one} dir="auto">
                {visible(one)}
              </option>
            ))}
            {user === null ? <option value="">nobody yet</option> : null}
          </select>
        </label>
        <Combobox
          label="Session"
          choices={choices}
          value={session}
          choose={(id) => goTo({ user, session: id })}
          none="none yet"
          hint="Words of its title, or a date"
        />
      </form>
      {sessions.error ? <Notice error={sessions.error} again={sessions.again} /> : null}
      {screen}
    </>
  );
}

const byNewest = (one: Session, other: Session): number => (one.last_at < other.last_at ? 1 : -1);

/** A session in the list: its title, from when to when it went, and how long it is. */
function choiceOf(session: Session): Choice {
  const name = visible(sessionName(session));
  const [from, to] = [day(session.started_at), day(session.last_at)];
  const note = `${from === to ? from : `${from} – ${to}`} · ${times(session.counters.messages, "message")}`;
  return { value: session.id, name, note, words: `${name} ${visible(session.id)} ${note}`.toLocaleLowerCase() };
}

/** Tell the rest of the page that users or sessions may be others now. */
export function changed(): void {
  dispatchEvent(new Event("lamina:changed"));
}
