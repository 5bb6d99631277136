import { useEffect, useMemo, useState } from "preact/hooks";
import { ALL_PROJECTS, all, allKnown, at, get } from "../../api";
import type { ScreenProps } from "../../app";
import { listen } from "../../events";
import { useLoad } from "../../load";
import { placeOf, times } from "../../parts/format";
import { useLate } from "../../parts/late";
import { sessionName } from "../../parts/names";
import { Empty, Notice, Waiting } from "../../parts/panel";
import { SourceDialog } from "../../parts/source";
import { changed } from "../../pickers";
import { addressOf } from "../../place";
import type { Backlog, Episode, Fact, Session, UserProfile } from "../../shapes";
import "../../style/facts.css";
import "../../style/you.css";
import { FactDialog } from "../facts/fact";
import { ALL_STATUSES } from "../facts/signs";
import { Changes } from "./changes";
import { EVERYTHING, Finder, type Kind } from "./finder";
import { Head } from "./head";
import { Moments } from "./moments";
import { changesOf, groupsOf, has, momentsOf, nameOf } from "./person";
import { Sections } from "./sections";

const CALM_MS = 800; // without another event before what is known is read again
const FEW = 5; // facts of a kind that are shown while all kinds are
const LOOK_MS = 2_000; // while something is still read, before it is looked at again
const PAUSE_MS = 180; // without a move of the slider before the day is asked for

export default function Screen({ about, user }: ScreenProps) {
  if (user === null) return <Empty>No users yet.</Empty>;
  return <Person key={user} about={about} user={user} />;
}

/** One person as the memory knows them: who they are, how that changed, what happened; each with its source. */
function Person({ about, user }: { about: ScreenProps["about"]; user: string }) {
  const [round, setRound] = useState(0);
  const [then, setThen] = useState<number | null>(null);
  const [words, setWords] = useState("");
  const [kind, setKind] = useState<Kind>(EVERYTHING);
  const [opened, setOpened] = useState<string | null>(null);
  const [quoted, setQuoted] = useState<Fact | null>(null);
  useNews(user, () => setRound((before) => before + 1));
  const day = useLate(then, PAUSE_MS);
  const facts = useLoad(
    (signal, soon: (some: Fact[]) => void) =>
      allKnown<Fact>(at`/v1/users/${user}/facts`, { ...ALL_PROJECTS, statuses: ALL_STATUSES }, signal, soon),
    [user, round],
  );
  const profile = useLoad(
    (signal) =>
      get<UserProfile>(
        at`/v1/users/${user}/profile`,
        day === null ? ALL_PROJECTS : { ...ALL_PROJECTS, as_of: new Date(day).toISOString() },
        signal,
      ),
    [user, round, day],
  );
  const episodes = useLoad((signal) => all<Episode>(at`/v1/users/${user}/episodes`, {}, signal), [user, round]);
  const sessions = useLoad((signal) => all<Session>("/v1/sessions", { user_id: user }, signal), [user, round]);
  const backlog = useLoad((signal) => get<Backlog>("/v1/backlog", undefined, signal), [user, round]);

  const until = day ?? Number.POSITIVE_INFINITY;
  const known = useMemo(
    () => (profile.value?.facts ?? []).filter((fact) => has(words, fact.text, fact.quote, fact.key)),
    [profile.value, words],
  );
  const changes = useMemo(
    () =>
      changesOf(facts.value ?? [], until).filter((one) =>
        has(words, one.name, ...one.values.flatMap((fact) => [fact.value, fact.quote])),
      ),
    [facts.value, until, words],
  );
  const moments = useMemo(
    () => momentsOf(episodes.value ?? [], until).filter((one) => has(words, one.title, one.summary, one.outcome)),
    [episodes.value, until, words],
  );
  const groups = useMemo(() => groupsOf(known, profile.value?.people ?? {}), [known, profile.value]);
  const titles = useMemo(() => new Map(sessions.value?.map((one) => [one.id, sessionName(one)])), [sessions.value]);
  const error = facts.error ?? profile.error ?? episodes.error ?? sessions.error;
  const read = facts.value && profile.value && episodes.value && sessions.value;
  const unread = (backlog.value?.pending ?? 0) + (backlog.value?.leased ?? 0);
  useEffect(() => {
    if (!unread) return;
    const timer = setTimeout(backlog.again, LOOK_MS); // what is read and tells nothing makes no event
    return () => clearTimeout(timer);
  }, [backlog.value]);
  const nothing = read && !facts.value?.length && !episodes.value?.length;
  const again = () => {
    setRound((before) => before + 1);
    changed();
  };
  const open = (fact: Fact) => setOpened(fact.id);
  const shows = (section: Kind) => kind === EVERYTHING || kind === section;
  return (
    <div class="you">
      {error ? <Notice error={error} again={again} /> : null}
      {!read && !error ? <Waiting /> : null}
      {read ? (
        <>
          <Head
            about={about}
            user={user}
            name={nameOf(facts.value ?? [], user)}
            sessions={sessions.value ?? []}
            known={profile.value?.facts ?? []}
          />
          {unread ? (
            <p class="reading" role="status">
              Still reading: {times(unread, "conversation is", "conversations are")} not read yet. This page fills as it
              goes on.
            </p>
          ) : null}
        </>
      ) : null}
      {nothing && unread ? null : nothing ? (
        <Empty>
          Nothing is known yet. Facts are found in what is said: talk in the{" "}
          <a href={addressOf({ screen: "try", user, session: null })}>chat</a>, or{" "}
          <a href={addressOf({ screen: "start", user: null, session: null })}>import your history</a>.
        </Empty>
      ) : read ? (
        <>
          <Finder
            from={firstDay(facts.value ?? [])}
            then={then}
            choose={setThen}
            words={words}
            search={setWords}
            kind={kind}
            show={setKind}
            kinds={[
              { id: "changes", name: "How it changed", count: changes.length },
              ...groups.map((group) => ({ id: group.title, name: group.title, count: group.facts.length })),
              { id: "moments", name: "Moments", count: moments.length },
            ]}
          />
          {shows("changes") ? (
            <Changes changes={changes} titles={titles} user={user} open={open} read={setQuoted} />
          ) : null}
          <Sections
            groups={groups.filter((group) => shows(group.title))}
            most={kind === EVERYTHING && !words ? FEW : Number.POSITIVE_INFINITY}
            titles={titles}
            user={user}
            open={open}
            read={setQuoted}
          />
          {shows("moments") ? <Moments moments={moments} titles={titles} user={user} /> : null}
          {!groups.length && !changes.length && !moments.length ? (
            <Empty>{words ? "Nothing here has these words." : "Nothing was known on that day."}</Empty>
          ) : null}
        </>
      ) : null}
      {quoted ? (
        <SourceDialog
          found={{ kind: "fact", id: quoted.id, session_id: quoted.session_id, span: null }}
          user={user}
          close={() => setQuoted(null)}
        />
      ) : null}
      {opened === null ? null : <FactDialog id={opened} about={about} close={() => setOpened(null)} changed={again} />}
    </div>
  );
}

/** The first day on which something of weight was known: what began long before is not a day of this memory. */
function firstDay(facts: readonly Fact[]): number {
  const learnt = facts.map((fact) => placeOf(fact.learnt_at));
  return Math.min(...learnt, Date.now());
}

/** Calls `again` some time after something changed in a person's memory. */
function useNews(user: string, again: () => void): void {
  useEffect(() => {
    const stop = new AbortController();
    let waiting: ReturnType<typeof setTimeout> | undefined;
    listen(
      { user_id: user },
      () => {
        clearTimeout(waiting);
        waiting = setTimeout(again, CALM_MS);
      },
      stop.signal,
    );
    return () => {
      stop.abort();
      clearTimeout(waiting);
    };
  }, [user]);
}
