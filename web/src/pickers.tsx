import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { all, get } from "./api";
import type { ScreenProps } from "./app";
import { useLoad } from "./load";
import { count } from "./parts/format";
import { Notice, Waiting } from "./parts/panel";
import { visible } from "./parts/words";
import { goTo, type Place } from "./place";
import type { About, Page, Session } from "./shapes";

const MOST = 1000; // that are offered; others are reached by their address

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
    user === null ? null : (signal) => all<Session>("/v1/sessions", { user_id: user }, signal, MOST),
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

  // while the sessions of another user are fetched, the screen stays as it is
  const shown = useRef<Pick<ScreenProps, "user" | "session"> | null>(null);
  if (users.value && (user === null || place.session !== null || own || sessions.error)) {
    shown.current = { user, session };
  }
  if (users.error) return <Notice error={users.error} again={users.again} />;
  if (!shown.current) return <Waiting />;
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
            {user !== null && !known.includes(user) ? <option value={user}>{visible(user)}</option> : null}
            {known.map((one) => (
              <option key={one} value={one}>
                {visible(one)}
              </option>
            ))}
            {user === null ? <option value="">nobody yet</option> : null}
          </select>
        </label>
        <label>
          Session
          <select
            value={session ?? ""}
            disabled={session === null}
            onChange={(event) => goTo({ user, session: event.currentTarget.value })}
          >
            {session !== null && !own?.some((one) => one.id === session) ? (
              <option value={session}>{visible(session)}</option>
            ) : null}
            {own?.map((one) => (
              <option key={one.id} value={one.id}>
                {visible(one.id)} ({count(one.counters.messages)})
              </option>
            ))}
            {session === null ? <option value="">none yet</option> : null}
          </select>
        </label>
      </form>
      {sessions.error ? <Notice error={sessions.error} again={sessions.again} /> : null}
      <Shown about={about} {...shown.current} />
    </>
  );
}

/** Tell the rest of the page that users or sessions may be others now. */
export function changed(): void {
  dispatchEvent(new Event("lamina:changed"));
}
