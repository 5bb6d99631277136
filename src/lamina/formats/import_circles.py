"""Circular references in an import, alone or with what is stored: refused before anything is written."""

from lamina.errors import InputError
from lamina.formats.importing import Records
from lamina.knowledge import circular_links
from lamina.knowledge.circular_links import Steps
from lamina.log.pages import single
from lamina.protocols.store import Store
from lamina.values.fact import Episode, Fact, Link
from lamina.values.summary import Summary


async def refuse_circles(store: Store, records: Records) -> None:
    """Raise InputError if something in the import refers to itself through others."""
    chains: dict[str, Steps] = {}
    async for _, record in records:
        circular_links.add_record(chains, record)
    for name, steps in chains.items():
        await _add_stored(store, name, steps)
        if found := circular_links.circle(steps):
            raise InputError(f"{circular_links.describe(name, found)}; take that out of the file, nothing was imported")


async def _add_stored(store: Store, name: str, steps: Steps) -> None:
    """Follow references that lead out of the file into what is stored."""
    todo = {other for others in steps.values() for other in others} - steps.keys()
    users: set[str] = set()
    while todo:
        item = todo.pop()
        known = (
            single(await store.facts(ids=[item]))
            or single(await store.episodes(ids=[item]))
            or single(await store.summaries(ids=[item], live=False))
        )
        if known is None:
            continue
        items: list[Fact | Summary | Episode | Link] = [known]
        if name in circular_links.ORDERED and known.user_id not in users:
            users.add(known.user_id)
            items += await store.links(known.user_id)
        more = circular_links.steps_of(items).get(name, {})
        for one, others in more.items():
            todo |= {other for other in others if other not in steps}
            steps.setdefault(one, []).extend(others)
