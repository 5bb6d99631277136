"""Changes that are made only if nothing has come between."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.server.rest.test_errors import refused
from tests.server.rest.test_routes import good, tell


@pytest.fixture
def kept(running, place):
    """A service on each kind of store that knows of Alex."""
    with running.over(place()) as served:
        yield tell(served)


def tag(service, path):
    return {"If-Match": service.get(path).headers["etag"]}


def test_a_session_is_changed_only_as_it_was_read(kept):
    """A message in between makes the tag stale, and nothing changes; reading it again helps."""
    path = "/v1/sessions/s1"
    first = tag(kept, path)
    kept.post(f"{path}/messages", json={"user_id": "alex", "messages": "One more thing"})
    stale = refused(kept.patch(path, json={"status": "ended", "outcome": "Done"}, headers=first), 412, "stale")
    assert "read it again" in stale["detail"]
    record = kept.get(f"{path}/conversation").json()
    assert (record["session"]["status"], record["milestones"]) == ("active", [])
    changed = kept.patch(path, json={"status": "paused"}, headers=tag(kept, path))
    assert good(changed)["status"] == "paused"
    assert changed.headers["etag"] == kept.get(path).headers["etag"] != first["If-Match"]
    again = kept.patch(path, json={"status": "active", "title": "Tea"}, headers={"If-Match": changed.headers["etag"]})
    assert (good(again)["status"], good(again)["title"]) == ("active", "Tea")
    refused(kept.patch(path, json={"title": "Milk"}, headers={"If-Match": changed.headers["etag"]}), 412, "stale")
    assert kept.get(path).json()["title"] == "Tea"


def test_a_fact_is_changed_and_retracted_only_as_it_was_read(kept):
    """A new version has a tag and an address of its own; use of a fact leaves its tag."""
    fact = kept.get("/v1/users/alex/facts").json()["items"][0]["id"]
    path = f"/v1/facts/{fact}"
    first = tag(kept, path)
    assert tag(kept, path) == first
    changed = kept.patch(path, json={"value": "Lisbon"}, headers=first)
    new = good(changed)["id"]
    assert changed.headers["content-location"] == f"/v1/facts/{new}"
    assert changed.headers["etag"] == kept.get(f"/v1/facts/{new}").headers["etag"]
    for change in ({"value": "Faro"}, {"standing": "promoted"}, {"standing": "demoted"}):
        refused(kept.patch(path, json=change, headers=first), 412, "stale")
    refused(kept.delete(path, headers=first), 412, "stale")
    assert len(kept.get(f"{path}/history").json()["items"]) == 2
    assert good(kept.delete(f"/v1/facts/{new}", headers=tag(kept, f"/v1/facts/{new}")))["status"] == "retracted"


def test_only_who_reads_a_fact_uses_it(kept):
    """Not who only looks at it, nor who changes it as it was looked at."""

    def uses():
        good(kept.post("/v1/settle", json={}))
        return kept.get("/v1/users/alex/facts").json()["items"][0]["accesses"]

    path = f"/v1/facts/{kept.get('/v1/users/alex/facts').json()['items'][0]['id']}"
    looked = kept.get(path, params={"record_access": False})
    good(kept.patch(path, json={"standing": "promoted"}, headers={"If-Match": looked.headers["etag"]}))
    assert uses() == 0
    assert good(kept.get(path))["accesses"] == 0
    assert uses() == 1


def test_of_many_with_one_tag_one_comes_through(kept):
    path = "/v1/sessions/s1"
    fact = f"/v1/facts/{kept.get('/v1/users/alex/facts').json()['items'][0]['id']}"
    for address, body in ((path, {"status": "ended"}), (fact, {"value": "Faro"})):
        seen = tag(kept, address)
        with ThreadPoolExecutor(8) as pool:
            changes = [pool.submit(kept.patch, address, json=body, headers=seen) for _ in range(8)]
        assert sorted(change.result().status_code for change in changes) == [200] + [412] * 7


@pytest.mark.parametrize(
    ("given", "status"),
    [("*", 200), ('"other", {}', 200), ("{} ,\t{}", 200), ('"other"', 412), ('""', 412), ("W/{}", 400), ("x", 400)],
)
def test_what_if_match_may_say(service, given, status):
    path = "/v1/sessions/s1"
    service.post(f"{path}/messages", json={"messages": "hi"})
    seen = given.replace("{}", tag(service, path)["If-Match"])
    assert service.patch(path, json={"status": "paused"}, headers={"If-Match": seen}).status_code == status
    assert service.get(path).json()["status"] == ("paused" if status == 200 else "active")
