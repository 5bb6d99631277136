"""How much of what questions ask for survives a summary: `python -m benchmarks.summaries [LOCOMO.jsonl.gz]`.

Each LoCoMo session is summarised at a quarter of its tokens. Two shares are reported, averaged over the questions
(adversarial ones left out): `answer` is the share of the answer's content words that the gold sessions have and their
summaries keep; `evidence` is the same for the content words of the gold turns. The weights were searched on the
conversations with even index only, but the scores of the others were in view while values were settled, so `held out`
is a check against gross overfitting, not a clean test. Words are cut and stop words dropped as the summariser does it.
"""

import gzip
import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lamina.language.sentences import sentences
from lamina.language.words import fold, stem, surface_words
from lamina.models.offline.summarisation.extractive_summariser import OfflineSummariser
from lamina.models.offline.summarisation.lexicon import lexicon
from lamina.models.token_counters import ExactCounter
from lamina.protocols.models import SummaryTask
from lamina.values.message import Message

DEFAULT = Path(__file__).parents[2] / "shared" / "data" / "locomo_dev.jsonl.gz"
QUARTER = 0.25
ROLLING_CAP = 1_000
ROLLING_FOLDS = 5

counter = ExactCounter()
summariser = OfflineSummariser(counter)


@dataclass(frozen=True, slots=True)
class Conversation:
    first: str  # who speaks first
    sessions: Mapping[str, tuple[dict[str, Any], ...]]
    questions: tuple[dict[str, Any], ...]


Method = Callable[[Sequence[Message], int], str]


def loaded(path: Path) -> list[Conversation]:
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            sessions: dict[str, list[dict[str, Any]]] = {}
            for turn in record["turns"]:
                sessions.setdefault(turn["sess"], []).append(turn)
            questions = [one for one in record["questions"] if one["cat"] != "adversarial" and one["gold"]]
            first = record["turns"][0]["speaker"]
            found.append(
                Conversation(first, {name: tuple(turns) for name, turns in sessions.items()}, tuple(questions))
            )
    return found


def as_messages(conversation: Conversation, name: str, *, assistant: bool) -> list[Message]:
    """A session's turns as messages; with `assistant`, the second speaker has that role."""
    roles = [
        "assistant" if assistant and turn["speaker"] != conversation.first else "user"
        for turn in conversation.sessions[name]
    ]
    return [_message(at, turn, roles[at]) for at, turn in enumerate(conversation.sessions[name])]


def _message(at: int, turn: Mapping[str, Any], role: Any) -> Message:
    return Message(
        id=turn["id"],
        session_id=turn["sess"],
        seq=at + 1,
        turn=at + 1,
        role=role,
        body={"role": role, "content": turn["text"], "name": turn["speaker"]},
        created_at=datetime.strptime(turn["date"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC),
        metadata={},
        model=None,
        tokens=0,
        text=turn["text"],
        digest="",
    )


def content(text: str) -> list[str]:
    tokens = [fold(word) for word in surface_words(text)]
    return list(dict.fromkeys(stem(token) for token in tokens if token not in lexicon().stop and len(token) > 1))


# Methods


def ours(messages: Sequence[Message], cap: int, previous: str | None = None, user_share: float = 0.0) -> str:
    task = SummaryTask(
        kind="update" if previous else "chunk",
        profile="default",
        messages=tuple(messages),
        previous=previous,
        summaries=(),
        sections=(),
        cap=cap,
        least=0,
        user_share=user_share,
    )
    return summariser.write(task).text


def user_first(messages: Sequence[Message], cap: int) -> str:
    """As `default`, `layered` and `medium_term` have it: most of the words are the user's."""
    return ours(messages, cap, user_share=0.7)


def _filled(parts: Iterable[str], cap: int) -> str:
    chosen: list[str] = []
    used = 0
    for part in parts:
        cost = counter.count(f" {part}")
        if used + cost <= cap - 2:  # joined they may count a little more
            chosen.append(part)
            used += cost
    return " ".join(chosen)


def _all_sentences(messages: Sequence[Message]) -> list[str]:
    return [sentence.text for message in messages for sentence in sentences(message.text)]


def lead(messages: Sequence[Message], cap: int) -> str:
    return _filled(_all_sentences(messages), cap)


def shuffled(messages: Sequence[Message], cap: int) -> str:
    parts = _all_sentences(messages)
    random.Random(7).shuffle(parts)
    return _filled(parts, cap)


def longest(messages: Sequence[Message], cap: int) -> str:
    return _filled(sorted(_all_sentences(messages), key=lambda part: -len(part)), cap)


# Measures


def survival(conversation: Conversation, summaries: Mapping[str, str]) -> tuple[list[float], list[float]]:
    """For each question whose gold sessions are all summarised: share of answer words and of evidence words kept."""
    kept = {name: frozenset(content(text)) for name, text in summaries.items()}
    said = {
        name: frozenset(content(" ".join(turn["text"] for turn in conversation.sessions[name]))) for name in summaries
    }
    turns = {turn["id"]: turn for name in summaries for turn in conversation.sessions[name]}
    answers: list[float] = []
    evidence: list[float] = []
    for question in conversation.questions:
        gold = [turns[one] for one in question["gold"] if one in turns]
        if not gold or len(gold) < len(question["gold"]):
            continue
        names = {turn["sess"] for turn in gold}
        there = frozenset[str]().union(*(said[name] for name in names))
        left = frozenset[str]().union(*(kept[name] for name in names))
        wanted = [key for key in content(str(question["a"])) if key in there]
        if wanted:
            answers.append(sum(key in left for key in wanted) / len(wanted))
        clues = content(" ".join(turn["text"] for turn in gold))
        evidence.append(sum(key in left for key in clues) / max(1, len(clues)))
    return answers, evidence


def by_session(conversations: Sequence[Conversation], method: Method, *, assistant: bool) -> tuple[float, float, float]:
    answers: list[float] = []
    evidence: list[float] = []
    spent: list[float] = []
    for conversation in conversations:
        summaries = {}
        for name, turns in conversation.sessions.items():
            messages = as_messages(conversation, name, assistant=assistant)
            cap = int(QUARTER * sum(counter.count(turn["text"]) for turn in turns))
            began = time.perf_counter()
            summaries[name] = method(messages, cap)
            spent.append(time.perf_counter() - began)
            if counter.count(summaries[name]) > cap:
                raise AssertionError(f"{name} is over its cap")
        found = survival(conversation, summaries)
        answers += found[0]
        evidence += found[1]
    return mean(answers), mean(evidence), 1000 * mean(spent)


def rolling(conversations: Sequence[Conversation], method: Method | None) -> tuple[float, float]:
    """Five sessions in 1,000 tokens: folded one by one by ours (None), at once by another method."""
    answers: list[float] = []
    evidence: list[float] = []
    for conversation in conversations:
        names = list(conversation.sessions)
        for at in range(0, len(names) - ROLLING_FOLDS + 1, ROLLING_FOLDS):
            group = names[at : at + ROLLING_FOLDS]
            read = [as_messages(conversation, name, assistant=True) for name in group]
            text = ""
            if method is None:
                for messages in read:
                    text = ours(messages, ROLLING_CAP, text or None)
            else:
                text = method([message for messages in read for message in messages], ROLLING_CAP)
            found = survival(conversation, dict.fromkeys(group, text))
            answers += found[0]
            evidence += found[1]
    return mean(answers), mean(evidence)


def user_words(conversations: Sequence[Conversation], method: Method) -> float:
    """Which share of the words of summaries of a quarter the first speaker has, if the second is the assistant."""
    shares = []
    for conversation in conversations:
        for name, turns in conversation.sessions.items():
            messages = as_messages(conversation, name, assistant=True)
            text = method(messages, int(QUARTER * sum(counter.count(turn["text"]) for turn in turns)))
            lines = [line.removeprefix("- ").split() for line in text.splitlines()]
            own = sum(len(line) for line in lines if line and line[0].startswith(conversation.first.split()[0]))
            shares.append(own / max(1, sum(map(len, lines))))
    return mean(shares)


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


METHODS: tuple[tuple[str, Method, bool], ...] = (
    ("first sentences", lead, True),
    ("random sentences", shuffled, True),
    ("longest sentences", longest, True),
    ("ours, second speaker is the assistant", ours, True),
    ("ours, both are users", ours, False),
)


def main(path: Path) -> None:
    conversations = loaded(path)
    halves = (("tuned on", conversations[::2]), ("held out", conversations[1::2]), ("all", conversations))
    print(
        f"{'a quarter of each session':40}"
        + "".join(f"{name + ': answer':>18}{'evidence':>10}" for name, _ in halves)
        + "    ms"
    )
    for title, method, assistant in METHODS:
        rows = [by_session(half, method, assistant=assistant) for _, half in halves]
        print(f"{title:40}" + "".join(f"{row[0]:18.1%}{row[1]:10.1%}" for row in rows) + f"{rows[-1][2]:6.1f}")
    print(f"\n{'five sessions in 1,000 tokens':40}")
    for title, choose in (("first sentences", lead), ("random sentences", shuffled), ("longest sentences", longest)):
        shares = [rolling(half, choose) for _, half in halves]
        print(f"{title:40}" + "".join(f"{row[0]:18.1%}{row[1]:10.1%}" for row in shares))
    for title, once in (("ours, at once", ours), ("ours, five rolling folds", None)):
        shares = [rolling(half, once) for _, half in halves]
        print(f"{title:40}" + "".join(f"{row[0]:18.1%}{row[1]:10.1%}" for row in shares))
    print(f"\n{'words of the user, of the rest the assistant':46}")
    for title, writer in (("ours", ours), ("ours, the user first", user_first)):
        print(f"{title:40}" + "".join(f"{user_words(half, writer):18.1%}{'':10}" for _, half in halves))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
