"""What was sent before stays as it was: prompt caches of providers keep warm between folds."""

from itertools import pairwise

from lamina import Memory


def test_the_prefix_stays_until_the_next_fold(tmp_path):
    """Everything before the recalled passages and the newest message is the start of the next prompt, word for word."""
    with Memory(tmp_path / "a.db", worker=False) as memory:
        sent = []
        for turn in range(60):
            question = f"What did I say about harbour {turn % 7} and the pilot boats on day {turn}?"
            memory.settle()
            if turn:
                context = memory.context(question, user_id="u", session_id="s", budget=6_000)
                recalled = [piece for piece in context.manifest.items if piece.section == "recalled"]
                sent.append((memory.session("s").counters.version, context.messages[: -1 - bool(recalled)]))
            memory.add({"role": "user", "content": question}, user_id="u", session_id="s")
            reply = f"On day {turn} you said that harbour {turn % 7} closes at noon and the pilot boats wait outside."
            memory.add({"role": "assistant", "content": reply}, user_id="u", session_id="s")
        kept = [(one, two) for (before, one), (after, two) in pairwise(sent) if before == after]
        assert len({version for version, _ in sent}) > 1
        assert len(kept) > 40
        for one, two in kept:
            assert two[: len(one)] == one
