"""All verbs of a store over a relational database: each is a function of one aggregate, in one transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from lamina.protocols.store import Claim, Erased, Erasure
from lamina.storage import (
    changes_sql,
    contents_sql,
    copying_sql,
    erasure_sql,
    facts_sql,
    folding_sql,
    index_sql,
    integrity_sql,
    messages_sql,
    queue_sql,
    service_sql,
    sessions_sql,
    statistics_sql,
    summaries_sql,
    vectors_sql,
    views_sql,
)
from lamina.storage.transaction import About
from lamina.storage.verbs import Tenant, read, read_all_tenants, write, write_again
from lamina.values.summary import Summary


class RelationalStore(Tenant):
    """One tenant's memory in a relational database."""

    # the log

    append = write(
        messages_sql.append,
        lambda append: About(
            user=append.user_id,
            again=append.key is not None or (append.replaces is not None and append.replaces.keep_salt is None),
        ),
    )
    messages = read(messages_sql.messages)

    # sessions

    users = read(sessions_sql.users)
    sessions = read(sessions_sql.sessions)
    newest_messages = read(sessions_sql.newest_messages)
    first_sessions = read(sessions_sql.first_sessions)
    touch_sessions = write_again(sessions_sql.touch_sessions)
    update_session = write(
        sessions_sql.update_session,
        lambda session_id, *_, expect=None, **__: About(session=session_id, again=expect is None),
    )
    add_milestone = write(sessions_sql.add_milestone, lambda milestone: About(session=milestone.session_id, again=True))
    milestones = read(sessions_sql.milestones)
    setting = read(sessions_sql.setting)
    put_setting = write_again(sessions_sql.put_setting)
    _end_idle = write(sessions_sql.end_idle)
    _users_with_ended = read(sessions_sql.users_with_ended)
    _archive_of = write(sessions_sql.archive_of, lambda user_id, *_, **__: About(user=user_id))

    async def age_sessions(self, status: Literal["ended", "archived"], before: datetime, at: datetime) -> list[str]:
        """Archived in one transaction for each user, whose changes are counted one after the other."""
        if status == "ended":
            return await self._end_idle(before, at)
        users = await self._users_with_ended(before)
        archived = [await self._archive_of(user_id, before, at) for user_id in users]
        return sorted(session_id for ids in archived for session_id in ids)

    # summaries

    summaries = read(summaries_sql.summaries)
    commit = write(
        folding_sql.commit,
        lambda first, *_: About(user=first.user_id) if isinstance(first, Summary) else About(session=first.session_id),
    )
    put_proposal = write(
        folding_sql.put_proposal, lambda proposal, *_, **__: About(session=proposal.session_id, again=True)
    )
    proposals = read(folding_sql.proposals)
    unfold = write(folding_sql.unfold, lambda session_id, *_, **__: About(session=session_id, again=True))
    drop_digests = write(summaries_sql.drop_digests, lambda user_id: About(user=user_id, again=True))

    # knowledge

    facts = read(facts_sql.facts)
    episodes = read(facts_sql.episodes)
    links = read(facts_sql.links)
    commit_facts = write(facts_sql.commit_facts, lambda commit: About(user=commit.user_id))
    note_accesses = write(facts_sql.note_accesses, lambda accesses: About(items=[access.id for access in accesses]))

    # search

    changes = read(index_sql.changes)
    change_counts = read(changes_sql.change_counts)
    vectors = read(vectors_sql.vectors)
    nearest = read(vectors_sql.nearest)
    to_embed = read(vectors_sql.to_embed)
    put_vectors = write(vectors_sql.put_vectors, lambda user_id, *_, **__: About(user=user_id))
    view = read(views_sql.view)
    workload = read(views_sql.workload)
    contents = read(contents_sql.contents)
    find_words = read(views_sql.find_words)

    # forgetting

    receipts = read(erasure_sql.receipts)
    _erase = write(erasure_sql.erase, lambda erasure: About(user=erasure.user_id))

    async def erase(self, erasure: Erasure) -> Erased:
        try:
            return await self._erase(erasure)
        except erasure_sql.DryRun as planned:
            return planned.erased

    # the queue of work

    renew = write_again(queue_sql.renew)
    release = write(queue_sql.release, lambda claim, failed=None, **__: About(again=failed is None))  # noqa: ARG005
    requeue = write_again(queue_sql.requeue)
    pending = read(queue_sql.pending)
    leases = read(queue_sql.leases)
    backlog = read(queue_sql.backlog)
    note_worker = write_again(queue_sql.note_worker)
    workers = read(queue_sql.workers)
    drop_worker = write_again(queue_sql.drop_worker)
    _claim = write(queue_sql.claim)

    async def claim(
        self,
        owner: str,
        now: datetime,
        until: datetime,
        *,
        impatient: bool = False,
        skip: Sequence[str] = (),
        only: Sequence[str] | None = None,
    ) -> Claim | None:
        if only is None and not await self.pending():  # which is read without keeping writers waiting
            return None
        return await self._claim(owner, now, until, impatient=impatient, skip=skip, only=only)

    # the service

    tenants = read_all_tenants(service_sql.tenants)
    add_key = write(service_sql.add_key)
    find_key = read_all_tenants(service_sql.find_key)
    keys = read(service_sql.keys)
    update_key = write_again(service_sql.update_key)
    add_cost = write(service_sql.add_cost)
    costs = read(service_sql.costs)

    # statistics and repairs

    outline = read(statistics_sql.outline)
    stats = read(statistics_sql.stats)
    audit = read(integrity_sql.audit)
    _recount = write(integrity_sql.recount, lambda session_id: About(session=session_id, again=True))

    # copies

    standing = read(copying_sql.standing)
    chain_end = read(copying_sql.chain_end)
    rows = read(copying_sql.rows)
    put_rows = write(copying_sql.put_rows, lambda part, rows: About(user=part.user_id, again=True))  # noqa: ARG005
    put_session = write(copying_sql.put_session, lambda _, row, *__: About(user=row[0], again=True))
