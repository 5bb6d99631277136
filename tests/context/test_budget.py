"""Budgets: what gets in, what is cut, what is said about it."""

from collections.abc import Sequence
from typing import Any

import pytest

from lamina import PROFILES, Profile
from lamina.context.budget import CUT_MARK, HEADING_TOKENS, Filled, cut_text, fill, reserve
from lamina.context.items import Item
from lamina.language.trim import trim
from lamina.profiles import Step, Window
from lamina.values.message import Span
from tests.messages import message, words


def item(section: str, tokens: int, seq: int = 1, last: int | None = None, **values: Any) -> Item:
    """An item of a section; recent ones have their messages."""
    span = Span(first=seq, last=last or seq)
    kept = tuple(message(n) for n in range(span.first, span.last + 1)) if section == "recent" else ()
    defaults = {"kind": section, "reason": "", "id": f"{section}{seq}", "session_id": "s1", "span": span}
    return Item(**{**defaults, "section": section, "tokens": tokens, "messages": kept, **values})


def profile(*steps: Step, fill_window: bool = False, order: Any = "newest") -> Profile:
    window = Window(unit="turns", size=3, fill=fill_window)
    return PROFILES["layered"].but(steps=steps, window=window, summary_order=order)


def filled(chosen: Profile, items: Sequence[Item], budget: int, *, spent: int = 0, cursor: int = 0) -> Filled:
    candidates: dict[str, list[Item]] = {}
    for one in items:
        candidates.setdefault(one.section, []).append(one)
    return fill(chosen, candidates, budget, spent, cursor, words).result()


def ids(found: Filled) -> list[str | None]:
    return [one.id for one in found.taken]


RECENT = [item("recent", 10, seq) for seq in (9, 8, 7, 6)]
SUMMARIES = [item("summaries", 20, seq, seq + 1) for seq in (4, 2, 0)]


@pytest.mark.parametrize(
    ("steps", "budget", "expected"),
    [
        pytest.param([Step(section="recent")], 26, ["recent9"], id="heading-counted"),
        pytest.param([Step(section="recent")], 36, ["recent9", "recent8"], id="in-order"),
        pytest.param([Step(section="recent", limit=1)], 999, ["recent9"], id="limit"),
        pytest.param([Step(section="recent", share=0.5)], 80, ["recent9", "recent8"], id="share"),
        pytest.param(
            [Step(section="recent", limit=1), Step(section="summaries"), Step(section="recent")],
            81,
            ["recent9", "summaries4", "recent8"],
            id="steps-and-spill-over",
        ),
        pytest.param([Step(section="facts")], 999, [], id="nothing-of-a-section"),
        pytest.param([Step(section="recent")], 0, [], id="no-room"),
    ],
)
def test_fill_by_steps(steps: list[Step], budget: int, expected: list[str]) -> None:
    """Items are taken by the steps, in order of preference, within share, limit and room."""
    assert ids(filled(profile(*steps), [*RECENT, *SUMMARIES], budget)) == expected


def test_required_items_are_always_taken() -> None:
    """The newest turn is there whatever the budget; the caller finds out that it is too much."""
    found = filled(profile(Step(section="recent")), [item("recent", 500, 9, required=True), *RECENT[1:]], 100)
    assert ids(found) == ["recent9"]
    assert found.price == 500 + HEADING_TOKENS


@pytest.mark.parametrize(
    ("order", "expected"),
    [pytest.param("newest", [], id="no-holes"), pytest.param("coverage", ["summaries2"], id="the-next-that-fits")],
)
def test_holes(order: str, expected: list[str]) -> None:
    """In order of time nothing older than what did not fit is taken; in another order the next may fit."""
    items = [item("summaries", 90, 4), item("summaries", 20, 2)]
    assert ids(filled(profile(Step(section="summaries"), order=order), items, 60)) == expected


def test_the_gap_ends_at_the_cursor() -> None:
    """The step `gap` takes what is not folded yet, and nothing behind the cursor."""
    assert ids(filled(profile(Step(section="gap")), RECENT, 999, cursor=7)) == ["recent9", "recent8"]


@pytest.mark.parametrize(
    ("budget", "cut"), [pytest.param(60, False, id="fits"), pytest.param(40, True, id="cut")]
)  # fmt: skip
def test_the_last_item_may_be_cut(budget: int, cut: bool) -> None:
    """A step with `cut` shortens what does not fit, and says so once."""
    text = "One two three. " * 10
    found = filled(profile(Step(section="summaries", cut=True)), [item("summaries", 34, 1, text=text)], budget)
    (taken,) = found.taken
    assert taken.cut is cut
    assert found.warnings == (("summaries: cut to fit the budget",) if cut else ())
    assert taken.text == text if not cut else taken.text.startswith(CUT_MARK)
    assert found.price <= budget


def test_a_passage_that_came_shortened_is_no_warning() -> None:
    """Only what was cut for this budget is warned of."""
    found = filled(profile(Step(section="recalled")), [item("recalled", 10, cut=True)], 100)
    assert found.taken[0].cut
    assert not found.warnings


def test_what_is_left_is_listed_with_the_reason() -> None:
    """Over budget, beyond the limit, or only spare: each is listed; only the first is warned of."""
    spare = item("recent", 900, 5, spare=True)
    found = filled(
        profile(Step(section="recent"), Step(section="summaries", limit=1)), [*RECENT, spare, *SUMMARIES], 92
    )
    assert ids(found) == ["recent9", "recent8", "recent7", "recent6", "summaries4"]
    assert [(one.id, reason) for one, reason in found.left] == [
        ("recent5", "over budget"),
        ("summaries2", "beyond the 1 that the profile shows"),
        ("summaries0", "beyond the 1 that the profile shows"),
    ]
    assert not found.warnings
    tight = filled(profile(Step(section="recent")), [*RECENT, spare], 40)
    assert tight.warnings == ("recent: 2 of 4 did not fit the budget",)


REPEATED = "its messages are here word for word"


@pytest.mark.parametrize("fill_window", [True, False])
def test_a_summary_of_what_stands_here_gives_way(fill_window: bool) -> None:
    """Where the window is filled, a summary whose whole span is verbatim is left out, and its room is used."""
    summaries = [item("summaries", 20, 7, 8, kind="summary:layer"), item("summaries", 20, 4, 5, kind="summary:layer")]
    steps = (Step(section="recent", limit=1), Step(section="summaries"), Step(section="recent"))
    found = filled(profile(*steps, fill_window=fill_window), [*RECENT, *summaries], 105)
    if fill_window:
        assert ids(found) == ["recent9", "summaries4", "recent8", "recent7", "recent6"]
        assert [(one.id, why) for one, why in found.left] == [("summaries7", REPEATED)]
    else:
        assert ids(found) == ["recent9", "summaries7", "summaries4", "recent8", "recent7"]


def test_a_passage_of_what_stands_here_gives_way() -> None:
    """A recalled message that is in the window is not said twice; one of another session is."""
    own = item("recalled", 10, 9, kind="passage")
    other = item("recalled", 10, 9, kind="passage", session_id="s2", id="other")
    found = filled(profile(Step(section="recalled"), Step(section="recent")), [own, other, *RECENT], 200)
    assert ids(found) == ["other", "recent9", "recent8", "recent7", "recent6"]
    assert (own, REPEATED) in found.left


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        pytest.param(128_000, (2_000, 8_000), id="the-document's"),
        pytest.param(20_000, (2_000, 8_000), id="just-half"),
        pytest.param(10_000, (1_000, 4_000), id="half-in-proportion"),
        pytest.param(1, (0, 0), id="nothing-to-reserve"),
    ],
)
def test_reserves(budget: int, expected: tuple[int, int]) -> None:
    """2,000 and 8,000 are held back, but never more than half of a budget."""
    held = reserve(PROFILES["project"], budget)
    assert (held.system_prompt, held.working_memory) == expected


def test_reserves_are_not_filled() -> None:
    """Memory does not take what is held back; what was spent of it counts once."""
    items = [item("recent", 1_000, seq) for seq in range(200, 0, -1)]
    for spent in (0, 500, 10_000, 30_000):
        found = filled(PROFILES["project"], items, 128_000, spent=spent)
        assert 128_000 - max(spent, 10_000) - 1_100 < found.price <= 128_000 - max(spent, 10_000)


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        pytest.param("One. Two. Three.", 3, "One. Two. Three.", id="fits"),
        pytest.param("One a. Two b. Three c.", 5, "[…] Two b. Three c.", id="from-a-sentence"),
        pytest.param("one\ntwo\nthree four", 3, "[…] three four", id="from-a-line"),
        pytest.param("one two three", 2, "[…] three", id="from-a-word"),
        pytest.param("one two three", 1, "", id="nothing-fits"),
        pytest.param("最初。 次。 最後。", 2, "[…] 最後。", id="other-scripts"),
        pytest.param("", 0, "", id="empty"),
    ],
)
def test_cut_text(text: str, tokens: int, expected: str) -> None:
    """The end of a text, from a sentence if it can, marked as cut."""
    assert cut_text(text, tokens, words) == expected
    assert words(cut_text(text, tokens, words)) <= max(tokens, 0)


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        pytest.param("One. Two.", 2, "One. Two.", id="fits"),
        pytest.param("One a. Two b. Three c.", 5, "One a. Two b.", id="whole-sentences"),
        pytest.param("one two three four", 2, "one two", id="whole-words"),
        pytest.param("one\ntwo\nthree", 2, "one\ntwo", id="whole-lines"),
        pytest.param("one", 0, "", id="nothing-fits"),
    ],
)
def test_trimmed(text: str, tokens: int, expected: str) -> None:
    """The beginning of a text, to a sentence if it can."""
    assert trim(text, tokens, words) == expected


def test_trimmed_without_any_space() -> None:
    """A text of one endless word is cut within the word."""
    assert trim("x" * 1000, 10, len) == "x" * 10
