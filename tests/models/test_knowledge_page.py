"""The page of judged talks: verdicts are read from it, and kept for memories that are as they were."""

from pathlib import Path

from benchmarks import knowledge
from benchmarks.notes import of_talks

PAGE = Path(knowledge.__file__).parent / "results/knowledge.md"
JUDGED = """### unseen-01-ankle

**User:** hiya

- active, goal: “run again” 0.75 `good`
- candidate, relation (about Ana): “Ana runs” (asked: “Who?”) 0.50 `type`
- missed: goal: “swim” `missed`
- active, goal: “rest” 0.75 [?]
"""


def test_verdicts_are_read_by_talk_message_and_memory():
    assert knowledge.read_verdicts(JUDGED) == {
        ("unseen-01-ankle", "**User:** hiya", "goal: “run again”"): "`good`",
        ("unseen-01-ankle", "**User:** hiya", "relation (about Ana): “Ana runs” (asked: “Who?”)"): "`type`",
    }


def test_memories_that_are_as_they_were_keep_their_verdict():
    labelled = {one.id: one for one in of_talks()}
    talk = "unseen-01-ankle"
    plain = "\n".join(knowledge.read(talk, labelled, {}))
    judged = "\n".join(knowledge.read(talk, labelled, knowledge.read_verdicts(PAGE.read_text("utf-8"))))
    assert judged.count("`good`") > 0
    assert plain.count("[?]") == judged.count("[?]") + sum(judged.count(f"`{one}`") for one in knowledge.VERDICTS)
