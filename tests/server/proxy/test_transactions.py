"""How many transactions a completion through the proxy, a context and an append take on SQLite."""

from lamina import Memory
from tests.http_proxy import proxied
from tests.transactions import count_transactions


def user(text):
    return {"role": "user", "content": text}


def test_a_proxied_completion_takes_few_transactions(tmp_path):
    """Keys, one read of the session, three of the index, and one write each for question and reply.

    The first one on a new file stores the profile, too.
    """
    with count_transactions() as begun, proxied(tmp_path / "chat.db") as proxy:
        conversation, counts = [], []
        for text in ("I'm Alex. I live in Porto.", "Where do I live?", "And what else?"):
            conversation.append(user(text))
            begun.clear()
            answer = proxy.client.chat.completions.create(model="model-a", messages=conversation)
            conversation.append({"role": "assistant", "content": answer.choices[0].message.content})
            counts.append(len(begun))
        assert counts[0] <= 8
        assert max(counts[1:]) <= 7
        assert sum(statement.lower() == "begin immediate" for statement in begun) == 2


def test_a_context_takes_few_transactions(tmp_path):
    with count_transactions() as begun, Memory(tmp_path / "chat.db", worker=False) as memory:
        memory.add([user("I live in Porto."), {"role": "assistant", "content": "Nice."}], user_id="u", session_id="s")
        memory.settle()
        memory.context("Where do I live?", user_id="u", session_id="s")
        begun.clear()
        memory.context("Where do I live?", user_id="u", session_id="s")
        assert len(begun) <= 3
        memory.add("I like tea.", user_id="u", session_id="s")
        begun.clear()
        memory.context("Where do I live?", user_id="u", session_id="s")
        assert len(begun) <= 4
