"""Forgetting in the reference store."""

import copy
from collections.abc import Iterable
from dataclasses import replace

from lamina.documents.versions import earlier_version
from lamina.errors import Conflict, NotFound
from lamina.forgetting.receipts import FIRST_RECEIPT, build_receipt, marks_to_block, receipt_row, sign
from lamina.forgetting.redact import remaining_answer, remaining_episode, remaining_facts
from lamina.knowledge.conflicts import new_slots
from lamina.log import chain
from lamina.log.messages import OWN_KEY
from lamina.log.records import encode_summary
from lamina.maintenance.integrity import faults
from lamina.protocols.store import Erased, Erasure, ReceiptRow, Replacement, Rewrite
from lamina.storage.shared import FORGOTTEN_APPEND, Gone, text_of_row, whole_messages
from lamina.testing.oracle.oracle_tables import Kept, mended
from lamina.testing.oracle.oracle_vectors import OracleVectors
from lamina.values.message import Span
from lamina.values.receipt import Scrub


class OracleErasure(OracleVectors):
    """Takes away what is to be forgotten."""

    async def erase(self, erasure: Erasure) -> Erased:
        before = {name: copy.copy(value) for name, value in vars(self).items()}
        before["_sessions"] = {key: _copied(kept) for key, kept in self._sessions.items()}
        try:
            erased = self._erase(erasure)
        except BaseException:
            vars(self).update(before)
            raise
        if erasure.dry_run:
            vars(self).update(before)
        return erased

    def _erase(self, erasure: Erasure) -> Erased:
        gone = Gone()
        self._erase_rewrites(erasure, gone)
        for session_id in erasure.sessions:
            session = self._own_session(erasure, session_id).session
            if session.touched_at == erasure.unless_touched.get(session_id, session.touched_at):
                self._erase_session(session_id, erasure, gone)
        gone.facts += self._drop_facts(erasure.user_id, erasure.facts, erasure.rule)
        self._erase_episodes(erasure.user_id, erasure.episodes, gone)
        own = {session_id for session_id, kept in self._sessions.items() if kept.session.user_id == erasure.user_id}
        told = {m.id for m in self._milestones if m.id in erasure.milestones and m.session_id in own}
        self._erase_milestones(told, gone)
        self._cut_titles(erasure, gone)
        if erasure.vectors:
            self._forget_vectors(erasure.user_id)
        if erasure.user:
            self._erase_user(erasure, gone)
        elif erasure.derived:
            self._erase_digests(erasure.user_id, gone)
            self._proposals = {key: row for key, row in self._proposals.items() if row.user_id != erasure.user_id}
        self._unlink([*(fact.id for fact in gone.facts), *gone.episodes])
        renamed = new_slots(fact for fact in self._facts.values() if fact.user_id == erasure.user_id)
        self._facts |= {fact_id: replace(self._facts[fact_id], slot=slot) for fact_id, slot in renamed.items()}
        slots = {(self._facts[fact_id].category, slot) for fact_id, slot in renamed.items()}
        self._resolve(erasure.user_id, slots, erasure.rule)
        marks = marks_to_block(erasure, gone.facts)
        self._forgotten |= {(erasure.user_id, mark) for mark in marks}
        self._sweep()
        if erasure.user:
            self._forget_changes(erasure.user_id)
        else:
            self._cut(erasure.user_id, erasure.changed_sessions)
        gone.fact_ids = [fact.id for fact in gone.facts]
        erased = gone.outcome(len(marks))
        previous = self._receipts[-1].digest if self._receipts else FIRST_RECEIPT
        row = receipt_row(sign(build_receipt(erasure, erased), previous))
        self._receipts = [*self._receipts, row]
        return replace(erased, receipt=row)

    def _own_session(self, erasure: Erasure, session_id: str) -> Kept:
        kept = self._require(session_id)
        if kept.session.user_id != erasure.user_id:
            raise NotFound(f"no session {session_id!r} of user {erasure.user_id!r}")
        return kept

    def _erase_rewrites(self, erasure: Erasure, gone: Gone) -> None:
        first: dict[str, int] = dict(erasure.unfold)
        for change in erasure.rewrites:
            kept = self._sessions.get(change.session_id)
            row = next((row for row in kept.rows if row.seq == change.seq), None) if kept else None
            if kept is None or row is None or row.leaf != change.expect:
                raise Conflict(f"message {change.message_id!r} has changed meanwhile; try again")
            new = chain.rewrite_row(row, change)
            kept.rows[kept.rows.index(row)] = new
            self._by_id[new.id] = new
            if erasure.derived:
                self._erase_said(erasure, change, text_of_row(row) or "", gone)
            (gone.messages if change.whole else gone.redacted).append(change.message_id)
            first[change.session_id] = min(change.seq, first.get(change.session_id, change.seq))
        ids = {change.message_id for change in erasure.rewrites}
        if erasure.derived:
            self._erase_asked(erasure, gone)
            self._erase_happened(erasure, gone)
        for key, (_, known) in list(self._appends.items()):
            if ids & set(known.ids):
                self._appends[key] = (FORGOTTEN_APPEND, known)
                if key.startswith(OWN_KEY):
                    del self._appends[key]
        self._cut_summaries(erasure, gone)
        for session_id, seq in first.items():
            if session_id in self._sessions:
                self._unfold_after(session_id, max(seq, erasure.stands.get(session_id, -1) + 1), erasure, gone)

    def _cut_summaries(self, erasure: Erasure, gone: Gone) -> None:
        for cut in erasure.cuts:
            row, new = self._summaries.get(cut.after.id), encode_summary(cut.after)
            if row is None or row.user_id != erasure.user_id or row.digest != cut.expect:
                raise Conflict(f"summary {cut.after.id!r} has changed meanwhile; try again")
            self._summaries[row.id] = replace(row, record=new.record, digest=new.digest)
            self._vectors.pop(row.id, None)
            gone.summaries.append(row.id)

    def _erase_said(self, erasure: Erasure, change: Rewrite, before: str, gone: Gone) -> None:
        said = [fact for fact in self._facts.values() if fact.message_id == change.message_id]
        others = [fact for fact in said if change.words and fact.id not in erasure.facts]
        kept = {fact.id: fact for fact in remaining_facts(others, change, before)}
        lost = [fact.id for fact in said if fact.id not in kept]
        gone.facts += self._drop_facts(erasure.user_id, lost, erasure.rule)
        for fact in kept.values():
            stood = self._facts[fact.id]
            self._facts[fact.id] = replace(stood, quote=fact.quote, start=fact.start, end=fact.end)
            if self._facts[fact.id] != stood:
                self._vectors.pop(fact.id, None)

    def _erase_asked(self, erasure: Erasure, gone: Gone) -> None:
        changes = {change.message_id: change for change in erasure.rewrites}
        for fact in [one for one in self._facts.values() if one.question_id in changes]:
            kept = remaining_answer(fact, changes[fact.question_id or ""])
            if kept is None:
                gone.facts += self._drop_facts(erasure.user_id, [fact.id], erasure.rule)
            elif kept != fact:
                self._facts[fact.id] = kept
                self._vectors.pop(fact.id, None)

    def _erase_happened(self, erasure: Erasure, gone: Gone) -> None:
        changes = {change.message_id: change for change in erasure.rewrites}
        dead = {fact.id for fact in gone.facts} | set(erasure.facts)
        for episode in list(self._episodes.values()):
            if changes.keys().isdisjoint(episode.message_ids):
                continue
            kept = remaining_episode(episode, changes, dead)
            if kept is None:
                self._erase_episodes(erasure.user_id, [episode.id], gone)
            elif kept != episode:
                self._episodes[episode.id] = kept
                self._vectors.pop(episode.id, None)
            if episode.origin == "said":
                again = {row.seq for row in self._sessions[episode.session_id].rows if row.id in episode.message_ids}
                self._sessions[episode.session_id].unread |= again
        for change in erasure.rewrites:
            self._sessions[change.session_id].unread -= {change.seq} if change.whole else set()

    def _unfold_after(self, session_id: str, seq: int, erasure: Erasure, gone: Gone) -> None:
        kept = self._own_session(erasure, session_id)
        kept.session = replace(kept.session, erasures=kept.session.erasures + 1)
        if erasure.derived:
            self._unfold_from(kept, seq, gone)
        else:
            version = kept.session.counters.version
            self._set_cursor(kept, kept.session.counters.cursor)
            kept.session = replace(kept.session, counters=replace(kept.session.counters, version=version))

    def _unfold_from(self, kept: Kept, seq: int, gone: Gone) -> None:
        session_id = kept.session.id
        doomed = {row.id: row.status for row in self._own_summaries(session_id) if not seq or (row.last or 0) >= seq}
        gone.summaries += doomed
        for summary_id in doomed:
            del self._summaries[summary_id]
        for row in self._own_summaries(session_id):
            if row.status == "folded" and row.folded_into in doomed:
                status = "replaced" if doomed[row.folded_into] == "replaced" else "live"
                self._summaries[row.id] = replace(row, status=status, folded_into=None)
        live = [row for row in self._own_summaries(session_id) if row.status == "live"]
        spans = [Span(first=row.first or 0, last=row.last or 0) for row in live]
        cursor = max((span.last for span in spans), default=0)
        if next(faults(spans, cursor), None):
            self._unfold_from(kept, 0, gone)
            return
        mended(kept)
        self._set_cursor(kept, cursor)

    def _erase_session(self, session_id: str, erasure: Erasure, gone: Gone) -> None:
        kept = self._require(session_id)
        gone.messages += [row.id for row in kept.rows]
        ids = {row.id for row in kept.rows}
        gone.summaries += [row.id for row in self._own_summaries(session_id)]
        self._summaries = {key: row for key, row in self._summaries.items() if row.session_id != session_id}
        said = [fact.id for fact in self._facts.values() if fact.session_id == session_id]
        gone.facts += self._drop_facts(kept.session.user_id, said, erasure.rule)
        told = [key for key, one in self._episodes.items() if one.session_id == session_id]
        self._erase_episodes(kept.session.user_id, told, gone)
        self._erase_milestones({m.id for m in self._milestones if m.session_id == session_id}, gone)
        self._proposals = {key: row for key, row in self._proposals.items() if row.session_id != session_id}
        self._appends = {key: known for key, known in self._appends.items() if not ids & set(known[1].ids)}
        self._by_id = {key: row for key, row in self._by_id.items() if key not in ids}
        self._sessions = {key: one for key, one in self._sessions.items() if key != session_id}
        self._generation = max(self._generation, kept.session.counters.version + 1, kept.session.erasures + 1)
        gone.sessions.append(session_id)

    def _replace(self, kept: Kept, replaces: Replacement) -> None:
        """Take a session's messages away, or give them other words, with all that was derived from them."""
        known = {row.seq for row in kept.rows if row.erased is not None} if replaces.keep_salt else set()
        old = [row for row in kept.rows if row.seq > max(known, default=0)]
        if not old:
            return
        ids, user_id = {row.id for row in old}, kept.session.user_id
        said = [one.id for one in self._facts.values() if one.message_id in ids]
        self._drop_facts(user_id, said, replaces.rule)
        told = [key for key, one in self._episodes.items() if ids & set(one.message_ids)]
        self._drop_episodes(user_id, told)
        self._unlink([*said, *told])
        self._proposals = {key: row for key, row in self._proposals.items() if row.session_id != kept.session.id}
        for message_id in ids:
            self._vectors.pop(message_id, None)
        if replaces.keep_salt is None:
            for message_id in ids:
                del self._by_id[message_id]
            kept.rows, kept.unread, kept.digest = [], set(), chain.first_hash(kept.session.id)
            counters = replace(kept.session.counters, messages=0, turns=0, closed=True, extracted=0)
            kept.session = replace(kept.session, counters=counters)
        else:
            for message in whole_messages(old):
                new = chain.rewrite_row(self._by_id[message.id], earlier_version(message, replaces.keep_salt))
                kept.rows[new.seq - 1] = self._by_id[new.id] = new
        kept.session = replace(kept.session, erasures=kept.session.erasures + 1)
        gone = Gone()
        self._unfold_from(kept, 0 if replaces.keep_salt is None else old[0].seq, gone)
        for summary_id in gone.summaries:
            self._vectors.pop(summary_id, None)
        self._cut(user_id, [kept.session.id])

    def _erase_user(self, erasure: Erasure, gone: Gone) -> None:
        user_id = erasure.user_id
        for session_id in [key for key, kept in self._sessions.items() if kept.session.user_id == user_id]:
            self._erase_session(session_id, erasure, gone)
        gone.facts += self._drop_facts(user_id, list(self._facts), erasure.rule)
        self._erase_digests(user_id, gone)
        self._links = {key: link for key, link in self._links.items() if link[0] != user_id}
        self._forgotten = {entry for entry in self._forgotten if entry[0] != user_id}

    def _erase_digests(self, user_id: str, gone: Gone) -> None:
        ids = [row.id for row in self._summaries.values() if row.kind == "digest" and row.user_id == user_id]
        gone.digests += ids
        for summary_id in ids:
            del self._summaries[summary_id]

    def _erase_episodes(self, user_id: str, ids: Iterable[str], gone: Gone) -> None:
        gone.episodes += self._drop_episodes(user_id, ids)

    def _cut_titles(self, erasure: Erasure, gone: Gone) -> None:
        for session_id, before, after in erasure.titles:
            kept = self._sessions.get(session_id)
            if kept and kept.session.user_id == erasure.user_id and kept.session.title == before:
                kept.session = replace(kept.session, title=after)
                gone.titles += 1

    def _erase_milestones(self, ids: set[str], gone: Gone) -> None:
        gone.milestones += len(ids)
        self._milestones = [one for one in self._milestones if one.id not in ids]

    async def scrub(self) -> Scrub:
        """There are no files."""
        return "overwritten"

    async def receipts(self) -> list[ReceiptRow]:
        return list(self._receipts)


def _copied(kept: Kept) -> Kept:
    return replace(kept, rows=list(kept.rows), unread=set(kept.unread))
