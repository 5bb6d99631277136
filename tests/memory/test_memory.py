"""`Memory` and `AsyncMemory` as their users hold them."""

import asyncio
import inspect
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import lamina
from lamina import AsyncMemory, LaminaError, Memory, NotFound
from lamina.open import Options
from tests.sizes import share

LEAVES_WITHOUT_CLOSING = """
import sys
from lamina import Memory
memory = Memory(sys.argv[1], profile="project")
for number in range(120):
    said = {"role": ("user", "assistant")[number % 2], "content": f"Ship {number} left Porto"}
    memory.add(said, user_id="a", session_id="s")
"""


def test_every_verb_is_on_both_faces():
    """Memory has each verb of AsyncMemory, with the same parameters, and no other."""
    verbs = {
        name: value
        for name, value in inspect.getmembers(AsyncMemory, inspect.iscoroutinefunction)
        if not name.startswith("_") and name not in {"open", "close"}
    }
    blocking = {
        name: value
        for name, value in inspect.getmembers(Memory, inspect.isfunction)
        if not name.startswith("_") and name != "close"
    }
    assert set(verbs) == set(blocking)
    for name, verb in verbs.items():
        assert inspect.signature(verb) == inspect.signature(blocking[name])


@pytest.mark.parametrize("kind", [AsyncMemory, Memory])
def test_wrong_arguments_are_answered_with_the_public_verb(kind):
    """An argument that does not exist is refused in the name of the verb as its caller knows it."""
    memory = kind(":memory:", worker=False)
    verbs = [name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")]
    assert len(verbs) > 50
    for name in verbs:
        with pytest.raises(TypeError, match=rf"^{kind.__name__}\.{name}\(\) got an unexpected keyword argument 'user'"):
            getattr(memory, name)(user="ann")
    if kind is Memory:
        with pytest.raises(TypeError, match=r"^Memory\.add\(\) missing 1 required positional argument: 'messages'"):
            memory.add()
        memory.close()


def test_every_option_is_an_argument_of_both_constructors():
    """With its default, so that editors complete it and `help` shows it."""
    arguments = inspect.signature(AsyncMemory).parameters
    assert arguments == inspect.signature(Memory).parameters
    options = {option.name: option for option in fields(Options)}
    assert list(arguments) == ["location", *options]
    for name, option in options.items():
        default = option.default if option.default_factory is MISSING else option.default_factory()
        assert (arguments[name].default, arguments[name].annotation) == (default, option.type)


def test_what_verbs_take_and_return_is_in_the_package():
    """Nobody has to know where a value lives."""

    def classes(hint):
        inner = [one for part in get_args(hint) for one in classes(part)]
        return inner if get_args(hint) else [hint]

    for name, verb in inspect.getmembers(AsyncMemory, inspect.isfunction):
        for hint in get_type_hints(verb).values() if not name.startswith("_") or name == "__init__" else ():
            for kind in classes(hint):
                if inspect.isclass(kind) and kind.__module__.startswith("lamina."):
                    assert getattr(lamina, kind.__name__, None) is kind, f"{name}: {kind}"


def test_a_memory_is_shown_by_its_place_without_a_password(tmp_path):
    with Memory(tmp_path / "a.db", tenant="acme", worker=False) as memory:
        assert repr(memory) == f"Memory('{tmp_path / 'a.db'}', tenant='acme')"
    url = "postgresql://ann:se:cr@et@db.example/chat?password=secret"
    assert repr(AsyncMemory(url)) == "AsyncMemory('postgresql://ann:***@db.example/chat', tenant='default')"


def test_a_program_may_end_without_closing(tmp_path):
    """Leaving without close() is quiet, loses nothing, and what is due is folded later."""
    path = tmp_path / "a.db"
    times = share(3)
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", LEAVES_WITHOUT_CLOSING, str(path)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    with Memory(path) as memory:
        assert memory.session("s").counters.messages == times * 120
        memory.settle()
        assert memory.session("s").counters.cursor == times * 120 - 20
        assert memory.verify().ok


def test_many_threads_share_one_memory(tmp_path):
    """Eight threads append and read at once: each message once, in one unbroken order."""
    steps = share(25)
    with Memory(tmp_path / "a.db", profile="project") as memory:

        def work(number: int) -> list[str]:
            ids: list[str] = []
            for step in range(steps):
                ids += memory.add(f"thread {number} step {step}", user_id="a", session_id="s").ids
                assert memory.context("step", user_id="a", session_id="s", budget=500).tokens <= 500
            return ids

        with ThreadPoolExecutor(8) as pool:
            ids = [ident for part in pool.map(work, range(8)) for ident in part]
        memory.settle()
        stored = memory.messages("s")
        assert sorted(message.id for message in stored) == sorted(ids)
        assert [message.seq for message in stored] == list(range(1, 8 * steps + 1))
        assert memory.verify().ok


def test_a_memory_stays_where_it_was_opened(tmp_path, monkeypatch):
    """The program may go to another folder; threads that come later still find the file, and leave no other behind."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Memory("chat.db", worker=False) as memory:
        memory.add("The kettle is red.", user_id="a", session_id="s")
        monkeypatch.chdir("elsewhere")
        with ThreadPoolExecutor(1) as thread:
            assert [one.text for one in thread.submit(memory.messages, "s").result()] == ["The kettle is red."]
        memory.settle()
        assert memory.verify().ok
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_blocking_verbs_work_inside_an_event_loop(tmp_path):
    """Memory may be used from code that runs on an event loop (a notebook, say)."""
    with Memory(tmp_path / "a.db") as memory:

        async def main() -> int:
            memory.add("hello there", user_id="a")
            return memory.context("hello", user_id="a").tokens

        assert asyncio.run(main()) > 0


def test_after_close_every_verb_says_so(tmp_path):
    """A closed memory raises a clear error; closing twice is fine."""
    memory = Memory(tmp_path / "a.db")
    memory.close()
    memory.close()
    with pytest.raises(LaminaError, match="closed"):
        memory.add("too late")


def test_not_yet_open_says_so():
    """An AsyncMemory that was not opened says how to open it."""
    with pytest.raises(LaminaError, match="async with"):
        asyncio.run(AsyncMemory(":memory:").add("too early"))


def test_messages_come_back_as_given(tmp_path):
    """Own ids, times with their zone, metadata, model, unknown keys and parts come back unchanged."""
    zone = timezone(timedelta(hours=5, minutes=30))
    given: list[dict[str, Any]] = [
        {
            "id": "m-1",
            "role": "user",
            "name": "Asha",
            "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
            ],
            "created_at": datetime(2025, 5, 1, 9, 30, tzinfo=zone),
            "metadata": {"source": "app", "nested": {"a": [1, None, True]}},
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
            "model": "deep-dive",
            "reasoning_content": "unknown to us",
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a boat"},
        {"role": "assistant", "content": "", "refusal": "I would rather not."},
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "naïve café 🛥 日本語"},
    ]
    with Memory(tmp_path / "a.db") as memory:
        memory.add(given, user_id="asha", session_id="s")
    with Memory(tmp_path / "a.db") as memory:
        back = memory.messages("s")
    envelope = {"id", "created_at", "metadata", "model"}
    assert [message.to_openai() for message in back] == [
        {key: value for key, value in message.items() if key not in envelope} for message in given
    ]
    assert (back[0].id, back[0].metadata, back[1].model) == ("m-1", given[0]["metadata"], "deep-dive")
    assert back[0].created_at == given[0]["created_at"]
    assert back[0].created_at.utcoffset() == timedelta(hours=5, minutes=30)
    assert [message.turn for message in back] == [1, 1, 1, 1, 1, 2]


def test_the_profile_is_remembered_with_the_file(tmp_path):
    """A file opened without a profile goes on with the one it was made with, values and all."""
    with Memory(tmp_path / "a.db", profile="project") as memory:
        assert memory.profile.name == "project"
    changed = memory.profile.but(chunk_size=7)
    with Memory(tmp_path / "a.db", profile=changed) as memory:
        assert memory.profile == changed
    with Memory(tmp_path / "a.db") as memory:
        assert memory.profile == changed


def test_a_retried_append_is_stored_once(tmp_path):
    """The same ids, or the same idempotency key, again: nothing new, the same answer."""
    at = datetime(2025, 5, 1, tzinfo=UTC)
    with Memory(tmp_path / "a.db") as memory:
        first = memory.add([{"role": "user", "content": "hi", "created_at": at}], session_id="s", idempotency_key="k")
        again = memory.add([{"role": "user", "content": "hi", "created_at": at}], session_id="s", idempotency_key="k")
        assert (again.ids, again.duplicates) == (first.ids, first.ids)
        memory.add({"id": "x", "role": "user", "content": "one"}, session_id="s")
        assert memory.add({"id": "x", "role": "user", "content": "one"}, session_id="s").duplicates == ("x",)
        assert memory.session("s").counters.messages == 2


def test_what_is_not_there_is_not_found(tmp_path):
    """Unknown sessions, messages and summaries raise NotFound with their name."""
    with Memory(tmp_path / "a.db") as memory:
        for verb in (memory.session, memory.summaries, memory.end, memory.conversation, memory.messages):
            with pytest.raises(NotFound, match="'nope'"):
                verb("nope")
        with pytest.raises(NotFound, match="'nope'"):
            memory.message("nope")
        with pytest.raises(NotFound, match="'nope'"):
            memory.zoom("nope")


def test_looking_with_another_profile_changes_nothing(tmp_path):
    """A memory without a worker that only reads leaves the file's profile alone; its first append does not."""
    with Memory(tmp_path / "a.db", profile="project") as memory:
        memory.add("hello", session_id="s")
    with Memory(tmp_path / "a.db", profile="chunked", worker=False) as memory:
        memory.context("hello", session_id="s")
    with Memory(tmp_path / "a.db", worker=False) as memory:
        assert memory.profile.name == "project"
    with Memory(tmp_path / "a.db", profile="chunked", worker=False) as memory:
        memory.add("hello again", session_id="s")
    with Memory(tmp_path / "a.db", worker=False) as memory:
        assert memory.profile.name == "chunked"


def test_a_misspelt_verb_is_an_error_to_type_checkers():
    """mypy reads this file: an ignore that it does not need is an error, too."""
    blocking = Memory(":memory:", worker=False)
    with pytest.raises(AttributeError, match="serach"):
        blocking.serach("tea")  # type: ignore[attr-defined]
    blocking.close()
    with pytest.raises(AttributeError, match="serach"):
        AsyncMemory(":memory:").serach("tea")  # type: ignore[attr-defined]


def test_every_attribute_of_the_awaited_memory_is_documented():
    """Also what only services use."""
    page = (Path(__file__).parents[2] / "docs/reference/python.md").read_text("utf-8")
    for name in vars(AsyncMemory):
        if not name.startswith("_") and name != "from_parts":  # which takes what is not public
            assert f"`{name}`" in page or f"`{name}(" in page, name
