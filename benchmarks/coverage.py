"""Which messages of a talk each profile leaves out, turn by turn: `python -m benchmarks.coverage`.

The talks are those of tests/documents. In each turn contexts are built with the profile's own budget: with the question
not stored yet, with it stored, and after the result of a tool. A message is blind if it is neither in the context
nor in any summary.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lamina import PROFILES, Context, Memory
from tests.documents.boat_talk import TURNS as BOAT
from tests.documents.natural_talk import MESSAGES

NAMES = ("medium_term", "project", "assistant", "chunked", "layered")
Talk = Sequence[Sequence[Mapping[str, Any]]]

NATURAL: Talk = [MESSAGES[start : start + 2] for start in range(0, len(MESSAGES), 2)]
TALKS: Mapping[str, Talk] = {
    "a move": NATURAL,
    "a boat, with tools and long messages": BOAT,
    "both, one after the other, in one session": [*NATURAL, *BOAT],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the contexts of one turn leave out."""

    number: int
    messages: int  # of the session before it
    blind: tuple[int, ...]  # in each context
    warned: tuple[bool, ...]  # of the schedule, or that there was no room
    tokens: int  # at the most


def turns(profile: str, talk: Talk = NATURAL, **changes: Any) -> Iterator[Turn]:
    """The talk held turn by turn; a worker folds after each turn."""
    with Memory(":memory:", profile=PROFILES[profile].but(**changes), worker=False) as memory:
        for number, said in enumerate(talk, 1):
            built = [memory.context(said[0]["content"], user_id="nadia", session_id="talk")]
            for message in said:
                memory.add(message, user_id="nadia", session_id="talk")
                if message["role"] != "assistant":
                    built.append(memory.context(user_id="nadia", session_id="talk"))
            memory.settle()
            yield Turn(
                number=number,
                messages=built[0].manifest.coverage.messages,
                blind=tuple(one.manifest.coverage.blind_messages for one in built),
                warned=tuple(map(_warns, built)),
                tokens=max(one.tokens for one in built),
            )


def _warns(context: Context) -> bool:
    return any("close_gaps" in one or one.startswith("recent: ") for one in context.manifest.warnings)


def main() -> None:
    held = {name: list(turns(name)) for name in NAMES}
    print("Blind messages before each reply, at the most (most tokens of a context):\n")
    print("| turn | messages | " + " | ".join(f"`{name}`" for name in NAMES) + " |")
    print("|---" * (len(NAMES) + 2) + "|")
    for row in zip(*held.values(), strict=True):
        cells = [f"{max(one.blind)}{' !' if any(one.warned) else ''} ({one.tokens:,})" for one in row]
        print(f"| {row[0].number} | {row[0].messages} | " + " | ".join(cells) + " |")
    print("\n`!`: a warning names the blind messages and `close_gaps`.\n")
    print("| talk | profile | turns | messages | turns with blind messages | most of them | most tokens |")
    print("|---" * 7 + "|")
    for talk, said in TALKS.items():
        for name in NAMES:
            rows = list(turns(name, said))
            blind = [max(one.blind) for one in rows if any(one.blind)]
            most = max(one.tokens for one in rows)
            counts = (len(rows), sum(map(len, said)), len(blind), max(blind, default=0), most)
            print(f"| {talk} | `{name}` | " + " | ".join(f"{number:,}" for number in counts) + " |")


if __name__ == "__main__":
    main()
