/** How a fact's standing is shown: a sign and a word, beside the colour. */

import type { FactStatus } from "../../shapes";

export const STATUSES: Record<FactStatus, { sign: string; tells: string }> = {
  active: { sign: "●", tells: "The current value." },
  superseded: { sign: "↷", tells: "Another value took its place." },
  conflicted: {
    sign: "≠",
    tells: "It disagrees with another value, and it is not clear which one is right.",
  },
  candidate: { sign: "?", tells: "Not sure enough yet to be used." },
  retracted: { sign: "✕", tells: "Withdrawn: it counts as never true." },
  archived: {
    sign: "▣",
    tells: "Not used for long, or merged into another fact: found on request only.",
  },
  evidence: { sign: "◆", tells: "The same value, said once more: it makes the fact surer." },
};

export const ALL_STATUSES = Object.keys(STATUSES) as FactStatus[];
