"""Facts, episodes and links."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from lamina.knowledge.conflicts import by_slot, order, resolve, twins
from lamina.knowledge.episodes import cap_episodes
from lamina.knowledge.fact_words import INSTEAD, family_of
from lamina.log.records import episode_row, fact_row
from lamina.protocols.store import Access, EpisodeRow, FactRow, FactsCommit, Reading
from lamina.storage import changes_sql, sessions_sql
from lamina.storage.relational_rows import EPISODE, FACT, episode_columns, fact_columns, to_us
from lamina.storage.shared import (
    at_stored_place,
    episodes_to_join,
    is_reworded,
    refuse_facts,
    searchable,
    stale,
    whole_episodes,
    whole_facts,
)
from lamina.storage.transaction import Sql, Transaction
from lamina.values.fact import ConflictRule, Episode, Fact, Link
from lamina.values.message import Span

Slot = tuple[str, str]  # category and slot

_OF_SLOT = Sql(
    sqlite="slot = :slot",
    postgres="slot_hash = md5(cast(:slot as text)) and slot = :slot",  # a slot may be too long for an index
)


async def facts(
    tx: Transaction,
    user_id: str | None = None,
    session_id: str | None = None,
    *,
    span: Span | None = None,
    ids: Sequence[str] | None = None,
    current: bool = False,
) -> list[Fact]:
    found = await raw_facts(tx, user_id, session_id, span=span, ids=ids, current=current)
    return sorted(whole_facts(found), key=order)


async def raw_facts(
    tx: Transaction,
    user_id: str | None,
    session_id: str | None,
    *,
    span: Span | None = None,
    ids: Sequence[str] | None = None,
    current: bool = False,
) -> list[FactRow]:
    where = "" if user_id is None else " and user_id = :user"
    where += " and status in ('active', 'conflicted')" if current else ""
    values: dict[str, Any] = {"tenant": tx.tenant, "user": user_id, "session": session_id}
    if span is not None:
        where += (
            " and message_id in (select id from messages where tenant = :tenant and session_id = :session"
            " and seq between :first and :last)"
        )
        values |= {"first": span.first, "last": span.last}
    elif session_id is not None:
        where += " and session_id = :session"
    if ids is not None:
        where, values["ids"] = f"{where} and id {tx.among(':ids')}", tx.array(ids)
    found = await tx.rows(f"select {FACT} from facts where tenant = :tenant{where} order by id", values)
    return [FactRow(*row) for row in found]


async def standing_facts(tx: Transaction, user_id: str) -> list[Fact]:
    found = await tx.rows(
        f"select {FACT} from facts where tenant = ? and user_id = ? and status in ('active', 'conflicted')",
        (tx.tenant, user_id),
    )
    return sorted(whole_facts(FactRow(*row) for row in found), key=order)


async def episodes(
    tx: Transaction, user_id: str | None = None, session_id: str | None = None, *, ids: Sequence[str] | None = None
) -> list[Episode]:
    return list(whole_episodes(await raw_episodes(tx, user_id, session_id, ids=ids)))


async def raw_episodes(
    tx: Transaction, user_id: str | None, session_id: str | None, *, ids: Sequence[str] | None = None
) -> list[EpisodeRow]:
    where = "" if user_id is None else " and user_id = :user"
    where += "" if session_id is None else " and session_id = :session"
    where += "" if ids is None else f" and id {tx.among(':ids')}"
    found = await tx.rows(
        f"select {EPISODE} from episodes where tenant = :tenant{where} order by happened_us, id",
        {"tenant": tx.tenant, "user": user_id, "session": session_id, "ids": tx.array(ids or ())},
    )
    return [EpisodeRow(*row) for row in found]


async def links(tx: Transaction, user_id: str) -> list[Link]:
    found = await tx.rows(
        "select source, target, type, strength, created_at from links where tenant = ? and user_id = ?"
        " order by created_at, source, target, type",
        (tx.tenant, user_id),
    )
    return [link_value(row) for row in found]


async def commit_facts(tx: Transaction, commit: FactsCommit) -> bool:
    await _check_expected(tx, commit)
    if await sessions_sql.has_opted_out(tx, commit.user_id):
        return refuse_facts(commit)
    if await _overtaken(tx, commit):
        return False
    for session_id in {fact.session_id for fact in commit.put} | {one.session_id for one in commit.episodes}:
        if session_id is not None:
            await sessions_sql.require_session(tx, session_id)
    await tx.many(
        "delete from forgotten where tenant = ? and user_id = ? and mark = ?",
        [(tx.tenant, commit.user_id, mark) for mark in commit.unblock],
    )
    forgotten = {
        row[0]
        for row in await tx.rows(
            "select mark from forgotten where tenant = ? and user_id = ?", (tx.tenant, commit.user_id)
        )
    }
    touched = await drop_facts(tx, commit.user_id, commit.drop)
    fresh = [fact for fact in commit.put if commit.marks.get(fact.id) not in forgotten]
    for fact in fresh:
        await _put_fact(tx, fact)
    for slot, facts in by_slot(fresh).items():
        alone = family_of(slot[1]) == slot[1]  # else the slots beside it count, too
        if slot in touched or not alone or not await _stand(tx, sorted(facts, key=order), commit):
            touched.add(slot)
    moved = not {fact.id for fact in commit.put}.isdisjoint(commit.drop)  # the same facts, told in other words
    cuts = [moved, await _change_facts(tx, commit.user_id, commit.change)]
    touched |= {(fact.category, fact.slot) for fact in commit.change}
    await resolve_slots(tx, commit.user_id, touched, commit.rule)
    cuts.append(await _put_episodes(tx, commit))
    await _put_links(tx, commit.user_id, commit.links)
    if any(cuts):
        await changes_sql.note_cut(tx, commit.user_id)
    elif searchable(commit):
        await changes_sql.note_change(tx, commit.user_id)
    return True


async def _check_expected(tx: Transaction, commit: FactsCommit) -> None:
    if commit.expect is not None:
        fact_id, tag = commit.expect
        known = await facts(tx, ids=[fact_id])
        if not known or known[0].tag != tag:
            raise stale("fact", fact_id)


async def _overtaken(tx: Transaction, commit: FactsCommit) -> bool:
    """Whether what was read, or is to be joined into another, was read or erased in between."""
    if commit.cuts is not None and (await changes_sql.counts(tx, commit.user_id))[1] != commit.cuts:
        return True
    needed = episodes_to_join(commit)
    (left,) = await tx.one(
        f"select count(*) from episodes where tenant = ? and id {tx.among('?')}",
        (tx.tenant, tx.array(sorted(needed))),
    )
    return left < len(needed) or (commit.reading is not None and not await _read_on(tx, commit.reading))


async def _read_on(tx: Transaction, reading: Reading) -> bool:
    moved = await tx.execute(
        "update sessions set extracted = ? where tenant = ? and id = ? and extracted = ? and erasures = ?",
        (max(reading.expect, reading.upto), tx.tenant, reading.session_id, reading.expect, reading.erasures),
    )
    if not moved:
        return False
    await tx.execute(
        "update messages set unread = 0 where tenant = ? and session_id = ? and unread = 1"
        f" and (seq {tx.among('?')} or (seq > ? and seq <= ?))",
        (tx.tenant, reading.session_id, tx.array(reading.again), reading.expect, reading.upto),
    )
    return True


async def _put_fact(tx: Transaction, fact: Fact) -> None:
    await tx.execute(
        'insert into facts (tenant, id, user_id, session_id, message_id, start, "end", category, slot, claim,'
        " status, valid_until, of_fact, version, accesses, accessed_at, decay, learnt_us, record, digest)"
        " values (:tenant, :id, :user_id, :session_id, :message_id, :start, :end, :category, :slot, :claim,"
        " 'candidate', null, null, 1, :accesses, :accessed_at, :decay, :learnt, :record, :digest)"
        " on conflict do nothing",
        {"tenant": tx.tenant, **fact_columns(fact)},
    )


async def _stand(tx: Transaction, new: Sequence[Fact], commit: FactsCommit) -> bool:
    """Whether the standing of new facts is clear from the current one; then they have it at once.

    It is if they come behind all others of their slot and only say again what holds, or if one that was told just
    now takes its place. It saves the replay of a slot that may have thousands of facts.
    """
    slot = {"tenant": tx.tenant, "user": new[0].user_id, "category": new[0].category, "slot": new[0].slot}
    found = await tx.row(
        f"select {FACT} from facts where tenant = :tenant and user_id = :user and category = :category"
        f" and {tx.pick(_OF_SLOT)} and status = 'active'",
        slot,
    )
    holds = None if found is None else next(whole_facts([FactRow(*found)]), None)
    if holds is None or holds.verdict is not None or any(fact.verdict is not None for fact in new):
        return False
    if await _others_behind(tx, new, slot):
        return False
    stood = {fact.id: fact for fact in resolve([holds, *new], commit.rule)}
    if holds.until is None and all(stood[fact.id].status == "evidence" and fact.holds for fact in new):
        await _keep_standing(tx, [stood[fact.id] for fact in new])
        return True
    if not commit.newest or len(new) > 1 or stood[new[0].id].status != "active":
        return False
    since = {**slot, "since": to_us(holds.learnt_at)}
    conflicted, versions = await tx.one(
        "select count(case when status = 'conflicted' then 1 end), max(version) from facts where tenant = :tenant"
        f" and user_id = :user and category = :category and {tx.pick(_OF_SLOT)} and learnt_us >= :since",
        since,
    )
    if conflicted or await _held_beside(tx, new[0]):
        return False
    before = replace(stood[holds.id], version=holds.version)
    await _keep_standing(tx, [before, replace(stood[new[0].id], version=versions + 1)])
    return True


async def _held_beside(tx: Transaction, fact: Fact) -> bool:
    """Whether a slot beside that of the fact has the same value now."""
    row = await tx.row(
        "select 1 from facts where tenant = :tenant and user_id = :user and category = :category"
        f" and slot {tx.among(':slots')} and status = 'active' limit 1",
        {"tenant": tx.tenant, "user": fact.user_id, "category": fact.category, "slots": tx.array(twins(fact))},
    )
    return row is not None


async def _others_behind(tx: Transaction, new: Sequence[Fact], slot: Mapping[str, Any]) -> bool:
    """Whether there are facts of the slot that were not said or told before these."""
    first = new[0]
    found = await tx.row(
        "select 1 from facts as f where f.tenant = :tenant and f.user_id = :user and f.category = :category"
        f" and {tx.pick(_OF_SLOT)} and f.learnt_us >= :learnt and not f.id {tx.among(':new')}"
        " and (f.learnt_us > :learnt or f.message_id is null or f.session_id <> :session"
        " or (select m.seq from messages as m where m.tenant = :tenant and m.id = f.message_id) >= :seq) limit 1",
        {**slot, "learnt": to_us(first.learnt_at), "new": tx.array([fact.id for fact in new]),
         "session": first.session_id or "", "seq": first.seq},
    )  # fmt: skip
    return found is not None


async def _change_facts(tx: Transaction, user_id: str, facts: Sequence[Fact]) -> bool:
    """Change known facts; whether any is told in other words now."""
    if not facts:
        return False
    found = await tx.rows(
        f"select {FACT} from facts where tenant = ? and user_id = ? and id {tx.among('?')}",
        (tx.tenant, user_id, tx.array([fact.id for fact in facts])),
    )
    stored = {fact.id: fact for fact in whole_facts(map(FactRow._make, found))}
    placed = [at_stored_place(stored.get(fact.id), fact) for fact in facts]
    changed = {fact.id: (fact, fact_row(fact)) for fact in placed}
    before = [row for row in map(FactRow._make, found) if row.digest != changed[row.id][1].digest]
    await tx.many(
        "update facts set record = ?, digest = ?, decay = ? where tenant = ? and user_id = ? and id = ?",
        [(row.record, row.digest, row.decay, tx.tenant, user_id, row.id) for _, row in changed.values()],
    )
    known = list(whole_facts(before))
    return len(known) < len(before) or any(is_reworded(old, changed[old.id][0]) for old in known)


async def drop_facts(tx: Transaction, user_id: str, ids: Iterable[str]) -> set[Slot]:
    gone = await tx.rows(
        f"delete from facts where tenant = ? and user_id = ? and id {tx.among('?')} returning category, slot",
        (tx.tenant, user_id, tx.array(ids)),
    )
    return {(category, slot) for category, slot in gone}


async def resolve_slots(tx: Transaction, user_id: str, slots: Iterable[Slot], rule: ConflictRule) -> None:
    """Give every fact of these slots and of those beside them its standing; what is active no longer goes first."""
    wanted = {(category, family_of(slot)) for category, slot in slots}
    if not wanted:
        return
    every = await tx.rows(
        f"select {FACT} from facts where tenant = :tenant and user_id = :user and slot {tx.among(':slots')}",
        {"tenant": tx.tenant, "user": user_id, "slots": tx.array(sorted(await _slots_of(tx, user_id, wanted)))},
    )
    found = defaultdict[Slot, list[FactRow]](list)
    for row in map(FactRow._make, every):
        family = (row.category, family_of(row.slot))
        if family in wanted:
            found[family].append(row)
    moved: list[Fact] = []
    damaged: list[str] = []
    for rows in found.values():
        stood = {fact.id: fact for fact in whole_facts(rows)}
        moved += [fact for fact in resolve(stood.values(), rule) if fact != stood[fact.id]]
        damaged += [row.id for row in rows if row.id not in stood]
    await tx.many(
        "update facts set status = 'candidate' where tenant = ? and id = ?",
        [(tx.tenant, fact_id) for fact_id in sorted(damaged)],
    )
    await _keep_standing(tx, moved)


async def _slots_of(tx: Transaction, user_id: str, families: set[Slot]) -> set[str]:
    """The slots of some families: their own, and those beside it."""
    names = {family for _, family in families}
    beside = await tx.rows(
        "select distinct slot from facts where tenant = ? and user_id = ? and slot like ?",
        (tx.tenant, user_id, f"_%{INSTEAD}%"),
    )
    return names | {slot for (slot,) in beside if family_of(slot) in names}


async def _keep_standing(tx: Transaction, facts: Iterable[Fact]) -> None:
    """Store how facts stand; one that becomes active comes last, since there is one at a time."""
    await tx.many(
        "update facts set status = ?, valid_until = ?, of_fact = ?, version = ? where tenant = ? and id = ?",
        [
            (
                fact.status,
                None if fact.valid_until is None else fact.valid_until.isoformat(),
                fact.of,
                fact.version,
                tx.tenant,
                fact.id,
            )
            for fact in sorted(facts, key=lambda fact: fact.status == "active")
        ],
    )


async def _is_reworded(tx: Transaction, user_id: str, episode: Episode) -> bool:
    sql = "select 1 from episodes where tenant = ? and user_id = ? and id = ? and digest <> ?"
    return bool(await tx.rows(sql, (tx.tenant, user_id, episode.id, episode_row(episode).digest)))


async def _put_episodes(tx: Transaction, commit: FactsCommit) -> bool:
    """Put, change and drop episodes; whether a known one is told in other words now."""
    await drop_episodes(tx, commit.user_id, commit.drop_episodes)
    await unlink(tx, commit.drop_episodes)
    await tx.many(
        "insert into episodes (tenant, id, user_id, session_id, anchor, kind, significance, happened_us, accesses,"
        " accessed_at, decay, record, digest) values (:tenant, :id, :user_id, :session_id, :anchor, :kind,"
        " :significance, :happened, :accesses, :accessed_at, :decay, :record, :digest)"
        " on conflict do nothing",
        [{"tenant": tx.tenant, **episode_columns(episode)} for episode in commit.episodes],
    )
    cut = any([await _is_reworded(tx, commit.user_id, episode) for episode in commit.change_episodes])
    await change_episodes(tx, commit.user_id, commit.change_episodes)
    if commit.most_episodes is not None and commit.episodes:
        _, drop = cap_episodes(await episodes(tx, commit.user_id), commit.most_episodes)
        await drop_episodes(tx, commit.user_id, [episode.id for episode in drop])
        await unlink(tx, [episode.id for episode in drop])
    return cut


async def change_episodes(tx: Transaction, user_id: str, episodes: Sequence[Episode]) -> None:
    await tx.many(
        "update episodes set significance = :significance, happened_us = :happened, decay = :decay,"
        " record = :record, digest = :digest where tenant = :tenant and user_id = :user and id = :id",
        [{"tenant": tx.tenant, "user": user_id, **episode_columns(episode)} for episode in episodes],
    )


async def drop_episodes(tx: Transaction, user_id: str, ids: Sequence[str]) -> list[str]:
    gone = await tx.rows(
        f"delete from episodes where tenant = ? and user_id = ? and id {tx.among('?')} returning id",
        (tx.tenant, user_id, tx.array(ids)),
    )
    return [row[0] for row in gone]


async def _put_links(tx: Transaction, user_id: str, links: Sequence[Link]) -> None:
    await tx.many(
        "insert into links (tenant, user_id, source, target, type, strength, created_at)"
        " values (?, ?, ?, ?, ?, ?, ?)"
        " on conflict (tenant, source, target, type) do update set strength = excluded.strength",
        [
            (tx.tenant, user_id, link.source, link.target, link.type, link.strength, link.created_at.isoformat())
            for link in links
        ],
    )


async def unlink(tx: Transaction, ids: Sequence[str]) -> None:
    await tx.execute(
        f"delete from links where tenant = :tenant and (source {tx.among(':ids')} or target {tx.among(':ids')})",
        {"tenant": tx.tenant, "ids": tx.array(ids)},
    )


async def note_accesses(tx: Transaction, accesses: Sequence[Access]) -> None:
    for table in ("facts", "episodes"):
        await tx.many(
            f"update {table} set accesses = accesses + ?, accessed_at = ?, decay = 1 where tenant = ? and id = ?",
            [(access.times, access.at.isoformat(), tx.tenant, access.id) for access in accesses],
        )


def link_value(row: Sequence[str]) -> Link:
    source, target, kind, strength, created_at = row
    return Link(
        source=source, target=target, type=kind, strength=float(strength), created_at=datetime.fromisoformat(created_at)
    )
