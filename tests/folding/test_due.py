"""Folding: each schedule's due points, also when the worker comes late; upkeep of summaries."""

from dataclasses import replace
from typing import Any

import pytest

from lamina import PROFILES, Profile
from lamina.folding.due import Fold, may_be_due, next_fold
from lamina.log.chain import recount
from lamina.profiles import Batches, FanOut, IntoLong, Merge, Overflow, PastWindow, Periodic, Stepped, Threshold
from lamina.values.message import Message
from lamina.values.session import Counters, Status
from lamina.values.summary import Summary
from tests.messages import log, message, summary

SUMMARY_TOKENS = 20


def profile(schedule: Any, kind: Any = "chunk", **values: Any) -> Profile:
    return PROFILES["project"].but(schedule=schedule, kind=kind, upkeep=None, **values)


def state(messages: list[Message], cursor: int) -> Counters:
    covered = messages[:cursor]
    return replace(
        recount(messages),
        cursor=cursor,
        cursor_turn=covered[-1].turn if covered else 0,
        cursor_tokens=sum(one.tokens for one in covered),
    )


def folded(chosen: Profile, messages: list[Message], *, at_once: bool, status: Status = "active") -> list[Any]:
    """Every fold of a log as (due at, reads from, ends at), looking after each message or once at the end."""
    found: list[Any] = []
    live: list[Summary] = []
    cursor = 0
    for seen in [len(messages)] if at_once else range(1, len(messages) + 1):
        now = messages[:seen]
        while (fold := due(chosen, now, cursor, live, status)) is not None:
            assert may_be_due(chosen, state(now, cursor), status), "the quick test must not deny a fold"
            assert fold.reads is not None
            assert at_once or fold.due == seen, "who looks after each message makes a fold when it is due"
            found.append((fold.due, fold.reads.first, fold.covers.last))
            rolling = chosen.kind == "rolling"
            made = dated(fold.due, fold.covers.first, fold.covers.last, kind=chosen.kind, tokens=SUMMARY_TOKENS)
            live = [made] if rolling else [*live, made]
            cursor = fold.covers.last
    return found


def dated(due: int | None, first: int, last: int, **values: Any) -> Summary:
    """A summary whose fold fell due at a message."""
    made = summary(first, last, **values)
    return replace(made, recipe=replace(made.recipe, details={} if due is None else {"due": due}))


def due(chosen: Profile, now: list[Message], cursor: int, live: list[Summary], status: Status) -> Fold | None:
    return next_fold(chosen, state(now, cursor), status, live, now[cursor:])


TALK = log("ua" * 30)
SCHEDULES: dict[str, tuple[Profile, list[Message], list[tuple[int, int, int]]]] = {
    "stepped-as-in-000": (
        profile(Stepped(window=10, step=10), "rolling"),
        TALK,
        [(11, 1, 10), (21, 2, 11), (31, 12, 21), (41, 22, 31), (51, 32, 41)],
    ),
    "stepped-window-3-step-5": (
        profile(Stepped(window=3, step=5), "rolling"),
        TALK[:20],
        [(4, 1, 3), (9, 2, 6), (14, 7, 11), (19, 12, 16)],
    ),
    "overflow-as-in-001": (
        profile(Overflow(recent=20, chunk=10)),
        TALK,
        [(21, 1, 10), (31, 11, 20), (41, 21, 30), (51, 31, 40)],
    ),
    "overflow-chunk-past-recent": (
        profile(Overflow(recent=2, chunk=3)),
        TALK[:10],
        [(3, 1, 3), (6, 4, 6), (9, 7, 9)],
    ),
    "periodic-as-in-002": (
        profile(Periodic(every=20, keep=10)),
        log("ua" * 60),
        [(40, 1, 20), (80, 21, 60), (120, 61, 100)],
    ),
    "periodic-every-4-keep-1": (profile(Periodic(every=4, keep=1)), TALK[:20], [(8, 1, 6), (16, 7, 14)]),
    "threshold-with-the-summary": (
        profile(Threshold(tokens=100, keep=3), "rolling"),
        TALK[:22],
        [(12, 1, 6), (16, 7, 10), (20, 11, 14)],
    ),
    "threshold-needs-more-than-k-turns": (
        profile(Threshold(tokens=0, keep=3), "rolling"),
        TALK[:12],
        [(8, 1, 2), (10, 3, 4), (12, 5, 6)],
    ),
    "threshold-over-chunks": (
        profile(Threshold(tokens=100, keep=3)),
        TALK[:20],
        [(12, 1, 6), (16, 7, 10), (18, 11, 12), (20, 13, 14)],
    ),
    "batches-of-most": (
        profile(Batches(least=2, most=3, tokens=50)),
        TALK[:18],
        [(6, 1, 6), (12, 7, 12), (18, 13, 18)],
    ),
    "batches-of-least": (
        profile(Batches(least=2, most=3, tokens=40)),
        TALK[:12],
        [(4, 1, 4), (8, 5, 8), (12, 9, 12)],
    ),
    "batches-most-below-least": (profile(Batches(least=3, most=1, tokens=0)), TALK[:4], [(2, 1, 2), (4, 3, 4)]),
    "batches-of-a-turn-that-goes-on": (
        profile(Batches(least=1, most=1, tokens=0)),
        log("u a A1 T1 a u a"),
        [(2, 1, 2), (7, 3, 7)],
    ),
    "past-window": (
        profile(PastWindow(tokens=50, keep=2, least=1.0)),
        TALK[:22],
        [(10, 1, 6), (16, 7, 12), (22, 13, 18)],
    ),
}
TABLE = [pytest.param(*row, id=name) for name, row in SCHEDULES.items()]


@pytest.mark.parametrize(("chosen", "messages", "expected"), TABLE)
def test_due_points(chosen: Profile, messages: list[Message], expected: list[tuple[int, int, int]]) -> None:
    """Each schedule folds at its moments: (message at which it is due, first message read, last covered)."""
    assert folded(chosen, messages, at_once=False) == expected


@pytest.mark.parametrize(("chosen", "messages", "expected"), TABLE)
def test_catching_up_folds_the_same(
    chosen: Profile, messages: list[Message], expected: list[tuple[int, int, int]]
) -> None:
    """A worker that comes only at the end makes the same folds in the same order, and knows when each was due."""
    assert folded(chosen, messages, at_once=True) == expected


TOOLS = {
    "ends-before-a-call": (profile(Overflow(recent=3, chunk=2)), "u A1 T1 a u a", [(4, 1, 1), (5, 2, 3)]),
    "or-takes-the-whole-group": (profile(Overflow(recent=2, chunk=1)), "A1 s T1 a u a", [(4, 1, 3), (6, 4, 4)]),
    "an-open-call-waits": (profile(Batches(least=1, most=1, tokens=0)), "u A1 u a", [(3, 1, 1), (4, 2, 4)]),
    "also-behind-a-reply": (profile(Batches(least=1, most=1, tokens=0)), "u A1 a T1 a u", [(3, 1, 1)]),
    "stepped": (profile(Stepped(window=2, step=2), "rolling"), "u A1 T1 a u a", [(3, 1, 1), (5, 2, 3)]),
    "over-turns": (profile(Threshold(tokens=0, keep=1), "rolling"), "u A1 u T1 a u a", [(5, 1, 1), (7, 2, 5)]),
}


@pytest.mark.parametrize(("chosen", "roles", "expected"), [pytest.param(*row, id=name) for name, row in TOOLS.items()])
def test_folds_never_separate_a_call_from_its_result(chosen: Profile, roles: str, expected: list[Any]) -> None:
    """Where a schedule would cut a tool group, the fold ends before it, or takes all of it."""
    assert folded(chosen, log(roles), at_once=False) == folded(chosen, log(roles), at_once=True) == expected


@pytest.mark.parametrize("status", ["ended", "archived"])
def test_the_rest_is_folded_at_the_end(status: Status) -> None:
    """An ended session gets its final summary over all that is left; nothing if nothing is left."""
    chosen, messages = PROFILES["project"], log("uauau")
    fold = due(chosen, messages, 2, [], status)
    assert fold is not None
    assert (fold.task, fold.covers.first, fold.covers.last, fold.due) == ("final", 3, 5, 5)
    assert due(chosen, messages, 5, [], status) is None
    assert not may_be_due(chosen, state(messages, 5), status)


def test_no_final_fold_before_all_is_read() -> None:
    """While only part of the tail is known, the rest is not folded as if it were all."""
    chosen, messages = PROFILES["project"], log("uauau")
    assert next_fold(chosen, state(messages, 0), "ended", [], messages[:3], whole=False) is None


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_damaged_messages_do_not_stop_a_fold(name: str) -> None:
    """With messages missing from the tail every profile still decides, and covers them."""
    messages = log("ua" * 200)
    for missing in (slice(0, 30), slice(5, 300), slice(0, 400)):
        tail = [one for one in messages if one not in messages[missing]]
        fold = next_fold(PROFILES[name], state(messages, 0), "ended", [], tail)
        assert fold is not None
        assert fold.covers.first == 1


def test_a_rolling_summary_grows_to_its_total() -> None:
    """The cap of an update is what was there and one update more, at most the total."""
    chosen, messages = PROFILES["medium_term"], log("ua" * 11)
    for tokens, cap in ((0, 1_000), (900, 1_900), (6_500, 7_000)):
        live = [summary(1, 10, kind="rolling", tokens=tokens)] if tokens else []
        fold = due(chosen, messages, 10 if tokens else 0, live, "active")
        assert fold is not None
        assert fold.cap == cap
        assert fold.task == ("update" if tokens else "initial")


def chunks(*tokens: int, kind: Any = "chunk", layer: int = 1, first: int = 1) -> list[Summary]:
    return [
        summary(first + 10 * n, first + 10 * n + 9, kind=kind, layer=layer, tokens=each)
        for n, each in enumerate(tokens)
    ]


@pytest.mark.parametrize(
    ("upkeep", "live", "expected"),
    [
        pytest.param(Merge(most=2), chunks(50, 50), None, id="merge-not-yet"),
        pytest.param(Merge(most=2), chunks(50, 50, 50), ("merge", 1, 20, 2), id="merge-the-oldest-two"),
        pytest.param(IntoLong(count=3), chunks(50, 50, kind="medium"), None, id="long-not-yet"),
        pytest.param(IntoLong(count=2), chunks(50, 50, kind="medium"), ("long", 1, 20, 2), id="long-by-count"),
        pytest.param(
            IntoLong(count=9, tokens=99), chunks(50, 50, kind="medium"), ("long", 1, 20, 2), id="long-by-size"
        ),
        pytest.param(IntoLong(count=9, tokens=9), chunks(50, kind="medium"), None, id="one-medium-stays"),
        pytest.param(
            IntoLong(count=2),
            [*chunks(50, kind="long", layer=2), *chunks(50, 50, kind="medium", first=11)],
            ("long", 1, 30, 2),
            id="long-goes-on",
        ),
        pytest.param(FanOut(most=3, width=2), chunks(50, 50), None, id="layer-not-full"),
        pytest.param(FanOut(most=3, width=2), chunks(50, 50, 50), ("fold", 1, 20, 2), id="layer-full"),
        pytest.param(
            FanOut(most=2, width=2),
            [*chunks(50, 50, layer=2), *chunks(50, first=21)],
            ("fold", 1, 20, 3),
            id="a-higher-layer-full",
        ),
    ],
)
def test_upkeep(upkeep: Any, live: list[Summary], expected: tuple[str, int, int, int] | None) -> None:
    """Summaries fold higher when there are too many: (task, first, last, layer)."""
    fold = next_fold(PROFILES["project"].but(upkeep=upkeep), Counters(), "active", live, [])
    found = None if fold is None else (fold.task, fold.covers.first, fold.covers.last, fold.layer)
    assert found == expected


@pytest.mark.parametrize(
    ("upkeep", "expected"),
    [
        pytest.param(Merge(most=2), 40, id="merge"),
        pytest.param(IntoLong(count=3), 40, id="long"),
        pytest.param(FanOut(most=3, width=2), 40, id="layer"),
    ],
)
def test_upkeep_falls_due_with_the_newest_summary(upkeep: Any, expected: int) -> None:
    """With the one that makes them too many, even if that one is not folded; unknown if that one's is."""
    chosen = PROFILES["project"].but(upkeep=upkeep)
    live = [dated(n + 10, n - 9, n, kind="medium") for n in (10, 20, 30)]
    fold = next_fold(chosen, Counters(), "active", live, [])
    assert fold is not None
    assert fold.due == expected
    untold = next_fold(chosen, Counters(), "active", [*live[:2], dated(None, 21, 30, kind="medium")], [])
    assert untold is not None
    assert untold.due is None


def test_unknown_rules_are_refused() -> None:
    """A profile with a rule that nobody knows folds nothing, and says so."""
    unknown = replace(profile(Overflow()), schedule=object())  # type: ignore[arg-type]
    messages = log("ua" * 9)
    with pytest.raises(TypeError, match="unknown schedule"):
        may_be_due(unknown, state(messages, 0), "active")
    with pytest.raises(TypeError, match="unknown schedule"):
        due(unknown, messages, 0, [], "active")
    with pytest.raises(TypeError, match="unknown upkeep"):
        due(replace(unknown, upkeep=object()), messages, 0, [], "active")  # type: ignore[arg-type]


def test_a_fold_ends_where_the_topic_changes() -> None:
    """default: among the possible ends, the one behind which the talk changes most."""
    texts = [*["we paint the old boat with red paint"] * 6, *["the exam covers algebra and calculus"] * 10]
    messages = [
        message(n, "assistant" if n % 2 == 0 else "user", text, turn=(n + 1) // 2) for n, text in enumerate(texts, 1)
    ]
    chosen = profile(PastWindow(tokens=90, keep=3, least=0.3), "layer")
    fold = due(chosen, messages, 0, [], "active")
    assert fold is not None
    assert fold.covers.last == 6
