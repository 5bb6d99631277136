"""What every part of a relational store stands on: its database, and the rows that several parts touch."""

from lamina.errors import NotFound, StoreError
from lamina.log import records
from lamina.protocols.store import MessageRow
from lamina.storage.relational_rows import MESSAGE, SESSION, SUMMARY, message_row, session_value, summary_row
from lamina.storage.shared import whole_summaries
from lamina.storage.transaction import Database, Transaction, WordIndex
from lamina.values.session import Session
from lamina.values.summary import Summary


class Tables:
    """One tenant's tables in one database."""

    def __init__(
        self, database: Database, words: WordIndex, *, tenant: str, all_tenants: Database | None = None
    ) -> None:
        self.tenant = tenant
        self._database = database
        self._all_tenants = all_tenants or database  # may read the names of all tenants
        self._words = words

    async def _note_tenant(self, tx: Transaction) -> None:
        """Have the tenant be known to workers of all tenants."""
        await tx.execute("insert into tenants (tenant) values (?) on conflict (tenant) do nothing", (self.tenant,))

    async def _session(self, tx: Transaction, session_id: str) -> Session | None:
        found = await tx.row(f"select {SESSION} from sessions where tenant = ? and id = ?", (self.tenant, session_id))
        return None if found is None else session_value(found)

    async def _require_session(self, tx: Transaction, session_id: str) -> Session:
        found = await self._session(tx, session_id)
        if found is None:
            raise NotFound(f"no session {session_id!r}")
        return found

    async def _raw_messages(self, tx: Transaction, session_id: str) -> list[MessageRow]:
        sql = f"select {MESSAGE} from messages where tenant = ? and session_id = ? order by seq"
        return [message_row(row) for row in await tx.rows(sql, (self.tenant, session_id))]

    async def _insert_summary(self, tx: Transaction, summary: Summary) -> None:
        """Store a summary; one with a known id takes its own place again."""
        row = records.encoded(summary)
        if not await self._unindex_summary(tx, row.id):
            raise StoreError(f"summary {row.id} is damaged; `repair` writes it again from the log")
        await tx.execute(
            f"insert into summaries (tenant, {SUMMARY}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            " on conflict (tenant, id) do update set version = excluded.version, first = excluded.first,"
            " last = excluded.last, status = excluded.status, folded_into = excluded.folded_into,"
            " record = excluded.record, digest = excluded.digest",
            (self.tenant, row.id, row.user_id, row.session_id, row.kind, row.layer, row.version, row.first, row.last,
             row.status, row.folded_into, row.record, row.digest),
        )  # fmt: skip
        await self._index_summary(tx, row.id)

    async def _index_summary(self, tx: Transaction, summary_id: str) -> None:
        """Make a live summary findable by its words."""
        for place, summary in await self._live_summary(tx, summary_id):
            await self._words.add_summary(tx, place, summary)

    async def _unindex_summary(self, tx: Transaction, summary_id: str) -> bool:
        """Take a summary out of the word index; False if it cannot be read, so that its words are not known."""
        (live,) = await tx.one(
            "select count(*) from summaries where tenant = ? and id = ? and status = 'live'", (self.tenant, summary_id)
        )
        found = await self._live_summary(tx, summary_id)
        for place, summary in found:
            await self._words.drop_summary(tx, place, summary)
        return len(found) == int(live)

    async def _live_summary(self, tx: Transaction, summary_id: str) -> list[tuple[int, Summary]]:
        found = await tx.rows(
            f"select place, {SUMMARY} from summaries where tenant = ? and id = ? and status = 'live'",
            (self.tenant, summary_id),
        )
        return [(place, summary) for place, *row in found for summary in whole_summaries([summary_row(row)])]

    async def _generation(self, tx: Transaction) -> int:
        """Where the versions of a new session begin: past those of all that were erased.

        So work that was under way on a session comes too late for another that has taken its id.
        """
        found = await tx.row("select value from settings where tenant = ? and key = 'generation'", (self.tenant,))
        return 0 if found is None else int(found[0])
