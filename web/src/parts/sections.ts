/** The sections of a context: their order, names and colours, the same on every screen. */

import type { Context } from "../shapes";
import type { TermName } from "./terms";

const SECTIONS: Record<string, string> = {
  system: "system prompt",
  facts: "facts",
  digest: "digest of earlier sessions",
  summaries: "summaries",
  recalled: "recalled",
  recent: "recent, word for word",
  sources: "sources",
  query: "query",
  frame: "headings and frame",
};

const ORDER = Object.keys(SECTIONS);

export const sectionName = (section: string): string => SECTIONS[section] ?? section;

export const sectionColour = (section: string): string =>
  section === "frame" ? "var(--raw)" : `var(--c-${section in SECTIONS ? section : "system"})`;

export const bySection = (one: string, other: string): number => place(one) - place(other) || (one < other ? -1 : 1);

function place(section: string): number {
  const found = ORDER.indexOf(section);
  return found < 0 ? ORDER.length : found;
}

/** Words of ours among the names of sections. */
export const SECTION_TERMS: Partial<Record<string, TermName>> = {
  facts: "fact",
  digest: "digest",
  summaries: "fold",
  recalled: "recalled",
  recent: "verbatim",
};

export interface Share {
  section: string;
  tokens: number;
}

/** What each section takes, and what is free: headings and roles cost something as well. */
export function shares(context: Context): { taken: Share[]; free: number } {
  const taken = Object.entries(context.manifest.sections)
    .filter(([, tokens]) => tokens > 0)
    .map(([section, tokens]) => ({ section, tokens }))
    .sort((one, other) => bySection(one.section, other.section));
  const known = taken.reduce((sum, one) => sum + one.tokens, 0);
  if (context.tokens > known) taken.push({ section: "frame", tokens: context.tokens - known });
  return { taken, free: Math.max(0, context.budget.total - Math.max(context.tokens, known)) };
}
