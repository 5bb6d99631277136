"""Who does what in an English clause, and when: its subject, tense and verb, found by word lists."""

from collections.abc import Collection, Iterator, Mapping, Sequence

Lists = Mapping[str, frozenset[str]]
_SUBJECTS = ("self", "we", "other", "it", "you", "article", "every")
_BESIDE = ("always", "negation", "limit", "time", "happen", "change", "health", "quantity", "kin")
_NEAR = 6  # words in which the subject stands
_REACH = 8  # words behind the subject in which the verb stands
_PAST_END, _MIN_PAST = "ed", 5
_LONG = 6


def predicate_features(words: Sequence[str], classes: Collection[str], lists: Lists) -> list[str]:
    """Features of the subject, tense and verb, alone and with the classes of cue words beside them."""
    start = next((at for at, word in enumerate(words) if word not in lists["skipped"]), 0)
    place, subject = _subject(words, start, lists, kin="kin" in classes)
    tense, verb = ("order", words[start]) if subject == "order" else _tense(words, place, lists)
    features = [f"subject {subject}", f"tense {tense}", f"who does {subject} {tense}"]
    if verb:
        features += [f"verb {verb}", f"who verb {subject} {verb}"]
    for name in _BESIDE:
        if name in classes:
            features += [f"{name} of {subject}", f"{name} at {tense}", f"{name} in {subject} {tense}"]
    features += [f"ends {' '.join(words[-size:])}" for size in (1, 2)]
    return [*features, f"long {min(_LONG, len(words) // 3)} {tense}"]


def _subject(words: Sequence[str], start: int, lists: Lists, *, kin: bool) -> tuple[int, str]:
    """Where the subject stands, and whose word it is."""
    for at in range(start, min(len(words), start + _NEAR)):
        word = words[at]
        if at == start and word in lists["order"]:
            return at, "order"
        if word in lists["owner"]:
            return at, "kin" if kin else f"{word} thing"
        for name in _SUBJECTS:
            if word in lists[name]:
                return at, name
        if word[0].isdigit():
            return at, "number"
        if word in lists["past"] or word in lists["be"] or word in lists["present"]:
            break
    return start, "none"


def _tense(words: Sequence[str], place: int, lists: Lists) -> tuple[str, str]:
    """The tense of the first verb from a place on, and the word that tells what is done."""
    for at in range(place, min(len(words), place + _REACH)):
        for tense, verb in _tenses(words, at, lists):
            return tense, verb
    return "none", ""


def _tenses(words: Sequence[str], at: int, lists: Lists) -> Iterator[tuple[str, str]]:
    word, behind = words[at], words[at + 1 : at + 4]
    if word in lists["future"] or (word == "going" and behind[:1] == ("to",)):
        yield "future", word
    if word in lists["modal"]:
        yield f"modal {word}", word
    if behind[:1] == ("to",) and word in {"need", "needs", "have", "has", "got"}:
        yield "must", word
    if word in lists["perfect"]:
        yield from (("perfect", each) for each in behind[:2] if _is_past(each, lists))
    if word in lists["be"]:
        doing = [each for each in behind[:2] if each.endswith("ing")]
        yield ("progressive", doing[0]) if doing else ("be", behind[0] if behind else "")
    if _is_past(word, lists):
        yield "past", word
    if word in lists["present"]:
        yield "present", word


def _is_past(word: str, lists: Lists) -> bool:
    regular = word.endswith(_PAST_END) and len(word) >= _MIN_PAST and word not in lists["not_past"]
    return regular or word in lists["past"]
