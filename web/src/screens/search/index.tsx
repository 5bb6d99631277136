import { useEffect, useRef, useState } from "preact/hooks";
import { ALL_PROJECTS, send } from "../../api";
import type { ScreenProps } from "../../app";
import { useLoad } from "../../load";
import { useLate } from "../../parts/late";
import { Empty, Notice, Panel, Waiting } from "../../parts/panel";
import { SourceDialog } from "../../parts/source";
import type { Context, Explained, ExplainedSearchRequest, Hit } from "../../shapes";
import "../../style/search.css";
import { Candidates } from "./candidates";
import { Filters, type Given, KINDS } from "./filters";
import { Parts } from "./parts";
import { Stages } from "./stages";
import { moves, standings } from "./standing";
import { Weights } from "./weights";

const WAIT = 250; // milliseconds of rest before a change is searched for

/** A query, what speaks for each candidate, and what cuts it. */
export default function Screen({ about, user, session }: ScreenProps) {
  const [typed, setTyped] = useState("");
  const [query, setQuery] = useState("");
  const [given, setGiven] = useState<Given>({
    top_k: 20,
    kinds: KINDS,
    as_of: "",
    budget: about.prompt_token_budget,
    weights: null,
  });
  const [opened, setOpened] = useState<Hit | null>(null);
  const late = useLate(given, WAIT);
  useEffect(() => setOpened(null), [user]);

  const { budget, ...asked } = late;
  const possible = asked.kinds.length > 0 && (!asked.weights || Object.values(asked.weights).some((one) => one > 0));
  const ready = user !== null && query !== "" && possible;
  const found = useLoad(
    ready
      ? async (signal) => ({
          of: JSON.stringify([user, query, asked.top_k, asked.kinds, asked.as_of]),
          explained: await send<Explained>(
            "POST",
            "/v1/search/explained",
            {
              ...asked,
              as_of: asked.as_of ? `${asked.as_of}:00Z` : null,
              query,
              user_id: user,
              ...ALL_PROJECTS,
            } satisfies ExplainedSearchRequest,
            signal,
          ),
        })
      : null,
    [user, query, JSON.stringify(asked), ready],
  );
  const context = useLoad(
    ready
      ? (signal) =>
          send<Context>(
            "POST",
            "/v1/context",
            { query, user_id: user, session_id: session, budget, record_access: false },
            signal,
          )
      : null,
    [user, session, query, budget, ready],
  );
  const before = useOrderBefore(found.value);

  if (user === null) return <Empty>No users yet: add messages, or import some, then search.</Empty>;
  const explained = found.value?.explained ?? null;
  return (
    <>
      <Panel title="Search">
        <form
          class="search-form"
          onSubmit={(event) => {
            event.preventDefault();
            setQuery(typed.trim());
          }}
        >
          <label class="asked">
            Query
            <input
              type="search"
              dir="auto"
              value={typed}
              required
              autocomplete="off"
              placeholder="What would you ask this memory?"
              data-testid="query"
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </label>
          <button type="submit" class="first" data-testid="search">
            Search
          </button>
          <Filters given={given} change={setGiven} />
        </form>
        <Weights usual={about.weights} weights={given.weights} change={(weights) => setGiven({ ...given, weights })} />
      </Panel>
      {found.error ? <Notice error={found.error} again={found.again} /> : null}
      {context.error && !found.error ? <Notice error={context.error} again={context.again} /> : null}
      {!possible ? (
        <Empty>Nothing can be found like this: choose at least one kind, and at least one weight above 0.</Empty>
      ) : query === "" ? (
        <Empty>
          Nothing here yet: ask something to see each candidate, the parts of its score and why it is used or not.
        </Empty>
      ) : explained ? (
        <>
          <Stages found={explained} />
          <Candidates
            found={explained}
            standings={standings(explained, context.value?.manifest ?? null)}
            context={context.value}
            moves={moves(explained.hits, before)}
            loading={found.loading}
            open={setOpened}
          />
        </>
      ) : found.error ? null : (
        <Waiting what="Searching" />
      )}
      {opened ? (
        <SourceDialog found={opened} user={user} close={() => setOpened(null)}>
          <Parts hit={opened} />
        </SourceDialog>
      ) : null}
    </>
  );
}

/** The order of the answer before this one, if it was to the same question. */
function useOrderBefore(value: { of: string; explained: Explained } | null): string[] | null {
  const past = useRef<{ now: typeof value; before: string[] | null }>({ now: null, before: null });
  if (value && value !== past.current.now) {
    const { now } = past.current;
    const before = now && now.of === value.of ? now.explained.hits.map((hit) => hit.id) : null;
    past.current = { now: value, before };
  }
  return past.current.before;
}
