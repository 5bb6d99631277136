"""What people say of themselves, as another tells it: "Tom told me he moved", "according to Lena, she's vegan"."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSpeech:
    """How a language tells what somebody said."""

    verb: str  # one of those that tell it
    told: re.Pattern[str]  # between who says it and the pronoun for them: "told me that"
    source: re.Pattern[str]  # before who says it: "according to"
    behind_source: re.Pattern[str]
    men: frozenset[str]  # relations that are no "she"
    women: frozenset[str]
    he: frozenset[str]
    she: frozenset[str]

    def source_end(self, text: str, start: int) -> int:
        """Where the name begins behind "according to"; `start` if that does not stand there."""
        match = self.source.match(text, start)
        return match.end() if match else start

    def end(self, text: str, at: int, about: str, *, is_source: bool) -> int:
        """Where the words of somebody on themselves begin, who is named up to `at`; 0 if none do, -1 if of another."""
        match = (self.behind_source if is_source else self.told).match(text, at)
        if match is None:
            return 0
        spoken, who = match["pronoun"].casefold(), about.casefold()
        mistaken = (spoken in self.she and who in self.men) or (spoken in self.he and who in self.women)
        return -1 if mistaken else match.end()


def reported_speech(words: Mapping[str, Sequence[str]]) -> ReportedSpeech | None:
    """How a language tells what somebody said, by its lists; None if they are not there."""
    if not words.get("reports"):
        return None
    one = {name: "|".join(map(re.escape, sorted(listed, key=len, reverse=True))) for name, listed in words.items()}
    pronoun = rf",?(?=[ ](?P<pronoun>{one['pronouns']})\b)"
    return ReportedSpeech(
        verb=words["reports"][0],
        told=re.compile(
            rf"(?:[ ](?:{one['adverbs']}))?[ ](?:{one['reports']})(?:[ ](?:{one['hearers']}))?"
            rf"(?:,?[ ](?:{one['that']}))?{pronoun}",
            re.IGNORECASE,
        ),
        source=re.compile(rf"(?:{one['sources']})[ ]+", re.IGNORECASE),
        behind_source=re.compile(pronoun, re.IGNORECASE),
        men=frozenset(words["men"]),
        women=frozenset(words["women"]),
        he=frozenset(words["he"]),
        she=frozenset(words["she"]),
    )
