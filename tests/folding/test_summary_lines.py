"""The form of a line of a summary is written and read in one place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.folding.summary_lines import SummaryLine, read_line


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        pytest.param("I moved to Oban.", SummaryLine(text="I moved to Oban."), id="prose"),
        pytest.param("- User: no: never", SummaryLine(bullet="- ", speaker="User", text="no: never"), id="speaker"),
        pytest.param(
            '- Ana (to "Who (of us) pays?"): Joris',
            SummaryLine(bullet="- ", speaker="Ana", question="Who (of us) pays?", text="Joris"),
            id="answer",
        ),
        pytest.param(
            '* Ana Diaz, PhD (home) (to "When?"): at 9',
            SummaryLine(bullet="* ", speaker="Ana Diaz, PhD (home)", question="When?", text="at 9"),
            id="long-name",
        ),
        pytest.param(
            "- Open: Ana: who pays?", SummaryLine(bullet="- ", open=True, speaker="Ana", text="who pays?"), id="open"
        ),
        pytest.param(
            "- [2025-03-03] User: I moved.",
            SummaryLine(bullet="- ", day="2025-03-03", speaker="User", text="I moved."),
            id="day",
        ),
        pytest.param(
            "  2. deadline: Friday", SummaryLine(bullet="  2. ", text="deadline: Friday"), id="word-before-a-colon"
        ),
        pytest.param("- 健太: 京都です", SummaryLine(bullet="- ", speaker="健太", text="京都です"), id="no-capitals"),
        pytest.param(
            "- I know one thing for sure: it rains",
            SummaryLine(bullet="- ", text="I know one thing for sure: it rains"),
            id="a-clause-is-no-speaker",
        ),
    ],
)
def test_the_parts_of_a_line(line, parts):
    """Each part is found, and the parts give the line again."""
    assert read_line(line) == parts
    assert str(parts) == line


@given(st.text(max_size=120))
def test_reading_loses_nothing(line):
    """Any line at all is its parts."""
    assert str(read_line(line)) == line
