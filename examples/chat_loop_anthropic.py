"""A chat in the terminal that remembers, with Anthropic's SDK.

Install:  pip install lamina anthropic
Run:      ANTHROPIC_API_KEY=... python chat_loop_anthropic.py        (an empty line ends it)
"""

import os

from anthropic import Anthropic

from lamina import Memory

MODEL = os.environ.get("MODEL", "claude-sonnet-4-5")

client = Anthropic()
memory = Memory("chat.db")  # the same file as with OpenAI: the memory is not bound to a model


def reply(text: str, user_id: str = "alex") -> str:
    """What the model answers, given all that is remembered."""
    context = memory.context(text, user_id=user_id, system="You are a helpful assistant.", budget=2000)
    # `to_anthropic` gives `system` and `messages`: the system text apart, turns that alternate, tools as blocks.
    answer = client.messages.create(model=MODEL, max_tokens=1000, **context.to_anthropic())
    memory.add([text, answer], user_id=user_id)
    return "".join(block.text for block in answer.content if block.type == "text")


if __name__ == "__main__":
    while text := input("you: "):
        print(reply(text))
    memory.close()
