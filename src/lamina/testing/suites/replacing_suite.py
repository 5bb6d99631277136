"""Messages that take the place of others, and the newest message of many sessions."""

import asyncio
import json
from dataclasses import replace

from lamina.log.pages import single
from lamina.protocols.store import Append, Replacement, Store
from lamina.testing.samples import (
    RULE,
    a_draft,
    a_fact,
    a_fold,
    a_summary,
    a_turn,
    an_append,
    an_episode,
    at,
    some_facts,
)
from lamina.testing.suites.checks_suite import ALL, Suite, found_ids, is_whole, session_of
from lamina.values.message import MessageDraft, Span
from lamina.values.session import Session


def replacing(append: Append, *, keep_salt: bytes | None = None) -> Append:
    return replace(append, replaces=Replacement(rule=RULE, status="paused", keep_salt=keep_salt))


def noted(draft: MessageDraft, **metadata: str) -> MessageDraft:
    return draft._replace(metadata=json.dumps(metadata, ensure_ascii=False, separators=(",", ":")))


async def ends(store: Store, *ids: str) -> dict[str, str]:
    return {one.session.id: one.message.text for one in await store.newest_messages(ids=ids)}


class Replacing(Suite):
    async def test_messages_take_the_place_of_all_others(self, store: Store) -> None:
        """With what was derived from those: words, summaries, facts and episodes; the session began when it did."""
        await store.append(an_append("s1", *a_turn(1), *a_turn(2)))
        await store.append(an_append("s2", a_draft("other", "Rain again.")))
        await store.commit(a_fold("s1", a_summary("a", "s1", Span(first=1, last=2)), expect=0, cursor=2))
        await store.commit_facts(some_facts(a_fact("f1", message_id="m1"), episodes=(an_episode("e1"),)))
        before = await session_of(store, "s1")
        appended = await store.append(replacing(an_append("s1", a_draft("new", "Only milk.", minutes=7), minutes=9)))
        after = await session_of(store, "s1")
        assert appended.session == after
        assert (after.status, after.started_at, after.touched_at) == ("paused", before.started_at, at(9))
        assert (after.counters.messages, after.counters.cursor, after.counters.extracted) == (1, 0, 0)
        assert after.erasures > before.erasures
        assert after.counters.version > before.counters.version
        assert [message.text for message in await store.messages("s1", ALL)] == ["Only milk."]
        assert single(await store.messages(ids=["m1"])) is None
        assert await store.summaries("s1", live=False) == []
        assert await store.facts("ann") == []
        assert [one for one in await store.episodes("ann") if "m1" in one.message_ids] == []
        assert found_ids(await store.find_words("ann", ["tea"], 9)) == set()
        assert found_ids(await store.find_words("ann", ["milk"], 9)) == {"new"}
        assert found_ids(await store.find_words("ann", ["rain"], 9)) == {"other"}
        assert (await store.changes("ann", 0)).cuts > 0
        assert await store.receipts() == []
        assert await is_whole(store, "s1")

    async def test_earlier_messages_may_stay_in_other_words(self, store: Store) -> None:
        """Each is given them once; later ones leave it as it is."""
        for number, text in enumerate(("Tea.", "Milk.", "Rain.")):
            draft = noted(a_draft(f"m{number}", text), document="x")
            await store.append(replacing(an_append("s1", draft), keep_salt=b"salt"))
        stored = await store.messages("s1", ALL)
        assert [(one.text, one.metadata) for one in stored] == [
            ("", {"earlier": {"text": "Tea.", "value": "x"}}),
            ("", {"earlier": {"text": "Milk.", "value": "x"}}),
            ("Rain.", {"document": "x"}),
        ]
        assert found_ids(await store.find_words("ann", ["tea", "milk", "rain"], 9)) == {"m2"}
        assert (await session_of(store, "s1")).counters.tokens == 1
        assert await is_whole(store, "s1")

    async def test_of_many_that_replace_at_once_one_is_left(self, store: Store) -> None:
        """And none of them fails."""
        puts = [replacing(an_append("s1", a_draft(f"m{number}", f"Tea {number}."))) for number in range(12)]
        await asyncio.gather(*(store.append(put) for put in puts))
        (left,) = await store.messages("s1", ALL)
        assert left.seq == 1
        assert found_ids(await store.find_words("ann", ["tea"], 99)) == {left.id}
        assert await is_whole(store, "s1")

    async def test_the_newest_message_of_sessions(self, store: Store) -> None:
        """By ids, or under a prefix, page by page; only those whose metadata has some pieces."""
        for name in ("a/1", "a/2", "a/3", "b/1", "a"):
            draft = noted(a_draft(f"new-{name}", f"End of {name}."), of=f'{name} "100%" é')
            await store.append(an_append(name, a_draft(f"old-{name}"), draft))
        await store.append(an_append("a/4", noted(a_draft("other"), of="_")))
        assert await ends(store, "a/2", "b/1", "nobody") == {"a/2": "End of a/2.", "b/1": "End of b/1."}
        page = await store.newest_messages("a/", limit=2)
        assert [one.session.id for one in page] == ["a/1", "a/2"]
        assert page[0].session == await session_of(store, "a/1")
        rest = await store.newest_messages("a/", after="a/2", limit=9)
        assert [one.message.id for one in rest] == ["new-a/3", "other"]
        pieces = ['a/3 \\"100%\\" é', "%"]
        found = await store.newest_messages("a/", has=pieces, limit=9)
        assert [one.session.id for one in found] == ["a/3"]

    async def test_the_first_session_of_each_beginning(self, store: Store) -> None:
        """Up to a mark behind the prefix; ids without a mark do not count."""
        names = ("x:a|1", "x:a|2", "x:a/b|1", "x:a/b|9", "x:a", "x:a}|1", "x:b|", "x:c", "y:a|1", "x:")
        for name in names:
            await store.append(an_append(name, a_draft(f"m-{name}")))
        found = await store.first_sessions("x:", "|")
        assert found == ["x:a/b|1", "x:a|1", "x:a}|1", "x:b|"]
        assert await store.first_sessions("z:", "|") == []

    async def test_a_use_is_noted(self, store: Store) -> None:
        """And changes nothing else."""
        await store.append(an_append("s1", a_draft("m1")))
        await store.append(an_append("s2", a_draft("m2")))
        before = await session_of(store, "s1")
        await store.touch_sessions(["s1", "nobody"], at(30))
        after: Session = await session_of(store, "s1")
        assert after == replace(before, touched_at=at(30))
        assert (await session_of(store, "s2")).touched_at == at(0)
