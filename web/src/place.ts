/** Where in the inspector one is: in the fragment of the address, which no server sees. Ids only, never words. */

import { useEffect, useState } from "preact/hooks";

export const SCREENS = {
  timeline: "Timeline",
  you: "You",
  context: "Context",
  facts: "Facts",
  search: "Search",
  health: "Health",
  try: "Chat",
  start: "Start",
} as const;

export type Screen = keyof typeof SCREENS;

export interface Place {
  screen: Screen;
  user: string | null;
  session: string | null;
}

function read(): Place {
  const [screen, user, session] = location.hash
    .replace(/^#\/?/, "")
    .split("/")
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return "";
      }
    });
  return {
    screen: screen && screen in SCREENS ? (screen as Screen) : "timeline",
    user: user || null,
    session: session || null,
  };
}

export function addressOf(place: Place): string {
  const parts: string[] = [place.screen];
  if (place.user) parts.push(place.user);
  if (place.user && place.session) parts.push(place.session);
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function goTo(place: Partial<Place>): void {
  location.hash = addressOf({ ...read(), ...place });
}

/** The same without a step to come back to. */
export function moveOn(place: Place): void {
  location.replace(addressOf(place));
}

export function usePlace(): Place {
  const [place, setPlace] = useState(read);
  useEffect(() => {
    const moved = () => setPlace((was) => (addressOf(was) === addressOf(read()) ? was : read()));
    addEventListener("hashchange", moved);
    moved(); // the address may have changed since it was first read
    return () => removeEventListener("hashchange", moved);
  }, []);
  return place;
}
