"""What is taken of the drafts of an extractor of one's own."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lamina import FactDraft, Memory, Message


class Extractor:
    """Finds one fact in each message, with the times that it was given."""

    name = "own"

    def __init__(self, since: timedelta | None, until: timedelta | None, *, holds: bool = True) -> None:
        self._since, self._until, self._holds = since, until, holds

    async def extract(self, messages: Sequence[Message]) -> Sequence[FactDraft]:
        return [
            FactDraft(
                message_id=message.id,
                category="identity",
                key="location",
                value="Porto",
                quote=message.text,
                start=0,
                end=len(message.text),
                confidence=0.9,
                importance=0.9,
                since=_moved(message.created_at, self._since),
                until=_moved(message.created_at, self._until),
                holds=self._holds,
            )
            for message in messages
        ]


def _moved(at: datetime, by: timedelta | None) -> datetime | None:
    return None if by is None else at + by


@pytest.mark.parametrize(
    ("since", "until", "kept"),
    [
        pytest.param(timedelta(days=2), timedelta(days=1), 0, id="end-before-beginning"),
        pytest.param(timedelta(days=1), timedelta(days=1), 0, id="end-at-beginning"),
        pytest.param(None, timedelta(days=-1), 0, id="ended-before-it-was-said"),
        pytest.param(timedelta(days=-2), timedelta(days=-1), 1, id="past"),
        pytest.param(None, timedelta(days=1), 1, id="end-to-come"),
    ],
)
def test_a_fact_that_would_never_hold_is_refused(
    tmp_path: Path, since: timedelta | None, until: timedelta | None, kept: int
) -> None:
    """As one told by hand is: its end must be later than its beginning."""
    with Memory(tmp_path / "a.db", extractor=Extractor(since, until), worker=False) as memory:
        memory.add("I live in Porto.", user_id="ann")
        memory.settle()
        found = memory.facts("ann", statuses=("active", "candidate", "superseded"))
        assert len(found) == kept
        assert all(fact.until is None or fact.until > fact.valid_from for fact in found)
