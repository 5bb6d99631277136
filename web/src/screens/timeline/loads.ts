/** What the timeline is drawn from, in the order in which it is needed. */

import { useMemo } from "preact/hooks";
import { ALL_PROJECTS, all, at, get, send } from "../../api";
import { useLoad } from "../../load";
import type {
  Block,
  Context,
  Episode,
  Fact,
  FactStatus,
  Outline,
  Page,
  Proposal,
  Session,
  Summary,
} from "../../shapes";
import { type Row, roughly, rowsOf } from "./layout";
import { episodePin, factPin, type Milestone, milestonePin, type Pin } from "./pins";

const PARTS = 400; // stretches of the log
const PINNED: readonly FactStatus[] = ["active", "superseded", "conflicted", "retracted", "candidate"];
const MOST_PINS = 5_000;

/** First the session and what is live of it, which is little however long it is; then, once that is drawn, all that lies around it. */
export function useTimeline(id: string, { round, texts, drawn }: { round: number; texts: boolean; drawn: boolean }) {
  const begun = useLoad(
    async (signal) => {
      const [session, live] = await Promise.all([
        get<Session>(at`/v1/sessions/${id}`, undefined, signal),
        get<Page<Summary>>(at`/v1/sessions/${id}/summaries`, undefined, signal),
      ]);
      return { session, live: live.items };
    },
    [id, round],
  );
  const session = begun.value?.session ?? null;
  const ready = session !== null && drawn;
  const user = session?.user_id ?? "";
  const outline = useLoad(
    ready ? (signal) => get<Outline>(at`/v1/sessions/${id}/outline`, { parts: PARTS }, signal) : null,
    [id, ready, round],
  );
  const context = useLoad(
    ready && session.counters.messages
      ? (signal) =>
          send<Context>("POST", "/v1/context", { session_id: id, user_id: user, record_access: false }, signal)
      : null,
    [id, ready, round],
  );
  const digest = useDigest(user, session?.project_id ?? null, context.value);
  const pinned = useLoad(
    ready
      ? async (signal) => {
          const own = { session_id: id };
          const [facts, episodes, record] = await Promise.all([
            all<Fact>(at`/v1/users/${user}/facts`, { ...own, ...ALL_PROJECTS, statuses: PINNED }, signal, MOST_PINS),
            all<Episode>(at`/v1/users/${user}/episodes`, own, signal, MOST_PINS),
            get<{ milestones: Milestone[] }>(at`/v1/sessions/${id}/conversation`, undefined, signal),
          ]);
          return { facts, episodes, milestones: record.milestones };
        }
      : null,
    [id, ready, round],
  );
  const proposals = useLoad(ready ? (signal) => all<Proposal>("/v1/proposals", { session_id: id }, signal) : null, [
    id,
    ready,
    round,
  ]);
  const every = useLoad(
    texts ? (signal) => get<Page<Summary>>(at`/v1/sessions/${id}/summaries`, { live: false }, signal) : null,
    [id, texts, round],
  );

  const rows: Row[] = useMemo(() => {
    if (outline.value) return rowsOf(outline.value.blocks);
    if (!begun.value) return [];
    const { session: own, live } = begun.value;
    return rowsOf(live.map((summary) => roughly(summary, own)).filter((block) => block !== null));
  }, [begun.value, outline.value]);
  const blocks: ReadonlyMap<string, Block> = useMemo(
    () => new Map(rows.flatMap((row) => [...row.blocks, ...row.earlier]).map((block) => [block.id, block])),
    [rows],
  );
  const pins: Pin[] = useMemo(() => {
    const parts = outline.value?.parts;
    if (!parts || !pinned.value) return [];
    const { facts, episodes, milestones } = pinned.value;
    return [
      ...facts.filter((fact) => fact.session_id === id && fact.seq > 0).map(factPin),
      ...episodes.map((episode) => episodePin(episode, parts)),
      ...milestones.map((milestone) => milestonePin(milestone, parts)),
    ];
  }, [id, outline.value, pinned.value]);
  const summaries: ReadonlyMap<string, Summary> = useMemo(() => {
    const known = [...(begun.value?.live ?? []), ...(every.value?.items ?? []), ...(digest ? [digest] : [])];
    return new Map(known.map((summary) => [summary.id, summary]));
  }, [begun.value, every.value, digest]);
  return { begun, outline, context, pinned, proposals, every, digest, rows, blocks, pins, summaries };
}

/** The digest over the sessions of a project, or of none, asked for only when the context says that there is one. */
function useDigest(user: string, project_id: string | null, context: Context | null): Summary | null {
  const id = context
    ? [...context.manifest.items, ...context.manifest.omitted].find((piece) => piece.kind === "digest")?.id
    : undefined;
  const found = useLoad(id ? (signal) => get<Summary>(at`/v1/users/${user}/digest`, { project_id }, signal) : null, [
    id,
    context,
  ]);
  return found.value;
}
