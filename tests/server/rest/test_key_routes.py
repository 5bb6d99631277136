"""Keys and tenants over HTTP."""

from datetime import datetime, timedelta

import pytest

from tests.server.rest.test_errors import refused


@pytest.fixture
def kept(running, place):
    """The service on each kind of store, and an admin of its own tenant."""
    with running.over(place()) as served:
        yield served, served.with_key(served.key("admin"))


def lives(key):
    return datetime.fromisoformat(key["expires_at"]) - datetime.fromisoformat(key["created_at"])


def test_a_key_is_made_shown_once_listed_and_revoked(kept):
    """It opens the door from its making until it is revoked; afterwards it is still in the list."""
    service, admin = kept
    made = admin.post("/v1/keys", json={"name": "phone", "role": "read", "expires": "90d"})
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    key = made.json()
    assert (key["role"], key["tenant"], lives(key)) == ("read", "default", timedelta(days=90))
    client = service.with_key(key["key"])
    assert client.get("/v1/sessions").status_code == 200
    listed = admin.get("/v1/keys")
    assert key["key"] not in listed.text
    assert [one["name"] for one in listed.json()["items"]] == ["a admin key", "phone"]
    assert admin.delete(f"/v1/keys/{key['id']}").json()["revoked_at"] is not None
    refused(client.get("/v1/sessions"), 401, "key-needed")
    assert [one["revoked_at"] is None for one in admin.get("/v1/keys").json()["items"]] == [True, False]


def test_the_first_key_can_be_made_over_http(service):
    """While there is none, whoever is on the machine may; from then on it is needed."""
    secret = service.post("/v1/keys", json={"name": "first", "role": "admin"}).json()["key"]
    refused(service.get("/v1/sessions"), 401, "key-needed")
    assert service.with_key(secret).get("/v1/sessions").status_code == 200


def test_a_key_that_is_rotated_has_a_successor_of_its_kind(kept):
    """With an overlap both do, and the old one gets an end; without one only the new one does."""
    service, admin = kept
    old = admin.post("/v1/keys", json={"name": "phone", "role": "read", "expires": "90d"}).json()
    new = admin.post(f"/v1/keys/{old['id']}/rotate", json={"overlap": "24h"}).json()
    assert new["key"] != old["key"]
    assert [new[field] for field in ("name", "role", "tenant")] == [old[field] for field in ("name", "role", "tenant")]
    assert lives(new) == timedelta(days=90)
    for one in (old, new):
        assert service.with_key(one["key"]).get("/v1/sessions").status_code == 200
    listed = {one["id"]: one for one in admin.get("/v1/keys").json()["items"]}
    ends = datetime.fromisoformat(listed[old["id"]]["expires_at"])
    assert ends == datetime.fromisoformat(new["created_at"]) + timedelta(hours=24)
    last = admin.post(f"/v1/keys/{new['id']}/rotate", json={"expires": "1w"}).json()
    assert lives(last) == timedelta(weeks=1)
    refused(service.with_key(new["key"]).get("/v1/sessions"), 401, "key-needed")
    assert service.with_key(last["key"]).get("/v1/sessions").status_code == 200


def test_a_key_without_an_end_has_a_successor_without_one(kept):
    _, admin = kept
    old = admin.post("/v1/keys", json={"name": "phone"}).json()
    assert admin.post(f"/v1/keys/{old['id']}/rotate", json={}).json()["expires_at"] is None


def test_what_is_not_let_in_any_more_has_no_successor(kept):
    _, admin = kept
    old = admin.post("/v1/keys", json={"name": "phone"}).json()
    admin.delete(f"/v1/keys/{old['id']}")
    refused(admin.post(f"/v1/keys/{old['id']}/rotate", json={}), 409, "conflict")
    refused(admin.post("/v1/keys/key_none/rotate", json={}), 404, "not-found")
    refused(admin.delete("/v1/keys/key_none"), 404, "not-found")
    assert len(admin.get("/v1/keys").json()["items"]) == 2


def test_an_expired_key_has_no_successor(service):
    service.key("read", lasts=timedelta(microseconds=1))
    admin = service.with_key(service.key("admin"))
    (expired, _) = admin.get("/v1/keys").json()["items"]
    refused(admin.post(f"/v1/keys/{expired['id']}/rotate", json={"overlap": "24h"}), 409, "conflict")


def test_the_operator_sets_up_a_tenant_whose_admin_sees_only_that(kept):
    """Its admin makes keys for itself, and neither sees, revokes nor rotates those of others."""
    service, operator = kept
    assert operator.get("/v1/tenants").json()["items"] == [{"tenant": "default"}]
    made = operator.post("/v1/tenants/acme/keys", json={"name": "acme's admin", "role": "admin"}).json()
    acme = service.with_key(made["key"])
    own = acme.post("/v1/keys", json={"name": "acme's app"}).json()
    assert (made["tenant"], own["tenant"]) == ("acme", "acme")
    assert [one["tenant"] for one in operator.get("/v1/tenants").json()["items"]] == ["acme", "default"]
    assert acme.get("/v1/tenants").json()["items"] == [{"tenant": "acme"}]
    assert [one["name"] for one in acme.get("/v1/keys").json()["items"]] == ["acme's admin", "acme's app"]
    (others,) = operator.get("/v1/keys").json()["items"]
    refused(acme.delete(f"/v1/keys/{others['id']}"), 404, "not-found")
    refused(acme.post(f"/v1/keys/{others['id']}/rotate", json={}), 404, "not-found")
    for tenant in ("acme", "default", "new"):
        refused(acme.post(f"/v1/tenants/{tenant}/keys", json={"name": "x"}), 403, "not-allowed")
    assert operator.get("/v1/sessions").status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "status", "kind"),
    [
        ("/v1/keys", {}, 422, "shape"),
        ("/v1/keys", {"name": " "}, 400, "input"),
        ("/v1/keys", {"name": "a\nb"}, 400, "input"),
        ("/v1/keys", {"name": "a", "role": "root"}, 422, "shape"),
        ("/v1/keys", {"name": "a", "expires": "soon"}, 422, "shape"),
        ("/v1/keys", {"name": "a", "expires": "999999w"}, 400, "input"),
        ("/v1/tenants/*/keys", {"name": "a"}, 400, "input"),
        ("/v1/tenants/%20/keys", {"name": "a"}, 400, "input"),
    ],
)
def test_what_can_be_no_key_is_refused(service, path, body, status, kind):
    refused(service.post(path, json=body), status, kind)
    assert service.get("/v1/keys").json()["items"] == []


def test_a_key_in_its_overlap_is_not_rotated_again(kept):
    """Its successor is; so there is one line of keys, and no second one that nobody knows of."""
    _, admin = kept
    old = admin.post("/v1/keys", json={"name": "phone", "role": "read"}).json()
    new = admin.post(f"/v1/keys/{old['id']}/rotate", json={"overlap": "24h"}).json()
    for overlap in ({}, {"overlap": "24h"}):
        told = refused(admin.post(f"/v1/keys/{old['id']}/rotate", json=overlap), 409, "conflict")["detail"]
        assert f"rotate its successor '{new['id']}'" in told
    assert len([one for one in admin.get("/v1/keys").json()["items"] if one["name"] == "phone"]) == 2
    assert admin.post(f"/v1/keys/{new['id']}/rotate", json={"overlap": "24h"}).status_code == 201
