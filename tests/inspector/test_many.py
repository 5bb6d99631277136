"""A session of a hundred thousand messages is looked into like one of a hundred.

In `make test`, test_timeline.py tells it by what is asked for and drawn.
"""

import logging
from dataclasses import replace
from statistics import median

import pytest
from playwright.sync_api import expect

from lamina import Memory
from lamina.profiles import profile_named
from tests.inspector.service import serving
from tests.inspector.test_shell import SCREENS

pytestmark = [
    pytest.mark.full,
    pytest.mark.xdist_group("browser"),  # one worker has the browser, and makes each memory once
]

logger = logging.getLogger(__name__)  # figures: -o log_cli=true --log-cli-level=INFO

MANY, FEW = 100_000, 100
ROUNDS = 5
THINGS = [
    "tea",
    "rain",
    "work",
    "train",
    "dinner",
    "book",
    "garden",
    "meeting",
    "music",
    "bread",
    "coffee",
    "bicycle",
    "lake",
    "winter",
    "report",
]
FRAMES = """async (box) => {
  const took = [];
  box.scrollTop = 0;
  let before = performance.now();
  for (let step = 0; step < 60; step++) {
    box.scrollTop += 240;
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    took.push(now - before);
    before = now;
  }
  return { took, rows: box.querySelectorAll('.row').length };
}"""


def said(number, of):
    """A short message of a talk that goes on for eleven months."""
    words = f"{THINGS[number % 15]} and {THINGS[number * 7 % 13]}, number {number}"
    month, day = 1 + number * 11 // of, 1 + number * 300 // of % 28
    at = f"2025-{month:02d}-{day:02d}T{number // 60 % 24:02d}:{number % 60:02d}:00Z"
    return {"role": "assistant" if number % 2 else "user", "content": words, "created_at": at}


@pytest.fixture(scope="module")
def many(chromium, tmp_path_factory):
    """A server over a very long session and a short one, folded; no facts are looked for, which takes long."""
    file = tmp_path_factory.mktemp("many") / "many.db"
    with Memory(file, profile=replace(profile_named("default"), facts=False)) as memory:
        for session, number in (("few", FEW), ("many", MANY)):
            memory.add([said(one, number) for one in range(number)], user_id="ada", session_id=session)
        memory.settle()
    with serving(file) as address:
        yield address


@pytest.mark.parametrize("screen", SCREENS)
def test_every_screen_opens(page_at, many, screen):
    page = page_at(many, screen, "ada", "many")
    expect(page.locator("main .panel").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    expect(page.locator("main [role=alert]")).to_have_count(0)


def test_the_first_picture_comes_as_soon(page_at, many):
    """Within three times the time of the short one, from opening the page to the drawn strata; the best of turns."""
    took: dict[str, list[float]] = {"few": [], "many": []}
    for _ in range(ROUNDS):
        for session, times in took.items():
            page = page_at(many, "timeline", "ada", session)
            expect(page.locator("[data-drawn]")).to_be_visible()
            times.append(page.evaluate("performance.getEntriesByName('strata-drawn')[0].startTime"))
            page.context.close()
    few, all_of_them = min(took["few"]), min(took["many"])
    logger.info("first picture: %.0f ms of %d messages, %.0f ms of %d", few, FEW, all_of_them, MANY)
    assert all_of_them <= 3 * few, took


def test_the_log_scrolls_smoothly_from_end_to_end(page_at, many):
    """Only what is in sight is drawn, and a frame takes no longer than three of the short session's, at best."""
    took: dict[str, list[float]] = {"few": [], "many": []}
    logs = {}
    for session in took:
        logs[session] = page_at(many, "timeline", "ada", session).get_by_test_id("messages").first
        expect(logs[session]).to_contain_text("number 1")
    for _ in range(ROUNDS):
        for session, log in logs.items():
            seen = log.evaluate(FRAMES)
            assert seen["rows"] <= 60
            took[session].append(median(seen["took"]))
    frames = {session: min(times) for session, times in took.items()}
    for session, number in (("few", FEW), ("many", MANY)):
        log = logs[session]
        log.evaluate("box => { box.scrollTop = box.scrollHeight / 2 }")
        expect(log).to_contain_text(f"number {number // 2 + 2}")
        log.evaluate("box => { box.scrollTop = box.scrollHeight }")
        expect(log).to_contain_text(f"number {number - 1}")
    logger.info("a frame: %.1f ms in %d messages, %.1f ms in %d", frames["few"], FEW, frames["many"], MANY)
    assert frames["many"] <= 3 * frames["few"]
