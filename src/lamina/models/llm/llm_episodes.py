"""Episodes by a language model: moments that happened in the messages it was shown."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from lamina.folding.layouts import enclose
from lamina.language.words import terms
from lamina.models.llm.answers import Reply
from lamina.models.llm.ask import fit, system, together
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.json_values import items_in, number_in, place_in, text_in, words_or_none
from lamina.models.llm.llm_extractor import listed
from lamina.models.llm.questions import Ask
from lamina.models.llm.quotes import place_of
from lamina.protocols.models import EpisodeDraft
from lamina.values.fact import EPISODE_KINDS, EpisodeKind
from lamina.values.message import Message

_AT_ONCE = 20  # messages in one question
_BEFORE = 4
_MOST_CHARACTERS = 4_000  # of a message
_ROOM = 2_500
_LONGEST_TITLE, _LONGEST_SUMMARY, _LONGEST_CONTEXT = 80, 400, 200
_GROUNDED = 0.4  # share of an episode's terms that the messages must have
_ROLES = frozenset(("user", "assistant"))
_SCHEMA = listed(
    "episodes",
    {
        "message": {"type": "integer"},
        "kind": {"type": "string", "enum": list(EPISODE_KINDS)},
        "title": {"type": "string"},
        "summary": {"type": "string"},
        "context": {"type": "string"},
        "outcome": {"type": ["string", "null"]},
        "valence": {"type": "number"},
        "significance": {"type": "number"},
    },
)
_KINDS: Mapping[str, EpisodeKind] = {
    "decision": "decision_made",
    "solution": "problem_solved",
    "solved": "problem_solved",
    "milestone": "breakthrough",
    "insight": "breakthrough",
    "issue": "issue_identified",
    "problem": "issue_identified",
    "completed": "task_completed",
    "task": "task_completed",
    "change_of_direction": "pivot",
    **{kind: kind for kind in get_args(EpisodeKind)},
}


class LlmEpisodeExtractor:
    """Finds decisions, solutions, breakthroughs, issues, completed tasks and changes of direction."""

    batch = _AT_ONCE

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.model

    async def extract_episodes(self, messages: Sequence[Message], before: Sequence[Message]) -> list[EpisodeDraft]:
        told = [message for message in messages if message.role in _ROLES and message.text.strip()]
        found = await together(self._of(group, earlier) for group, earlier in _groups(told, before))
        return [draft for drafts in found for draft in drafts]

    async def _of(self, messages: Sequence[Message], before: Sequence[Message]) -> list[EpisodeDraft]:
        numbered = dict(enumerate((*before, *messages), 1))
        lines = [
            {"message": number, "speaker": message.role, "text": message.text[:_MOST_CHARACTERS]}
            | ({"before": True} if number <= len(before) else {})
            for number, message in numbered.items()
        ]
        data = enclose("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
        text = system("episodes", DATA=data, KINDS=", ".join(EPISODE_KINDS))
        ask = Ask(
            purpose="episodes", messages=(("system", system("guard")), ("user", text)), room=_ROOM, schema=_SCHEMA
        )
        return await fit(self.endpoint, ask, lambda reply: list(_drafts(reply, numbered, len(before))))


def _groups(messages: Sequence[Message], before: Sequence[Message]) -> Iterator[tuple[list[Message], list[Message]]]:
    everything = [*before, *messages]
    for first in range(0, len(messages), _AT_ONCE):
        at = len(before) + first
        yield everything[at : at + _AT_ONCE], everything[max(0, at - _BEFORE) : at]


def _drafts(reply: Reply, numbered: Mapping[int, Message], before: int) -> Iterator[EpisodeDraft]:
    seen: set[tuple[int, str]] = set()
    for item in items_in(reply, "episodes"):
        number = place_in(item, [one for one in numbered if one > before])
        kind = _KINDS.get(text_in(item, "kind").casefold().replace(" ", "_"))
        if number is None or kind is None or (number, kind) in seen:
            continue
        draft = _draft(item, number, kind, numbered)
        if draft is not None:
            seen.add((number, kind))
            yield draft


def _draft(item: Mapping[str, Any], number: int, kind: EpisodeKind, told: Mapping[int, Message]) -> EpisodeDraft | None:
    """An episode that the messages bear out."""
    summary = text_in(item, "summary")[:_LONGEST_SUMMARY]
    title = (text_in(item, "title") or summary)[:_LONGEST_TITLE].rstrip(".! ")
    near = [told[one] for one in range(max(1, number - _BEFORE), number + 1)]
    own, given = set(terms(f"{title} {summary}")), {term for message in near for term in terms(message.text)}
    if not title or not own or len(own & given) < _GROUNDED * len(own):
        return None
    return EpisodeDraft(
        message_id=told[number].id,
        kind=kind,
        title=title,
        summary=summary or title,
        context=_context(text_in(item, "context"), near[:-1]),
        outcome=words_or_none(item, "outcome"),
        valence=number_in(item, "valence", 0.0, least=-1.0),
        significance=number_in(item, "significance", 0.5),
    )


def _context(text: str, before: Sequence[Message]) -> str:
    """What came before, in the words that were said; '' if nobody said them."""
    for message in reversed(before):
        place = place_of(text, message.text)
        if place is not None:
            return message.text[place[0] : min(place[1], place[0] + _LONGEST_CONTEXT)]
    return ""
