"""The first hour of somebody who has nothing but the README: a file, a loop, a model; and the examples."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from lamina import Memory
from lamina.testing.llm_server import Asked, LlmServer, Said
from tests.anthropic_rules import check_request
from tests.docs.pages import sections
from tests.docs.running import client_environment
from tests.waiting import CEILING, wait_until

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TURNS = [
    "Hi! I'm Alex and I live in Ghent.",
    "We ship on Fridays.",
    "My sister is called Jo.",
    "I prefer tea.",
    "Where do I live?",
]


def brain(asked: Asked) -> str:
    """Knows only what it is sent."""
    return "You live in Ghent." if "live in Ghent" in asked.text + str(asked.body.get("system")) else "I do not know."


def code_of_readme(number: int) -> str:
    """The text of a Python block of the README."""
    blocks = [block for section in sections((ROOT / "README.md").read_text("utf-8")) for block in section.blocks]
    return [block.text for block in blocks if block.language == "python"][number]


def run(file: Path, server: LlmServer, given: str = "", *words: str) -> str:
    """What a program says, run by itself in the folder of its file."""
    environment = {**os.environ, **client_environment(server), "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, str(file), *words],
        cwd=file.parent, env=environment, input=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_chat(body: Any) -> None:
    """What OpenAI's API wants of messages: some, each with a role and words, the question last."""
    messages = body["messages"]
    assert messages
    assert all(one["role"] in {"system", "user", "assistant"} and one["content"] for one in messages)
    assert messages[-1]["role"] == "user"


def test_the_loop_of_the_readme_runs_from_nothing_and_remembers(tmp_path):
    """Five turns in an empty folder; each request is valid, and a second process knows what the first was told."""
    file = tmp_path / "chat.py"
    file.write_text(code_of_readme(0), "utf-8")
    with LlmServer(brain) as server:
        said = run(file, server, "\n".join([*TURNS, "", ""]))
        again = run(file, server, "Where do I live?\n\n")
        asked = server.asked("chat")
    assert len(asked) == len(TURNS) + 1
    for turn, request in zip([*TURNS, TURNS[-1]], asked, strict=True):
        check_chat(request.body)
        assert request.body["messages"][-1]["content"] == turn
    assert "You live in Ghent." in said
    assert "You live in Ghent." in again
    with Memory(tmp_path / "chat.db") as memory:
        memory.settle()
        assert len(memory.messages("alex:main")) == 2 * len(asked)
        assert memory.verify().ok


def test_the_loop_of_the_readme_with_anthropic_remembers(tmp_path):
    """The same with the other SDK, over the file that the first one made."""
    file = tmp_path / "chat.py"
    talk = '\nif __name__ == "__main__":\n    for text in input().split("|"):\n        print(reply_by_claude(text))\n'
    first = re.sub(r'if __name__ == "__main__":.*', "", code_of_readme(0), flags=re.DOTALL)
    file.write_text(first + code_of_readme(1) + talk, "utf-8")
    with LlmServer(brain) as server:
        said = run(file, server, "|".join(TURNS))
        asked = server.asked("messages")
    assert said.splitlines()[-1] == "You live in Ghent."
    assert len(asked) == len(TURNS)
    for request in asked:
        check_request({name: request.body[name] for name in ("system", "messages")})


@pytest.mark.parametrize(
    ("name", "kind"), [("chat_loop.py", "chat"), ("chat_loop_anthropic.py", "messages")], ids=["openai", "anthropic"]
)
def test_a_chat_loop_of_the_examples_remembers(name, kind, tmp_path):
    """Two runs of the program: the second one knows what the first was told."""
    file = tmp_path / name
    file.write_text((EXAMPLES / name).read_text("utf-8"), "utf-8")
    with LlmServer(brain) as server:
        run(file, server, "Hi! I'm Alex and I live in Ghent.\n\n")
        assert "You live in Ghent." in run(file, server, "Where do I live?\n\n")
        assert len(server.asked(kind)) == 2


def test_the_agent_of_the_examples_keeps_calls_with_their_results(tmp_path):
    """The first answer calls the tool, the second one ends the turn; the next run sees both."""
    file = tmp_path / "agent.py"
    file.write_text((EXAMPLES / "agent_with_tools.py").read_text("utf-8"), "utf-8")

    def calls_once(asked: Asked) -> Any:
        done = asked.body["messages"][-1]["role"] == "tool"
        return Said(text="It is on the list.", plain=True) if done else '{"item": "milk"}'

    with LlmServer(calls_once) as server:
        assert run(file, server, "", "milk, please").strip() == "It is on the list."
        run(file, server, "", "and bread")
        seen = server.asked("chat")[2].body["messages"]
    at = next(place for place, one in enumerate(seen) if one.get("tool_calls"))
    assert seen[at]["tool_calls"][0]["function"]["arguments"] == '{"item": "milk"}'
    assert seen[at + 1]["role"] == "tool"
    assert "milk is on the list" in seen[at + 1]["content"]


def test_the_service_of_the_examples_answers_each_user_from_their_own_memory(tmp_path):
    """A real server process: two users, facts, and an end of one memory."""
    (tmp_path / "fastapi_app.py").write_text((EXAMPLES / "fastapi_app.py").read_text("utf-8"), "utf-8")
    with (
        LlmServer(brain) as server,
        serving_example(tmp_path, server) as address,
        httpx.Client(base_url=address, timeout=CEILING) as client,
    ):
        client.post("/chat/alex", json={"text": TURNS[0]})
        assert client.post("/chat/alex", json={"text": "Where do I live?"}).json() == {"text": "You live in Ghent."}
        assert client.post("/chat/bo", json={"text": "Where do I live?"}).json() == {"text": "I do not know."}
        wait_until(lambda: "location: Ghent" in client.get("/facts/alex").json())
        assert client.delete("/memory/alex").json()["messages"] == 4
        assert client.get("/facts/alex").json() == []


@contextmanager
def serving_example(folder: Path, server: LlmServer) -> Iterator[str]:
    """The address of the example, run by uvicorn as its first lines say."""
    environment = {**os.environ, **client_environment(server), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "uvicorn", "fastapi_app:app", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in iter(process.stderr.readline, "") if "running on" in line)
            yield re.findall(r"http://[\d.]+:\d+", line)[0]
        finally:
            process.terminate()
