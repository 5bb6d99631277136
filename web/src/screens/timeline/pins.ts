/** Facts, episodes and milestones as pins over the log. */

import { episodeKind, factLine, statusName } from "../../parts/names";
import type { Episode, Fact, Stretch } from "../../shapes";
import { messageOf, type Scale, xOf } from "./layout";

export interface Milestone {
  id: string;
  session_id: string;
  turn: number;
  title: string;
  created_at: string;
}

export type PinKind = "milestone" | "episode" | "fact";

export interface Pin {
  id: string;
  kind: PinKind;
  seq: number;
  label: string;
  note: string;
  holds: boolean;
  message: string | null; // to find the exact number by
}

/** Pins of one kind that would lie on each other. */
export interface Group {
  x: number;
  pins: Pin[];
}

const NEAR = 18; // pixels that pins of a kind are apart at least

export const factPin = (fact: Fact): Pin => ({
  id: fact.id,
  kind: "fact",
  seq: fact.seq,
  label: factLine(fact),
  note: `${fact.type}, ${statusName(fact.status)}`,
  holds: fact.status === "active",
  message: null,
});

export const episodePin = (episode: Episode, parts: readonly Stretch[]): Pin => ({
  id: episode.id,
  kind: "episode",
  seq: messageOf(episode.turns.first, parts),
  label: episode.title,
  note: episodeKind(episode.kind),
  holds: true,
  message: episode.message_ids[0] ?? null,
});

export const milestonePin = (milestone: Milestone, parts: readonly Stretch[]): Pin => ({
  id: milestone.id,
  kind: "milestone",
  seq: messageOf(milestone.turn, parts),
  label: milestone.title,
  note: "milestone",
  holds: true,
  message: null,
});

export function grouped(scale: Scale, pins: readonly Pin[]): Group[] {
  const groups: Group[] = [];
  const inOrder = pins
    .filter((pin) => pin.seq > scale.view.from && pin.seq <= scale.view.to)
    .sort((one, other) => one.seq - other.seq);
  const placeOf = (pin: Pin) => xOf(scale, pin.seq - 0.5);
  for (const pin of inOrder) {
    const last = groups.at(-1);
    if (last && placeOf(pin) - last.x < NEAR) {
      last.pins.push(pin);
      last.x = (placeOf(last.pins[0] as Pin) + placeOf(pin)) / 2;
    } else groups.push({ x: placeOf(pin), pins: [pin] });
  }
  return groups;
}
