"""The page about the service has everything that the service has."""

import re
from pathlib import Path

from lamina.server.app import create_app
from lamina.server.problems import KINDS, STATUS_KINDS
from lamina.settings import Settings
from tests.server.test_auth import NAMES, NEEDS

PAGE = (Path(__file__).parents[3] / "docs/reference/rest.md").read_text("utf-8")


def test_every_route_is_documented_with_its_role():
    paths = create_app(Settings(database=":memory:")).openapi()["paths"]
    routes = {f"{verb.upper()} {path}" for path, operations in paths.items() for verb in operations}
    rows = dict(re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]+)` \|.*\| `?(\w*)`? ?\|$", PAGE, re.MULTILINE))
    assert set(rows) == routes
    named = {
        (verb, path.format(**NAMES)): role
        for (verb, path), role in ((route.split(" "), role) for route, role in rows.items())
        if role
    }
    assert named == NEEDS


def test_every_kind_of_problem_is_documented_with_its_status():
    kinds = {(kind, status) for kind, status in KINDS.values()} | {(kind, n) for n, kind in STATUS_KINDS.items()}
    rows = re.findall(r"^\| `urn:lamina:([\w-]+)` \| (\d+) \|", PAGE, re.MULTILINE)
    assert {(kind, int(status)) for kind, status in rows} == kinds
