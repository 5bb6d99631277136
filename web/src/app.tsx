import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, keepKey, key, Refusal, SILENT } from "./api";
import { type Loaded, useLoad } from "./load";
import { Dialog } from "./parts/dialog";
import { mayWrite } from "./parts/may";
import { Notice, Waiting } from "./parts/panel";
import { Pickers } from "./pickers";
import { addressOf, SCREENS, type Screen, usePlace } from "./place";
import type { About } from "./shapes";
import { ThemeButton } from "./theme";

/** What every screen is given; `user` and `session` are those chosen at the top, null where there are none. */
export interface ScreenProps {
  about: About;
  user: string | null;
  session: string | null;
}

const FILES: Record<Screen, () => Promise<{ default: ComponentType<ScreenProps> }>> = {
  timeline: () => import("./screens/timeline"),
  context: () => import("./screens/context"),
  facts: () => import("./screens/facts"),
  search: () => import("./screens/search"),
  health: () => import("./screens/health"),
  try: () => import("./screens/try"),
  you: () => import("./screens/you"),
  start: () => import("./screens/start"),
};

export function App() {
  const place = usePlace();
  const [showing, setShowing] = useState(key());
  const [asking, setAsking] = useState(false);
  const about = useLoad((signal) => get<About>("/v1/about", undefined, signal), [showing]);
  const screen = useScreen(place.screen);
  useEffect(() => {
    document.title = `${SCREENS[place.screen]} · Lamina`;
  }, [place.screen]);
  const shown = (given: string | null) => {
    keepKey(given);
    setShowing(given);
    setAsking(false);
    about.again();
  };
  const refused = about.error instanceof Refusal && about.error.status === 401;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the screen
      </button>
      <header class="top">
        <span class="brand">
          <span class="mark" aria-hidden="true">
            <i />
            <i />
            <i />
          </span>
          Lamina
        </span>
        <nav aria-label="Screens">
          {(Object.keys(SCREENS) as Screen[])
            .filter((name) => name !== "start")
            .map((name) => (
              <a
                key={name}
                href={addressOf({ ...place, screen: name })}
                aria-current={name === place.screen ? "page" : undefined}
              >
                {SCREENS[name]}
              </a>
            ))}
        </nav>
        <div class="who">
          {about.value && mayWrite(about.value) ? (
            <a
              class="quiet"
              href={addressOf({ screen: "start", user: null, session: null })}
              aria-current={place.screen === "start" ? "page" : undefined}
              title="Import your history, or load the demo"
            >
              Import
            </a>
          ) : null}
          {about.value ? (
            <button type="button" class="quiet" title="The key of this page" onClick={() => setAsking(true)}>
              {showing ? `${about.value.tenant} · ${about.value.role}` : "No key"}
            </button>
          ) : null}
          <ThemeButton />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <h1 class="hidden-label">{SCREENS[place.screen]}</h1>
        {refused ? (
          <section class="panel locked">
            <h2>This service needs a key</h2>
            <KeyForm keep={shown} wrong={showing !== null} />
          </section>
        ) : about.error ? (
          <Notice error={about.error} again={about.again} />
        ) : about.value && screen.value ? (
          <Pickers about={about.value} place={place} screen={screen.value} />
        ) : screen.error ? (
          <Notice error={screen.error} again={screen.again} />
        ) : (
          <Waiting />
        )}
      </main>
      {asking ? (
        <Dialog title="Key" close={() => setAsking(false)}>
          <KeyForm keep={shown} wrong={false} />
          {showing ? (
            <button type="button" onClick={() => shown(null)}>
              Forget the key
            </button>
          ) : (
            <p>No key is needed: the service has none yet and accepts everyone on this machine.</p>
          )}
        </Dialog>
      ) : null}
    </>
  );
}

function useScreen(name: Screen): Loaded<ComponentType<ScreenProps>> {
  const loaded = useLoad(async () => {
    try {
      return { name, part: (await FILES[name]()).default };
    } catch {
      throw new Refusal(0, SILENT);
    }
  }, [name]);
  return { ...loaded, value: loaded.value?.name === name ? loaded.value.part : null };
}

function KeyForm({ keep, wrong }: { keep: (given: string) => void; wrong: boolean }) {
  const [given, setGiven] = useState("");
  return (
    <form
      class="key"
      onSubmit={(event) => {
        event.preventDefault();
        keep(given.trim());
      }}
    >
      <label>
        Key
        <input
          type="password"
          autocomplete="off"
          required
          placeholder="lam_…"
          value={given}
          onInput={(event) => setGiven(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="first">
        Use this key
      </button>
      <p>
        {wrong ? <b>This key is unknown, revoked or expired. </b> : null}
        Ask the operator of the service for one, or make it there: <code>lamina keys create NAME --role write</code>. It
        is kept in this tab only.
      </p>
    </form>
  );
}
