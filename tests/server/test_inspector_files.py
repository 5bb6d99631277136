"""The inspector's files: who gets them, with which headers, and what is not one of them."""

import gzip
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from shutil import copy, copytree, ignore_patterns

import pytest

from lamina.server.inspector.page_files import KINDS, PACKAGED
from lamina.settings import Settings
from tests.http_service import serving
from tests.server.rest.test_errors import refused
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
SCRIPT = "export const layers = [" + "1, 2, 3, " * 200 + "];\n"
INDEX = '<!doctype html><script type="module" src="/assets/index-4f2a.js"></script>\n'
STRICT = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
ASSET = "/assets/index-4f2a.js"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A small page as the build leaves one, with something next to it that is none of its files."""
    beside = tmp_path_factory.mktemp("beside")
    folder = beside / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX, "utf-8")
    (folder / "assets" / "index-4f2a.js").write_text(SCRIPT, "utf-8")
    (folder / "assets" / "dot-1b.png").write_bytes(bytes(range(64)))
    (folder / "assets" / "notes.md").write_text("not built", "utf-8")
    (folder / "assets" / ".hidden.js").write_text("hidden", "utf-8")
    (beside / "secret.js").write_text("secret", "utf-8")
    return folder


@pytest.fixture(scope="module")
def showing(page):
    with serving(Settings(database=":memory:"), worker=False, page=page) as served:
        yield served


@pytest.fixture
def shown(showing, tmp_path):
    """A service with that page, on an empty file."""
    with showing.over(tmp_path / "chat.db") as served:
        yield served


def directives(response) -> dict[str, str]:
    parts = (part.strip().partition(" ") for part in response.headers["content-security-policy"].split(";"))
    return {name: value for name, _, value in parts}


def check_guarded(response) -> None:
    """Nothing but our own files, no frame around it, no word of it to others."""
    assert {name: response.headers[name] for name in STRICT} == STRICT
    assert "geolocation=()" in response.headers["permissions-policy"]
    rules = directives(response)
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == rules["font-src"] == "'self'"
    assert "unsafe" not in response.headers["content-security-policy"]


def test_the_page_and_its_files_come_with_strict_headers(shown):
    index, asset = shown.get("/"), shown.get(ASSET)
    assert (index.status_code, index.text, index.headers["content-type"]) == (200, INDEX, "text/html; charset=utf-8")
    assert (asset.status_code, asset.text) == (200, SCRIPT)
    assert asset.headers["content-type"] == "text/javascript; charset=utf-8"
    for response in (index, asset):
        check_guarded(response)


def test_files_are_kept_for_good_and_the_page_is_asked_for_again(shown):
    """A browser that has the page of this build is told so in a few bytes."""
    index = shown.get("/")
    assert index.headers["cache-control"] == "no-cache"
    assert shown.get(ASSET).headers["cache-control"] == "public, max-age=31536000, immutable"
    again = shown.get("/", headers={"If-None-Match": f'"other", W/{index.headers["etag"]}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", index.headers["etag"])
    check_guarded(again)
    assert shown.get("/", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "zipped"),
    [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("*", True),
        ("gzip;q=0, *", False),
        ("gzip;q=much", False),
        ("br", False),
        ("identity", False),
    ],
)
def test_files_are_compressed_for_whoever_takes_that(shown, accepted, zipped):
    with shown.client.stream("GET", ASSET, headers={"Accept-Encoding": accepted}) as response:
        raw = b"".join(response.iter_raw())
    assert response.headers.get("content-encoding") == ("gzip" if zipped else None)
    assert (gzip.decompress(raw) if zipped else raw).decode() == SCRIPT
    assert response.headers["vary"] == "Accept-Encoding"
    assert int(response.headers["content-length"]) == len(raw)


def test_what_gzip_gains_nothing_on_is_sent_as_it_is(shown):
    response = shown.get("/assets/dot-1b.png")
    assert (response.content, response.headers["content-type"]) == (bytes(range(64)), "image/png")
    assert "content-encoding" not in response.headers


def test_compressed_and_plain_have_tags_of_their_own(shown):
    tags = {shown.get(ASSET, headers={"Accept-Encoding": way}).headers["etag"] for way in ("gzip", "identity")}
    assert len(tags) == 2


@pytest.mark.parametrize("path", ["/", ASSET])
def test_head_has_the_headers_alone(shown, path):
    response = shown.head(path)
    assert (response.status_code, response.content) == (200, b"")
    assert int(response.headers["content-length"]) > 0
    check_guarded(response)


@pytest.mark.parametrize(
    "path",
    [
        "/assets/none.js",
        "/assets/",
        "/assets/notes.md",
        "/assets/.hidden.js",
        "/assets/..%2Findex.html",
        "/assets/..%2F..%2Fsecret.js",
        "/assets/%2E%2E",
        "/assets/%00.js",
        "/assets/a%5Cb.js",
        "/assets/assets/index-4f2a.js",
        "/assets/" + "a" * 300 + ".js",
    ],
)
def test_only_built_files_are_there(shown, path):
    response = shown.get(path)
    refused(response, 404, "not-found")
    check_guarded(response)


@pytest.mark.parametrize("path", ["/index.html", "/inspector", "/page/index.html", "/assets"])
def test_no_other_address_shows_the_page(shown, path):
    refused(shown.get(path), 404, "not-found")


@pytest.mark.parametrize("path", ["/", ASSET])
def test_files_cannot_be_written_to(shown, path):
    response = shown.post(path, json={})
    refused(response, 405, "method")
    assert set(response.headers["allow"].replace(" ", "").split(",")) == {"GET", "HEAD"}
    check_guarded(response)


def test_the_page_is_open_and_what_it_asks_for_is_not(shown):
    """Files hold no data: they need no key, also once there is one; everything under /v1 does."""
    shown.key("read")
    assert shown.get("/").status_code == shown.get(ASSET).status_code == 200
    for path in ("/v1/sessions", "/metrics", "/assets", "/index.html"):
        refused(shown.get(path), 401, "key-needed")


def test_the_page_is_behind_the_name_and_the_limits(page, tmp_path, standing_still):
    """Another site's name for this machine gets nothing, and who asks too often waits."""
    settings = Settings(database=str(tmp_path / "chat.db"), max_requests_per_minute=3)
    with serving(settings, worker=False, page=page) as service:
        wrong = service.get("/", headers={"Host": "evil.example"})
        refused(wrong, 421, "host")
        check_guarded(wrong)
        assert [service.get(ASSET).status_code for _ in range(4)] == [200, 200, 200, 429]


def test_loading_the_page_is_in_no_audit_log(shown, caplog):
    with caplog.at_level("INFO", logger="lamina.audit"):
        shown.get("/")
        shown.get(ASSET)
        shown.get("/v1/sessions")
        wait_until(lambda: caplog.records)  # it is noted once the answer was sent
    assert [record.verb for record in caplog.records if record.message == "audit"] == ["list_sessions"]


def test_the_page_is_no_part_of_the_schema(shown):
    assert not [path for path in shown.get("/openapi.json").json()["paths"] if path == "/" or "assets" in path]


def test_without_a_page_it_is_said_how_to_build_one(tmp_path):
    with serving(Settings(database=str(tmp_path / "chat.db")), worker=False, page=tmp_path / "none") as service:
        response = service.get("/")
        assert "npm run build" in refused(response, 404, "not-found")["detail"]
        check_guarded(response)


def test_wheel_and_source_archive_have_the_page(page, tmp_path):
    """Who installs Lamina needs no Node: the built files come along, as they are."""
    folder = tmp_path / "project"
    copytree(ROOT / "src", folder / "src", ignore=ignore_patterns("__pycache__", "*.jsonl", "*.npz", "*.npy", "*.bin"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE", ".gitignore"):
        copy(ROOT / name, folder)
    inside = folder / PACKAGED.relative_to(ROOT)
    copytree(page, inside, dirs_exist_ok=True)
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / "dist")],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    [wheel], [source] = (list((tmp_path / "dist").glob(kind)) for kind in ("*.whl", "*.tar.gz"))
    files = {file.relative_to(folder / "src").as_posix() for file in inside.rglob("*") if file.suffix in KINDS}
    assert "lamina/server/inspector/page/assets/index-4f2a.js" in files
    assert files <= set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(source) as archive:
        assert files <= {name.partition("/src/")[2] for name in archive.getnames()}
