import { useEffect, useMemo, useState } from "preact/hooks";
import { ALL_PROJECTS, allKnown, at } from "../../api";
import type { ScreenProps } from "../../app";
import { useLoad } from "../../load";
import { count, times } from "../../parts/format";
import { mayWrite, NEEDS_WRITE } from "../../parts/may";
import { statusName } from "../../parts/names";
import { Empty, Notice, Panel, Waiting } from "../../parts/panel";
import { Term } from "../../parts/term";
import { changed } from "../../pickers";
import type { Fact, FactStatus } from "../../shapes";
import "../../style/facts.css";
import { ProfileThen } from "./asof";
import { FactDialog } from "./fact";
import { Gantt } from "./gantt";
import { Divergences, Receipts } from "./lists";
import { Remember } from "./remember";
import { chosen, endOf, type Filter, rowsOf, THE_USER, timeOf, windowOf } from "./rows";
import { ALL_STATUSES, STATUSES } from "./signs";

const EVERYTHING: Filter = { statuses: new Set(ALL_STATUSES), category: "", type: "", about: "", text: "" };

export default function Screen({ about, user }: ScreenProps) {
  if (user === null) {
    return <Empty>No users yet. Facts are read from conversations: add messages, or import some.</Empty>;
  }
  return <Ledger key={user} about={about} user={user} />;
}

function Ledger({ about, user }: { about: ScreenProps["about"]; user: string }) {
  const [round, setRound] = useState(0);
  const facts = useLoad(
    (signal, soon: (some: Fact[]) => void) =>
      allKnown<Fact>(at`/v1/users/${user}/facts`, { ...ALL_PROJECTS, statuses: ALL_STATUSES }, signal, soon),
    [user, round],
  );
  const [filter, setFilter] = useState(EVERYTHING);
  const [whole, setWhole] = useState(false);
  const [then, setThen] = useState<number | null>(null);
  const [opened, setOpened] = useState<string | null>(null);
  const [remembering, setRemembering] = useState(false);
  const known = facts.value ?? [];
  const now = useMemo(() => endOf(known, Date.now()), [facts.value]);
  const begun = facts.value !== null || facts.error !== null; // what else there is does not hold up the first facts
  const some = useMemo(() => chosen(known, filter), [facts.value, filter]);
  const rows = useMemo(() => rowsOf(some, now), [some, now]);
  const window = useMemo(() => windowOf(known, now, whole), [facts.value, now, whole]);
  const earlier = useMemo(() => windowOf(known, now, true).from < windowOf(known, now, false).from, [facts.value, now]);
  useEffect(() => {
    if (then !== null && then < window.from) setThen(null);
  }, [window.from]);
  const asOf = useMemo(() => (then === null ? null : timeOf(known, then)), [facts.value, then]);
  const anew = () => {
    setRound((before) => before + 1);
    changed();
  };
  const open = (fact: Fact) => setOpened(fact.id);
  return (
    <>
      <div class="ledger">
        <Panel
          title="Values over time"
          testId="ledger"
          tools={
            <>
              <button type="button" class="quiet" onClick={anew} disabled={facts.loading}>
                Reload
              </button>
              <button
                type="button"
                class="first"
                disabled={!mayWrite(about)}
                title={mayWrite(about) ? undefined : NEEDS_WRITE}
                onClick={() => setRemembering(true)}
              >
                Remember something
              </button>
            </>
          }
        >
          {facts.error ? <Notice error={facts.error} again={facts.again} /> : null}
          {!facts.value && !facts.error ? <Waiting /> : null}
          {facts.value && !known.length ? (
            <Empty>
              Nothing is known of this user yet. Facts are found in what they say; or remember something by hand.
            </Empty>
          ) : null}
          {known.length ? (
            <>
              <Filters facts={known} filter={filter} set={setFilter} />
              <div class="above">
                <p class="soft" role="status" data-testid="shown">
                  {some.length === known.length
                    ? times(known.length, "fact")
                    : `${count(some.length)} of ${times(known.length, "fact")}`}
                  {` in ${times(rows.length, "row")}${facts.loading ? " so far …" : "."} Higher and stronger bars are surer.`}
                </p>
                <span class="tools">
                  {earlier ? (
                    <label class="beside">
                      <input
                        type="checkbox"
                        checked={whole}
                        onChange={(event) => setWhole(event.currentTarget.checked)}
                      />
                      from the first day of any fact
                    </label>
                  ) : null}
                  <button type="button" class="link" disabled={then === null} onClick={() => setThen(null)}>
                    back to today
                  </button>
                </span>
              </div>
              <Gantt rows={rows} window={window} then={then} choose={setThen} open={open} />
            </>
          ) : null}
        </Panel>
        <ProfileThen user={user} ready={begun} then={asOf} round={round} open={open} />
      </div>
      {begun ? (
        <div class="columns">
          <Divergences user={user} round={round} open={setOpened} />
          <Receipts user={user} about={about} round={round} changed={anew} />
        </div>
      ) : null}
      {opened === null ? null : <FactDialog id={opened} about={about} close={() => setOpened(null)} changed={anew} />}
      {remembering ? (
        <Remember
          user={user}
          close={() => setRemembering(false)}
          kept={(fact) => {
            setRemembering(false);
            anew();
            setOpened(fact.id);
          }}
        />
      ) : null}
    </>
  );
}

function Filters({ facts, filter, set }: { facts: readonly Fact[]; filter: Filter; set: (filter: Filter) => void }) {
  const counts = useMemo(() => {
    const found = new Map<FactStatus, number>();
    for (const fact of facts) found.set(fact.status, (found.get(fact.status) ?? 0) + 1);
    return found;
  }, [facts]);
  const values = (of: (fact: Fact) => string) => [...new Set(facts.map(of))].sort();
  const toggle = (status: FactStatus) => {
    const statuses = new Set(filter.statuses);
    if (!statuses.delete(status)) statuses.add(status);
    set({ ...filter, statuses });
  };
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      <fieldset class="statuses">
        <legend class="hidden-label">Statuses</legend>
        {ALL_STATUSES.map((status) => (
          <label key={status} class={`beside standing ${status}`}>
            <input type="checkbox" checked={filter.statuses.has(status)} onChange={() => toggle(status)} />
            <span class="standing-sign" aria-hidden="true">
              {STATUSES[status].sign}
            </span>
            <Term help={STATUSES[status].tells}>{statusName(status)}</Term> {count(counts.get(status) ?? 0)}
          </label>
        ))}
      </fieldset>
      <div class="row">
        <label>
          Category
          <select value={filter.category} onChange={(event) => set({ ...filter, category: event.currentTarget.value })}>
            <option value="">all</option>
            {values((fact) => fact.category).map((one) => (
              <option key={one} value={one} dir="auto">
                {one}
              </option>
            ))}
          </select>
        </label>
        <label>
          Type
          <select value={filter.type} onChange={(event) => set({ ...filter, type: event.currentTarget.value })}>
            <option value="">all</option>
            {values((fact) => fact.type).map((one) => (
              <option key={one} value={one} dir="auto">
                {one}
              </option>
            ))}
          </select>
        </label>
        {facts.some((fact) => fact.about !== null) ? (
          <label>
            About
            <select
              value={filter.about}
              data-testid="about"
              onChange={(event) => set({ ...filter, about: event.currentTarget.value })}
            >
              <option value="">everybody</option>
              <option value={THE_USER}>the user</option>
              {values((fact) => fact.about ?? "")
                .filter(Boolean)
                .map((one) => (
                  <option key={one} value={one} dir="auto">
                    {one}
                  </option>
                ))}
            </select>
          </label>
        ) : null}
        <label class="grow">
          With the words
          <input
            type="search"
            dir="auto"
            value={filter.text}
            autocomplete="off"
            data-testid="words"
            onInput={(event) => set({ ...filter, text: event.currentTarget.value })}
          />
        </label>
      </div>
    </form>
  );
}
