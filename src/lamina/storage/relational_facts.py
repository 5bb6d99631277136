"""Facts, episodes and links."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from lamina.knowledge.conflicts import by_slot, order
from lamina.knowledge.episodes import cap_episodes
from lamina.log.records import episode_row, fact_row
from lamina.protocols.store import Access, EpisodeRow, FactRow, FactsCommit, Reading, Settle
from lamina.storage.relational_changes import ChangeTables
from lamina.storage.relational_rows import EPISODE, FACT, MESSAGE, episode_columns, fact_columns, message_row, to_us
from lamina.storage.shared import (
    joined,
    reworded,
    said_where,
    searchable,
    stale,
    whole_episodes,
    whole_facts,
    whole_messages,
)
from lamina.storage.transaction import Transaction
from lamina.values.fact import Episode, Fact, Link
from lamina.values.message import Message, Span

Slot = tuple[str, str]  # category and slot


class FactTables(ChangeTables):
    """Facts with their standing, episodes, and the links between them."""

    # reading

    async def facts(self, user_id: str, session_id: str | None = None) -> list[Fact]:
        return await self._database.read(lambda tx: self._facts(tx, user_id, session_id))

    async def _facts(self, tx: Transaction, user_id: str, session_id: str | None = None) -> list[Fact]:
        return sorted(whole_facts(await self._raw_facts(tx, user_id, session_id)), key=order)

    async def _raw_facts(self, tx: Transaction, user_id: str, session_id: str | None) -> list[FactRow]:
        found = await tx.rows(
            f"select {FACT} from facts where tenant = :tenant and user_id = :user"
            " and (cast(:session as text) is null or session_id = :session) order by id",
            {"tenant": self.tenant, "user": user_id, "session": session_id},
        )
        return [FactRow(*row) for row in found]

    async def _standing_facts(self, tx: Transaction, user_id: str) -> list[Fact]:
        found = await tx.rows(
            f"select {FACT} from facts where tenant = ? and user_id = ? and status in ('active', 'conflicted')",
            (self.tenant, user_id),
        )
        return sorted(whole_facts(FactRow(*row) for row in found), key=order)

    async def facts_in(self, session_id: str, span: Span) -> list[Fact]:
        async def work(tx: Transaction) -> list[Fact]:
            found = await tx.rows(
                f"select {FACT} from facts where tenant = :tenant and message_id in (select id from messages"
                " where tenant = :tenant and session_id = :session and seq between :first and :last)",
                {"tenant": self.tenant, "session": session_id, "first": span.first, "last": span.last},
            )
            return sorted(whole_facts(FactRow(*row) for row in found), key=order)

        return await self._database.read(work)

    async def fact(self, fact_id: str) -> Fact | None:
        return await self._database.read(lambda tx: self._fact(tx, fact_id))

    async def _fact(self, tx: Transaction, fact_id: str) -> Fact | None:
        found = await tx.rows(f"select {FACT} from facts where tenant = ? and id = ?", (self.tenant, fact_id))
        return next(whole_facts(FactRow(*row) for row in found), None)

    async def episodes(self, user_id: str, session_id: str | None = None) -> list[Episode]:
        return await self._database.read(lambda tx: self._episodes(tx, user_id, session_id))

    async def _episodes(self, tx: Transaction, user_id: str, session_id: str | None = None) -> list[Episode]:
        return list(whole_episodes(await self._raw_episodes(tx, user_id, session_id)))

    async def _raw_episodes(self, tx: Transaction, user_id: str, session_id: str | None) -> list[EpisodeRow]:
        found = await tx.rows(
            f"select {EPISODE} from episodes where tenant = :tenant and user_id = :user"
            " and (cast(:session as text) is null or session_id = :session) order by happened_us, id",
            {"tenant": self.tenant, "user": user_id, "session": session_id},
        )
        return [EpisodeRow(*row) for row in found]

    async def episode(self, episode_id: str) -> Episode | None:
        async def work(tx: Transaction) -> Episode | None:
            sql = f"select {EPISODE} from episodes where tenant = ? and id = ?"
            found = await tx.rows(sql, (self.tenant, episode_id))
            return next(whole_episodes(EpisodeRow(*row) for row in found), None)

        return await self._database.read(work)

    async def links(self, user_id: str) -> list[Link]:
        async def work(tx: Transaction) -> list[Link]:
            found = await tx.rows(
                "select source, target, type, strength, created_at from links where tenant = ? and user_id = ?"
                " order by created_at, source, target, type",
                (self.tenant, user_id),
            )
            return [link_value(row) for row in found]

        return await self._database.read(work)

    async def users(self, *, limit: int = 1000, after: str | None = None) -> list[str]:
        async def work(tx: Transaction) -> list[str]:
            found = await tx.rows(
                "select user_id from sessions where tenant = :tenant and user_id > :after union"
                " select user_id from facts where tenant = :tenant and user_id > :after order by 1 limit :limit",
                {"tenant": self.tenant, "after": after or "", "limit": limit},
            )
            return [row[0] for row in found]

        return await self._database.read(work)

    async def unread(self, session_id: str, limit: int) -> list[Message]:
        async def work(tx: Transaction) -> list[Message]:
            found = await tx.rows(
                f"select {MESSAGE} from (select {MESSAGE} from messages where tenant = :tenant"
                " and session_id = :session and unread = 1 order by seq limit :limit) as again"
                f" union select {MESSAGE} from (select {MESSAGE} from messages where tenant = :tenant"
                " and session_id = :session and seq > (select extracted from sessions where tenant = :tenant"
                " and id = :session) order by seq limit :limit) as new order by seq limit :limit",
                {"tenant": self.tenant, "session": session_id, "limit": limit},
            )
            return list(whole_messages(map(message_row, found)))

        return await self._database.read(work)

    # writing

    async def commit_facts(self, commit: FactsCommit) -> bool:
        return await self._database.write(lambda tx: self._commit_facts(tx, commit), user=commit.user_id)

    async def _commit_facts(self, tx: Transaction, commit: FactsCommit) -> bool:
        await self._check_expected(tx, commit)
        if await self._overtaken(tx, commit):
            return False
        for session_id in {fact.session_id for fact in commit.put} | {one.session_id for one in commit.episodes}:
            if session_id is not None:
                await self._require_session(tx, session_id)
        await tx.many(
            "delete from forgotten where tenant = ? and user_id = ? and mark = ?",
            [(self.tenant, commit.user_id, mark) for mark in commit.unblock],
        )
        forgotten = {
            row[0]
            for row in await tx.rows(
                "select mark from forgotten where tenant = ? and user_id = ?", (self.tenant, commit.user_id)
            )
        }
        touched = await self._drop_facts(tx, commit.user_id, commit.drop)
        fresh = [fact for fact in commit.put if commit.marks.get(fact.id) not in forgotten]
        for fact in fresh:
            await self._put_fact(tx, fact)
        for slot, facts in by_slot(fresh).items():
            if slot in touched or not await self._stand(tx, sorted(facts, key=order), commit):
                touched.add(slot)
        cuts = [await self._change_facts(tx, commit.user_id, commit.change)]
        touched |= {(fact.category, fact.slot) for fact in commit.change}
        await self._settle(tx, commit.user_id, touched, commit.settle)
        cuts.append(await self._put_episodes(tx, commit))
        await self._put_links(tx, commit.user_id, commit.links)
        if any(cuts):
            await self._cut(tx, commit.user_id)
        elif searchable(commit):
            await self._changed(tx, commit.user_id)
        return True

    async def _check_expected(self, tx: Transaction, commit: FactsCommit) -> None:
        if commit.expect is not None:
            fact_id, tag = commit.expect
            fact = await self._fact(tx, fact_id)
            if fact is None or fact.tag != tag:
                raise stale("fact", fact_id)

    async def _overtaken(self, tx: Transaction, commit: FactsCommit) -> bool:
        """Whether what was read, or is to be joined into another, was read or erased in between."""
        if commit.cuts is not None and (await self._counted(tx, commit.user_id))[1] != commit.cuts:
            return True
        needed = joined(commit)
        (left,) = await tx.one(
            "select count(*) from episodes where tenant = ? and id in (select value from json_each(?))",
            (self.tenant, tx.listed(sorted(needed))),
        )
        return left < len(needed) or (commit.reading is not None and not await self._read_on(tx, commit.reading))

    async def _read_on(self, tx: Transaction, reading: Reading) -> bool:
        moved = await tx.execute(
            "update sessions set extracted = ? where tenant = ? and id = ? and extracted = ? and erasures = ?",
            (max(reading.expect, reading.upto), self.tenant, reading.session_id, reading.expect, reading.erasures),
        )
        if not moved:
            return False
        await tx.execute(
            "update messages set unread = 0 where tenant = ? and session_id = ? and unread = 1"
            " and (seq in (select value from json_each(?)) or (seq > ? and seq <= ?))",
            (self.tenant, reading.session_id, tx.listed(reading.again), reading.expect, reading.upto),
        )
        return True

    async def _put_fact(self, tx: Transaction, fact: Fact) -> None:
        await tx.execute(
            'insert into facts (tenant, id, user_id, session_id, message_id, start, "end", category, slot, claim,'
            " status, valid_until, of_fact, version, accesses, accessed_at, decay, learnt_us, record, digest)"
            " values (:tenant, :id, :user_id, :session_id, :message_id, :start, :end, :category, :slot, :claim,"
            " 'candidate', null, null, 1, :accesses, :accessed_at, :decay, :learnt, :record, :digest)"
            " on conflict do nothing",
            {"tenant": self.tenant, **fact_columns(fact)},
        )

    async def _stand(self, tx: Transaction, new: Sequence[Fact], commit: FactsCommit) -> bool:
        """Whether the standing of new facts is clear from the one that holds; then they have it at once.

        It is if they come behind all others of their slot and only say again what holds, or if one that was told just
        now takes its place. It saves the replay of a slot that may have thousands of facts.
        """
        slot = {"tenant": self.tenant, "user": new[0].user_id, "category": new[0].category, "slot": new[0].slot}
        found = await tx.row(
            f"select {FACT} from facts where tenant = :tenant and user_id = :user and category = :category"
            " and slot = :slot and status = 'active'",
            slot,
        )
        holds = None if found is None else next(whole_facts([FactRow(*found)]), None)
        if holds is None or holds.verdict is not None or any(fact.verdict is not None for fact in new):
            return False
        if await self._others_behind(tx, new, slot):
            return False
        stood = {fact.id: fact for fact in commit.settle([holds, *new])}
        if holds.until is None and all(stood[fact.id].status == "evidence" and fact.holds for fact in new):
            await self._keep_standing(tx, [stood[fact.id] for fact in new])
            return True
        if not commit.newest or len(new) > 1 or stood[new[0].id].status != "active":
            return False
        since = {**slot, "since": to_us(holds.learnt_at)}
        conflicted, versions = await tx.one(
            "select count(case when status = 'conflicted' then 1 end), max(version) from facts where tenant = :tenant"
            " and user_id = :user and category = :category and slot = :slot and learnt_us >= :since",
            since,
        )
        if conflicted:
            return False
        before = replace(stood[holds.id], version=holds.version)
        await self._keep_standing(tx, [before, replace(stood[new[0].id], version=versions + 1)])
        return True

    async def _others_behind(self, tx: Transaction, new: Sequence[Fact], slot: Mapping[str, Any]) -> bool:
        """Whether there are facts of the slot that were not said or told before these."""
        first = new[0]
        found = await tx.row(
            "select 1 from facts as f where f.tenant = :tenant and f.user_id = :user and f.category = :category"
            " and f.slot = :slot and f.learnt_us >= :learnt and f.id not in (select value from json_each(:new))"
            " and (f.learnt_us > :learnt or f.message_id is null or f.session_id <> :session"
            " or (select m.seq from messages as m where m.tenant = :tenant and m.id = f.message_id) >= :seq) limit 1",
            {**slot, "learnt": to_us(first.learnt_at), "new": tx.listed([fact.id for fact in new]),
             "session": first.session_id or "", "seq": first.seq},
        )  # fmt: skip
        return found is not None

    async def _change_facts(self, tx: Transaction, user_id: str, facts: Sequence[Fact]) -> bool:
        """Change known facts; whether any is told in other words now."""
        if not facts:
            return False
        found = await tx.rows(
            f"select {FACT} from facts where tenant = ? and user_id = ? and id in (select value from json_each(?))",
            (self.tenant, user_id, tx.listed([fact.id for fact in facts])),
        )
        stored = {fact.id: fact for fact in whole_facts(map(FactRow._make, found))}
        placed = [said_where(stored.get(fact.id), fact) for fact in facts]
        told = {fact.id: (fact, fact_row(fact)) for fact in placed}
        before = [row for row in map(FactRow._make, found) if row.digest != told[row.id][1].digest]
        await tx.many(
            "update facts set record = ?, digest = ?, decay = ? where tenant = ? and user_id = ? and id = ?",
            [(row.record, row.digest, row.decay, self.tenant, user_id, row.id) for _, row in told.values()],
        )
        known = list(whole_facts(before))
        return len(known) < len(before) or any(reworded(old, told[old.id][0]) for old in known)

    async def _drop_facts(self, tx: Transaction, user_id: str, ids: Iterable[str]) -> set[Slot]:
        gone = await tx.rows(
            "delete from facts where tenant = ? and user_id = ? and id in (select value from json_each(?))"
            " returning category, slot",
            (self.tenant, user_id, tx.listed(ids)),
        )
        return {(category, slot) for category, slot in gone}

    async def _settle(self, tx: Transaction, user_id: str, slots: Iterable[Slot], settle: Settle) -> None:
        """Give every fact of these slots its standing; what is active no longer goes first, and so does damage."""
        wanted = set(slots)
        if not wanted:
            return
        every = await tx.rows(
            f"select {FACT} from facts where tenant = :tenant and user_id = :user"
            " and slot in (select value from json_each(:slots))",
            {"tenant": self.tenant, "user": user_id, "slots": tx.listed(sorted({slot for _, slot in wanted}))},
        )
        found = defaultdict[Slot, list[FactRow]](list)
        for row in map(FactRow._make, every):
            if (row.category, row.slot) in wanted:
                found[row.category, row.slot].append(row)
        moved: list[Fact] = []
        damaged: list[str] = []
        for rows in found.values():
            stood = {fact.id: fact for fact in whole_facts(rows)}
            moved += [fact for fact in settle(list(stood.values())) if fact != stood[fact.id]]
            damaged += [row.id for row in rows if row.id not in stood]
        await tx.many(
            "update facts set status = 'candidate' where tenant = ? and id = ?",
            [(self.tenant, fact_id) for fact_id in sorted(damaged)],
        )
        await self._keep_standing(tx, moved)

    async def _keep_standing(self, tx: Transaction, facts: Iterable[Fact]) -> None:
        """Store how facts stand; one that becomes active comes last, since there is one at a time."""
        await tx.many(
            "update facts set status = ?, valid_until = ?, of_fact = ?, version = ? where tenant = ? and id = ?",
            [
                (
                    fact.status,
                    None if fact.valid_until is None else fact.valid_until.isoformat(),
                    fact.of,
                    fact.version,
                    self.tenant,
                    fact.id,
                )
                for fact in sorted(facts, key=lambda fact: fact.status == "active")
            ],
        )

    async def _is_reworded(self, tx: Transaction, user_id: str, episode: Episode) -> bool:
        sql = "select 1 from episodes where tenant = ? and user_id = ? and id = ? and digest <> ?"
        return bool(await tx.rows(sql, (self.tenant, user_id, episode.id, episode_row(episode).digest)))

    async def _put_episodes(self, tx: Transaction, commit: FactsCommit) -> bool:
        """Put, change and drop episodes; whether a known one is told in other words now."""
        await self._drop_episodes(tx, commit.user_id, commit.drop_episodes)
        if commit.reading is not None:  # they told of what was forgotten
            await self._unlink(tx, commit.drop_episodes)
        await tx.many(
            "insert into episodes (tenant, id, user_id, session_id, anchor, kind, significance, happened_us, accesses,"
            " accessed_at, decay, record, digest) values (:tenant, :id, :user_id, :session_id, :anchor, :kind,"
            " :significance, :happened, :accesses, :accessed_at, :decay, :record, :digest)"
            " on conflict do nothing",
            [{"tenant": self.tenant, **episode_columns(episode)} for episode in commit.episodes],
        )
        cut = any([await self._is_reworded(tx, commit.user_id, episode) for episode in commit.change_episodes])
        await self._change_episodes(tx, commit.user_id, commit.change_episodes)
        if commit.most_episodes is not None and commit.episodes:
            _, drop = cap_episodes(await self._episodes(tx, commit.user_id), commit.most_episodes)
            await self._drop_episodes(tx, commit.user_id, [episode.id for episode in drop])
        return cut

    async def _change_episodes(self, tx: Transaction, user_id: str, episodes: Sequence[Episode]) -> None:
        await tx.many(
            "update episodes set significance = :significance, happened_us = :happened, decay = :decay,"
            " record = :record, digest = :digest where tenant = :tenant and user_id = :user and id = :id",
            [{"tenant": self.tenant, "user": user_id, **episode_columns(episode)} for episode in episodes],
        )

    async def _drop_episodes(self, tx: Transaction, user_id: str, ids: Sequence[str]) -> list[str]:
        gone = await tx.rows(
            "delete from episodes where tenant = ? and user_id = ? and id in (select value from json_each(?))"
            " returning id",
            (self.tenant, user_id, tx.listed(ids)),
        )
        return [row[0] for row in gone]

    async def _put_links(self, tx: Transaction, user_id: str, links: Sequence[Link]) -> None:
        await tx.many(
            "insert into links (tenant, user_id, source, target, type, strength, created_at)"
            " values (?, ?, ?, ?, ?, ?, ?)"
            " on conflict (tenant, source, target, type) do update set strength = excluded.strength",
            [
                (self.tenant, user_id, link.source, link.target, link.type, link.strength, link.created_at.isoformat())
                for link in links
            ],
        )

    async def _unlink(self, tx: Transaction, ids: Sequence[str]) -> None:
        await tx.execute(
            "delete from links where tenant = :tenant and (source in (select value from json_each(:ids))"
            " or target in (select value from json_each(:ids)))",
            {"tenant": self.tenant, "ids": tx.listed(ids)},
        )

    async def note_accesses(self, accesses: Sequence[Access]) -> None:
        async def work(tx: Transaction) -> None:
            for table in ("facts", "episodes"):
                await tx.many(
                    f"update {table} set accesses = accesses + ?, accessed_at = ?, decay = 1"
                    " where tenant = ? and id = ?",
                    [(access.times, access.at.isoformat(), self.tenant, access.id) for access in accesses],
                )

        await self._database.write(work, items=[access.id for access in accesses])

    async def secret(self, fresh: bytes) -> bytes:
        async def work(tx: Transaction) -> bytes:
            await tx.execute(
                "insert into settings (tenant, key, value) values (?, 'secret', ?) on conflict do nothing",
                (self.tenant, fresh.hex()),
            )
            (found,) = await tx.one("select value from settings where tenant = ? and key = 'secret'", (self.tenant,))
            return bytes.fromhex(found)

        return await self._database.write(work, again=True)


def link_value(row: Sequence[str]) -> Link:
    source, target, kind, strength, created_at = row
    return Link(
        source=source, target=target, type=kind, strength=float(strength), created_at=datetime.fromisoformat(created_at)
    )
