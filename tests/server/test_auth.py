"""Who may come in: keys, roles, tenants."""

import asyncio
import re
from datetime import timedelta

import httpx2
import pytest

from lamina.errors import LaminaError
from lamina.server.app import create_app
from lamina.settings import Settings
from lamina.tenancy.open_tenants import tenants
from tests.http_service import made_key
from tests.server.rest.test_errors import refused
from tests.waiting import wait_until

MESSAGES = "/v1/sessions/s1/messages"


def test_once_there_is_a_key_nobody_comes_in_without(service):
    """Also while the service runs; the pages about the service itself stay open."""
    assert service.get("/v1/sessions").status_code == 200
    secret = service.key("read")
    response = service.get("/v1/sessions")
    assert "Bearer lam_" in refused(response, 401, "key-needed")["detail"]
    assert response.headers["www-authenticate"] == "Bearer"
    for path in ("/healthz", "/readyz", "/version", "/openapi.json"):
        assert service.get(path).status_code == 200
    for path in ("/metrics", "/v1/none", "/else"):
        assert service.get(path).status_code == 401
    assert service.with_key(secret).get("/metrics").status_code == 200


def test_a_key_is_shown_in_any_of_the_usual_ways(service):
    secret = service.key("read")
    for headers in (
        {"Authorization": f"Bearer {secret}"},
        {"Authorization": f"bearer  {secret}"},
        {"Authorization": f"Token {secret}"},
        {"X-API-Key": secret},
    ):
        assert service.get("/v1/sessions", headers=headers).status_code == 200
    assert service.get(f"/v1/sessions?api_key={secret}").status_code == 401


@pytest.mark.parametrize(
    "shown",
    ["", "Bearer", "Bearer lam_", "Bearer lam_wrong", "Bearer {}x", "Basic {}", "{}", "Bearer sk-{}",
     "Bearer {} {}", "Bearer \u00fc"],
)  # fmt: skip
def test_what_is_no_key_is_refused(service, shown):
    headers = {"Authorization": shown.replace("{}", service.key("admin")).encode("latin-1")}
    refused(service.get("/v1/sessions", headers=headers), 401, "key-needed")


DUMMIES = ({"Authorization": "Bearer dummy"}, {"Authorization": "Token m0-any"}, {"X-API-Key": "sk-none"})


@pytest.mark.parametrize("shown", DUMMIES)
def test_while_there_are_no_keys_any_word_in_place_of_one_is_let_in(service, shown):
    """Clients of OpenAI and mem0 always send one. Once there is a key, the same word is refused."""
    for path in ("/v1/sessions", "/v1/ping/", "/metrics"):
        assert service.get(path, headers=shown).status_code == 200
    service.key("read")
    for path in ("/v1/sessions", "/v1/ping/", "/metrics"):
        assert service.get(path, headers=shown).status_code == 401


def test_a_key_of_another_store_is_refused_where_there_are_none(service):
    """Whoever shows it means another database; nothing is written into the wrong one."""
    told = refused(service.get("/v1/sessions", headers={"X-API-Key": "lam_of-another"}), 401, "key-needed")
    assert "LAMINA_DATABASE" in told["detail"]


def test_an_expired_key_and_a_revoked_one_are_refused(service):
    expired = service.key("admin", lasts=timedelta(microseconds=1))
    key, revoked = made_key(service.settings, "admin")
    client = service.with_key(revoked)
    assert client.get("/v1/sessions").status_code == 200

    async def revoke():
        async with tenants(service.settings.database, worker=False) as held:
            await held.keys("default").revoke(key.id)

    asyncio.run(revoke())  # as another process does: a look-up is believed for a second
    wait_until(lambda: client.get("/v1/sessions").status_code == 401)
    for one in (client, service.with_key(expired)):
        refused(one.get("/v1/sessions"), 401, "key-needed")


def test_a_key_that_the_service_revokes_or_follows_is_refused_from_then_on(service):
    """Though it was let in just before."""
    admin = service.with_key(service.key("admin"))
    for change in ("revoke", "rotate"):
        key, secret = made_key(service.settings, "read")
        client = service.with_key(secret)
        assert client.get("/v1/sessions").status_code == 200
        done = (
            admin.delete(f"/v1/keys/{key.id}")
            if change == "revoke"
            else admin.post(f"/v1/keys/{key.id}/rotate", json={})
        )
        assert done.is_success
        refused(client.get("/v1/sessions"), 401, "key-needed")


ROLES = ("read", "write", "admin")
NEEDS = {
    ("GET", "/v1/sessions"): "read",
    ("GET", MESSAGES): "read",
    ("GET", "/v1/sessions/s1"): "read",
    ("GET", "/v1/sessions/s1/summaries"): "read",
    ("GET", "/v1/sessions/s1/outline"): "read",
    ("GET", "/v1/sessions/s1/brief"): "read",
    ("POST", "/v1/context"): "read",
    ("POST", "/v1/search"): "read",
    ("POST", "/v1/search/explained"): "read",
    ("GET", "/v1/users/u/facts"): "read",
    ("GET", "/v1/facts/f"): "read",
    ("GET", "/v1/facts/f/history"): "read",
    ("GET", "/v1/facts/f/why"): "read",
    ("GET", "/v1/users/u/episodes"): "read",
    ("GET", "/v1/users/u/profile"): "read",
    ("GET", "/v1/users/u/digest"): "read",
    ("GET", "/v1/receipts"): "read",
    ("PUT", "/v1/users/u/opt-out"): "write",
    ("DELETE", "/v1/users/u/opt-out"): "write",
    ("GET", "/v1/opt-outs"): "read",
    ("GET", "/v1/costs"): "read",
    ("GET", "/v1/stats"): "read",
    ("GET", "/v1/users"): "read",
    ("GET", "/v1/events"): "read",
    ("GET", "/v1/sessions/s1/conversation"): "read",
    ("GET", "/v1/sessions/s1/arc"): "read",
    ("GET", "/v1/messages/m"): "read",
    ("GET", "/v1/summaries/x/messages"): "read",
    ("GET", "/v1/memories/x/graph"): "read",
    ("GET", "/v1/users/u/consistency"): "read",
    ("GET", "/v1/users/u/fading"): "read",
    ("GET", "/v1/proposals"): "read",
    ("POST", "/v1/sessions/s1/milestones"): "write",
    ("POST", "/v1/sessions/s1/episodes"): "write",
    ("POST", "/v1/links"): "write",
    ("POST", "/v1/retry"): "write",
    ("POST", "/v1/repair"): "admin",
    ("POST", "/v1/sessions/s1/regenerate"): "write",
    ("POST", "/v1/proposals/x/accept"): "write",
    ("POST", "/v1/proposals/x/roll-back"): "write",
    ("POST", "/v1/import"): "admin",
    ("GET", "/v1/backlog"): "read",
    ("GET", "/v1/workers"): "read",
    ("GET", "/metrics"): "read",
    ("GET", "/v1/about"): "read",
    ("GET", "/v1/audit"): "admin",
    ("POST", "/v1/jobs/demo"): "admin",
    ("POST", "/v1/jobs/import"): "admin",
    ("GET", "/v1/jobs"): "admin",
    ("GET", "/v1/jobs/j"): "admin",
    ("POST", MESSAGES): "write",
    ("PATCH", "/v1/sessions/s1"): "write",
    ("POST", "/v1/users/u/facts"): "write",
    ("PATCH", "/v1/facts/f"): "write",
    ("DELETE", "/v1/facts/f"): "write",
    ("POST", "/v1/settle"): "write",
    ("POST", "/v1/forget"): "write",
    ("POST", "/v1/consolidate"): "admin",
    ("POST", "/v1/verify"): "admin",
    ("GET", "/v1/export"): "admin",
    ("POST", "/v1/keys"): "admin",
    ("GET", "/v1/keys"): "admin",
    ("DELETE", "/v1/keys/k"): "admin",
    ("POST", "/v1/keys/k/rotate"): "admin",
    ("GET", "/v1/tenants"): "admin",
    ("POST", "/v1/tenants/t/keys"): "admin",
}
NAMES = {
    "session_id": "s1", "user_id": "u", "fact_id": "f", "message_id": "m", "key_id": "k", "tenant": "t",
    "summary_id": "x", "memory_id": "x", "proposal_id": "x", "job_id": "j",
}  # fmt: skip


def test_every_route_asks_for_its_role_before_it_looks_at_the_body(service):
    """A key with a smaller role is refused; one that is large enough gets past, if only to be told of its body."""
    schema = service.get("/openapi.json").json()["paths"]
    known = {
        (verb.upper(), path.format(**NAMES))
        for path, operations in schema.items()
        for verb, operation in operations.items()
        if "security" in operation
    }
    assert known == set(NEEDS)
    for role in ROLES:
        client = service.with_key(service.key(role))
        for (verb, path), least in NEEDS.items():
            body = {} if verb in {"GET", "DELETE"} else {"json": {"x": 1}}
            with client.stream(verb, path, **body) as response:  # some answers have no end
                status = response.status_code
            assert (status == 403) == (ROLES.index(role) < ROLES.index(least)), f"{role} {verb} {path}: {status}"
            assert status != 401


def test_a_tenant_never_sees_another(service):
    """The ids of one are not there for the other, whatever is asked; nor does the export have them."""
    ours, theirs = (service.with_key(service.key("admin", tenant=name)) for name in ("ours", "theirs"))
    ours.post(MESSAGES, json={"user_id": "ann", "messages": {"role": "user", "content": "Heron nests", "id": "m1"}})
    fact = ours.post("/v1/users/ann/facts", json={"text": "Heron watcher"}).json()["id"]
    for verb, path, body in (
        ("GET", "/v1/sessions/s1", None),
        ("GET", MESSAGES, None),
        ("GET", "/v1/sessions/s1/summaries", None),
        ("PATCH", "/v1/sessions/s1", {"status": "ended"}),
        ("GET", f"/v1/facts/{fact}", None),
        ("GET", f"/v1/facts/{fact}/why", None),
        ("PATCH", f"/v1/facts/{fact}", {"value": "x"}),
        ("DELETE", f"/v1/facts/{fact}", None),
        ("POST", "/v1/forget", {"fact_id": fact}),
        ("POST", "/v1/verify", {"session_id": "s1"}),
        ("GET", "/v1/sessions/s1/conversation", None),
        ("GET", "/v1/sessions/s1/arc", None),
        ("GET", "/v1/messages/m1", None),
        ("GET", f"/v1/memories/{fact}/graph", None),
        ("POST", "/v1/links", {"source": fact, "target": fact}),
        ("POST", "/v1/sessions/s1/milestones", {"title": "x"}),
        ("POST", "/v1/sessions/s1/episodes", {"kind": "pivot", "title": "x"}),
        ("POST", "/v1/sessions/s1/regenerate", {}),
        ("POST", "/v1/repair", {"session_id": "s1"}),
        ("POST", "/v1/retry", {"session_id": "s1"}),
    ):
        refused(theirs.request(verb, path, json=body), 404, "not-found")
    for path in (
        "/v1/sessions",
        "/v1/users/ann/facts",
        "/v1/users/ann/episodes",
        "/v1/receipts",
        "/v1/workers",
        "/v1/proposals",
    ):
        assert theirs.get(path).json()["items"] == []
    assert theirs.post("/v1/search", json={"query": "Heron", "user_id": "ann"}).json()["items"] == []
    assert "Heron" not in theirs.get("/v1/export").text
    theirs.post("/v1/forget", json={"user_id": "ann"})
    assert ours.get(MESSAGES).json()["items"][0]["text"] == "Heron nests"
    assert ours.get(f"/v1/facts/{fact}").json()["status"] == "active"


def test_only_a_hash_of_a_key_is_stored(place):
    settings = Settings(database=str(place()))
    key, secret = made_key(settings)
    assert re.fullmatch(r"lam_[\w-]{43}", secret)
    assert secret not in repr(key)
    assert secret.lower().encode() not in place.every_byte()


def test_the_last_use_is_known_to_the_hour(service):
    key, secret = made_key(service.settings, "read")
    assert key.used_at is None
    for _ in range(2):
        service.with_key(secret).get("/v1/sessions")

    async def used():
        async with tenants(service.settings.database, worker=False) as held:
            return [one.used_at for one in await held.keys("default").all()]

    (at,) = asyncio.run(used())
    assert at is not None
    assert (at.minute, at.second) == (0, 0)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "memory.lan"])
def test_a_public_address_without_a_key_is_refused(tmp_path, host):
    """With what to do; with a key it begins."""
    settings = Settings(database=str(tmp_path / "a.db"))

    async def begin():
        app = create_app(settings, host=host, worker=False)
        async with app.router.lifespan_context(app):
            client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://any.example")
            async with client:
                return [(await client.get(path)).status_code for path in ("/healthz", "/v1/sessions")]

    with pytest.raises(LaminaError, match="lamina keys create NAME"):
        asyncio.run(begin())
    made_key(settings)
    assert asyncio.run(begin()) == [200, 401]


@pytest.mark.parametrize(
    ("name", "role", "lasts", "complaint"),
    [
        ("", "read", None, "name"),
        (" ", "read", None, "name"),
        ("a\nb", "read", None, "name"),
        ("x" * 201, "read", None, "name"),
        ("a", "root", None, "there are"),
        ("a", "read", timedelta(0), "some time"),
    ],
)
def test_a_key_without_name_role_or_time_is_refused(tmp_path, name, role, lasts, complaint):
    async def make():
        async with tenants(tmp_path / "a.db", worker=False) as held:
            await held.keys("default").create(name, role, lasts)

    with pytest.raises(LaminaError, match=complaint):
        asyncio.run(make())


def test_audit_lines_say_who_did_what_and_never_what_was_said(service, caplog):
    """With the id of the key, not the key; of who was turned away, too."""
    caplog.set_level("INFO", "lamina.audit")
    key, secret = made_key(service.settings, "write")
    service.with_key(secret).post(MESSAGES, json={"messages": "Heron nests"})
    service.get("/v1/users/ann/facts")

    def audits():
        return [record for record in caplog.records if record.getMessage() == "audit"]

    wait_until(lambda: len(audits()) == 2)  # each is written just after its answer was sent
    told = [(line.key, line.tenant, line.verb, line.outcome) for line in audits()]
    assert told == [(key.id, "default", "add_messages", 201), (None, None, "other", 401)]
    everything = " ".join(str(record.__dict__) for record in caplog.records if record.name.startswith("lamina"))
    assert not any(word in everything for word in ("Heron", secret, "ann/facts"))


@pytest.mark.also_postgres
def test_keys_work_where_the_rows_of_tenants_are_kept_apart(running, place):
    """On each kind of store: found before the tenant is known, then only that tenant is seen."""
    _, secret = made_key(Settings(database=str(place())), "write", tenant="ours")
    with running.over(place()) as service:
        client = service.with_key(secret)
        assert client.post(MESSAGES, json={"messages": "hi"}).status_code == 201
        assert service.with_key(service.key("read")).get("/v1/sessions").json()["items"] == []
        assert [one["id"] for one in client.get("/v1/sessions").json()["items"]] == ["s1"]
