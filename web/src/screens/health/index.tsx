import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "../../api";
import type { ScreenProps } from "../../app";
import { listen } from "../../events";
import { useLoad } from "../../load";
import { now, second } from "../../parts/format";
import { Notice, Waiting } from "../../parts/panel";
import type { Backlog, Cost, Page, Stats, WorkerNote } from "../../shapes";
import "../../style/health.css";
import { AuditLog, Verify } from "./checks";
import { Costs } from "./cost";
import { FadingPanel } from "./fading";
import { Growth, Layers, Saved } from "./layers";
import { Work, Workers } from "./work";

const SELDOM = 2_000; // milliseconds between two refreshes by events

interface Figures {
  stats: Stats;
  backlog: Backlog;
  costs: Cost[];
  workers: WorkerNote[];
  at: Date;
}

async function figures(user: string | null, signal: AbortSignal): Promise<Figures> {
  const [stats, backlog, costs, workers] = await Promise.all([
    get<Stats>("/v1/stats", { user_id: user }, signal),
    get<Backlog>("/v1/backlog", {}, signal),
    get<Page<Cost>>("/v1/costs", {}, signal),
    get<Page<WorkerNote>>("/v1/workers", {}, signal),
  ]);
  return { stats, backlog, costs: costs.items, workers: workers.items, at: new Date() };
}

export default function Screen({ about, user }: ScreenProps) {
  const [one, setOne] = useState(false);
  const [round, setRound] = useState(0); // of what events change
  const [asked, setAsked] = useState(0); // of what only the button brings
  const whose = one ? user : null;
  const { value, error, loading, again } = useLoad((signal) => figures(whose, signal), [whose, round]);
  const listening = useNews(useCallback(() => setRound((before) => before + 1), []));
  const refresh = () => {
    setRound((before) => before + 1);
    setAsked((before) => before + 1);
  };
  return (
    <>
      <div class="state">
        <span class={`badge ${listening ? "good" : "warn"}`} role="status" data-testid="listening">
          {listening ? "● listens for changes" : "○ does not hear of changes"}
        </span>
        <small data-testid="as-read">
          {value ? `as of ${second(now(value.at)).slice(11)}` : ""}
          {loading ? " …" : ""}
        </small>
        {user === null ? null : (
          <label class="beside">
            <input type="checkbox" checked={one} onChange={(event) => setOne(event.currentTarget.checked)} />
            tokens, layers and growth of the chosen user only
          </label>
        )}
        <button type="button" onClick={refresh} disabled={loading}>
          Refresh
        </button>
      </div>
      {error ? <Notice error={error} again={again} /> : null}
      {!value && !error ? <Waiting /> : null}
      {value ? (
        <>
          <div class="columns">
            <Work backlog={value.backlog} about={about} again={refresh} />
            <Saved stats={value.stats} />
          </div>
          <div class="columns">
            <Growth stats={value.stats} />
            <FadingPanel user={user} round={round} />
          </div>
          <div class="columns">
            <Layers stats={value.stats} />
            <Costs costs={value.costs} />
          </div>
          <div class="columns">
            <Workers workers={value.workers} />
            <Verify about={about} />
          </div>
        </>
      ) : null}
      <AuditLog about={about} round={asked} />
    </>
  );
}

/** Calls when something has changed, not too often; whether it hears at all. */
function useNews(heard: () => void): boolean {
  const [listening, setListening] = useState(false);
  const last = useRef(0);
  useEffect(() => {
    const ending = new AbortController();
    let due: ReturnType<typeof setTimeout> | undefined;
    const news = () => {
      if (due !== undefined) return;
      due = setTimeout(
        () => {
          due = undefined;
          last.current = Date.now();
          heard();
        },
        Math.max(200, SELDOM - (Date.now() - last.current)),
      );
    };
    listen({}, news, ending.signal, (now) => {
      if (!ending.signal.aborted) setListening(now);
    });
    return () => {
      ending.abort();
      clearTimeout(due);
    };
  }, [heard]);
  return listening;
}
