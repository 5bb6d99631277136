"""What is said in quite other words than the question is found, though nothing around it is about the same.

`paraphrases.jsonl` has remarks, each with a question that shares hardly a word with it; each stands alone in a session,
beside sessions of the demo conversation.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina import Memory
from lamina.story import parts

PAIRS = [
    json.loads(line)
    for line in (Path(__file__).parent.parent / "data/search/paraphrases.jsonl").read_text("utf-8").splitlines()
]
SIZE = 10  # remarks of a session of the demo


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("talks") / "talks.db", worker=False, embedder="static") as memory:
        said = [one["content"] for part in parts() for one in part.messages if one["role"] == "user"][:150]
        for start in range(0, len(said), SIZE):
            session = [{"role": "user", "content": text} for text in said[start : start + SIZE]]
            memory.add(session, user_id="ida", session_id=f"talk-{start}")
        for number, pair in enumerate(PAIRS):
            memory.add(pair["said"], user_id="ida", session_id=f"alone-{number}")
        memory.settle()
        yield memory


def test_what_is_nearest_in_meaning_is_among_the_first_three(talks: Memory):
    raised = 0
    for pair in PAIRS:
        hits = talks.search(pair["asked"], user_id="ida", top_k=10, kinds=["message"], explain=True)
        for place, hit in enumerate(hits):
            if hit.parts.get("nearest"):
                raised += 1
                assert place == 2
                assert hit.score == hits[3].score
                assert hit.parts["cosine"] == max(one.parts["cosine"] for one in hits)
    assert raised


def test_questions_in_other_words_find_more_than_they_did(talks: Memory):
    """Of these 24, five were among the first three before."""
    found = 0
    for pair in PAIRS:
        hits = talks.search(pair["asked"], user_id="ida", top_k=3, kinds=["message"])
        found += any(hit.text == pair["said"] for hit in hits)
    assert found > 5


def test_scores_still_fall(talks: Memory):
    for pair in PAIRS:
        scores = [hit.score for hit in talks.search(pair["asked"], user_id="ida", top_k=20)]
        assert scores == sorted(scores, reverse=True)
