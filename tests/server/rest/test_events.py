"""Server-sent events, as a client hears them."""

import asyncio
import json
import signal
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial

import httpx2
import pytest

from lamina import Memory
from lamina.server.rest import event_routes
from lamina.storage.sqlite.sqlite_store import SqliteStore
from lamina.tenancy import tenants as engines
from lamina.tenancy.changes import Watch
from lamina.tenancy.open_tenants import tenants
from lamina.testing.samples import a_draft, an_append
from tests.command_line import service_process
from tests.http_service import made_key
from tests.waiting import CEILING, until

MESSAGES = "/v1/sessions/s1/messages"
SAID = "I'm Alex and I live in Porto."


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """Changes are looked for often, so that nobody waits for them."""
    monkeypatch.setattr(engines, "Watch", partial(Watch, look_s=0.01))


class Heard:
    """The events of one stream."""

    def __init__(self, response) -> None:
        self._lines = response.iter_lines()
        self.place = self._block()["id"]

    def _block(self):
        found: dict[str, str] = {}
        for line in self._lines:
            if not line:
                return found
            name, _, value = line.partition(":")
            found[name] = value.strip()
        return {}

    def next(self):
        """The next event that is no heart-beat: its type, what it tells, its id; None at the end."""
        while block := self._block():
            if "event" in block:
                return block["event"], json.loads(block["data"]), block["id"]
        return None

    def until(self, kind):
        """All events up to the first of a kind."""
        found = [self.next()]
        while found[-1][0] != kind:
            found.append(self.next())
        return found


@contextmanager
def listening(client, last=None, **params):
    headers = {"Last-Event-ID": last} if last else {}
    with client.stream("GET", "/v1/events", params=params, headers=headers) as response:
        assert (response.status_code, response.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
        if last is None:
            yield Heard(response)
        else:
            heard = Heard.__new__(Heard)
            heard._lines = response.iter_lines()
            heard._block()
            yield heard


def say(client, words=SAID, session="s1", user="alex"):
    path = f"/v1/sessions/{session}/messages"
    assert client.post(path, json={"user_id": user, "messages": words}).status_code == 201


def test_what_changes_is_told_without_what_was_said(kept):
    """Messages, facts and what was forgotten, each with ids to look it up."""
    with listening(kept) as heard:
        say(kept)
        kind, told, _ = heard.next()
        assert (kind, told) == (
            "message.added", {"user_id": "alex", "session_id": "s1", "first": 1, "last": 1}
        )  # fmt: skip
        kept.post("/v1/settle", json={})
        kind, told, _ = heard.next()
        assert (kind, told["user_id"], told["session_id"], told["status"]) == ("fact.changed", "alex", "s1", "active")
        assert kept.get(f"/v1/facts/{told['fact_id']}").json()["key"] in {"name", "location"}
        receipt = kept.post("/v1/forget", json={"session_id": "s1"}).json()["id"]
        told = heard.until("forgotten")
        assert told[-1][1] == {"user_id": None, "session_id": None, "receipt_id": receipt}
        assert "Porto" not in json.dumps(told)


def test_folds_are_told_with_their_layer(kept):
    words = "left Porto for Lisbon with salt and cork " * 8
    said = [{"role": ("user", "assistant")[n % 2], "content": f"Ship {n} {words}"} for n in range(40)]
    with listening(kept, types="session.folded") as heard:
        say(kept, said)
        kept.post("/v1/settle", json={})
        kind, told, _ = heard.next()
        covered = kept.get(f"/v1/summaries/{told['summary_id']}/messages").json()["items"]
        assert (kind, [covered[0]["seq"], covered[-1]["seq"]]) == ("session.folded", [told["first"], told["last"]])
        assert told["layer"] >= 1


def test_content_is_told_to_those_who_ask(kept):
    with listening(kept, include="content") as heard:
        say(kept)
        assert heard.next()[1]["messages"][0]["body"]["content"] == SAID
        kept.post("/v1/settle", json={})
        assert {heard.next()[1]["fact"]["value"] for _ in range(2)} == {"Alex", "Porto"}
    kept.post("/v1/settle", json={})
    told = kept.get("/v1/users/alex/facts").json()["items"]
    assert [fact["accesses"] for fact in told] == [0, 0]  # to tell of a fact is no use of it


def test_a_title_is_told_to_those_who_ask(kept):
    """That a session was renamed, and what it is called now; also when words of it were forgotten."""
    say(kept)
    with listening(kept, include="content", types="session.renamed") as heard:
        kept.patch("/v1/sessions/s1", json={"title": "Moving to Porto"})
        assert heard.next()[1] == {"user_id": "alex", "session_id": "s1", "title": "Moving to Porto"}
        kept.post("/v1/forget", json={"text": "Porto", "session_id": "s1"})
        assert heard.next()[1]["title"] == "Moving to [forgotten]"


def test_summaries_are_told_to_those_who_ask_and_what_is_gone_is_not(service):
    """A fold with its text; of what was forgotten, only that it was."""
    words = "left Porto for Lisbon with salt and cork " * 8
    said = [{"role": ("user", "assistant")[n % 2], "content": f"Ship {n} {words}"} for n in range(40)]
    with listening(service, include="content", types=["session.folded", "forgotten"]) as heard:
        say(service, said)
        service.post("/v1/settle", json={})
        _, told, _ = heard.next()
        assert told["summary"]["id"] == told["summary_id"]
        assert "Lisbon" in told["summary"]["text"]
        service.post("/v1/forget", json={"session_id": "s1"})
        assert list(heard.until("forgotten")[-1][1]) == ["user_id", "session_id", "receipt_id"]


def test_changes_by_another_process_are_told(kept):
    """Here by a memory of its own on the same store."""
    with listening(kept) as heard:
        with Memory(kept.settings.database, worker=False) as other:
            other.add("Hello from elsewhere", user_id="bo", session_id="s7")
        assert heard.next()[:2] == (
            "message.added", {"user_id": "bo", "session_id": "s7", "first": 1, "last": 1}
        )  # fmt: skip


def test_a_listener_gets_the_user_or_session_asked_for(service):
    with listening(service, user_id="ann") as of_ann, listening(service, session_id="s2") as of_s2:
        say(service, "one", "s1", "ann")
        say(service, "two", "s2", "bo")
        say(service, "three", "s3", "ann")
        assert [of_ann.next()[1]["session_id"] for _ in range(2)] == ["s1", "s3"]
        assert of_s2.next()[1]["session_id"] == "s2"


def test_a_tenant_hears_nothing_of_another(kept):
    ours, theirs = (kept.with_key(kept.key("admin", tenant=name)) for name in ("ours", "theirs"))
    with listening(ours) as heard:
        say(theirs, "secret", "s9", "eve")
        say(ours, "mine")
        assert heard.next()[1]["session_id"] == "s1"


def test_who_comes_back_hears_what_came_meanwhile(service):
    """Behind the id they name; also before they had heard of any event."""
    with listening(service) as heard:
        begin = heard.place
        say(service, "one")
        _, _, last = heard.next()
    say(service, "two", "s2")
    with listening(service, last=last) as heard:
        assert heard.next()[1]["session_id"] == "s2"
    with listening(service, last=begin) as heard:
        assert [heard.next()[1]["session_id"] for _ in range(2)] == ["s1", "s2"]


@pytest.mark.parametrize("last", ["other.3", "x", "{}9999", "{}"])
def test_an_id_that_is_not_known_is_answered_with_a_gap(service, last):
    with listening(service) as heard:
        epoch = heard.place.partition(".")[0]
    with listening(service, last=last.replace("{}", f"{epoch}.")) as heard:
        assert heard.next()[0] == "gap"
        say(service)
        assert heard.next()[0] == "message.added"


def told_of(watch, number):
    return watch.place() == f"e.{number}"


def test_a_slow_listener_is_told_of_the_gap_and_nothing_piles_up():
    """Only so many events are kept, however slow somebody is."""

    async def run():
        store = SqliteStore(":memory:")
        await store.open()
        watch = Watch(store, now=lambda: datetime.now(UTC), epoch="e", look_s=0.001, kept=3)
        await watch.begin()
        heard = watch.listen(None, CEILING)
        first = asyncio.ensure_future(anext(heard))
        for number in range(10):
            await store.append(an_append(f"s{number}", a_draft(f"m{number}")))
            await until(partial(told_of, watch, number + 1))
        told = [await first, *[await anext(heard) for _ in range(4)]]
        await watch.close()
        assert [one async for one in heard] == []
        return [(one.type, one.session_id) for one in told if one is not None]

    found = asyncio.run(run())
    assert found == [
        ("message.added", "s0"), ("gap", None), *[("message.added", f"s{n}") for n in (7, 8, 9)]
    ]  # fmt: skip


def test_there_is_a_heart_beat(service, monkeypatch):
    monkeypatch.setattr(event_routes, "_HEARTBEAT_S", 0.05)
    with service.client.stream("GET", "/v1/events") as response:
        lines = response.iter_lines()
        for _ in range(2):
            assert next(line for line in lines if line.startswith(":")) == ": still here"


@pytest.mark.parametrize("how", ["revoked", "rotated"])
def test_who_has_a_key_that_does_no_longer_is_let_go_at_once(service, monkeypatch, how):
    """Not at the next beat: there is none here."""
    monkeypatch.setattr(event_routes, "LOOK_S", 2 * CEILING)
    admin = service.with_key(service.key("admin"))
    key, secret = made_key(service.settings, "read")
    with service.with_key(secret).stream("GET", "/v1/events") as response:
        lines = response.iter_lines()
        next(lines)
        if how == "revoked":
            assert admin.delete(f"/v1/keys/{key.id}").status_code == 200
        else:
            assert admin.post(f"/v1/keys/{key.id}/rotate", json={}).status_code == 201
        assert "event:" not in "".join(lines)


def test_a_key_that_another_process_revokes_is_let_go_soon(service):
    service.key("admin")
    key, secret = made_key(service.settings, "read")

    async def revoke():
        async with tenants(service.settings.database, worker=False) as held:
            await held.keys("default").revoke(key.id)

    with service.with_key(secret).stream("GET", "/v1/events") as response:
        lines = response.iter_lines()
        next(lines)
        asyncio.run(revoke())
        assert "still here" not in "".join(lines)


def test_who_came_without_a_key_is_let_go_once_there_is_one(service):
    with service.client.stream("GET", "/v1/events") as response:
        lines = response.iter_lines()
        next(lines)
        service.key("read")
        assert "event:" not in "".join(lines)


def test_the_stream_ends_when_the_service_does(tmp_path):
    """By itself, without being cut off when the time is over that requests are given."""
    begun, ended = threading.Event(), threading.Event()

    def hear(address):
        with httpx2.stream("GET", f"{address}/v1/events", timeout=CEILING) as response:
            for _ in response.iter_lines():
                begun.set()
        ended.set()

    with service_process(tmp_path, "--no-worker") as (process, address):
        threading.Thread(target=hear, args=(address,)).start()
        assert begun.wait(CEILING)
        process.send_signal(signal.SIGTERM)
        assert process.wait(CEILING) == 0
        assert ended.wait(CEILING)
    assert "exceeded" not in (tmp_path / "log").read_text("utf-8")


def test_whoever_comes_while_the_service_ends_is_let_go_at_once(tmp_path):
    """Also those who were about to begin: nobody holds the end up."""

    async def run():
        async with tenants(str(tmp_path / "ending.db"), worker=False) as held:
            watch = await held.watch("default")
            await held.end_watches()
            for late in (watch, await held.watch("default"), await held.watch("another")):
                assert [event async for event in late.listen(None, CEILING)] == []

    asyncio.run(asyncio.wait_for(run(), CEILING))
