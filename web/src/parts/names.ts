/** What facts and sessions are called, the same on every screen. */

import type { Fact, FactStatus, Session } from "../shapes";

/** A fact on one line. */
export const factLine = (fact: Fact): string => fact.text;

/** What a fact says under its key, where it reads as key and value; else the whole line. */
export const valueLine = (fact: Fact): string => (fact.text === `${fact.key}: ${fact.value}` ? fact.value : fact.text);

/** What kind of thing happened. */
export const episodeKind = (kind: string): string => (kind === "pivot" ? "change of plan" : kind.replaceAll("_", " "));

/** A session by its title, or by its id if it has none. */
export const sessionName = (session: Pick<Session, "id" | "title">): string => session.title || session.id;

/** The standing of a fact in a word. */
export const statusName = (status: FactStatus): string => (status === "evidence" ? "said again" : status);
