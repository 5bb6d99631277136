"""Names and numbers of SECURITY.md are those of the code."""

import re
from dataclasses import fields
from typing import get_args

import pytest

from lamina.profiles import Profile
from lamina.server import middleware
from lamina.settings import Settings
from lamina.storage.postgres.postgres_options import PostgresOptions
from lamina.tenancy import keys
from lamina.values.access_key import KEY_ROLES
from lamina.values.receipt import Scrub
from tests.docs.pages import DOCS, ROOT

PAGE = (ROOT / "SECURITY.md").read_text("utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| **")]


def test_the_open_addresses_are_those_that_need_no_key():
    assert set(re.findall(r"`(/\w[\w.]*)`", ROWS[0][1])) == middleware._OPEN


def test_the_roles_are_those_of_keys_in_their_order():
    assert tuple(found[1] for row in ROWS if (found := re.search(r"role `(\w+)`", row[0]))) == KEY_ROLES


def test_what_write_may_not_is_what_admin_may():
    """Every route for admins is named by its verb or its noun."""
    (row,) = [row for row in ROWS if "role `write`" in row[0]]
    routes = re.findall(r"^\| `(?:GET|POST|DELETE) /v1/(\w+).*\| `admin` \|$", _rest(), re.MULTILINE)
    refused = row[2].partition(".")[0]
    assert routes
    assert [one for one in routes if one not in refused] == []


def _rest() -> str:
    return (DOCS / "reference/rest.md").read_text("utf-8")


def test_the_states_of_old_bytes_are_those_of_receipts():
    (said,) = re.findall(r"`scrub` is (.*?)\.", PAGE, re.DOTALL)
    assert tuple(re.findall(r"`(\w+)`", said)) == get_args(Scrub)


def test_a_key_has_as_many_random_bits_as_the_page_says():
    assert re.findall(r"(\d+) random bits", PAGE) == [str(8 * keys._BYTES)]


@pytest.mark.parametrize("status", ["401", "403", "421"])
def test_a_refusal_has_the_status_that_the_page_names(status):
    """The table of errors has it; the service's own tests provoke each."""
    assert status in PAGE
    assert re.search(rf"^\| `urn:lamina:[\w-]+` \| {status} \|", _rest(), re.MULTILINE)


def test_settings_options_and_commands_exist():
    known = {one.name for kind in (Settings, Profile) for one in fields(kind)}
    known |= {f"lamina_{one.name}" for one in fields(PostgresOptions)}
    for name in re.findall(r"`((?:max|lamina|service)_\w+)(?:=\w+)?`", PAGE):
        assert name in known, name
    commands = (DOCS / "reference/command-line.md").read_text("utf-8")  # tests compare it with the commands
    for name in re.findall(r"`lamina (\w+)`", PAGE):
        assert f"\n### `lamina {name}" in commands, name
