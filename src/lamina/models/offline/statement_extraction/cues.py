"""Cue words as values, read once from the `cues_*.toml` beside this module: classes of words, where clauses begin."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from lamina.language.languages import COMMON_WORDS, SCRIPT_LANGUAGES, script_language
from lamina.language.words import WORD, is_unspaced, plain, words

Phrases = Mapping[str, tuple[tuple[tuple[str, ...], str], ...]]  # first word -> whole phrase and its class
FALLBACK = "en"
_MIN_LEAD = 2  # words that a text has more of another language than of English
_MIN_STEM = 2  # characters before a `*`


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The words at which a sentence falls into clauses."""

    joints: frozenset[tuple[str, ...]]
    subjects: frozenset[str]  # begin a clause behind a joint
    openers: frozenset[str]  # begin a clause behind a comma
    subordinate: frozenset[str]  # a clause that begins with one needs the next
    questions: frozenset[tuple[str, ...]]
    pointers: frozenset[str]  # point to what was said before
    commas: frozenset[str]  # marks behind which a clause begins, whatever follows
    endings: tuple[str, ...]  # a word that ends with one ends a clause


@dataclass(frozen=True, slots=True, kw_only=True)
class Cues:
    """The cue words of one language."""

    language: str
    phrases: Phrases
    stems: Mapping[str, tuple[str, ...]]  # beginning of a word -> classes
    stem_lengths: tuple[int, ...]
    split: Split
    predicates: Mapping[str, frozenset[str]]  # words that tell subject and tense; empty where these are not looked at
    evidence: frozenset[str]  # single words of all classes and the commonest ones: they tell the language
    density: float  # words of English that one of its words, or characters, stands for

    def classes(self, tokens: Sequence[str]) -> dict[str, int]:
        """The classes that words belong to, with where the first of each stands."""
        found: dict[str, int] = {}
        for at, token in enumerate(tokens):
            for phrase, name in self.phrases.get(token, ()):
                if name not in found and tuple(tokens[at : at + len(phrase)]) == phrase:
                    found[name] = at
            for length in self.stem_lengths:
                for name in self.stems.get(token[:length], ()) if length <= len(token) else ():
                    found.setdefault(name, at)
        return found


@cache
def all_cues() -> Mapping[str, Cues]:
    """The cues of every language, by its code."""
    names = sorted(file.name for file in resources.files(__package__).iterdir())
    found = [name.removeprefix("cues_").removesuffix(".toml") for name in names if name.startswith("cues_")]
    return {language: _read(language) for language in found}


def choose_cues(sentences: Sequence[str]) -> list[Cues]:
    """The cues for each sentence of a message: of its language, or where that is not clear, of the whole message's.

    The script tells it, or the words; another language than English must have clearly more of them.
    """
    if not sentences:
        return []
    known = tuple(cues for language, cues in all_cues().items() if language not in SCRIPT_LANGUAGES)
    counts = [_count(sentence, known) for sentence in sentences]
    whole = [sum(column) for column in zip(*counts, strict=True)]
    fallback = next(at for at, cues in enumerate(known) if cues.language == FALLBACK)
    chosen = []
    for own, language in zip(counts, _spoken(sentences), strict=True):
        best = max(range(len(known)), key=lambda at: (own[at], whole[at], at == fallback))
        lead = max(own[best] - own[fallback], whole[best] - whole[fallback])
        chosen.append(all_cues()[language] if language else known[best if lead >= _MIN_LEAD else fallback])
    return chosen


def _spoken(sentences: Sequence[str]) -> list[str | None]:
    """The language of each sentence, where its script tells it; Chinese characters alone are in the message's."""
    found = [script_language(sentence) for sentence in sentences]
    if "ja" in found:
        found = ["ja" if language == "zh" else language for language in found]
    return [language if language in all_cues() else None for language in found]


def _count(sentence: str, known: Sequence[Cues]) -> list[int]:
    tokens = set(words(sentence))
    return [len(cues.evidence & tokens) for cues in known]


def _read(language: str) -> Cues:
    file = resources.files(__package__).joinpath(f"cues_{language}.toml")
    data: dict[str, dict[str, str]] = tomllib.loads(file.read_text("utf-8"))
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    stems: dict[str, list[str]] = {}
    for label, listed in data["cues"].items():
        for entry in _entries(listed):
            tokens = _tokens(entry.rstrip("*"))
            if entry.endswith("*") and len(tokens) == 1 and len(tokens[0]) >= _MIN_STEM:
                stems.setdefault(tokens[0], []).append(label)
            elif tokens:
                phrases.setdefault(tokens[0], []).append((tokens, label))
    return Cues(
        language=language,
        phrases={first: tuple(listed) for first, listed in phrases.items()},
        stems={stem: tuple(labels) for stem, labels in stems.items()},
        stem_lengths=tuple(sorted({len(stem) for stem in stems})),
        evidence=_evidence(
            language,
            (first for first, listed in phrases.items() if any(len(phrase) == 1 for phrase, _ in listed)),
        ),
        density=float(data["split"].get("density", 1)),
        predicates={
            name: frozenset(word for phrase in _phrases(listed) for word in phrase)
            for name, listed in data.get("predicates", {}).items()
        },
        split=Split(
            joints=_phrases(data["split"]["joints"]),
            subjects=frozenset(word for phrase in _phrases(data["split"]["subjects"]) for word in phrase),
            openers=frozenset(word for phrase in _phrases(data["split"].get("openers", "")) for word in phrase),
            subordinate=frozenset(word for phrase in _phrases(data["split"]["subordinate"]) for word in phrase),
            questions=_phrases(data["split"]["questions"]),
            pointers=frozenset(word for phrase in _phrases(data["split"]["pointers"]) for word in phrase),
            commas=frozenset(data["split"].get("commas", "")),
            endings=tuple(_entries(data["split"].get("endings", ""))),
        ),
    )


def _evidence(language: str, single: Iterable[str]) -> frozenset[str]:
    return frozenset([*single, *words(" ".join(COMMON_WORDS.get(language, ())))])


def _entries(listed: str) -> list[str]:
    return [entry.strip() for entry in listed.replace("\n", " ").split(",") if entry.strip()]


def _phrases(listed: str) -> frozenset[tuple[str, ...]]:
    return frozenset(map(_tokens, _entries(listed))) - {()}


def _tokens(entry: str) -> tuple[str, ...]:
    """The words of an entry, as those of a message; of scripts written without spaces, their characters as they are."""
    runs = WORD.findall(entry)
    if not any(map(is_unspaced, runs)):
        return tuple(words(entry))
    return tuple(piece for run in runs for piece in (run if is_unspaced(run) else (plain(run),)))
