"""The drill of docs/how-to/postgresql.md: dumped, restored elsewhere, verified, and the same in every row."""

import pytest

from lamina import Memory
from tests.random_memories import a_memory, opened


@pytest.mark.parametrize("seed", [1])
def test_a_dump_is_a_whole_backup(servers, tmp_path, seed):
    """What was said after the dump is not in it; the restored store works on."""
    server = servers()
    kept, restored = server.url(server.new_database()), server.url(server.new_database())
    dump = server.folder / "memory.dump"
    with a_memory(kept, seed) as memory:
        seen = memory.export(tmp_path / "before.jsonl")
        server.tool("pg_dump", "--format=custom", f"--file={dump}", "--schema=lamina", kept)
        memory.add("This comes too late.", user_id="ann", session_id="later")
    server.tool("pg_restore", f"--dbname={restored}", dump)
    dump.unlink()
    with opened(restored) as memory:
        assert memory.verify().ok
        assert memory.export(tmp_path / "after.jsonl") == seen
        assert (tmp_path / "after.jsonl").read_text("utf-8") == (tmp_path / "before.jsonl").read_text("utf-8")
        assert "later" not in [session.id for session in memory.sessions()]
        memory.add("The drill is over.", user_id="ann", session_id="new")
        memory.settle()
        assert memory.verify().ok


def test_a_dump_without_all_rows_is_refused(servers, tmp_path):
    """A role that row-level security restrains would dump nothing: the tool says so instead."""
    server = servers()
    name = server.new_database()
    with Memory(server.url(name, "lamina_service"), worker=False) as memory:
        memory.add("I am here.", user_id="ann")
    with pytest.raises(RuntimeError, match=r"row-level security|row security"):
        server.tool("pg_dump", f"--file={server.folder / 'half.dump'}", server.url(name, "lamina_service"))
