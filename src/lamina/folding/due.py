"""What is due: which messages or summaries are folded next, decided from the log alone.

Every schedule is evaluated at the earliest moment at which it was due, not at the moment the worker looks. So the same
log folds the same way whether the worker is quick, late, killed or run only at the end.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch
from itertools import accumulate, pairwise

from lamina.knowledge.fact_drafts import is_unread
from lamina.language.words import overlap, terms
from lamina.log.chain import closes
from lamina.log.tool_pairs import groups, safe_end
from lamina.profiles import (
    Batches,
    FanOut,
    IntoLong,
    Merge,
    Overflow,
    PastWindow,
    Periodic,
    Profile,
    Schedule,
    Stepped,
    Threshold,
    Upkeep,
)
from lamina.values.message import Message, Span
from lamina.values.session import Counters, Status
from lamina.values.summary import Summary, SummaryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """One fold to make: what to read, what the result covers, which summaries it stands for."""

    task: str  # which prompt
    kind: SummaryKind
    layer: int
    covers: Span
    reads: Span | None  # raw messages to read
    previous: tuple[Summary, ...]  # live summaries to go on from
    folds: tuple[Summary, ...]  # live summaries to fold higher
    cap: int
    least: int
    due: int | None  # the message at which it fell due; None if what it folds does not tell

    @property
    def retire(self) -> tuple[str, ...]:
        return tuple(summary.id for summary in (*self.previous, *self.folds))


_FRAME = 64  # tokens of a title and a footer, which a rolling summary may have beyond its cap


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """Where a message fold ends, from where it reads, and the message with which it fell due."""

    end: int
    reads_from: int
    due: int


def may_be_due(profile: Profile, counters: Counters, status: Status) -> bool:
    """Whether folding is worth a look: a quick, necessary test on the counters."""
    if status in {"ended", "archived"}:
        return counters.unfolded > 0
    bounded = profile.kind == "rolling" and profile.total_cap is not None
    cap = (profile.total_cap or 0) + _FRAME if bounded else None
    return counters.unfolded > 0 and _may_cut(profile.schedule, counters, cap)


def has_work(profile: Profile, counters: Counters, status: Status) -> bool:
    """Whether a worker should look at a session: something may be due, or was not read yet."""
    return is_unread(profile, counters) or may_be_due(profile, counters, status)


def read_before(profile: Profile) -> int:
    """How many messages before the cursor a fold may read again."""
    return profile.schedule.step if isinstance(profile.schedule, Stepped) else 0


def next_fold(
    profile: Profile,
    counters: Counters,
    status: Status,
    live: Sequence[Summary],
    tail: Sequence[Message],
    *,
    whole: bool = True,
) -> Fold | None:
    """The next fold that is due, or None. `tail` holds unfolded messages from the cursor on, all if it is `whole`."""
    raised = None if profile.upkeep is None else _upkeep_fold(profile.upkeep, live)
    if raised is not None:
        return raised
    cut = _cut(profile.schedule, counters, sum(s.tokens for s in live), tail) if tail else None
    if cut is not None:
        return _message_fold(profile, counters, live, cut, final=False)
    if whole and counters.unfolded and status in {"ended", "archived"}:
        rest = _Cut(end=counters.messages, reads_from=counters.cursor + 1, due=counters.messages)
        return _message_fold(profile, counters, live, rest, final=True)
    return None


def _message_fold(profile: Profile, counters: Counters, live: Sequence[Summary], cut: _Cut, *, final: bool) -> Fold:
    rolling = profile.kind == "rolling"
    previous = tuple(live) if rolling else ()
    grown = sum(summary.tokens for summary in previous) + profile.cap
    first = 1 if rolling else counters.cursor + 1
    usual = ("update" if previous else "initial") if rolling else profile.kind
    return Fold(
        task="final" if final and not (rolling and not previous) else usual,
        kind=profile.kind,
        layer=1,
        covers=Span(first=first, last=cut.end),
        reads=Span(first=cut.reads_from, last=cut.end),
        previous=previous,
        folds=(),
        cap=min(grown, profile.total_cap) if profile.total_cap is not None else profile.cap,
        least=profile.least,
        due=max([cut.due, *(summary.due or 0 for summary in live)]),  # not before the folds that it follows
    )


# Schedules over messages


@singledispatch
def _may_cut(schedule: Schedule, counters: Counters, summary_cap: int | None) -> bool:
    """Whether `_cut` could find something; it may say yes too often, but never no where there is something.

    It does not see complete turns, since a turn that was complete can go on, nor where in a turn the cursor is.
    """
    raise TypeError(f"unknown schedule {schedule!r}")


@singledispatch
def _cut(schedule: Schedule, counters: Counters, summary_tokens: int, tail: Sequence[Message]) -> _Cut | None:
    raise TypeError(f"unknown schedule {schedule!r}")


def _fit(tail: Sequence[Message], now: int, target: int) -> int | None:
    """The end of a fold near `target`, seen at message `now`, that separates no tool group."""
    seen = [message for message in tail if message.seq <= now]
    if not seen:
        return None  # damaged messages are not in the tail
    end = safe_end(seen, target)
    if end >= seen[0].seq:
        return end
    first_group_end = groups(seen)[0][-1].seq
    return first_group_end if first_group_end < now else None


@_may_cut.register
def _(schedule: Stepped, counters: Counters, summary_cap: int | None) -> bool:
    return counters.messages > schedule.window and counters.messages >= _next_step(schedule, counters.cursor)[0]


@_cut.register
def _(schedule: Stepped, counters: Counters, summary_tokens: int, tail: Sequence[Message]) -> _Cut | None:
    now, target = _next_step(schedule, counters.cursor)
    while now <= tail[-1].seq:
        end = _fit(tail, now, target)
        if end is not None and end > counters.cursor:
            reads_from = max(1, min(target - schedule.step + 1, counters.cursor + 1))
            return _Cut(end=end, reads_from=reads_from, due=now)
        now, target = _next_step(schedule, target)
    return None


def _next_step(schedule: Stepped, cursor: int) -> tuple[int, int]:
    """The message at which the next fold is due, and the message up to which it covers."""
    if cursor < schedule.window:
        return schedule.window + 1, schedule.window
    steps = max(1, (cursor - 1) // schedule.step + 1)  # the first step that covers more than the cursor
    now = schedule.window + 1 + schedule.step * steps
    return now, now - schedule.window


@_may_cut.register
def _(schedule: Overflow, counters: Counters, summary_cap: int | None) -> bool:
    return counters.unfolded > schedule.recent


@_cut.register
def _(schedule: Overflow, counters: Counters, summary_tokens: int, tail: Sequence[Message]) -> _Cut | None:
    for now in range(counters.cursor + schedule.recent + 1, tail[-1].seq + 1):
        end = _fit(tail, now, counters.cursor + schedule.chunk)
        if end is not None:
            return _Cut(end=end, reads_from=counters.cursor + 1, due=now)
    return None


@_may_cut.register
def _(schedule: Periodic, counters: Counters, summary_cap: int | None) -> bool:
    return counters.turns >= _next_period(schedule, counters.cursor_turn)


def _next_period(schedule: Periodic, cursor_turn: int) -> int:
    """The number of complete turns at which the next fold is due."""
    return schedule.every * ((cursor_turn + schedule.keep) // schedule.every + 1)


@_cut.register
def _(schedule: Periodic, counters: Counters, summary_tokens: int, tail: Sequence[Message]) -> _Cut | None:
    period = _next_period(schedule, counters.cursor_turn)
    for now, turn, due in _turn_ends(tail):
        if turn >= period:
            end = _fit(tail, now, _last_of_turn(tail, period - schedule.keep))
            if end is not None and end < now:
                return _Cut(end=end, reads_from=counters.cursor + 1, due=due)
    return None


@_may_cut.register
def _(schedule: Threshold, counters: Counters, summary_cap: int | None) -> bool:
    enough = summary_cap is None or counters.unfolded_tokens + summary_cap > schedule.tokens
    return enough and counters.turns - counters.cursor_turn >= schedule.keep


@_cut.register
def _(schedule: Threshold, counters: Counters, summary_tokens: int, tail: Sequence[Message]) -> _Cut | None:
    running = _Running(tail)
    for now, turn, due in _turn_ends(tail):
        if summary_tokens + running.up_to(now) <= schedule.tokens:
            continue
        end = _before_kept(tail, now, turn, schedule.keep)
        if end is not None:
            return _Cut(end=end, reads_from=counters.cursor + 1, due=due)
    return None


@_may_cut.register
def _(schedule: Batches, counters: Counters, summary_cap: int | None) -> bool:
    return counters.turns - counters.cursor_turn >= min(schedule.least, schedule.most)


@_cut.register
def _(schedule: Batches, counters: Counters, summary_tokens: int, tail: Sequence[Message]) -> _Cut | None:
    running = _Running(tail)
    for now, turn, due in _turn_ends(tail):
        turns = turn - counters.cursor_turn
        large = turns >= schedule.least and running.up_to(now) >= schedule.tokens
        if large or turns >= schedule.most:
            end = _fit(tail, now, now)
            if end is not None:
                return _Cut(end=end, reads_from=counters.cursor + 1, due=due)
    return None


@_may_cut.register
def _(schedule: PastWindow, counters: Counters, summary_cap: int | None) -> bool:
    return counters.unfolded_tokens > schedule.tokens and counters.turns - counters.cursor_turn >= schedule.keep


@_cut.register
def _(schedule: PastWindow, counters: Counters, summary_tokens: int, tail: Sequence[Message]) -> _Cut | None:
    running = _Running(tail)
    for now, turn, due in _turn_ends(tail):
        if running.up_to(now) <= schedule.tokens:
            continue
        end = _before_kept(tail, now, turn, schedule.keep)
        if end is not None and running.up_to(end) > schedule.tokens:
            least = running.up_to(end) * schedule.least
            seen = [message for message in tail if message.seq <= now]
            allowed = {m.seq for m in seen if m.seq <= end and running.up_to(m.seq) >= least}
            return _Cut(end=_topic_shift(seen, allowed, end), reads_from=counters.cursor + 1, due=due)
    return None


def _topic_shift(seen: Sequence[Message], allowed: Container[int], end: int) -> int:
    """The last message of the turn behind which the talk changes most; the latest of equals."""
    best, lowest = end, 2.0
    for group, following in pairwise(groups(seen)):
        last = group[-1]
        if last.seq not in allowed or last.turn == following[0].turn:
            continue
        before = frozenset(t for m in seen if m.turn in {last.turn - 1, last.turn} for t in terms(m.text[:2000]))
        after = frozenset(t for m in seen if last.turn < m.turn <= last.turn + 2 for t in terms(m.text[:2000]))
        cohesion = overlap(before, after)
        if cohesion <= lowest:
            best, lowest = last.seq, cohesion
    return best


def _before_kept(tail: Sequence[Message], now: int, turn: int, keep: int) -> int | None:
    """The end of what lies before the newest `keep` turns, seen at message `now`."""
    older = [message.seq for message in tail if message.seq <= now and message.turn <= turn - keep]
    if not older:
        return None
    end = safe_end([message for message in tail if message.seq <= now], older[-1])
    return end if end >= tail[0].seq else None


def _turn_ends(tail: Sequence[Message]) -> Iterator[tuple[int, int, int]]:
    """The moments at which a turn was complete: (newest message then, its turn, the message that tells so).

    A turn without a reply is known to be complete when the next one begins.
    """
    closed = True
    for index, message in enumerate(tail):
        if message.role == "user" and index and not closed and tail[index - 1].turn:
            yield tail[index - 1].seq, tail[index - 1].turn, message.seq
        closed = closes(message.role, bool(message.calls), was=closed)
        if closed and message.role == "assistant" and message.turn:
            yield message.seq, message.turn, message.seq


def _last_of_turn(tail: Sequence[Message], turn: int) -> int:
    return max((message.seq for message in tail if message.turn <= turn), default=tail[0].seq - 1)


class _Running:
    """Running sums of tokens over the tail, by message."""

    def __init__(self, tail: Sequence[Message]) -> None:
        sums = accumulate(message.tokens for message in tail)
        self._sums = dict(zip((message.seq for message in tail), sums, strict=True))

    def up_to(self, seq: int) -> int:
        return self._sums[seq]


# Upkeep of summaries


@singledispatch
def _upkeep_fold(upkeep: Upkeep, live: Sequence[Summary]) -> Fold | None:
    raise TypeError(f"unknown upkeep {upkeep!r}")


def _summary_fold(
    task: str,
    kind: SummaryKind,
    folds: Sequence[Summary],
    cap: int,
    *,
    newest: Summary,
    previous: Sequence[Summary] = (),
) -> Fold:
    """A fold of summaries, which falls due together with the newest of those that have become too many."""
    taken = (*previous, *folds)
    spans = [summary.covers for summary in taken if summary.covers is not None]
    return Fold(
        task=task,
        kind=kind,
        layer=max(summary.layer for summary in taken) + (not previous),
        covers=Span(first=min(span.first for span in spans), last=max(span.last for span in spans)),
        reads=None,
        previous=tuple(previous),
        folds=tuple(folds),
        cap=cap,
        least=0,
        due=newest.due,
    )


@_upkeep_fold.register
def _(upkeep: Merge, live: Sequence[Summary]) -> Fold | None:
    if len(live) <= upkeep.most:
        return None
    return _summary_fold("merge", "merged", live[:2], upkeep.cap, newest=live[-1])


@_upkeep_fold.register
def _(upkeep: IntoLong, live: Sequence[Summary]) -> Fold | None:
    long = [summary for summary in live if summary.kind == "long"]
    medium = [summary for summary in live if summary.kind != "long"]
    full = len(medium) >= upkeep.count or (len(medium) > 1 and sum(s.tokens for s in medium) > upkeep.tokens)
    return _summary_fold("long", "long", medium, upkeep.cap, newest=medium[-1], previous=long) if full else None


@_upkeep_fold.register
def _(upkeep: FanOut, live: Sequence[Summary]) -> Fold | None:
    for layer in sorted({summary.layer for summary in live}):
        own = [summary for summary in live if summary.layer == layer]
        if len(own) >= upkeep.most:
            return _summary_fold("fold", "layer", own[: upkeep.width], upkeep.cap, newest=own[-1])
    return None
