"""Every verb of the library has a route, and those that make anew or move do over HTTP what they do in Python."""

import ast
import inspect
import json
from pathlib import Path

import pytest

from lamina import AsyncMemory
from lamina.server import rest
from lamina.settings import Settings
from tests.http_service import serving
from tests.server.rest.test_errors import refused
from tests.server.rest.test_routes import good, tell

WITHOUT_A_ROUTE = {
    "open": "the service opens the store when it begins",
    "close": "and closes it when it ends",
    "copy_to": "names a store that the service's machine would write to; `lamina copy` does it",
    "backup": "names a file that the service's machine would write; `lamina backup` does it",
    "remember_all": "`POST /v1/users/{user_id}/facts` gives the fact that `remember` gives",
    "resolve_user": "routes do it for a body without a user",
    "is_statement": "mem0's API asks it of a text, to know how to read it",
}


def test_every_verb_of_the_library_has_a_route():
    """A new verb needs a route, or a reason here; a reason for a verb that has one, or is gone, is not kept."""
    trees = [ast.parse(path.read_text("utf-8")) for path in Path(inspect.getfile(rest)).parent.glob("*.py")]
    called = {
        node.attr
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "memory"
    }
    verbs = {
        name for name, _ in inspect.getmembers(AsyncMemory, inspect.iscoroutinefunction) if not name.startswith("_")
    }
    assert verbs - called == set(WITHOUT_A_ROUTE)


@pytest.fixture
def kept(running, place):
    """A service on each kind of store that knows of Alex."""
    with running.over(place()) as served:
        yield tell(served)


LINES = {"Content-Type": "application/x-ndjson"}


def lines(*records):
    return "\n".join(json.dumps(record) for record in records)


def test_a_session_is_told_as_strata(kept):
    """Without its words; when a fold fell due, and where something was forgotten."""
    good(kept.patch("/v1/sessions/s1", json={"status": "ended"}))
    good(kept.post("/v1/settle", json={}))
    counters = good(kept.get("/v1/sessions/s1"))["counters"]
    outline = good(kept.get("/v1/sessions/s1/outline?parts=1"))
    (part,), (block,) = outline["parts"], outline["blocks"]
    assert (outline["session_id"], part["first"], part["last"], part["turn"]) == ("s1", 1, 2, 2)
    assert part["tokens"] == block["covered_tokens"] == counters["tokens"]
    assert (block["covers"], block["due"], block["status"]) == ({"first": 1, "last": 2}, 2, "live")
    assert "Porto" not in json.dumps(outline)
    good(kept.post("/v1/forget", json={"message_ids": ["m1"]}))
    assert good(kept.get("/v1/sessions/s1/outline"))["forgotten"] == [{"first": 1, "last": 1}]
    refused(kept.get("/v1/sessions/s1/outline?parts=1001"), 422, "shape")
    refused(kept.get("/v1/sessions/none/outline"), 404, "not-found")


def test_the_brief_of_a_session(kept):
    """What is summarised of it, and up to where; a session that is not there is not found."""
    assert good(kept.get("/v1/sessions/s1/brief")) == {"global_summary": "", "last_summarized_message_id": None}
    refused(kept.get("/v1/sessions/none/brief"), 404, "not-found")


@pytest.mark.parametrize(
    ("path", "most"),
    [
        pytest.param("/v1/users/alex/facts", 10_000, id="facts"),
        pytest.param("/v1/users/alex/fading", 10_000, id="fading"),
        pytest.param("/v1/sessions", 1000, id="others"),
    ],
)
def test_what_is_known_comes_in_larger_pages(kept, path, most):
    assert good(kept.get(path, params={"limit": most}))["items"]
    refused(kept.get(path, params={"limit": most + 1}), 422, "shape")


def test_everything_is_counted(kept):
    """Of all, and of one user; by day."""
    stats = good(kept.get("/v1/stats"))
    assert (stats["sessions"], stats["messages"], stats["at_hand_tokens"]) == (1, 2, stats["tokens"])
    assert [one["messages"] for one in stats["growth"]] == [2]
    assert sum(one["count"] for one in stats["facts"]) == stats["growth"][0]["facts"] > 0
    assert good(kept.get("/v1/stats?user_id=alex")) == stats
    assert good(kept.get("/v1/stats?user_id=nobody"))["messages"] == 0


def test_what_fades_is_told_beforehand(kept):
    """Each fact that holds, page by page."""
    facts = {fact["id"] for fact in good(kept.get("/v1/users/alex/facts"))["items"]}
    page = good(kept.get("/v1/users/alex/fading?limit=1"))
    rest = good(kept.get("/v1/users/alex/fading", params={"cursor": page["next"]}))
    items = [*page["items"], *rest["items"]]
    assert {one["id"] for one in items if one["kind"] == "fact"} == facts
    assert all(one["kept"] and one["decay"] > 0.99 for one in items)


def test_what_is_regenerated_is_compared_accepted_and_taken_back(kept):
    """Nothing changes before; each decision is made once."""
    facts = kept.get("/v1/users/alex/facts").json()["items"]
    proposal = good(kept.post("/v1/sessions/s1/regenerate", json={"first": 1}), 201)
    assert (proposal["session_id"], proposal["status"]) == ("s1", "open")
    assert kept.get("/v1/users/alex/facts").json()["items"] == facts
    path = f"/v1/proposals/{proposal['id']}"
    assert good(kept.post(f"{path}/accept"))["status"] == "accepted"
    refused(kept.post(f"{path}/accept"), 409, "conflict")
    assert good(kept.post(f"{path}/roll-back"))["status"] == "rolled_back"
    listed = good(kept.get("/v1/proposals", params={"session_id": "s1"}))["items"]
    assert [(one["id"], one["status"]) for one in listed] == [(proposal["id"], "rolled_back")]
    refused(kept.post("/v1/proposals/none/accept"), 404, "not-found")
    unknown = refused(kept.post("/v1/sessions/s1/regenerate", json={"prompts": {"x": "y"}}), 400, "input")
    assert "there are" in unknown["detail"]


def test_nothing_is_regenerated_for_who_has_opted_out(kept):
    """It is a conflict that says who has, and how that ends."""
    good(kept.put("/v1/users/alex/opt-out", json={}))
    told = refused(kept.post("/v1/sessions/s1/regenerate", json={"first": 1}), 409, "conflict")
    assert "'alex' has opted out" in told["detail"]
    assert good(kept.get("/v1/proposals"))["items"] == []


def test_an_export_is_imported_elsewhere_and_again_adds_nothing(kept, tmp_path):
    """Word for word: what is exported there is what came."""
    export = kept.get("/v1/export").text
    with serving(Settings(database=str(tmp_path / "other.db")), worker=False) as other:
        for messages, duplicates in ((2, 0), (0, 2)):
            done = good(other.post("/v1/import", content=export, headers=LINES))
            assert (done["messages"], done["duplicates"], done["sessions"]) == (messages, duplicates, 1)
        theirs, ours = (one.get("/v1/sessions/s1/messages").json()["items"] for one in (other, kept))
        assert [one["text"] for one in theirs] == [one["text"] for one in ours]
        values = [
            sorted(fact["value"] for fact in one.get("/v1/users/alex/facts").json()["items"]) for one in (other, kept)
        ]
        assert values[0] == values[1] != []


def test_with_a_wrong_line_nothing_is_imported_and_each_is_named(kept):
    message = {"session_id": "s9", "user_id": "bo", "role": "user", "content": "Hello"}
    fact = {"type": "fact", "id": "f9", "user_id": "bo", "value": " "}
    body = lines(message, {**message, "role": "king"}, message) + "\n{not json\n" + lines([1], {"type": "x"}, fact)
    problem = refused(kept.post("/v1/import", content=body, headers=LINES), 400, "input")
    assert [one["at"] for one in problem["errors"]] == ["line 2", "line 4", "line 5", "line 6", "line 7"]
    assert "nothing was" in problem["detail"]
    refused(kept.get("/v1/sessions/s9"), 404, "not-found")
    lone = lines(message).replace("Hello", "\\ud800")
    refused(kept.post("/v1/import", content=lines(message) + "\n" + lone, headers=LINES), 400, "input")
    refused(kept.get("/v1/sessions/s9"), 404, "not-found")


def test_what_clashes_with_what_is_stored_ends_the_import_and_says_how_far_it_came(kept):
    said = {"session_id": "s9", "user_id": "alex", "role": "user", "content": "Hello", "id": "n1"}
    clash = {**said, "session_id": "s1", "id": "m1", "content": "Not what m1 says"}
    problem = refused(kept.post("/v1/import", content=lines(said, clash), headers=LINES), 409, "conflict")
    assert "line 2" in problem["detail"]
    assert "everything before it was imported" in problem["detail"]
    assert good(kept.get("/v1/messages/n1"))["text"] == "Hello"


def test_an_import_can_be_given_to_one_user(kept):
    said = {"session_id": "s9", "user_id": "bo", "role": "user", "content": "Hello"}
    good(kept.post("/v1/import", params={"user_id": "cy"}, content=lines(said), headers=LINES))
    assert good(kept.get("/v1/sessions/s9"))["user_id"] == "cy"


def test_moments_links_and_graphs(kept):
    """Told by hand, found again."""
    fact = kept.get("/v1/users/alex/facts").json()["items"][0]["id"]
    told = {"kind": "decision_made", "title": "Chose Lisbon", "significance": 0.9, "turns": [1, 1]}
    episode = good(kept.post("/v1/sessions/s1/episodes", json=told), 201)
    assert good(kept.post("/v1/sessions/s1/milestones", json={"title": "Half way"}), 201)["turn"] == 2
    link = good(kept.post("/v1/links", json={"source": fact, "target": episode["id"], "type": "supports"}), 201)
    graph = good(kept.get(f"/v1/memories/{fact}/graph", params={"depth": 1}))
    assert {node["id"] for node in graph["nodes"]} == {fact, episode["id"]}
    assert {"title", "value"} <= {name for node in graph["nodes"] for name in node}
    assert graph["links"] == [link]
    assert good(kept.get(f"/v1/memories/{fact}/graph", params={"types": "causes"}))["links"] == []
    assert [one["title"] for one in good(kept.get("/v1/sessions/s1/arc"))["key_moments"]] == ["Chose Lisbon"]
    record = good(kept.get("/v1/sessions/s1/conversation"))
    assert [one["title"] for one in record["milestones"]] == ["Chose Lisbon", "Half way"]
    assert [one["seq"] for one in record["recent"]] == [1, 2]
    refused(kept.post("/v1/sessions/s1/episodes", json={**told, "turns": [2, 1]}), 400, "input")


def test_a_summary_is_zoomed_into(service):
    """Word for word what it covers."""
    words = "left Porto for Lisbon with salt and cork " * 8
    roles = ("user", "assistant")
    said = [{"role": roles[number % 2], "content": f"Ship {number} {words}"} for number in range(80)]
    good(service.post("/v1/sessions/s1/messages", json={"messages": said}), 201)
    good(service.post("/v1/settle", json={}))
    summary = service.get("/v1/sessions/s1/summaries").json()["items"][0]
    covered = good(service.get(f"/v1/summaries/{summary['id']}/messages"))["items"]
    assert [one["seq"] for one in covered] == [*range(summary["covers"]["first"], summary["covers"]["last"] + 1)]
    assert good(service.post("/v1/retry", json={"session_id": "s1"})) == {"sessions": 0}
    assert good(service.post("/v1/repair", json={}))["problems"] == []
    assert good(service.get("/v1/users/default/consistency"))["items"] == []
