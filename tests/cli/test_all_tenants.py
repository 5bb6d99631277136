"""Commands with `--all-tenants`, over a file and over a real PostgreSQL."""

import asyncio
import json

import pytest

from lamina import Memory
from lamina.cli.transfer_commands import _copy_text
from lamina.tenancy.open_tenants import tenants
from lamina.testing.samples import a_note, at
from lamina.values.report import Copied

TENANTS = ("acme", "default", "zoo")


@pytest.fixture
def source(place):
    """A memory of three tenants with the same names in them, due for folds, and one session of one set aside."""
    location = str(place())
    for number, tenant in enumerate(TENANTS, 1):
        with Memory(location, tenant=tenant, profile="project", worker=False) as memory:
            for session in range(number):
                said = [f"Message {n} of {tenant} about plan {n}" for n in range(30)]
                memory.add(said, user_id="ann", session_id=f"s{session}")

    async def trouble():
        async with tenants(location, tenant="zoo", worker=False) as held:
            store = (await held.engine("zoo"))._parts.store
            await store.note_worker(a_note("far/1/ab12", session_id="s1", since=at(), done=3))
            claim = await store.claim("w", at(99_999_999), at(99_999_999))
            assert claim
            await store.release(claim, failed="StoreError: [bold]broken")

    asyncio.run(trouble())
    return location


def lines(done):
    return [" ".join(line.split()) for line in done.stdout.splitlines()]


def data(done):
    assert (done.code, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_who_works_at_what_is_shown_for_all_tenants(cli, source):
    """A line for each with how far behind it is, then workers, and what fails and why."""
    shown = lines(cli("--db", source, "workers", "--all-tenants"))
    assert shown[0] == "tenant workers pending in work retry set aside lag no vectors"
    told = {line.split()[0]: line.split() for line in shown[1:4]}
    assert {name: words[1:6] for name, words in told.items()} == {
        "acme": ["0", "1", "0", "0", "0"],
        "default": ["0", "2", "0", "0", "0"],
        "zoo": ["1", "2", "0", "0", "1"],
    }
    assert all(words[7] in {"s", "min"} and words[-1] == "1" for words in told.values())
    assert "workers of zoo" in shown
    assert any(line.startswith("ab12 far 1 no s1") for line in shown)
    assert "s0 ann 1 set aside StoreError: [bold]broken" in shown
    found = data(cli("--db", source, "workers", "--all-tenants", "--json"))
    assert list(found) == list(TENANTS)
    for tenant in TENANTS:
        assert data(cli("--db", source, "--tenant", tenant, "workers", "--json")) == found[tenant]


def test_what_was_set_aside_is_freed_for_all_tenants(cli, source):
    """All of it: a single session has one tenant."""
    refused = cli("--db", source, "workers", "--all-tenants", "--retry", "s0")
    assert (refused.code, "give --tenant instead" in refused.err) == (2, True)
    assert cli("--db", source, "workers", "--all-tenants", "--retry", "all").out == "sessions to try again: 1"
    assert data(cli("--db", source, "--tenant", "zoo", "workers", "--json"))["backlog"]["aside"] == 0


@pytest.mark.parametrize("words", [["workers"], ["copy", "lamina.db", "copy.db"]])
def test_one_tenant_or_all_but_not_both(cli, words):
    assert cli("add", "I like tea.", "--no-settle").code == 0
    refused = cli("--tenant", "acme", *words, "--all-tenants")
    assert (refused.code, "give --tenant or --all-tenants, not both" in refused.err) == (2, True)


def seen(location, tenant):
    with Memory(location, tenant=tenant, worker=False) as memory:
        assert memory.verify().ok
        return {session.id: [m.text for m in memory.messages(session.id)] for session in memory.sessions()}


def test_all_tenants_are_copied(cli, place, source):
    """Each compared row by row and verified; stopped between two it goes on, and catches up with what came since."""
    target = str(place("target.db"))
    assert cli("--tenant", "default", "copy", source, target).code == 0  # as far as an earlier run had come
    first = cli("copy", source, target, "--all-tenants")
    assert first.code == 0, first
    assert [line.split(" in ")[0] for line in lines(first) if ": copied" in line] == [
        "acme: copied 30 messages",
        "default: copied 0 messages",
        "zoo: copied 90 messages",
    ]
    assert lines(first).count("the same, row by row, and verified") == 3
    for tenant in TENANTS:
        assert seen(target, tenant) == seen(source, tenant)
    with Memory(source, tenant="acme", worker=False) as memory:
        memory.add("One more.", user_id="ann", session_id="s0")
    again = data(cli("copy", source, target, "--all-tenants", "--json"))
    assert {tenant: copied["messages"] for tenant, copied in again.items()} == {"acme": 1, "default": 0, "zoo": 0}
    assert seen(target, "acme") == seen(source, "acme")


def test_a_tenant_with_a_memory_of_its_own_is_named(cli, place, source):
    """What was copied before it stays; the others are left alone."""
    target = str(place("target.db"))
    with Memory(target, tenant="default", worker=False) as memory:
        memory.add("I was here first.", user_id="ann")
    refused = cli("copy", source, target, "--all-tenants")
    assert refused.code == 1
    assert "tenant 'default': the target has a memory of its own" in refused.err
    assert seen(target, "acme") == seen(source, "acme")
    assert seen(target, "zoo") == {}


def test_a_copy_that_differs_ends_with_an_error(cli, place, source):
    """Whichever tenant it is."""
    target = str(place("target.db"))
    assert cli("copy", source, target, "--all-tenants").code == 0
    place.run("update messages set tokens = tokens + 1 where tenant = 'acme' and seq = 3")
    done = cli("copy", source, target, "--all-tenants")
    assert done.code == 1
    assert "not complete" in done.stdout
    assert done.stdout.count("the same, row by row, and verified") == 2


def test_a_copy_of_a_source_that_changes_says_how_to_go_on():
    copied = Copied(users=2, sessions=3, messages=4, rows={"messages": 4}, differing=(), changing=2)
    assert "still changing: 2 users; run it again when nobody writes to the source" in _copy_text(copied)


def test_a_store_without_tenants_says_so(cli):
    """Nobody has written anything yet."""
    with Memory("empty.db", worker=False):
        pass
    assert cli("--db", "empty.db", "workers", "--all-tenants").out == "no tenant has any data"
    assert cli("copy", "empty.db", "target.db", "--all-tenants").out == "no tenant has any data"
