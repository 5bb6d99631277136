"""Views of a session, and search by words."""

from collections.abc import Iterator, Sequence

from lamina.log.window import take_back
from lamina.protocols.store import LastSession, Reach, View, WordMatches, Workload
from lamina.storage import changes_sql, facts_sql, messages_sql, sessions_sql, summaries_sql
from lamina.storage.relational_rows import MESSAGE, SUMMARY, message_row, summary_row
from lamina.storage.shared import log_skip, outside_digest, weights, whole_messages, whole_summaries
from lamina.storage.transaction import DamagedIndex, Row, Transaction
from lamina.values.message import Message, Span
from lamina.values.session import Session
from lamina.values.summary import Summary

_PAGE = 64  # messages read at first, where it is not known how many will do


async def view(tx: Transaction, user_id: str, session_id: str | None, reach: Reach) -> View:
    session = None if session_id is None else await sessions_sql.session(tx, session_id)
    digests = await summaries_sql.live_digests(tx, user_id)
    _, cuts, derived = await changes_sql.counts(tx, user_id)
    return View(
        session=session,
        summaries=tuple(await summaries_sql.summaries(tx, session.id, live=True)) if session else (),
        tail=tuple(await _tail(tx, session, reach)) if session else (),
        digests=tuple(digests),
        latest=await _latest(tx, user_id, session_id, digests, reach.latest),
        opted_out=await sessions_sql.has_opted_out(tx, user_id),
        facts=() if derived == reach.facts_at else tuple(await facts_sql.standing_facts(tx, user_id)),
        derived=derived,
        cuts=cuts,
    )


async def _latest(
    tx: Transaction, user_id: str, session_id: str | None, digests: Sequence[Summary], messages: int
) -> LastSession | None:
    found = await sessions_sql.sessions(tx, user_id=user_id, newest=True, limit=2) if messages else []
    latest = outside_digest(found, session_id, digests)
    if latest is None:
        return None
    last = latest.counters.messages
    span = Span(first=max(1, last - messages + 1), last=last)
    return LastSession(
        session=latest,
        summaries=tuple(await summaries_sql.summaries(tx, latest.id, live=True)),
        messages=tuple(await messages_sql.messages(tx, latest.id, span)),
    )


async def workload(tx: Transaction, session_id: str, *, before: int, limit: int, unread: int) -> Workload | None:
    session = await sessions_sql.session(tx, session_id)
    if session is None or await sessions_sql.has_opted_out(tx, session.user_id):
        return None
    counters = session.counters
    span = Span(first=max(1, counters.cursor + 1 - before), last=min(counters.cursor + limit, counters.messages))
    return Workload(
        session=session,
        summaries=tuple(await summaries_sql.summaries(tx, session_id, live=True)),
        messages=tuple(await messages_sql.messages(tx, session_id, span)),
        facts=tuple(await facts_sql.facts(tx, session_id=session_id, span=span)),
        unread=tuple(await messages_sql.messages(tx, session_id, unread=True, limit=unread)),
    )


async def _tail(tx: Transaction, session: Session, reach: Reach) -> list[Message]:
    """Read in pages that grow, until one does not reach its end."""
    read = _Read()
    before, size = session.counters.messages + 1, _first_page(session, reach)
    while True:
        page = await tx.rows(
            f"select {MESSAGE} from messages where tenant = ? and session_id = ? and seq < ? order by seq desc limit ?",
            (tx.tenant, session.id, before, size),
        )
        taken = take_back(read.on(page), reach, session.counters.cursor)
        if not read.to_the_end or len(page) < size:
            return taken
        before, size = page[-1][1], size * 4


async def find_words(tx: Transaction, user_id: str, terms: Sequence[str], limit: int) -> WordMatches:
    try:
        return await _match_words(tx, user_id, terms, limit)
    except DamagedIndex as damage:
        log_skip("word index", user_id, damage)  # derived: nothing is found until it is rebuilt
        return WordMatches(documents=0, frequency=dict.fromkeys(terms, 0), matches=())


async def _match_words(tx: Transaction, user_id: str, terms: Sequence[str], limit: int) -> WordMatches:
    (documents,) = await tx.one(
        "select cast((select coalesce(sum(messages), 0) from sessions where tenant = :tenant and user_id = :user)"
        " + (select count(*) from summaries where tenant = :tenant and user_id = :user and status = 'live')"
        " as bigint)",
        {"tenant": tx.tenant, "user": user_id},
    )
    frequency = await tx.words.frequency(tx, user_id, terms) if terms else {}
    weighed = weights(documents, frequency)
    messages, summaries = await tx.words.best(tx, user_id, weighed, limit) if weighed else ([], [])
    return WordMatches(
        documents=documents,
        frequency=frequency,
        matches=(*await _messages_at(tx, messages), *await _summaries_at(tx, summaries)),
    )


async def _messages_at(tx: Transaction, places: Sequence[int]) -> list[Message]:
    found = await tx.rows(
        f"select {MESSAGE} from messages where tenant = ? and place {tx.among('?')} order by place",
        (tx.tenant, tx.array(places)),
    )
    return list(whole_messages(map(message_row, found)))


async def _summaries_at(tx: Transaction, places: Sequence[int]) -> list[Summary]:
    found = await tx.rows(
        f"select {SUMMARY} from summaries where tenant = ? and place {tx.among('?')}"
        " and status = 'live' order by place",
        (tx.tenant, tx.array(places)),
    )
    return list(whole_summaries(map(summary_row, found)))


def _first_page(session: Session, reach: Reach) -> int:
    """How many messages will probably do: a turn has two or three, and one more tells where the last one begins."""
    near = max(reach.messages, reach.min_messages, 3 * reach.turns) + 2
    if reach.back_to_cursor:
        near = max(near, session.counters.messages - session.counters.cursor + 2)
    return max(near, _PAGE) if reach.fill else min(near, 4 * _PAGE)


class _Read:
    """Messages of one page after the other, each decoded once, and only when it is asked for."""

    def __init__(self) -> None:
        self._decoded: list[Message] = []
        self.to_the_end = False

    def on(self, page: Sequence[Row]) -> Iterator[Message]:
        """All that was read, from the first page on to this one."""
        self.to_the_end = False
        yield from self._decoded
        for message in whole_messages(map(message_row, page)):
            self._decoded.append(message)
            yield message
        self.to_the_end = True
