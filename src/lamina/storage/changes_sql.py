"""How far each user's memory has changed, so that others who have read it know what to read again."""

from collections.abc import Iterable

from lamina.storage.transaction import Transaction


async def change_counts(tx: Transaction) -> dict[str, int]:
    found = await tx.rows("select user_id, count from changes where tenant = ?", (tx.tenant,))
    return dict(found)


async def counts(tx: Transaction, user_id: str) -> tuple[int, int, int]:
    """The count and the cuts of a user's memory, and the count when anything but messages changed last."""
    found = await tx.row(
        "select count, cuts, derived from changes where tenant = ? and user_id = ?", (tx.tenant, user_id)
    )
    if found is not None:
        return found[0], found[1], found[2]
    begin = await _beginning(tx)
    return begin, begin, begin


async def _beginning(tx: Transaction) -> int:
    """Where the counts of a new user begin: past those of all that were forgotten.

    So whoever has read a user's memory sees that it has changed when the user is forgotten, and also when they
    have come back, though nothing is kept of them.
    """
    found = await tx.row("select value from settings where tenant = ? and key = 'changes'", (tx.tenant,))
    return 0 if found is None else int(found[0])


async def note_change(tx: Transaction, user_id: str, *, derived: bool = True) -> int:
    """Note that something was added to a user's memory, or stands otherwise in it; the new count.

    Unless `derived`, it is nothing but messages.
    """
    found = await tx.rows(
        f"update changes set count = count + 1{', derived = count + 1' if derived else ''}"
        " where tenant = ? and user_id = ? returning count",
        (tx.tenant, user_id),
    )
    if found:
        return int(found[0][0])
    begin = await _beginning(tx)
    await tx.execute(
        "insert into changes (tenant, user_id, count, cuts, derived) values (?, ?, ?, ?, ?)",
        (tx.tenant, user_id, begin + 1, begin, begin + derived),
    )
    return begin + 1


async def note_cut(tx: Transaction, user_id: str, sessions: Iterable[str] = ()) -> None:
    """Note that words were taken away or rewritten, and in which sessions messages were."""
    await tx.execute(
        "update changes set count = count + 1, cuts = cuts + 1, derived = count + 1 where tenant = ? and user_id = ?",
        (tx.tenant, user_id),
    )
    await tx.many(
        "update sessions set changed = coalesce("
        "(select count from changes where tenant = :tenant and user_id = :user), changed)"
        " where tenant = :tenant and user_id = :user and id = :id",
        [{"tenant": tx.tenant, "user": user_id, "id": session_id} for session_id in sessions],
    )


async def forget_vectors(tx: Transaction, user_id: str) -> None:
    for table in ("vectors", "embedded"):
        await tx.execute(f"delete from {table} where tenant = ? and user_id = ?", (tx.tenant, user_id))


async def forget_changes(tx: Transaction, user_id: str) -> None:
    """Keep nothing of a user, but have all counts of users to come begin past theirs."""
    await forget_vectors(tx, user_id)
    key = (tx.tenant, user_id)
    await tx.alone_in_tenant()
    for seen in await tx.rows("delete from changes where tenant = ? and user_id = ? returning count, cuts", key):
        await tx.execute(
            "insert into settings (tenant, key, value) values (?, 'changes', ?)"
            " on conflict (tenant, key) do update set value = excluded.value",
            (tx.tenant, str(max(await _beginning(tx), *seen) + 1)),
        )
