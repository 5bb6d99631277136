"""Which messages of a talk each profile leaves out, turn by turn: `python -m benchmarks.coverage`.

The talk is that of tests/documents/natural_talk.py. Before each reply, a context is built with the profile's own
budget. A message is blind if it is neither in the context nor in any summary.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from lamina import PROFILES, Memory
from tests.documents.natural_talk import MESSAGES

NAMES = ("medium_term", "project", "assistant", "chunked", "layered")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What a context of one turn leaves out."""

    number: int
    messages: int  # of the session by then
    blind: int
    tokens: int
    warned: bool  # of the messages that are blind


def turns(profile: str) -> Iterator[Turn]:
    """The talk held turn by turn; a worker folds after each."""
    with Memory(":memory:", profile=PROFILES[profile], worker=False) as memory:
        for start in range(0, len(MESSAGES), 2):
            question, reply = MESSAGES[start : start + 2]
            context = memory.context(question["content"], user_id="nadia", session_id="talk")
            manifest = context.manifest
            yield Turn(
                number=start // 2 + 1,
                messages=manifest.coverage.messages,
                blind=manifest.coverage.blind_messages,
                tokens=context.tokens,
                warned=any("close_gaps" in warning for warning in manifest.warnings),
            )
            memory.add([question, reply], user_id="nadia", session_id="talk")
            memory.settle()


def main() -> None:
    held = {name: list(turns(name)) for name in NAMES}
    print("Blind messages before each reply (tokens of the context):\n")
    print("| turn | messages | " + " | ".join(f"`{name}`" for name in NAMES) + " |")
    print("|---" * (len(NAMES) + 2) + "|")
    for row in zip(*held.values(), strict=True):
        cells = [f"{one.blind}{' !' if one.warned else ''} ({one.tokens:,})" for one in row]
        print(f"| {row[0].number} | {row[0].messages} | " + " | ".join(cells) + " |")
    print("\n`!`: a warning names the blind messages and `close_gaps`.")


if __name__ == "__main__":
    main()
