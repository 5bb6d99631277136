"""What passes through the service in files: gone afterwards, also if the service was killed in between."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lamina.server.temporary import TemporaryFolder
from lamina.settings import Settings
from tests.http_service import serving

KILLED = """
import os, signal
from lamina.server.temporary import TemporaryFolder
folder = TemporaryFolder()
(folder.path / "export.jsonl.part").write_text("The code is 4242.")
os.utime(folder.path, (0, 0))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_service_clears_away_what_a_killed_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But nothing that another process has in use, and nothing of an export that is done."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    subprocess.run([sys.executable, "-c", KILLED], check=False)
    (left,) = tmp_path.iterdir()
    held = TemporaryFolder()
    os.utime(held.path, (0, 0))
    with serving(Settings(database=":memory:", embedder="none"), worker=False) as service:
        assert list(tmp_path.iterdir()) == [held.path]
        assert left != held.path
        assert service.get("/v1/export").status_code == 200
        assert list(tmp_path.iterdir()) == [held.path]
    held.remove()
    assert list(tmp_path.iterdir()) == []
