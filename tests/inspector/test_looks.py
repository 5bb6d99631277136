"""How every screen looks, at a desk and on a phone: readable, nothing over anything, open to everybody.

With `LAMINA_SCREENSHOTS` the pictures go there: every screen, full and empty, at both widths, light and dark. `make
screenshots` makes them, and renews those of the documentation.
"""

import os
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.inspector.access import assert_accessible
from tests.inspector.browser import DESK, PHONE, assert_laid_out
from tests.inspector.memories import ENDLESS, USER
from tests.inspector.test_shell import SCREENS

pytestmark = pytest.mark.xdist_group("browser")  # one worker has the browser, and makes each memory once

ASKED = "When is the wedding, and where?"
TALLEST = 2400  # pixels of a picture


def timeline(page):
    expect(page.get_by_test_id("strata")).to_be_visible()
    expect(page.get_by_test_id("pin").first).to_be_visible()
    expect(page.get_by_test_id("redacted").first).to_be_attached()
    expect(page.get_by_text("Not shown")).to_be_visible()  # it comes with the context


def lineage(page):
    timeline(page)
    page.get_by_test_id("strata").locator("[role=button]").first.click()
    expect(page.get_by_test_id("lineage")).to_be_visible()


def context(page):
    page.get_by_test_id("query").fill(ASKED)
    page.get_by_test_id("build").click()
    expect(page.get_by_text("building…")).to_have_count(0)
    expect(page.get_by_test_id("pieces")).to_contain_text("recalled")
    expect(page.get_by_test_id("turns").locator("svg").first).to_be_visible()


def facts(page):
    expect(page.get_by_test_id("gantt")).to_be_visible()
    expect(page.get_by_test_id("bar").first).to_be_visible()


def search(page):
    page.get_by_test_id("query").fill(ASKED)
    page.get_by_test_id("search").click()
    expect(page.get_by_test_id("hit").first).to_be_visible()


def health(page):
    expect(page.get_by_test_id("growth").locator("svg").first).to_be_visible()
    expect(page.get_by_test_id("scatter").first).to_be_visible()


def forget(page):
    facts(page)
    page.get_by_test_id("forget-words").fill("Utrecht")
    page.get_by_test_id("forget-words").press("Enter")
    expect(page.get_by_test_id("goes").first).to_be_visible()


def pick(page):
    expect(page.get_by_test_id("pin").first).to_be_visible()
    page.get_by_role("combobox", name="Session").click()
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()


def talk(page):
    expect(page.get_by_test_id("live").get_by_text("listening", exact=True)).to_be_visible()
    for words in ("We finally chose a name for the boat: Kittiwake.", "What was the name of the boat?"):
        page.get_by_label("Your message").fill(words)
        page.get_by_role("button", name="Say it").click()
        expect(page.get_by_test_id("said")).to_contain_text(f"Echo: “{words}”")
    expect(page.get_by_test_id("heard")).to_contain_text("to \u201cWe finally chose a name")
    page.get_by_test_id("seen").last.locator("summary").first.click()
    expect(page.get_by_test_id("pieces")).to_be_visible()


def you(page):
    expect(page.get_by_test_id("changes")).to_be_visible()
    expect(page.get_by_test_id("moments")).to_be_visible()


def start(page):
    expect(page.get_by_role("button", name="Load the demo")).to_be_visible()
    expect(page.get_by_test_id("door-import")).to_be_visible()


# Screen, whose, how it is made ready, and how it is looked at in `make test`; other tests look at some the other way.
LOOKS = {
    "timeline": ("timeline", ENDLESS, timeline, (DESK, "dark")),
    "lineage": ("timeline", ENDLESS, lineage, (PHONE, "dark")),
    "context": ("context", ENDLESS, context, (DESK, "dark")),
    "facts": ("facts", USER, facts, (PHONE, "light")),
    "forget": ("facts", USER, forget, (PHONE, "dark")),
    "pick": ("timeline", USER, pick, (PHONE, "light")),
    "search": ("search", USER, search, (DESK, "light")),
    "health": ("health", USER, health, (DESK, "light")),
    "try": ("try", USER, talk, (PHONE, "light")),
    "you": ("you", USER, you, (PHONE, "dark")),
    "start": ("timeline", None, start, (DESK, "dark")),
}
WAYS = [(DESK, "light"), (DESK, "dark"), (PHONE, "light"), (PHONE, "dark")]


@pytest.fixture
def demo_to_talk_to(demo_copy, served):
    return served(demo_copy)


@pytest.mark.parametrize(
    ("width", "scheme", "look"),
    [
        pytest.param(*way, look, marks=() if LOOKS[look][-1] == way else pytest.mark.full)
        for way in WAYS
        for look in LOOKS
    ],
)
def test_a_screen_can_be_read_by_everybody(page_at, request, tmp_path, look, width, scheme):
    """No serious finding of axe, no text over text, nothing that sticks out; and its picture."""
    screen, user, prepare, _ = LOOKS[look]
    address = request.getfixturevalue({"try": "demo_to_talk_to", "start": "nothing"}.get(look, "demo"))
    page = page_at(address, screen, user, width=width, scheme=scheme)
    prepare(page)
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    assert_laid_out(page)
    assert_accessible(page)
    picture(page, tmp_path, f"{look}-{width}", scheme)


@pytest.mark.full
@pytest.mark.parametrize(("width", "scheme"), WAYS)
@pytest.mark.parametrize("screen", SCREENS)
def test_an_empty_screen_can_be_read_by_everybody(page_at, nothing, tmp_path, screen, width, scheme):
    """The same where nothing is stored yet."""
    page = page_at(nothing, screen, width=width, scheme=scheme)
    expect(page.locator("main .panel, main .empty, main .door").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    assert_laid_out(page)
    assert_accessible(page)
    picture(page, tmp_path, f"{screen}-empty-{width}", scheme)


def picture(page, folder, name, scheme):
    """The whole page, in few colours: pictures of pages need no more."""
    folder = Path(os.environ.get("LAMINA_SCREENSHOTS") or folder)
    folder.mkdir(parents=True, exist_ok=True)
    page.evaluate("scrollTo(0, 0)")
    whole = Image.open(BytesIO(page.screenshot(full_page=page.locator("dialog[open]").count() == 0)))
    shown = whole.crop((0, 0, whole.width, min(whole.height, TALLEST)))
    path = folder / f"{name}{'-dark' if scheme == 'dark' else ''}.png"
    few_colours(shown.convert("RGB")).save(path, optimize=True)
    colours = shown.convert("L").getcolors(256)
    assert colours is None or len(colours) > 8  # something is drawn


def few_colours(image):
    """Backgrounds and words keep their frequent colours, and small marks theirs, which are far from all others."""
    frequent = sorted(image.getcolors(image.width * image.height), reverse=True)[:64]
    far = image.quantize(64, Image.Quantize.MAXCOVERAGE).getpalette()[: 3 * 64]
    palette = Image.new("P", (1, 1))
    palette.putpalette([*(part for _, colour in frequent for part in colour), *far])
    return image.quantize(palette=palette, dither=Image.Dither.NONE)
