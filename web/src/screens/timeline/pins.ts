/** Facts, episodes and milestones as pins over the log. */

import { factLine, statusName } from "../../parts/names";
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

const NEAR = 13; // pixels

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
  note: episode.kind.replaceAll("_", " "),
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
  const groups: { begin: number; pins: Pin[] }[] = [];
  const inOrder = pins
    .filter((pin) => pin.seq > scale.view.from && pin.seq <= scale.view.to)
    .sort((one, other) => one.seq - other.seq);
  for (const pin of inOrder) {
    const x = xOf(scale, pin.seq - 0.5);
    const last = groups.at(-1);
    if (last && x - last.begin < NEAR) last.pins.push(pin);
    else groups.push({ begin: x, pins: [pin] });
  }
  return groups.map(({ begin, pins: own }) => {
    const end = xOf(scale, (own.at(-1)?.seq ?? 0) - 0.5);
    return { x: (begin + end) / 2, pins: own };
  });
}
