import { useEffect, useMemo, useState } from "preact/hooks";
import { ALL_PROJECTS, all, at, send } from "../../api";
import type { ScreenProps } from "../../app";
import { type Loaded, useLoad } from "../../load";
import { factLine } from "../../parts/names";
import { Empty, Notice, Panel, Waiting } from "../../parts/panel";
import { type Found, SourceDialog } from "../../parts/source";
import type { Context, Fact } from "../../shapes";
import "../../style/context.css";
import { Built } from "./built";
import { Compared } from "./compared";
import { type Frame, FrameInputs } from "./frame";
import { OverTurns } from "./over-turns";
import type { Reading } from "./pieces";

interface Asked {
  query: string;
  left: Frame;
  right: Frame | null;
}

/** The context for a query, under a budget and by a profile, or two of them side by side. */
export default function Screen({ about, user, session }: ScreenProps) {
  const usual: Frame = { budget: about.prompt_token_budget, profile: about.profile };
  const [query, setQuery] = useState("");
  const [left, setLeft] = useState(usual);
  const [right, setRight] = useState<Frame | null>(null);
  const [asked, setAsked] = useState<Asked>({ query: "", left: usual, right: null });
  const [opened, setOpened] = useState<Found | null>(null);
  useEffect(() => setOpened(null), [user, session]);
  const one = useContext(user, session, asked.query, asked.left);
  const other = useContext(user, session, asked.query, asked.right);
  const facts = useFacts(user);
  if (user === null || session === null)
    return <Empty>No session yet, so a model would see nothing but its question. Add messages, or import some.</Empty>;
  const build = (change: Partial<Asked> = {}) => setAsked({ query, left, right, ...change });
  const reading: Reading = { session, facts, open: setOpened };
  const first = one.value;
  const second = other.value;
  return (
    <>
      <Panel title="Context for the next message">
        <form
          class="context-form"
          onSubmit={(event) => {
            event.preventDefault();
            build();
          }}
        >
          <label class="query">
            Query: the message that comes next
            <textarea
              rows={2}
              dir="auto"
              value={query}
              placeholder="If empty, the newest message is used"
              data-testid="query"
              onInput={(event) => setQuery(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
                event.preventDefault();
                build();
              }}
            />
          </label>
          <FrameInputs
            about={about}
            frame={left}
            name={right ? "A" : ""}
            change={setLeft}
            settled={(frame) => build({ left: frame })}
          />
          {right ? (
            <FrameInputs
              about={about}
              frame={right}
              name="B"
              change={setRight}
              settled={(frame) => build({ right: frame })}
            />
          ) : null}
          <div class="tools">
            <button type="submit" class="first" data-testid="build">
              Build
            </button>
            <button
              type="button"
              aria-pressed={right !== null}
              data-testid="compare"
              onClick={() => {
                const beside = right ? null : { ...left, budget: Math.max(1, Math.round(left.budget / 2)) };
                setRight(beside);
                build({ right: beside });
              }}
            >
              {right ? "Stop comparing" : "Compare"}
            </button>
          </div>
        </form>
      </Panel>
      <div class={asked.right ? "columns" : ""}>
        <Column title={asked.right ? "A" : "The context"} loaded={one} reading={reading} />
        {asked.right ? <Column title="B" loaded={other} reading={reading} /> : null}
      </div>
      {asked.right && first && second ? (
        <Compared left={first.manifest} right={second.manifest} reading={reading} />
      ) : null}
      <OverTurns session={session} budget={asked.left.budget} />
      {opened ? <SourceDialog found={opened} user={user} close={() => setOpened(null)} /> : null}
    </>
  );
}

function useContext(user: string | null, session: string | null, query: string, frame: Frame | null): Loaded<Context> {
  const fetching = (signal: AbortSignal) =>
    send<Context>(
      "POST",
      "/v1/context",
      { ...frame, query: query.trim() || null, user_id: user, session_id: session, record_access: false },
      signal,
    );
  return useLoad(user !== null && session !== null && frame ? fetching : null, [
    user,
    session,
    query,
    frame?.budget,
    frame?.profile,
  ]);
}

/** What each fact says, by its id; until that is known, facts go by their ids. */
function useFacts(user: string | null): ReadonlyMap<string, string> {
  const fetching = (signal: AbortSignal) => all<Fact>(at`/v1/users/${user ?? ""}/facts`, ALL_PROJECTS, signal, 1000);
  const loaded = useLoad(user === null ? null : fetching, [user]);
  return useMemo(() => new Map(loaded.value?.map((fact) => [fact.id, factLine(fact)])), [loaded.value]);
}

function Column({ title, loaded, reading }: { title: string; loaded: Loaded<Context>; reading: Reading }) {
  if (loaded.error)
    return (
      <Panel title={title}>
        <Notice error={loaded.error} again={loaded.again} />
      </Panel>
    );
  return loaded.value ? (
    <Built title={title} context={loaded.value} loading={loaded.loading} reading={reading} />
  ) : (
    <Waiting what="Building" />
  );
}
