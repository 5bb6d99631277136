"""What forgetting leaves behind: no word of who it was in older receipts, and the truth on a full disk."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lamina import Memory
from lamina.values.codec import encode


@pytest.mark.also_postgres
def test_older_receipts_do_not_tell_who_was_forgotten(place: Any) -> None:
    """Not by the ids of sessions and messages either, in which a user's id may be."""
    with Memory(place(), worker=False, embedder="none") as memory:
        said = [{"role": "user", "content": f"Remark {n}.", "id": f"zebedee-{n}"} for n in range(6)]
        memory.add(said, user_id="zebedee")
        memory.forget(session_id="zebedee:main", first=1, last=2)
        memory.forget(message_id="zebedee-3")
        memory.forget(text="Remark 4", user_id="zebedee")
        memory.forget(user_id="zebedee")
        assert len(memory.receipts()) == 4
        assert "zebedee" not in repr(encode(memory.receipts()))
        assert memory.verify().ok
    assert b"zebedee" not in place.every_byte()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes, where one can be made."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], check=False, capture_output=True)
    if made.returncode:
        pytest.skip("a small disk can only be made by root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_on_a_full_disk_a_receipt_says_what_was_done(small_disk: Path) -> None:
    """What is forgotten is gone, though the old bytes are not yet; they go once there is space."""
    with Memory(small_disk / "chat.db", worker=False, embedder="none", profile="chunked") as memory:
        memory.add([f"Remark {n} on the harbour. " * 30 for n in range(300)], session_id="s")
        memory.add({"role": "user", "content": "The code is quokkatwo.", "id": "secret"}, session_id="s")
        free = os.statvfs(small_disk)
        (small_disk / "ballast").write_bytes(b"0" * (free.f_bavail * free.f_frsize - 400_000))
        receipt = memory.forget(message_id="secret")
        assert receipt.messages == ("secret",)
        assert receipt.scrub == "dead"
        assert not receipt.scrubbed
        assert [one.scrubbed for one in memory.receipts()] == [False]
        assert "quokkatwo" not in memory.message("secret").text
        (small_disk / "ballast").unlink()
        memory.settle()
        assert [one.scrubbed for one in memory.receipts()] == [True]
    assert all(b"quokkatwo" not in path.read_bytes() for path in small_disk.iterdir())
