"""What is left of messages, facts and episodes when words of them are forgotten."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lamina.forgetting import find
from lamina.knowledge.conflicts import order
from lamina.knowledge.fact_words import TELLING, claim, describe_fact, telling
from lamina.language.words import terms
from lamina.log.erased import DROPPED, FORGOTTEN
from lamina.log.messages import text_of
from lamina.protocols.store import Rewrite
from lamina.values.fact import Episode, Fact
from lamina.values.message import Json, Message

# Names of fields that chat messages have, whatever they say.
_FORMAT = frozenset(
    ("role", "content", "name", "type", "text", "refusal", "image_url", "url", "detail", "input_audio", "data",
     "format", "file", "file_id", "file_data", "filename", "tool_calls", "tool_call_id", "id", "index", "function",
     "arguments", "function_call", "audio", "annotations", "input_text", "input_image", "input_file",
     "output_text")
)  # fmt: skip


def strings(value: Any) -> Iterator[str]:
    """Every text and number in a value as text, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield json.dumps(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from strings(key)
            yield from strings(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings(item)


def has(value: Any, wanted: str) -> bool:
    """Whether some text in a value has the wanted words, however they are written."""
    needle = find.needle(wanted)
    return bool(needle) and any(find.is_in(needle, text) for text in set(strings(value)))


def message_has(message: Message, wanted: str) -> bool:
    return has((message_words(message.body, message.metadata), message.model), wanted)


def message_words(body: Json, metadata: Json) -> tuple[Any, ...]:
    """Everything that a message tells: as it is shown, its parts as if said in one breath, and each by itself."""
    parts = body.get("content")
    run_on = "".join(map(_part, parts)) if isinstance(parts, list | tuple) else ""
    own = {name: item for name, item in body.items() if name != "role"}
    return text_of(body), run_on, _content(own), metadata


def _is_kind(name: str, item: Any) -> bool:
    return name == "type" and isinstance(item, str) and item in _FORMAT


def mentions(body: Json, metadata: Json, words: Iterable[str]) -> bool:
    """Whether a message gives away a fact by its words; short ones count only where they are no part of others."""
    content = message_words(body, metadata)
    return any(_tells(content, [one]) if len(one) < TELLING else has(content, one) for one in words)


def _part(part: Any) -> str:
    return part if isinstance(part, str) else str(part.get("text") or "") if isinstance(part, Mapping) else ""


def _content(value: Any) -> Any:
    """What is said in a message's body: without the names that the format gives to fields and kinds of parts."""
    if isinstance(value, Mapping):
        own = [item for name, item in value.items() if not _is_kind(name, item)]
        return [name for name in value if name not in _FORMAT] + [_content(item) for item in own]
    return [_content(item) for item in value] if isinstance(value, list | tuple) else value


def fact_words(fact: Fact) -> tuple[Any, ...]:
    """Everything that a fact tells, but for the question that it answers, which is not its own."""
    line = describe_fact(replace(fact, question=None))
    return line, fact.value, fact.key, fact.quote, fact.reason, fact.category, fact.tags, fact.about, fact.scope


def empty_body(message: Message, placeholder: str) -> dict[str, Any]:
    """The body of a message of which nothing is left but its place: tool calls and results still find each other."""
    body: dict[str, Any] = {"role": message.role, "content": placeholder}
    calls = message.body.get("tool_calls")
    if calls and message.calls:
        body["tool_calls"] = [_bare_call(call) for call in calls]
    if message.answers is not None:
        body["tool_call_id"] = message.answers
    return body


def _bare_call(call: Json) -> dict[str, Any]:
    function = call.get("function")
    name = function.get("name") if isinstance(function, Mapping) else None
    return {"id": call.get("id"), "type": "function", "function": {"name": name or "forgotten", "arguments": "{}"}}


def words_of(forgotten: Sequence[Fact], others: Sequence[Fact]) -> list[str]:
    """What is cut out of a message for facts that were said in it: their quotes, and the words that give them away.

    Where other facts quote some of the same words, only the latter, if there are any.
    """
    words = []
    for fact in forgotten:
        own = telling(fact)
        shared = any(other.start < fact.end and fact.start < other.end for other in others)
        words += own if own and shared else [fact.quote, *own]
    return list(dict.fromkeys(filter(find.needle, words)))


def without(message: Message, pieces: Sequence[str]) -> tuple[Json, Json] | None:
    """Body and metadata with each piece taken out; None if that cannot be done without taking all."""
    needles = _needles(pieces)
    body = {name: item if name == "role" else _cut(item, needles, _FORMAT) for name, item in message.body.items()}
    metadata = _cut(message.metadata, needles, frozenset())
    return None if any(has(message_words(body, metadata), piece) for piece in pieces) else (body, metadata)


def cut_title(title: str, wanted: str) -> str:
    """A title without the wanted words."""
    return _cut_text(title, _needles([wanted]))


def shares_words(title: str, texts: Iterable[str]) -> bool:
    """Whether a title has a word that carries meaning in one of the texts, in whatever form."""
    own = set(terms(title))
    return any(not own.isdisjoint(terms(text)) for text in texts)


def _needles(pieces: Iterable[str]) -> list[str]:
    """What to look for; nothing where nothing shows."""
    return list(filter(None, map(find.needle, pieces)))


def _cut(value: Any, needles: Sequence[str], names: frozenset[str]) -> Any:
    """A value without these words; names of the format stay as they are."""
    if isinstance(value, Mapping):
        return {
            name if name in names else _cut_text(name, needles): (
                item if names and _is_kind(name, item) else _cut(item, needles, names)
            )
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_cut(item, needles, names) for item in value]
    if isinstance(value, str):
        return _cut_text(value, needles)
    return FORGOTTEN if any(find.is_in(needle, text) for text in strings(value) for needle in needles) else value


def _cut_text(text: str, needles: Sequence[str]) -> str:
    """A text without these words, or nothing of it where they cannot be told apart from the rest."""
    if not any(find.is_in(needle, text) for needle in needles):
        return text
    left, end = [], 0
    for start, behind in find.spans(text, needles):
        left.append(text[end:start])
        end = behind
    cut = FORGOTTEN.join([*left, text[end:]])
    return FORGOTTEN if any(find.is_in(needle, cut) for needle in needles) else cut


# what else came of a message of which words were cut out


def remaining_facts(facts: Iterable[Fact], change: Rewrite, before: str) -> list[Fact]:
    """The facts of such a message that stay, at their new places in it: those that do not give away what was cut.

    `before` is what the message said. Two that are the same at one place now are one.
    """
    after, cut = text_of(json.loads(change.body)), _needles(change.words)
    telling = [words for words in change.telling if len(words) >= TELLING]
    kept: dict[tuple[object, ...], Fact] = {}
    for fact in sorted(facts, key=lambda fact: (fact.verdict is None, *order(fact))):
        told = (fact.value, fact.key, fact.reason, fact.tags, fact.about, fact.scope)
        is_cut = _tells(change.telling, [fact.value]) and not has(after, fact.value)
        if not is_cut and not _tells(told, telling):
            moved = _move_quote(fact, before, after, cut)
            kept.setdefault(claim(moved), moved)
    return list(kept.values())


def _move_quote(fact: Fact, before: str, after: str, cut: Sequence[str]) -> Fact:
    """A fact with its quote as it reads now, or with all that is left of the message where it cannot be found."""
    quote, start = _cut_text(fact.quote, cut), len(_cut_text(before[: fact.start], cut))
    if before == after == DROPPED:  # the quote is all that there is
        return replace(fact, quote=quote, end=fact.start + len(quote))
    if not after.startswith(quote, start):
        start = after.find(quote)
    if start < 0 or not quote:
        quote, start = after, 0
    return replace(fact, quote=quote, start=start, end=start + len(quote))


def remaining_answer(fact: Fact, change: Rewrite) -> Fact | None:
    """A fact after the message that asked for it was rewritten; None if it tells what only the question had said.

    A question that has something of what was cut is dropped.
    """
    if change.words and not any(has(fact.question, words) for words in (*change.words, *change.telling)):
        return fact
    asked = set(terms(fact.question or "")) - set(terms(fact.quote))
    told = (fact.value, fact.key, fact.reason, fact.about, fact.scope)
    if any(not asked.isdisjoint(terms(text)) for text in told if text):
        return None
    return replace(fact, question=None, question_id=None)


def _tells(value: Any, telling: Iterable[str]) -> bool:
    needles = _needles(telling)
    return any(find.is_word_in(needle, text) for text in set(strings(value)) for needle in needles)


def episode_words(episode: Episode) -> tuple[Any, ...]:
    """Everything that an episode tells."""
    return episode.title, episode.summary, episode.context, episode.outcome, episode.participants


def remaining_episode(episode: Episode, changes: Mapping[str, Rewrite], gone: Collection[str]) -> Episode | None:
    """An episode after messages of it were rewritten; None if it goes, as all of it was said in them or may have been.

    One that told of what was cut is emptied, and written again when its messages are read again. `gone`: erased facts.
    """
    own = [changes[one] for one in episode.message_ids if one in changes]
    emptied = {change.message_id for change in own if not change.words}
    if emptied and (episode.origin == "told" or episode.message_ids[0] in emptied):
        return None
    kept = replace(
        episode,
        linked=tuple(one for one in episode.linked if one not in gone),
        message_ids=tuple(one for one in episode.message_ids if one not in emptied),
    )
    words = [words for change in own for words in change.words]
    if episode.origin == "told":
        return _cut_episode(kept, _needles(words))
    content, tells = episode_words(episode), [tells for change in own for tells in change.telling]
    if not emptied and not any(has(content, one) for one in words) and not _tells(content, tells):
        return kept
    return replace(kept, title=FORGOTTEN, summary=FORGOTTEN, context="", outcome=None, participants=())


def _cut_episode(episode: Episode, needles: Sequence[str]) -> Episode:
    title, summary, context, outcome, participants = _cut(episode_words(episode), needles, frozenset())
    return replace(
        episode, title=title, summary=summary, context=context, outcome=outcome, participants=tuple(participants)
    )


def rewrite(message: Message, body: Json, metadata: Json, *, tokens: int, salt: bytes, whole: bool) -> Rewrite:
    """A message with another body in its place, if it still says what it says now."""
    return Rewrite(
        session_id=message.session_id,
        seq=message.seq,
        message_id=message.id,
        expect=bytes.fromhex(message.leaf),
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
        metadata=json.dumps(metadata, ensure_ascii=False, separators=(",", ":")),
        tokens=tokens,
        salt=salt,
        whole=whole,
    )
