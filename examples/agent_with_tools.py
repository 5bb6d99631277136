"""An agent that calls tools, and remembers what it did.

A call and its result stay together: no context has one without the other, however small its budget.

Install:  pip install lamina openai
Run:      OPENAI_API_KEY=... python agent_with_tools.py "What is on my list?"
"""

import json
import os
import sys
from typing import Any

from openai import OpenAI

from lamina import Memory

MODEL = os.environ.get("MODEL", "gpt-5-mini")
ITEM = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {"name": "add_item", "description": "Put on the shopping list.", "parameters": ITEM},
    }
]

client = OpenAI()
memory = Memory("agent.db")
shopping: list[str] = []


def add_item(item: str) -> str:
    """The tool: put something on the shopping list."""
    shopping.append(item)
    return f"{item} is on the list, with {len(shopping) - 1} others"


def run(text: str, user_id: str = "alex") -> str:
    """Answer a user, with as many calls of tools as the model wants."""
    context = memory.context(text, user_id=user_id, system="You keep a shopping list.", budget=2000)
    messages: list[Any] = list(context.messages)
    turn: list[Any] = [text]  # what is new, to be added as one append when the turn has ended
    while True:
        answer = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message
        messages.append(answer)
        turn.append(answer)
        if not answer.tool_calls:
            break
        for call in answer.tool_calls:
            result = add_item(**json.loads(call.function.arguments))
            told = {"role": "tool", "tool_call_id": call.id, "content": result}
            messages.append(told)
            turn.append(told)
    memory.add(turn, user_id=user_id)
    return answer.content or ""


if __name__ == "__main__":
    print(run(" ".join(sys.argv[1:]) or "Put milk on my shopping list."))
    memory.close()
