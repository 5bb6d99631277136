"""A decision against something is never kept as one for it."""

import re

import pytest

from benchmarks.facts import message
from lamina.models.offline.offline_extractor import drafts_in

_AGAINST = re.compile(r"\bnot\b|n't\b|no longer|against|out of|gegen", re.IGNORECASE)


@pytest.mark.parametrize(
    "text",
    [
        "I decided against the loft conversion since the beams are rotten.",
        "our board decided against solar panels",
        "the committee voted against the new roof",
        "we agreed we will not move to Leeds",
        "Wir haben uns gegen den Umzug entschieden.",
        "we opted out of the pension scheme",
        "we will not ship on Fridays any more",
        "not doing the half then",
        "I'm not going to renew the gym membership",
        "we are not building the mobile app this year",
        "We've decided we are not hiring anyone in spring",
        "I won't be moving to Berlin after all",
        "we won't offer partial refunds in the first version",
        "we decided we're not doing the launch in May",
    ],
)
def test_what_is_decided_against_is_said_so(text):
    found = [draft for draft in drafts_in(message(text)) if draft.category == "decision"]
    assert found
    assert all(_AGAINST.search(draft.value) for draft in found)
