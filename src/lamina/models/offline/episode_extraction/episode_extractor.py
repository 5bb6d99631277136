"""Finds the moments that mattered in a conversation; the same messages give the same episodes."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lamina.language.words import overlap, terms
from lamina.models.offline.episode_extraction.moment_clauses import BREAK, EDGE, Statement, line_of, prose
from lamina.models.offline.episode_extraction.moment_cues import Language, languages
from lamina.models.offline.episode_extraction.moment_features import Match, Observation, observe
from lamina.models.offline.episode_extraction.moment_model import model
from lamina.models.offline.episode_extraction.moment_titles import MAX_TITLE, capitalise, make_title, split_clauses
from lamina.models.offline.episode_extraction.moment_valence import read_valence
from lamina.parts import load_beside_loop
from lamina.protocols.models import EpisodeDraft
from lamina.values.fact import EpisodeKind
from lamina.values.message import Message

MAX_SUMMARY = 300
MAX_CONTEXT = 160
MIN_SIGNIFICANCE, MAX_SIGNIFICANCE = 0.3, 0.95
_MAX_BEFORE = 4  # earlier messages in which the context of a moment is looked for
_MIN_TERMS = 2  # that say what happened
_MIN_OTHER_TERMS = 2  # besides the cue
_MIN_SENTENCE = 5  # characters of a sentence that a summary begins with: not "OK."
_MIN_CUT = 25  # characters of a text that is cut at a clause
_REPEATS = 0.6  # share of its terms from which a moment only repeats the one before
_WITH_OUTCOME = frozenset(("decision_made", "problem_solved", "task_completed"))
_ABOUT = frozenset(("problem_solved", "task_completed"))  # "merged" says more with what was spoken of
_STRENGTHS = ("strong", "plain", "assistant")
_OF_ASSISTANT = 0.6  # how sure its own confirmations are

_BASE, _SURE = 0.34, 0.25
_NUMBER, _MARK, _STRESS, _REASON, _TONE = 0.06, 0.04, 0.08, 0.07, 0.12
_WEIGHTS = {"breakthrough": 0.1, "pivot": 0.1, "decision_made": 0.09, "problem_solved": 0.07, "issue_identified": 0.06,
            "task_completed": 0.07}  # fmt: skip
_DIGIT = re.compile(r"\d")


class OfflineEpisodeExtractor:
    """Finds decisions, solutions, breakthroughs, issues, completed tasks and changes of direction."""

    name = "offline-episodes-2"
    loaded = False

    def load(self) -> None:
        """Read the cue phrases and the model."""
        languages()
        model()
        self.loaded = True

    async def extract_episodes(self, messages: Sequence[Message], before: Sequence[Message]) -> list[EpisodeDraft]:
        await load_beside_loop(self)
        everything = [*before, *messages]
        drafts = (
            episode_in(message, everything[max(0, at - _MAX_BEFORE) : at])
            for at, message in enumerate(messages, start=len(before))
        )
        return [draft for draft in drafts if draft]


def episode_in(message: Message, before: Sequence[Message]) -> EpisodeDraft | None:
    """The moment of a message, if there is one that no message shortly before has told already."""
    draft = _draft(message, before)
    if draft is None or any(_tells_same(one, draft) for one in before if one.session_id == message.session_id):
        return None
    return draft


def _tells_same(earlier: Message, draft: EpisodeDraft) -> bool:
    """Whether an earlier message of the user tells of a moment of the same kind, in much the same words."""
    own, other = frozenset(terms(draft.summary)), frozenset(terms(earlier.text))
    if earlier.role != "user" or len(own) < _MIN_TERMS or len(own & other) < _REPEATS * len(own):
        return False
    found = _draft(earlier, ())
    return found is not None and found.kind == draft.kind and overlap(own, frozenset(terms(found.summary))) >= _REPEATS


@dataclass(frozen=True, slots=True)
class _Moment:
    at: int  # place of its sentence
    kind: EpisodeKind
    probability: float


def _draft(message: Message, before: Sequence[Message]) -> EpisodeDraft | None:
    if message.role not in {"user", "assistant"}:
        return None
    seen = observe(message, before)
    moment = _confirmed(seen) if message.role == "assistant" else _told(seen)
    statement = seen.sentences[moment.at][0] if moment else None
    if moment is None or statement is None:
        return None
    match = _main_cue(seen.sentences[moment.at][1], moment.kind)
    summary = _summary([one for one, _ in seen.sentences], moment.at, match, seen.language)
    context = _context(message, before, little=len(_besides(summary, match)) < _MIN_OTHER_TERMS)
    title = _title(statement, match, summary, context, moment.kind, seen.language)
    if not title:
        return None
    valence = read_valence(moment.kind, summary, seen.language)
    return EpisodeDraft(
        message_id=message.id,
        kind=moment.kind,
        title=title,
        summary=summary,
        context=context,
        outcome=_outcome(statement, match, seen.language) if match else None,
        valence=valence,
        significance=_significance(moment, statement, summary, valence, seen.language),
    )


def _told(seen: Observation) -> _Moment | None:
    """The sentence of the user that most likely tells of a moment."""
    places = [
        (at, statement.words)
        for at, (statement, matched) in enumerate(seen.sentences)
        if statement and not (matched and all(one.veto for one in matched))
    ]
    judged = model().judge([(words, seen.features(at)) for at, words in places])
    likely = [
        _Moment(at, one.kind, one.probability)
        for (at, _), one in zip(places, judged, strict=True)
        if one.probability >= model().threshold
    ]
    return max(likely, key=lambda one: (one.probability, -one.at), default=None)


def _confirmed(seen: Observation) -> _Moment | None:
    """What the assistant says is done or fixed."""
    for at, (_, matched) in enumerate(seen.sentences):
        for one in matched:
            if not one.veto:
                return _Moment(at, one.kind, _OF_ASSISTANT)
    return None


def _main_cue(matched: Iterable[Match], kind: EpisodeKind) -> Match | None:
    own = [one for one in matched if one.kind == kind and not one.veto]
    return min(own, key=lambda one: _STRENGTHS.index(one.strength), default=None)


def _significance(moment: _Moment, statement: Statement, summary: str, valence: float, language: Language) -> float:
    line = line_of(summary)
    lifts = (
        _SURE * moment.probability,
        _WEIGHTS[moment.kind],
        _TONE * abs(valence),
        _NUMBER * bool(_DIGIT.search(summary)),
        _MARK * statement.whole.rstrip().endswith("!"),
        _STRESS * bool(language.lists["important"].search(line)),
        _REASON * bool(language.lists["reason"].search(line)),
    )
    return round(min(max(_BASE + sum(lifts), MIN_SIGNIFICANCE), MAX_SIGNIFICANCE), 2)


# What a moment says


def _summary(statements: Sequence[Statement | None], at: int, match: Match | None, language: Language) -> str:
    """The sentence with its neighbours: all that is stated, if that is short; else the reason, or what it needs."""
    statement = statements[at]
    text = statement.text if statement else ""
    run = _run(statements, at)
    whole = " ".join(one.text for one in run)
    if len(whole) <= MAX_SUMMARY:
        return " ".join(whole.split())
    others = len(_besides(text, match))
    following = list(itertools.takewhile(bool, statements[at + 1 : at + 3]))
    if following and others < _MIN_OTHER_TERMS:
        text = _append(text, following.pop(0))
    if following and following[0] and following[0].gives_reason(language):
        text = _append(text, following[0])
    if at and others and _says_little(text):
        text = _append("", statements[at - 1], text)
    return " ".join(text.split())


def _run(statements: Sequence[Statement | None], at: int) -> list[Statement]:
    """The sentences around a place up to a question, without those that say nothing at either end."""
    before = list(itertools.takewhile(bool, reversed(statements[:at])))
    behind = list(itertools.takewhile(bool, statements[at + 1 :]))
    run = [one for one in (*reversed(before), statements[at], *behind) if one]
    while run and run[0] is not statements[at] and len(run[0].text) < _MIN_SENTENCE:
        run.pop(0)
    return run


def _append(text: str, more: Statement | None, rest: str = "") -> str:
    joined = " ".join(part for part in (text, more.text if more else "", rest) if part)
    return joined if len(joined) <= MAX_SUMMARY else text or rest


def _says_little(text: str) -> bool:
    return len(set(terms(text))) < _MIN_TERMS


def _title(
    statement: Statement, match: Match | None, summary: str, context: str, kind: EpisodeKind, language: Language
) -> str:
    """The clause of the cue as a title; of words that say too little, with what was spoken of before; else ''."""
    pieces = split_clauses(statement.text)
    if not pieces:
        return ""
    start = match.clause.places[0] if match else 0
    at = max((at for at, (place, _) in enumerate(pieces) if place <= start), default=0)
    place, piece = pieces[at]
    pieces[at] = (start, piece[max(0, start - place) :])  # what is told before its clause is another thing
    title = make_title([piece for _, piece in pieces], at, language)
    if _says_little(title):
        title = _longer(title, [piece for _, piece in split_clauses(summary)], language)
    if _says_little(title) and context and match and (kind in _ABOUT or not terms(title)):
        title = _about(context, kind, language) or title
    return (
        "" if not title or (_says_little(title) and not (context and match) and not _besides(summary, match)) else title
    )


def _besides(text: str, match: Match | None) -> set[str]:
    """The terms of a text besides those of the cue."""
    return set(terms(text)) - set(terms(match.found.group() if match else ""))


def _longer(title: str, pieces: Sequence[str], language: Language) -> str:
    found = (make_title(pieces, at, language) for at in range(len(pieces)))
    return next((one for one in found if not _says_little(one)), title)


def _about(context: str, kind: EpisodeKind, language: Language) -> str:
    """What was spoken of before, with the kind of moment."""
    pieces = [piece for _, piece in split_clauses(context)]
    topic = _longer("", pieces, language)
    label = f"{language.labels[kind]}: {topic[:1].lower() if topic[1:2].islower() else topic[:1]}{topic[1:]}"
    return capitalise(label) if topic and len(label) <= MAX_TITLE else ""


def shorten(text: str, max_characters: int) -> str:
    """The text, or its first clauses, or its first words with an ellipsis."""
    text = " ".join(text.split())
    if len(text) <= max_characters:
        return text
    cut = max((match.start() for match in BREAK.finditer(text, 0, max_characters)), default=0)
    if cut >= _MIN_CUT:
        return text[:cut].rstrip(EDGE)
    space = text.rfind(" ", 0, max_characters)
    return text[: space if space > 0 else max_characters - 1].rstrip(EDGE) + "…"


def _outcome(statement: Statement, match: Match, language: Language) -> str | None:
    """What was decided, or the clause that says what is done."""
    if match.kind not in _WITH_OUTCOME:
        return None
    clause, found = match.clause, match.found
    start, end = clause.places[0], clause.end
    behind = clause.places[len(clause.line[: found.end()].split()) :]  # words after the cue
    if behind and match.kind == "decision_made" and found.group().split()[-1] in language.sets["objects"]:
        start = behind[0]
    elif not behind:
        following = statement.clauses[statement.clauses.index(clause) + 1 :]
        end = max((one.end for one in itertools.takewhile(lambda one: not one.conjunction, following)), default=end)
    return shorten(statement.text[start:end].strip(EDGE).rstrip(".!"), MAX_CONTEXT) or None


def _context(message: Message, before: Sequence[Message], *, little: bool) -> str:
    """What the user had last spoken of; for a message that says little, else what the assistant had."""
    near = [one for one in reversed(before) if one.session_id == message.session_id]
    spoken = [one for one in near if one.role == "user"][:1]
    if little:
        spoken += [one for one in near if one.role == "assistant"][:1]
    for earlier in spoken:
        texts = (sentence.text for sentence in prose(earlier.text))
        found = next((shorten(text, MAX_CONTEXT) for text in texts if len(set(terms(text))) > _MIN_TERMS), "")
        if found:
            return found
    return ""
