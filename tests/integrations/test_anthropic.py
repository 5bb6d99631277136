"""The memory tool for Anthropic's SDK, driven by its own `call`, beside the SDK's tool over a folder."""

import re
import tempfile
from pathlib import Path

import pytest
from anthropic.tools import BetaLocalFilesystemMemoryTool, ToolError
from hypothesis import example, given
from hypothesis import strategies as st

from lamina import Memory
from lamina.integrations import anthropic
from lamina.integrations.anthropic import LaminaAsyncMemoryTool, LaminaMemoryTool
from tests.sizes import examples

PREFS = "/memories/prefs.md"


def run(tool, command, path=None, **values):
    return tool.call({"command": command, **({} if path is None else {"path": path}), **values})


@pytest.fixture
def tool(memory):
    return LaminaMemoryTool(memory, user_id="ana")


@pytest.mark.also_postgres
def test_the_life_of_a_file(tool, memory, place):
    """Every command; versions are kept until it is deleted, and then they are nowhere in the files of the store."""
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
    assert run(tool, "view", "/memories").endswith("excluding hidden items:\n0B\t/memories")
    assert run(tool, "create", PREFS, file_text="Tone: brief.\nColour: vermilion\n") == (
        f"File created successfully at: {PREFS}"
    )
    assert run(tool, "view", PREFS) == (
        f"Here's the content of {PREFS} with line numbers:\n     1\tTone: brief.\n     2\tColour: vermilion\n     3\t"
    )
    assert run(tool, "str_replace", PREFS, old_str="vermilion", new_str="ochre") == (
        "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
        "     1\tTone: brief.\n     2\tColour: ochre\n     3\t"
    )
    assert run(tool, "insert", PREFS, insert_line=0, insert_text="# Ana\n") == f"The file {PREFS} has been edited."
    assert run(tool, "view", PREFS, view_range=[1, 2]).endswith(":\n     1\t# Ana\n     2\tTone: brief.")
    assert run(tool, "rename", old_path=PREFS, new_path="/memories/people/ana.md") == (
        f"Successfully renamed {PREFS} to /memories/people/ana.md"
    )
    assert run(tool, "view", "/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "33B\t/memories\n33B\t/memories/people/\n33B\t/memories/people/ana.md"
    )
    (session,) = memory.sessions("ana")
    versions = [message.metadata["earlier"]["text"] for message in memory.messages(session.id)[:-1]]
    assert versions == ["Tone: brief.\nColour: vermilion\n", "Tone: brief.\nColour: ochre\n"]
    memory.settle()
    (hit,) = memory.search("colour vermilion", user_id="ana")
    assert hit.text == "# Ana\nTone: brief.\nColour: ochre\n"
    assert run(tool, "delete", "/memories/people") == "Successfully deleted /memories/people"
    assert run(tool, "view", "/memories").endswith("0B\t/memories")
    data = place.every_byte()
    assert b"vermilion" not in data
    assert b"ochre" not in data


def test_users_see_their_own_files_only():
    with Memory(":memory:") as memory:
        names = ["a", "a|", "a|/memories", "a%7C"]
        tools = [LaminaMemoryTool(memory, user_id=name) for name in names]
        for number, tool in enumerate(tools):
            run(tool, "create", PREFS, file_text=f"file {number}")
        for number, tool in enumerate(tools):
            assert f"file {number}" in run(tool, "view", PREFS)
        assert tools[0].clear_all_memory() == "All memory cleared"
        assert run(tools[0], "view", "/memories").endswith("0B\t/memories")
        assert "file 1" in run(tools[1], "view", PREFS)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        pytest.param("/etc/passwd", "Path must start with /memories, got: /etc/passwd", id="elsewhere"),
        pytest.param("/memoriesx", "Path must start with /memories, got: /memoriesx", id="neighbour"),
        pytest.param("memories/a", "Path must start with /memories, got: memories/a", id="relative"),
        pytest.param("/memories/..", "Path /memories/.. would escape /memories directory", id="above"),
        pytest.param("/memories/a/../../b", "Path /memories/a/../../b would escape /memories directory", id="detour"),
        pytest.param("/memories/../memories2/b", "Path /memories/../memories2/b would escape", id="beside"),
        pytest.param("/memories/a\0b", "NUL", id="nul"),
        pytest.param(f"/memories/{'a' * 300}", "too long", id="long"),
    ],
)
def test_no_path_leads_out(path, problem):
    """In whichever command it comes."""
    with Memory(":memory:") as memory:
        tool = LaminaMemoryTool(memory)
        run(tool, "create", PREFS, file_text="x")
        attempts = [
            {"command": "view", "path": path},
            {"command": "create", "path": path, "file_text": "x"},
            {"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"},
            {"command": "insert", "path": path, "insert_line": 0, "insert_text": "y"},
            {"command": "delete", "path": path},
            {"command": "rename", "old_path": path, "new_path": "/memories/new"},
            {"command": "rename", "old_path": PREFS, "new_path": path},
        ]
        for attempt in attempts:
            with pytest.raises(ToolError, match=re.escape(problem)):
                tool.call(attempt)
        assert "1B" in run(tool, "view", "/memories").splitlines()[-1]


def test_a_file_of_too_many_lines_is_not_shown(monkeypatch):
    monkeypatch.setattr(anthropic, "_MAX_LINES", 3)
    with Memory(":memory:", worker=False, embedder="none") as memory:
        tool = LaminaMemoryTool(memory)
        run(tool, "create", PREFS, file_text="1\n2\n3\n4")
        with pytest.raises(ToolError, match="exceeds maximum line limit of 3 lines"):
            run(tool, "view", PREFS)


@pytest.mark.anyio
async def test_the_awaited_tool_does_the_same(memory):
    tool = LaminaAsyncMemoryTool(memory, user_id="ana", cache_control={"type": "ephemeral"})
    assert tool.to_dict()["cache_control"] == {"type": "ephemeral"}
    for command in (
        {"command": "create", "path": PREFS, "file_text": "a\n"},
        {"command": "insert", "path": PREFS, "insert_line": 1, "insert_text": "b"},
        {"command": "str_replace", "path": PREFS, "old_str": "a", "new_str": "c"},
        {"command": "rename", "old_path": PREFS, "new_path": "/memories/x"},
    ):
        await tool.call(command)
    assert "1\tc\n     2\tb" in str(await tool.call({"command": "view", "path": "/memories/x"}))
    await tool.call({"command": "delete", "path": "/memories/x"})
    with pytest.raises(ToolError, match="does not exist"):
        await tool.call({"command": "view", "path": "/memories/x"})
    assert await tool.clear_all_memory() == "All memory cleared"


# beside the tool of the SDK

paths = st.sampled_from(
    ["/memories", "/memories/a", "/memories/a/b", "/memories/a/b/c", "/memories/d.md", "/memories/.hidden",
     "/memories/a/../d.md", "/memories/./a", "/memories/../x", "/elsewhere", "/memories/a b"]
)  # fmt: skip
texts = st.sampled_from(["", "\n", "one", "one\n", "one\ntwo\nthree\n", "two\r\ntwo", "é\n\nü", "x" * 1024, "x" * 1500])
pieces = st.sampled_from(["", "xx", "one", "two", "x", "\n", "three\n", "zz", "é"])


def commands(name, **values):
    return st.fixed_dictionaries({"command": st.just(name), **values})


ranges = st.none() | st.tuples(st.integers(0, 4), st.integers(-1, 4)).map(list)
steps = st.one_of(
    commands("create", path=paths, file_text=texts),
    commands("create", path=paths, file_text=texts),
    commands("view", path=paths, view_range=ranges),
    commands("str_replace", path=paths, old_str=pieces, new_str=pieces | st.just("")),
    commands("insert", path=paths, insert_line=st.integers(-1, 4), insert_text=texts),
    commands("delete", path=paths),
    commands("rename", old_path=paths, new_path=paths),
)


def outcome(tool, step):
    """What it says, or that it cannot; folders have no size of their own here."""
    try:
        said = tool.call(step)
    except ToolError as error:
        return "error", error.content
    except OSError:
        return "error", None
    if not said.startswith("Here're"):
        return "said", said
    rows = said.split("\n")
    return "said", [row.partition("\t")[2] if at == 1 or row.endswith("/") else row for at, row in enumerate(rows)]


def prune(folder):
    """Take away empty folders: there are none in Lamina."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


@given(st.lists(steps, min_size=1, max_size=12))
@example(
    [
        {"command": "create", "path": "/memories/a", "file_text": ""},
        {"command": "insert", "path": "/memories/a", "insert_line": 0, "insert_text": "one"},
        {"command": "view", "path": "/memories/a", "view_range": None},
    ]
)
@example([{"command": "create", "path": "/memories/a", "file_text": "one\ntwo\none\n"},
          {"command": "str_replace", "path": "/memories/a", "old_str": "zz", "new_str": "x"},
          {"command": "str_replace", "path": "/memories/a", "old_str": "one", "new_str": "x"},
          {"command": "insert", "path": "/memories/a", "insert_line": 9, "insert_text": "x"},
          {"command": "create", "path": "/memories/a/b", "file_text": "x"},
          {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/a/b"},
          {"command": "create", "path": "/memories/d.md", "file_text": "x" * 1500},
          {"command": "create", "path": "/memories/a b", "file_text": "x" * 3 * 1024**2},
          {"command": "view", "path": "/memories", "view_range": None}])  # fmt: skip
@examples(120)
def test_it_answers_as_the_tool_of_the_sdk_does(plan):
    """Word for word, whatever is done in whichever order; where the file system fails in its own words, it refuses."""
    with tempfile.TemporaryDirectory() as folder, Memory(":memory:", worker=False, embedder="none") as memory:
        ours, theirs = LaminaMemoryTool(memory), BetaLocalFilesystemMemoryTool(folder)
        for step in plan:
            mine, other = outcome(ours, step), outcome(theirs, step)
            prune(Path(folder) / "memories")
            assert mine == other or (other == ("error", None) and mine[0] == "error"), step
