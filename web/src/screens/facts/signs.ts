/** How a fact's standing is shown: a sign and a word, beside the colour. */

import type { Fact, FactStatus } from "../../shapes";

export const STATUSES: Record<FactStatus, { sign: string; tells: string }> = {
  active: { sign: "●", tells: "current" },
  superseded: { sign: "↷", tells: "another value took its place" },
  conflicted: { sign: "≠", tells: "it disagrees with another value" },
  candidate: { sign: "?", tells: "not sure enough yet" },
  retracted: { sign: "✕", tells: "withdrawn: it was never true" },
  archived: { sign: "▣", tells: "faded, or merged into another" },
  evidence: { sign: "◆", tells: "evidence: the same value, said again" },
};

export const ALL_STATUSES = Object.keys(STATUSES) as FactStatus[];

/** What a fact is about, as a name for people. */
export const about = (fact: Fact): string => fact.key ?? fact.category;
