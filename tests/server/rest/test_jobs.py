"""Work that goes on after its request was answered: the demo, and files to import."""

import io
import json
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest

from lamina.server.uploads import name_of
from lamina.settings import Settings
from lamina.story import CARD, ENDLESS, USER, parts, sessions
from tests.http_service import serving
from tests.server.rest.test_errors import refused
from tests.waiting import wait_until

CHATGPT = [
    {
        "title": "Moving house",
        "conversation_id": "c1",
        "create_time": 1753500000,
        "mapping": {
            "a": {"id": "a", "parent": None, "message": None},
            "b": {
                "id": "b",
                "parent": "a",
                "message": {
                    "id": "b",
                    "author": {"role": "user"},
                    "create_time": 1753500001,
                    "content": {"content_type": "text", "parts": ["I moved to Porto."]},
                },
            },
        },
        "current_node": "b",
    }
]
DATA = Path(__file__).parents[2] / "data" / "imports"
BYTES = {"Content-Type": "application/octet-stream"}


def ended(service, begun):
    """A job once it is no longer under way."""
    assert begun.status_code == 202, begun.text
    path = f"/v1/jobs/{begun.json()['id']}"

    def look():
        job = service.get(path).json()
        return job if job["status"] != "running" else None

    return wait_until(look, "a job ends")


def upload(service, content, name, **params):
    headers = {**BYTES, "X-Lamina-Filename": quote(name)}
    return service.post("/v1/jobs/import", content=content, headers=headers, params=params)


def test_the_demo_is_loaded_in_the_background_and_once(service):
    """Every message as it is in the story, and again as one long session, folded; what was done to it stays."""
    job = ended(service, service.post("/v1/jobs/demo"))
    told = sessions()
    messages = sum(map(len, told.values()))
    assert (job["kind"], job["status"], job["error"]) == ("demo", "done", None)
    assert job["demo"] == {
        "sessions": len(told) + 1,
        "messages": messages * 2,
        "user_id": USER,
        "session_id": ENDLESS,
    }
    found = {one["id"]: one for one in service.get("/v1/sessions", params={"user_id": USER}).json()["items"]}
    assert {name: one["counters"]["messages"] for name, one in found.items()} == {
        name: len(said) for name, said in told.items()
    }
    assert {one["status"] for one in found.values()} == {"ended"}
    assert {name: one["title"] for name, one in found.items()} == {part.session_id: part.title for part in parts()[:-1]}
    long = service.get(f"/v1/sessions/{ENDLESS}").json()
    assert (long["user_id"], long["counters"]["messages"]) == (ENDLESS, messages)
    assert long["counters"]["cursor"] > messages / 2
    assert CARD not in service.get("/v1/export").text
    first = next(iter(told))
    service.patch(f"/v1/sessions/{first}", json={"status": "archived"})
    again = ended(service, service.post("/v1/jobs/demo", json={}))
    assert (again["demo"]["sessions"], again["demo"]["messages"]) == (0, 0)
    assert service.get(f"/v1/sessions/{first}").json()["status"] == "archived"
    assert [one["id"] for one in service.get("/v1/jobs").json()["items"]] == [again["id"], job["id"]]


def test_a_demo_that_was_interrupted_goes_on(service):
    """A session of which only some was added is completed, without a message twice."""
    part = parts()[0]
    path = f"/v1/sessions/{part.session_id}/messages"
    service.post(path, json={"user_id": USER, "messages": list(part.messages[:5])})
    job = ended(service, service.post("/v1/jobs/demo"))
    assert job["demo"]["messages"] == 2 * 758 - 5
    stored = service.get(path, params={"limit": 1000}).json()["items"]
    assert [one["id"] for one in stored] == [one["id"] for one in part.messages]


def test_while_the_demo_is_loaded_a_second_call_joins_it(service):
    begun = [service.post("/v1/jobs/demo") for _ in range(2)]
    ids = {one.json()["id"] for one in begun}
    assert len(ids) == 1 or ended(service, begun[0])["status"] == "done"
    assert ended(service, begun[1])["status"] == "done"
    assert service.get(f"/v1/sessions/{ENDLESS}").json()["counters"]["messages"] == 758


@pytest.mark.parametrize(
    ("session", "user", "said"),
    [
        pytest.param(next(iter(sessions())), "alex", "is one of the user 'alex'", id="a-session-of-another"),
        pytest.param("diary", USER, "there is a user 'mara' already", id="another-mara"),
    ],
)
def test_the_demo_takes_nothing_of_anybody_else(service, session, user, said):
    """What somebody else said under a name of the demo's is not written to, and nothing is added."""
    service.post(f"/v1/sessions/{session}/messages", json={"user_id": user, "messages": "mine"})
    job = ended(service, service.post("/v1/jobs/demo"))
    assert job["status"] == "failed"
    assert said in job["error"]
    assert [one["id"] for one in service.get("/v1/sessions").json()["items"]] == [session]


def test_a_file_of_another_tool_is_imported_in_the_background(service):
    """What it brought is told when it is done; a second time adds nothing."""
    body = json.dumps(CHATGPT)
    job = ended(service, upload(service, body, "conversations.json", user_id="alex"))
    assert (job["status"], job["imported"]["messages"], job["imported"]["sessions"]) == ("done", 1, 1)
    assert service.get("/v1/sessions", params={"user_id": "alex"}).json()["items"][0]["counters"]["messages"] == 1
    again = ended(service, upload(service, body, "conversations.json", user_id="alex"))
    assert (again["imported"]["messages"], again["imported"]["duplicates"]) == (0, 1)
    assert service.post("/v1/import", content=body, headers={**BYTES, "X-Lamina-Filename": "c.json"}).json()


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        pytest.param(
            b"\x89PNG\r\n\x1a\n\x00\xff",
            "cat.json",
            "cat.json seems to be a picture (PNG); what can be imported",
            id="no-text",
        ),
        pytest.param(b'{"colour": "red"}', "colours.json", "what can be imported", id="another-format"),
        pytest.param(b'{"session_id": "s", "role": "king", "content": "x"}\n', "x.jsonl", "line 1", id="a-wrong-line"),
        pytest.param(b"", "empty.json", "empty.json", id="nothing"),
    ],
)
def test_a_file_that_cannot_be_read_says_what_would_work(service, content, name, said):
    job = ended(service, upload(service, content, name))
    assert job["status"] == "failed"
    assert said in job["error"]
    assert service.get("/v1/users").json()["items"] == []


CHAT = (DATA / "whatsapp_android.txt").read_bytes()
SPEAKERS = "'Mara Lindqvist', 'Tomas'; say which of them is the user: --me NAME (in Python and HTTP me=NAME)"


def test_a_chat_of_several_people_is_imported_for_one_of_them(service):
    """Without `me` the error lists the speakers and names the parameter; `zone` gives its times their zone."""
    headers = {**BYTES, "X-Lamina-Filename": quote("WhatsApp Chat with Tomas.txt")}
    asked = service.post("/v1/import", content=CHAT, headers=headers, params={"user_id": "mara"})
    assert (asked.status_code, SPEAKERS in asked.json()["detail"]) == (400, True)
    failed = ended(service, upload(service, CHAT, "WhatsApp Chat with Tomas.txt", user_id="mara"))
    assert (failed["status"], SPEAKERS in failed["error"]) == ("failed", True)
    assert service.get("/v1/users").json()["items"] == []
    given = {"user_id": "mara", "me": "mara", "zone": "Europe/Stockholm"}
    done = service.post("/v1/import", content=CHAT, headers=headers, params=given).json()
    (session,) = service.get("/v1/sessions", params={"user_id": "mara"}).json()["items"]
    assert (session["title"], session["started_at"]) == ("WhatsApp: Tomas", "2024-10-12T18:02:00+02:00")
    again = ended(service, upload(service, CHAT, "WhatsApp Chat with Tomas.txt", **given))
    assert (again["imported"]["messages"], again["imported"]["duplicates"]) == (0, done["messages"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"me": "Otto"}, "has no speaker 'Otto'; there are 'Mara Lindqvist', 'Tomas'", id="nobody"),
        pytest.param({"me": "Mara", "zone": "Mars"}, "there is no zone 'Mars'; a zone is, e.g.,", id="no-zone"),
        pytest.param({"me": " "}, "", id="blank"),
    ],
)
def test_options_of_an_import_that_fit_nothing(service, given, said):
    """They are refused with what would work, and nothing is imported."""
    headers = {**BYTES, "X-Lamina-Filename": "chat.txt"}
    answer = service.post("/v1/import", content=CHAT, headers=headers, params=given)
    assert answer.status_code == (400 if said else 422)
    assert said in answer.json()["detail"]
    assert service.get("/v1/users").json()["items"] == []


def test_an_archive_with_files_of_no_known_format(service):
    """They are named as left out; what can be read is imported."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", json.dumps(CHATGPT))
        archive.writestr("extra/thing.json", '{"colour": "red"}')
    job = ended(service, upload(service, packed.getvalue(), "chatgpt.zip"))
    assert (job["status"], job["imported"]["messages"]) == ("done", 1)
    assert job["imported"]["skipped"] == {"chatgpt.zip/extra/thing.json: no known format": 1}


def test_a_job_is_known_in_its_tenant_only(service):
    job = ended(service, upload(service, json.dumps(CHATGPT), "c.json"))
    ours, theirs = (service.with_key(service.key("admin", tenant=tenant)) for tenant in ("default", "theirs"))
    assert ours.get(f"/v1/jobs/{job['id']}").json()["id"] == job["id"]
    refused(theirs.get(f"/v1/jobs/{job['id']}"), 404, "not-found")
    assert theirs.get("/v1/jobs").json()["items"] == []


def test_only_the_newest_jobs_are_kept(service):
    made = [ended(service, upload(service, b"{}", "x.json"))["id"] for _ in range(22)]
    assert [one["id"] for one in service.get("/v1/jobs").json()["items"]] == made[:1:-1]


def test_a_file_larger_than_the_limit_is_refused_with_the_limit(tmp_path):
    settings = Settings(database=str(tmp_path / "small.db"), max_body_bytes=1000)
    with serving(settings, worker=False) as small:
        problem = refused(upload(small, b"x" * 1001, "x.zip"), 413, "too-large")
        assert "1000 bytes" in problem["detail"]


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        pytest.param({"x-lamina-filename": "../../etc/passwd"}, "passwd", id="a-path"),
        pytest.param({"x-lamina-filename": "C%3A%5Cchats%5Cmy%20chat.json"}, "my chat.json", id="of-windows"),
        pytest.param({"x-lamina-filename": "..%00"}, "_", id="not-a-name"),
        pytest.param({"x-lamina-filename": ".."}, "import.jsonl", id="dots"),
        pytest.param({"x-lamina-filename": "a" * 300 + ".zip"}, "a" * 116 + ".zip", id="long"),
        pytest.param({"content-type": "application/zip"}, "import.zip", id="by-type"),
        pytest.param({}, "import.jsonl", id="nothing"),
    ],
)
def test_the_name_of_a_file_leads_nowhere_else(headers, name):
    assert name_of(headers) == name
