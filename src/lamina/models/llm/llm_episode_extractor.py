"""Episodes by a language model: moments that happened in the messages it was shown."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from lamina.models.llm.ask import ask_for_list, gather
from lamina.models.llm.endpoint import Endpoint
from lamina.models.llm.json_answers import find_quote, items_in, number_in, place_in, text_in, words_or_none
from lamina.models.llm.openai_api import INTEGER, NUMBER, TEXT, TEXT_OR_NULL, Reply, list_schema
from lamina.protocols.models import EpisodeDraft
from lamina.values.fact import EPISODE_KINDS, EpisodeKind
from lamina.values.message import Message

_MAX_MESSAGES = 20  # messages in one question
_BEFORE = 4
_MAX_CHARACTERS = 4_000  # of a message
_MAX_ANSWER_TOKENS = 2_500
_MAX_TITLE, _MAX_SUMMARY, _MAX_CONTEXT = 80, 400, 200
_ROLES = frozenset(("user", "assistant"))
_PROPERTIES = {
    "message": INTEGER, "kind": {**TEXT, "enum": list(EPISODE_KINDS)}, "title": TEXT, "summary": TEXT, "context": TEXT,
    "outcome": TEXT_OR_NULL, "valence": NUMBER, "significance": NUMBER,
}  # fmt: skip
_SCHEMA = list_schema("episodes", _PROPERTIES)
_KINDS: Mapping[str, EpisodeKind] = {
    "decision": "decision_made", "solution": "problem_solved", "solved": "problem_solved",
    "milestone": "breakthrough", "insight": "breakthrough", "issue": "issue_identified",
    "problem": "issue_identified", "completed": "task_completed", "task": "task_completed",
    "change_of_direction": "pivot", **{kind: kind for kind in get_args(EpisodeKind)},
}  # fmt: skip


class LlmEpisodeExtractor:
    """Finds decisions, solutions, breakthroughs, issues, completed tasks and changes of direction."""

    batch = _MAX_MESSAGES

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.name = endpoint.model
        self.with_offline = endpoint.llm.with_offline

    async def extract_episodes(self, messages: Sequence[Message], before: Sequence[Message]) -> list[EpisodeDraft]:
        spoken = [message for message in messages if message.role in _ROLES and message.text.strip()]
        found = await gather(self._ask(group, earlier) for group, earlier in _groups(spoken, before))
        return [draft for drafts in found for draft in drafts]

    async def _ask(self, messages: Sequence[Message], before: Sequence[Message]) -> list[EpisodeDraft]:
        numbered = dict(enumerate((*before, *messages), 1))
        lines = [
            {"message": number, "speaker": message.role, "text": message.text[:_MAX_CHARACTERS]}
            | ({"before": True} if number <= len(before) else {})
            for number, message in numbered.items()
        ]
        return await ask_for_list(
            self.endpoint,
            "episodes",
            _SCHEMA,
            _MAX_ANSWER_TOKENS,
            lines,
            lambda reply: list(_drafts(reply, numbered, len(before))),
            KINDS=", ".join(EPISODE_KINDS),
        )


def _groups(messages: Sequence[Message], before: Sequence[Message]) -> Iterator[tuple[list[Message], list[Message]]]:
    everything = [*before, *messages]
    for first in range(0, len(messages), _MAX_MESSAGES):
        at = len(before) + first
        yield everything[at : at + _MAX_MESSAGES], everything[max(0, at - _BEFORE) : at]


def _drafts(reply: Reply, numbered: Mapping[int, Message], before: int) -> Iterator[EpisodeDraft]:
    for item in items_in(reply, "episodes"):
        number = place_in(item, list(numbered)) or place_in(item, [one for one in numbered if one > before])
        kind = _KINDS.get(text_in(item, "kind").casefold().replace(" ", "_"))
        if number is None or number <= before or kind is None:
            continue
        draft = _draft(item, number, kind, numbered)
        if draft is not None:
            yield draft


def _draft(
    item: Mapping[str, Any], number: int, kind: EpisodeKind, numbered: Mapping[int, Message]
) -> EpisodeDraft | None:
    """The episode of an item, if it says anything."""
    summary = text_in(item, "summary")[:_MAX_SUMMARY]
    title = (text_in(item, "title") or summary)[:_MAX_TITLE].rstrip(".! ")
    if not title:
        return None
    return EpisodeDraft(
        message_id=numbered[number].id,
        kind=kind,
        title=title,
        summary=summary or title,
        context=_context(text_in(item, "context"), [numbered[one] for one in range(max(1, number - _BEFORE), number)]),
        outcome=words_or_none(item, "outcome"),
        valence=number_in(item, "valence", 0.0, min_value=-1.0),
        significance=number_in(item, "significance", 0.5),
    )


def _context(text: str, before: Sequence[Message]) -> str:
    """The context as an earlier message has it, word for word; '' if none has."""
    for message in reversed(before):
        place = find_quote(text, message.text)
        if place is not None:
            return message.text[place[0] : min(place[1], place[0] + _MAX_CONTEXT)]
    return ""
