"""Chunks merged again and again (`project`): the text stays well formed at any depth."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina import PROFILES, Memory
from lamina.folding import layouts
from lamina.models.offline.summarisation.statements import statements_of_summary
from tests.sizes import examples

_LABEL = re.compile(r"\b(?:Earlier|Then):")
_LINES = st.lists(
    st.sampled_from(
        [
            "- User: I live in Bergen.",
            '- User (to "Any allergies?"): Peanuts.',
            "- Open: Which licence fits?",
            "We talked about boats. Then we talked about tea.",
            "Earlier: one",
            "Then: two",
            "- Then:User: three",
        ]
    ),
    min_size=1,
    max_size=4,
)


@examples(80)
@given(st.lists(_LINES, min_size=2, max_size=12))
def test_any_number_of_merges_has_two_labels(chunks: list[list[str]]) -> None:
    """However often texts are merged, there is one `Earlier` at the front and one `Then` in a line of its own."""
    text = "\n".join(chunks[0])
    for chunk in chunks[1:]:
        text = layouts.merge_chunks(text, "\n".join(chunk))
        assert re.fullmatch(r"Earlier: .*\n\nThen: .*", text, re.DOTALL)
        rest = text.removeprefix("Earlier: ").replace("\n\nThen: ", "", 1)
        assert not re.search(r"^(?:Earlier|Then):", rest, re.MULTILINE)
    assert all(not _LABEL.match(one.text) for one in statements_of_summary(text, 0))


@pytest.mark.parametrize("cap", [60, 150, 600])
def test_merges_of_a_long_talk(cap: int) -> None:
    """Twenty merges in a row: every line has one speaker and no label inside, topics are few, the cap holds."""
    profile = PROFILES["project"].but(max_chunks=2, max_recent_messages=6, chunk_size=4)
    profile = profile.but(upkeep=type(profile.upkeep)(most=2, cap=cap))  # type: ignore[call-arg,misc]
    with Memory(":memory:", profile=profile) as memory:
        for number in range(45):
            said = f"I bought lamp {number} in Town{number} from Vendor{number}. She wrapped it in paper."
            memory.add([{"role": "user", "content": said}], user_id="ana", session_id="s")
            told = f"Lamp {number} needs bulb {number + 7}. Do you have one?"
            memory.add([{"role": "assistant", "content": told}], user_id="ana", session_id="s")
        memory.settle()
        merged = memory.summaries("s")[0]
        assert merged.kind == "merged"
        assert merged.tokens <= cap
        assert len(merged.topics) <= 12
        lines = merged.text.replace("Earlier: ", "", 1).replace("\n\nThen: ", "\n", 1).splitlines()
        assert all(line.count("User:") + line.count("Assistant:") <= 1 for line in lines), merged.text
        assert not any(_LABEL.search(line) for line in lines), merged.text
        assert memory.verify().ok


def test_a_chunk_that_only_begins_like_the_one_before_takes_nothing_of_it_away() -> None:
    """What the older one says beyond its beginning is still in a live summary."""
    opening = (
        "Our daily stand-up at the harbour office begins at 09:00 in room 4 and Marta takes the minutes for the whole"
        " team, as always on weekdays."
    )
    days = (
        [opening, "We decided to use PostgreSQL for the billing service.", "The staging server is called heron."],
        [opening, "We decided to use Stripe for payments.", "The test server is called stork."],
    )
    with Memory(":memory:", profile="project", worker=False) as memory:
        for texts in (*days, *([f"What is number {number}?"] * 3 for number in range(5))):
            for text in (*texts, "Any news?", "Thanks, that is all for today."):
                said = [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]
                memory.add(said, user_id="ann", session_id="s")
        memory.settle()
        live = " ".join(summary.text for summary in memory.summaries("s"))
        assert memory.verify().ok
    assert all(word in live for word in ("PostgreSQL", "heron", "Stripe", "stork"))
