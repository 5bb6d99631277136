"""Schemathesis calls every operation with what the schema allows, and with what it does not."""

import json
import os
import subprocess
import sys
from pathlib import Path

from lamina.interfaces.settings import Settings
from tests.interfaces.http.conftest import serving
from tests.sizes import FULL, share
from tests.waiting import CEILING

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
# What has the right shape may still mean nothing (a time that is none, a cursor that was made up): that is 400.
RULES = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "404", "408", "409", "412"]
"""
# How to write a body of a kind that schemathesis does not know.
HOOKS = """
import schemathesis

@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    return {"data": value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")}
"""


PHASES = ("examples", *(["coverage"] if FULL else []), "fuzzing")  # coverage makes some 3,000 requests of its own


def test_the_service_does_what_its_schema_says(tmp_path):
    """All checks: no failure of ours, every answer as documented, what is wrong refused, what is right taken."""
    (tmp_path / "rules.toml").write_text(RULES, "utf-8")
    (tmp_path / "json_lines.py").write_text(HOOKS, "utf-8")
    with serving(Settings(database=str(tmp_path / "a.db"), embedder="none"), worker=False) as service:
        secret = service.key("admin")
        service.with_key(secret).post(
            "/v1/sessions/s1/messages", json={"user_id": "alex", "messages": "I live in Porto."}
        )
        done = subprocess.run(
            [SCHEMATHESIS, "--config-file", tmp_path / "rules.toml", "run", f"{service.client.base_url}/openapi.json",
             "--phases", ",".join(PHASES), "--max-examples", str(share(5)), "--seed", "7",
             "--exclude-path", "/v1/events",  # has no end, see test_events.py
             "--generation-database", "none", "--no-color", "--request-timeout", str(CEILING),
             "--header", f"Authorization: Bearer {secret}"],
            cwd=tmp_path,
            env={
                **{key: value for key, value in os.environ.items() if not key.startswith("LAMINA")},
                "SCHEMATHESIS_HOOKS": "json_lines",
            },
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert json.loads(service.with_key(secret).get("/v1/export").text.splitlines()[0])["messages"] >= 1
