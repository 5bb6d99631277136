"""Document 002: the two stages of retrieval, episodes by cosine distance, and the injection."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from lamina import PROFILES, Memory
from tests.documents.talks import USER, Finding, Recorder, Table, Talk

Opener = Callable[..., Memory]

# what each stretch of turns was about, and how far its summary is from the question
DISTANCES = {"lighthouse": 0.35, "pasta": 0.05, "puppy": 0.7, "violin": 0.15, "taxes": 0.9, "snow": 0.25}
QUESTION = "What did we say before?"


@dataclass
class Angles:
    """An embedder in which the question is so far from a text as the topic that the text has."""

    name: str = "angles"
    dimensions: int = 4
    inline: bool = True
    distances: dict[str, float] = field(default_factory=lambda: dict(DISTANCES))

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        if text == QUESTION:
            return [1.0, 0.0, 0.0, 0.0]
        distance = next((away for topic, away in self.distances.items() if topic in text), 1.0)
        return [1 - distance, math.sqrt(1 - (1 - distance) ** 2), 0.0, 0.0]


def six_episodes(opened: Opener, **changes: object) -> Talk:
    topics = dict(zip((1, 11, 31, 51, 71, 91), DISTANCES, strict=True))
    recorder = Recorder(lambda task: f"Talked about {topics[task.messages[0].turn]}.")
    talk = Talk(opened(PROFILES["assistant"].but(**changes), summariser=recorder, embedder=Angles()))
    for topic in (topics[min(topics, key=lambda first: (first > turn, turn - first))] for turn in range(1, 121)):
        talk.add("user", f"Tell me of {topic}.")
        talk.add("assistant", f"Of {topic} there is much to tell.")
    talk.memory.settle()
    assert [summary.text for summary in talk.summaries()] == [f"Talked about {topic}." for topic in DISTANCES]
    return talk


def test_episodes_by_cosine_distance(opened: Opener) -> None:
    """002.8: of the episodes nearer than 0.4, the nearest three are in the context, nearest first."""
    talk = six_episodes(opened)
    context = talk.context(QUESTION)
    memory, _, _ = context.text.partition("# Recent Conversation")
    shown = sorted((topic for topic in DISTANCES if f"Talked about {topic}." in memory), key=memory.index)
    assert shown == ["pasta", "violin", "snow"]
    assert sorted(shown, key=lambda topic: memory.index(f"about {topic}.")) == shown


@pytest.mark.parametrize(("limit", "number"), [(0.1, 1), (0.2, 2), (0.4, 3), (None, 3)])
def test_the_distance_is_a_filter(opened: Opener, limit: float | None, number: int) -> None:
    """002.14: only episodes nearer than the limit are shown, at most three; the others are omitted with the reason."""
    talk = six_episodes(opened, episode_distance=limit)
    manifest = talk.context(QUESTION).manifest
    assert sum(item.section == "summaries" for item in manifest.items) == number
    far = [one.reason for one in manifest.omitted if one.reason.startswith(("distance", "has nothing to do"))]
    assert len(far) == (0 if limit is None else sum(away >= limit for away in DISTANCES.values()))


def test_a_summary_has_a_vector_of_its_own(opened: Opener) -> None:
    """002.8: what is compared is the cosine of the summary's vector with the question's; it is told."""
    talk = six_episodes(opened)
    hits = talk.memory.search(QUESTION, user_id=USER, kinds=["summary"], weights={"semantic": 1}, explain=True)
    found = {hit.text.removeprefix("Talked about ").removesuffix("."): 1 - hit.parts["cosine"] for hit in hits}
    assert found == pytest.approx({topic: away for topic, away in DISTANCES.items() if topic in found}, abs=0.02)
    assert list(found)[:4] == ["pasta", "violin", "snow", "lighthouse"]


def test_the_words_need_not_match(opened: Opener) -> None:
    """002.8: the document's example, and a question without any of the words, with the vectors of Lamina itself."""
    summaries = {
        1: "User asked about vector databases. Discussed FAISS vs pgvector...",
        11: "Planned a walking tour through Porto with a stop at the river.",
        31: "A recipe for mushroom risotto for six guests.",
        51: "Trained for a marathon; the left knee hurts.",
    }
    recorder = Recorder(lambda task: task.messages[0].text)
    talk = Talk(opened("assistant", summariser=recorder))
    for turn in range(1, 81):
        talk.add("user", summaries[max(first for first in summaries if first <= turn)])
        talk.add("assistant", f"That was number {turn}.")
    talk.memory.settle()
    assert [summary.text for summary in talk.summaries()] == list(summaries.values())
    for question, first in (("What did we discuss about databases?", 1), ("dinner party cooking", 31)):
        hits = talk.memory.search(question, user_id=USER, kinds=["summary"])
        assert hits[0].text == summaries[first]


TALKS = {
    "birds": "We saw a kingfisher at the pond. A nest box for blue tits needs a small hole. The blackbird sings.",
    "mortgage": "The bank offers 3.9 percent fixed for ten years. Early repayment has a penalty. My score is 710.",
    "vectors": "FAISS or pgvector, which should we take? What does HNSW ef_search do? Is cosine better for embeddings?",
    "baby": "Leni wakes up five times a night. Her first tooth hurts. The daycare starts in August.",
}
ASKED_BACK = {
    "What did we discuss about birds?": "birds",
    "What did you tell me about wildlife?": "birds",
    "Remind me of our talk on interest rates": "mortgage",
    "What did we say about the loan?": "mortgage",
    "What did we conclude about vector databases?": "vectors",
    "What did we say about the baby's sleep?": "baby",
    "What did we talk about regarding kindergarten?": "baby",
    "Did we talk about teething?": "baby",
}
OTHER_TOPICS = ("chess", "my motorcycle", "gardening", "the theatre tickets", "sourdough", "the marathon", "politics")


def test_a_question_about_earlier_talk_may_name_its_topic_in_one_word(opened: Opener) -> None:
    """002.14: "birds" finds the episode about kingfishers and nest boxes; a topic that never came up finds none."""
    memory = opened("assistant", summariser=Recorder(lambda task: TALKS[task.messages[0].session_id]))
    for topic, text in TALKS.items():
        talk = Talk(memory, session_id=topic)
        for number in range(20):
            talk.add("user", f"{text} ({number})")
            talk.add("assistant", "Noted.")
        memory.settle()
    asked = {question: found_in(memory, question) for question in ASKED_BACK}
    assert sum(asked[question][:1] == [topic] for question, topic in ASKED_BACK.items()) >= 6, asked
    others = {topic: found_in(memory, f"What did we discuss about {topic}?") for topic in OTHER_TOPICS}
    assert sum(map(bool, others.values())) <= 1, others


def found_in(memory: Memory, question: str) -> list[str | None]:
    """The sessions of the episodes that a new session is shown."""
    items = memory.context(question, user_id=USER, session_id="new").manifest.items
    return [item.session_id for item in items if item.section == "summaries"]


def test_facts_then_episodes_then_the_conversation(opened: Opener) -> None:
    """002.9: facts by importance, episodes with turn range and 150 characters, the conversation, the closing line."""
    facts = Table(
        [
            Finding(words="black", key="coding_style", value="black", category="preference", importance=0.6),
            Finding(words="Alex", key="name", value="Alex", importance=0.9),
            Finding(words="Python", key="language", value="Python", category="preference", importance=0.7),
            Finding(words="tea", key="drink", value="tea", category="preference", importance=0.4),
        ]
    )
    long = "User asked about vector databases. " + "Discussed FAISS vs pgvector at great length. " * 6
    recorder = Recorder(lambda task: task.messages[0].text)
    talk = Talk(opened("assistant", summariser=recorder, extractor=facts))
    for turn in range(1, 41):
        talk.add("user", long if turn <= 10 else "About retrieval and embeddings.")
        talk.add("assistant", f"That was number {turn}.")
    talk.memory.settle()
    talk.add("user", "I'm Alex, I format Python with black and drink tea.")
    talk.add("assistant", "Noted.")
    talk.memory.settle()
    talk.add("user", "What did we discuss about databases?")
    text = talk.context("What did we discuss about databases?").text
    memory, _, conversation = text.partition("\n\n# Recent Conversation\n")
    assert memory.split("\n") == [
        "# Long-term Memory",
        "## User Profile",
        "- name: Alex",
        "- language: Python",
        "- coding_style: black",
        "",
        "## Recent Context",
        f"- turns 1-10: {' '.join(long.split())[:150]}...",
    ]
    *said, last, blank, closing = conversation.split("\n")
    assert all(line.startswith(("user: ", "assistant: ")) for line in said)
    assert last == "user: What did we discuss about databases?"
    assert (blank, closing) == ("", "Answer consistently using the memory and conversation above.")
