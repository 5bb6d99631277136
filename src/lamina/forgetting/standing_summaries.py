"""Summaries of messages that are not here any more: they cannot be written again, so words are cut out of them."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from lamina.folding.summary_lines import read_line
from lamina.forgetting import find
from lamina.language.sentences import sentences
from lamina.language.words import terms
from lamina.log.erased import FORGOTTEN
from lamina.log.records import encode_summary
from lamina.protocols.store import SummaryCut
from lamina.values.summary import Summary

_HALF = 0.5  # of the words of a sentence that a message must have, so that it may be where the sentence is from
_HEADING = re.compile(r"#+ ")


class Standing(NamedTuple):
    """What stands for messages without words."""

    last: int  # the last message that these summaries cover
    cuts: tuple[SummaryCut, ...]


def standing(
    summaries: Sequence[Summary], dropped: int, wanted: str, emptied: Mapping[int, str], count: Callable[[str], int]
) -> Standing | None:
    """The summaries of a session that nothing can be written again from, without the wanted words.

    `dropped` is the last message that lost its words by a retention rule or in an import; `emptied` are the texts of
    messages, by number, that are forgotten now. None if no summary stands for what was dropped.
    """
    ends = [one.covers.last for one in summaries if one.covers and dropped in one.covers and one.status != "replaced"]
    if not ends:
        return None
    last, needle = min(ends), find.needle(wanted)
    cuts = []
    for summary in summaries:
        if summary.covers is None or summary.covers.last > last:
            continue
        told = [frozenset(terms(text)) for seq, text in emptied.items() if seq in summary.covers]
        text = cut_text(summary.text, needle, told)
        topics = tuple(topic for topic in summary.topics if not find.is_in(needle, topic))
        if (text, topics) != (summary.text, summary.topics):
            after = replace(summary, text=text, topics=topics, tokens=count(text))
            cuts.append(SummaryCut(after, encode_summary(summary).digest))
    return Standing(last, tuple(cuts))


def cut_text(text: str, needle: str, told: Collection[frozenset[str]] = ()) -> str:
    """A summary without the sentences that have a needle, or that are from one of the messages with these terms."""
    lines = text.splitlines()
    left = [line for line in (_cut_line(line, needle, told) for line in lines) if line is not None]
    if left == lines and not find.is_in(needle, text):
        return text
    cut = "\n".join(_with_notes(left)).strip()
    return FORGOTTEN if find.is_in(needle, cut) or not cut else cut


def _cut_line(line: str, needle: str, told: Collection[frozenset[str]]) -> str | None:
    """None if nothing of it is left."""
    if _HEADING.match(line) or not line.strip():
        return None if find.is_in(needle, line) else line
    read = read_line(line)
    if find.is_in(needle, read.question) or _is_from(read.question, told):
        read = replace(read, question="")
    said = sentences(read.text)
    kept = [one.text for one in said if not find.is_in(needle, one.text) and not _is_from(one.text, told)]
    if len(kept) == len(said) and not find.is_in(needle, line):
        return str(read)
    left = str(replace(read, text=" ".join(kept)))
    return left if kept and not find.is_in(needle, left) else None


def _is_from(sentence: str, told: Collection[frozenset[str]]) -> bool:
    own = frozenset(terms(sentence))
    return bool(own) and any(len(own & other) > _HALF * len(own) for other in told)


def _with_notes(lines: Sequence[str]) -> list[str]:
    """The lines with a note under each `##` heading that has lost all of its own."""
    kept: list[str] = []
    for at, line in enumerate(lines):
        kept.append(line)
        following = next((one for one in lines[at + 1 :] if one.strip()), "## ")
        if line.startswith("## ") and following.startswith(("## ", "---")):
            kept.append("- (nothing yet)")
    return kept
