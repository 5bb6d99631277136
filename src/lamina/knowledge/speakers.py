"""Who speaks: which messages of a group chat are the user's own, and whom what is said in the others is about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lamina.knowledge.fact_words import names, normalise_value, plain_text, slot_of
from lamina.knowledge.projects import in_project, without_project
from lamina.values.fact import Fact
from lamina.values.message import Message

_MAX_NAME = 100  # characters of a name that are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Speakers:
    """The names under which messages of role `user` were said in a session, and those that the user goes by."""

    names: frozenset[str]
    own: frozenset[str] = frozenset()

    @property
    def is_group(self) -> bool:
        """Whether more than one person speaks; a single name is the user's, whatever it is."""
        return len(self.names) > 1

    def other(self, message: Message) -> str | None:
        """Who says a message, if it is not the user; a message without a name is the user's own."""
        name = name_of(message)
        if name is None or not self.is_group or plain_text(name) in self.own:
            return None
        return name


def name_of(message: Message) -> str | None:
    """The name under which a message was said, in one line."""
    return " ".join((message.name or "").split())[:_MAX_NAME].strip() or None


def names_in(messages: Iterable[Message]) -> frozenset[str]:
    """The names of those who speak in the user's place, made comparable."""
    found = (name_of(message) for message in messages if message.role == "user")
    return frozenset(plain_text(name) for name in found if name)


def own_names(user_id: str, known: Sequence[Fact], session_id: str) -> frozenset[str]:
    """What the user goes by: their id, what stands before its @, and the names known from elsewhere than a session."""
    elsewhere = names(fact for fact in known if fact.session_id != session_id)
    return frozenset(plain_text(name) for name in (user_id, user_id.partition("@")[0], *elsewhere) if name.strip())


def about_whom(about: str | None, message: Message, other: str | None) -> str | None:
    """Whom something is about that was said in a message: who says it, the person named, or their relative.

    `about` is what the words say, or what was made of them before; `other` is who says it, if it is not the user.
    """
    name = name_of(message)
    if about is not None and name is not None:
        about = None if normalise_value(about) == normalise_value(name) else about.removeprefix(f"{name}'s ")
    if about is None or other is None or about[:1].isupper():
        return about or other
    return f"{other}'s {about}"


def reattributed(facts: Iterable[Fact], messages: Sequence[Message], speakers: Speakers) -> list[Fact]:
    """The facts of a session that are about somebody else than they say, now that others spoke or were forgotten."""
    by_id = {message.id: message for message in messages}
    found = []
    for fact in facts:
        message = by_id.get(fact.message_id or "")
        if message is None or name_of(message) is None:
            continue
        about = about_whom(fact.about, message, speakers.other(message))
        if about != fact.about:
            found.append(in_project(_about(without_project(fact), about), fact.project_id))
    return found


def _about(fact: Fact, about: str | None) -> Fact:
    """A fact of another person; what its slot has behind that of the key stays."""
    before, after = (slot_of(fact.key, fact.value, who, fact.scope) for who in (fact.about, about))
    moved = after + fact.slot.removeprefix(before) if fact.slot.startswith(before) else after
    return replace(fact, about=about, slot=moved)
