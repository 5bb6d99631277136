"""Words are cut out of summaries that cannot be written again."""

import pytest

from lamina.forgetting.standing_summaries import cut_text
from lamina.language.words import terms

TOLD = "My sister Ada lives in Delft. I ride a red bicycle to work every morning."


@pytest.mark.parametrize(
    ("text", "needle", "told", "left"),
    [
        pytest.param("Likes tea. Hates rain.", "coffee", [], "Likes tea. Hates rain.", id="nothing"),
        pytest.param("Likes tea. Hates rain.", "TEA".lower(), [], "Hates rain.", id="a-sentence"),
        pytest.param("- Likes tea.\n- Hates rain.", "tea", [], "- Hates rain.", id="a-line"),
        pytest.param("Likes tea.", "tea", [], "[forgotten]", id="all"),
        pytest.param("- User: Likes tea. Hates rain.", "tea", [], "- User: Hates rain.", id="who-speaks"),
        pytest.param('- User (to "Tea?"): Never.', "tea", [], "- User: Never.", id="what-was-asked"),
        pytest.param("# Tea\n\nHates rain.", "tea", [], "Hates rain.", id="a-heading"),
        pytest.param(
            "## A\n- Tea.\n\n## B\n- Rain.", "tea", [], "## A\n- (nothing yet)\n\n## B\n- Rain.", id="a-section"
        ),
        pytest.param("Likes green\ntea. Hates rain.", "green tea", [], "[forgotten]", id="over-two-lines"),
        pytest.param("Rides a red bicycle. Hates rain.", "delft", [TOLD], "Hates rain.", id="of-the-same-message"),
    ],
)
def test_what_is_left_of_a_summary(text: str, needle: str, told: list[str], left: str) -> None:
    """Sentences with the words go, and those that are mostly from a message that goes; all of it where unsure."""
    assert cut_text(text, needle, [frozenset(terms(one)) for one in told]) == left
