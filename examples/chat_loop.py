"""A chat in the terminal that remembers, with OpenAI's SDK.

Install:  pip install lamina openai
Run:      OPENAI_API_KEY=... python chat_loop.py        (an empty line ends it; start it again, and it remembers)
Another server with this API, such as Ollama: set OPENAI_BASE_URL, and MODEL to the name of a model.
"""

import os

from openai import OpenAI

from lamina import Memory

MODEL = os.environ.get("MODEL", "gpt-5-mini")

client = OpenAI()
memory = Memory("chat.db")  # one SQLite file, made if it is not there


def reply(text: str, user_id: str = "alex") -> str:
    """What the model answers, given all that is remembered."""
    # What the model should see: your system prompt, what is remembered, and the question; never above the budget.
    context = memory.context(text, user_id=user_id, system="You are a helpful assistant.", budget=2000)
    answer = client.chat.completions.create(model=MODEL, messages=context.messages)
    # Both messages are safe once this returns. Summaries and facts are made in the background.
    memory.add([text, answer], user_id=user_id)
    return answer.choices[0].message.content or ""


if __name__ == "__main__":
    while text := input("you: "):
        print(reply(text))
    memory.close()
