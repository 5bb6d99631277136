"""What a question's right answer is, in the fields of each published set."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Form = Literal["answer", "rubric", "unknown"]

_ANSWERS = ("a", "answer", "ideal_response", "ideal_answer", "ideal_summary", "expected_compliance")
_WISHES = frozenset(("instruction_following", "preference_following", "single-session-preference"))
UNKNOWN = "That was not mentioned."


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """What an answer is compared with.

    `answer`: it must say what `text` says. `rubric`: it must have the `points`. `unknown`: it must say that this is
    not known, and must not give the `trap`.
    """

    form: Form
    text: str
    points: tuple[str, ...] = ()
    trap: str | None = None
    is_reply: bool = True  # False: the text says what a reply should be like, and is none itself

    @property
    def reply(self) -> str | None:
        """An answer that is right by definition."""
        return self.text if self.is_reply else None


def read_gold(row: Mapping[str, Any]) -> Gold | None:
    """The right answer in the row of a question; None where it has none.

    LoCoMo has `answer`, or `adversarial_answer` where nothing was said; LongMemEval `answer`; BEAM `rubric` and one of
    `answer`, `ideal_response`, `ideal_answer`, `ideal_summary`, `expected_compliance`.
    """
    category = str(row.get("cat", ""))
    text = next((str(row[name]).strip() for name in _ANSWERS if row.get(name) not in (None, "")), "")
    trap = str(row.get("adversarial_answer") or "").strip()
    if category == "adversarial" or trap:
        given = trap or text
        return Gold(form="unknown", text=UNKNOWN, trap=given or None)
    points = tuple(str(point).strip() for point in row.get("rubric") or () if str(point).strip())
    if points:
        return Gold(form="rubric", text=text, points=points, is_reply=bool(text) and category not in _WISHES)
    if not text:
        return None
    if row.get("abs") or category == "abstention":
        return Gold(form="unknown", text=text)
    if category in _WISHES:
        return Gold(form="rubric", text=text, points=(text,), is_reply=False)
    return Gold(form="answer", text=text)
