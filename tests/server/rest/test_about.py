"""What the service tells of itself, and who did what."""

import pytest

from lamina import __version__
from lamina.profiles import PROFILES, profile_named
from lamina.server.audit import Audit, Audits
from lamina.settings import Settings
from lamina.testing import FakeClock
from tests.http_service import made_key, serving
from tests.server.rest.test_errors import refused
from tests.waiting import wait_until


def test_about_says_who_asks_and_which_rules_hold(service):
    told = service.get("/v1/about").json()
    assert (told["version"], told["tenant"], told["role"]) == (__version__, "default", "admin")
    assert (told["profile"], told["profiles"]) == ("default", sorted(PROFILES))
    assert told["weights"] == pytest.approx(
        {"semantic": 0.4, "keyword": 0.3, "recency": 0.2, "importance": 0.1, "access": 0}
    )
    assert told["relevance_threshold"] == PROFILES["default"].relevance_threshold
    assert told["prompt_token_budget"] == PROFILES["default"].budget
    assert (told["chat_model"], told["proxy"]) == (None, False)
    assert told["max_body_bytes"] == service.settings.max_body_bytes
    reader = service.with_key(service.key("read", tenant="ours"))
    theirs = reader.get("/v1/about").json()
    assert (theirs["tenant"], theirs["role"]) == ("ours", "read")


def test_about_has_the_values_of_the_profile_that_is_used(tmp_path):
    profile = profile_named("project").but(semantic_weight=1.0, keyword_weight=1.0, budget=777)
    with serving(Settings(database=str(tmp_path / "a.db"), profile=profile), worker=False) as service:
        told = service.get("/v1/about").json()
    assert (told["profile"], told["prompt_token_budget"]) == ("project", 777)
    assert told["weights"]["semantic"] == told["weights"]["keyword"] == pytest.approx(1 / 2.3)


@pytest.mark.parametrize(
    ("given", "model", "proxy"),
    [
        ({}, None, False),
        ({"llm_model": "small"}, "small", True),
        ({"llm_base_url": "http://a.test/v1", "llm_model": "small"}, "small", True),
        ({"proxy_base_url": "http://b.test/v1"}, None, True),
        ({"proxy_base_url": "http://b.test/v1", "llm_base_url": "http://a.test/v1", "llm_model": "small"}, None, True),
    ],
)
def test_the_proxy_is_told_of_if_somebody_chose_an_endpoint(given, model, proxy):
    """The model is named where the settings name the one of that endpoint."""
    settings = Settings(**given)
    assert (settings.proxy_model(), settings.has_proxy()) == (model, proxy)


def test_the_audit_has_who_did_what_newest_first_by_tenant(service):
    """In pages; with the request's id and never with words; what another tenant did is not there."""
    key, secret = made_key(service.settings, "admin")
    admin = service.with_key(secret)
    other = service.with_key(service.key("admin", tenant="other"))
    other.get("/v1/users")
    admin.post("/v1/sessions/s1/messages", json={"messages": "Heron nests"}, headers={"X-Request-ID": "first"})
    admin.get("/v1/sessions/none", headers={"X-Request-ID": "second"})
    service.get("/v1/sessions")

    wait_until(lambda: len(admin.get("/v1/audit").json()["items"]) >= 2)  # they are noted once the answer was sent
    lines = admin.get("/v1/audit").json()["items"][-2:]
    assert [(line["request"], line["key"], line["verb"], line["outcome"]) for line in lines] == [
        ("second", key.id, "get_session", 404),
        ("first", key.id, "add_messages", 201),
    ]
    assert lines[0]["at"] > lines[1]["at"]
    assert set(lines[0]) == {"at", "key", "verb", "outcome", "request", "ms"}
    found: list[dict[str, str]] = []
    cursor = None
    while cursor is not None or not found:
        page = admin.get("/v1/audit", params={"limit": 1, **({"cursor": cursor} if cursor else {})}).json()
        found += page["items"]
        cursor = page["next"]
    assert [line["request"] for line in found][-2:] == ["second", "first"]
    assert len({line["request"] for line in found}) == len(found)
    everything = admin.get("/v1/audit").text + other.get("/v1/audit").text
    assert "Heron" not in everything
    assert {line["verb"] for line in other.get("/v1/audit").json()["items"]} <= {"list_users", "list_audit"}


def test_a_made_up_cursor_of_the_audit_is_refused(service):
    cursor = service.get("/v1/users").json()["next"] or "audit:none"
    refused(service.get("/v1/audit", params={"cursor": cursor}), 400, "input")


def test_the_audit_keeps_the_newest_thousand():
    audits, clock = Audits(), FakeClock()
    for number in range(1500):
        audit = Audit(at=clock(), key=None, verb="v", outcome=200, request=str(number), ms=1.0)
        audits.add(audit, "even" if number % 2 == 0 else "odd")
    kept = [audit.request for _, audit in audits.newest("even")]
    assert (len(kept), kept[0], kept[-1]) == (500, "1498", "500")
