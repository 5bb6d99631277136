"""A talk about a ship, folded often: what the tests of workers have in common."""

from lamina import PROFILES

PROFILE = PROFILES["project"].but(max_recent_messages=6, chunk_size=4, cap=40, least=0, digest_sessions=0)


def turn(number):
    said = f"On day {number} the ship carries {number * 3} crates of tea to Lisbon."
    return [{"role": "user", "content": said}, {"role": "assistant", "content": f"Day {number} is noted."}]


async def talk(memory, turns=4, session_id="s1"):
    """So many turns; with four of them one fold is due."""
    for number in range(turns):
        await memory.add(turn(number), user_id="ann", session_id=session_id)
