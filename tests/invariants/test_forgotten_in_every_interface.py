"""What was forgotten through one interface is found by none of them, though each had found it before."""

import asyncio
import json
import re
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from langgraph.store.base import PutOp
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from lamina import Memory
from lamina.integrations.anthropic import LaminaMemoryTool
from lamina.integrations.langchain import LaminaChatMessageHistory, LaminaRetriever
from lamina.integrations.langgraph import LaminaStore
from lamina.integrations.llamaindex import LaminaMemory
from lamina.integrations.openai_agents import LaminaSession
from lamina.testing.llm_server import LlmServer, Said
from tests.command_line import LAMINA, plain_environ, service_process
from tests.waiting import CEILING, wait_until

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
STEP = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "Nothing."},
]
FILE = "/memories/notes.md"


@dataclass
class Everything:
    """A service with all its interfaces, a library beside it that stays open, and one user with a word of theirs."""

    database: str
    client: httpx2.Client
    endpoint: LlmServer
    memory: Memory
    user: str = ""
    word: str = ""
    ids: Any = None

    @property
    def question(self) -> str:
        return "Where do I live, and what do I want to see?"

    def post(self, path: str, body: Any, **more: Any) -> str:
        answer = self.client.post(path, json=body, **more)
        assert answer.status_code in {200, 201}, (path, answer.text)
        return answer.text

    def tell(self) -> None:
        """The word in everything that can have one."""
        user, word = self.user, self.word
        first, second = f"{user}-1", f"{user}-2"
        said = [
            {"role": "user", "content": f"I live in {word}.", "metadata": {"place": word}},
            {"role": "assistant", "content": f"How is {word}?"},
        ]
        self.post(
            f"/v1/sessions/{first}/messages", {"messages": said, "user_id": user}, headers={"Idempotency-Key": user}
        )
        self.post(f"/v1/sessions/{second}/messages", {"messages": said, "user_id": user})
        self.post(f"/v1/users/{user}/facts", {"text": f"Wants to see {word}."})
        self.post(f"/v1/sessions/{second}/milestones", {"title": f"Saw {word}"})
        for session in (first, second):
            self.client.patch(f"/v1/sessions/{session}", json={"title": f"Life in {word}"})
        self.post(f"/v1/sessions/{second}/episodes", {"kind": "decision_made", "title": f"Chose {word}"})
        self.client.patch(f"/v1/sessions/{first}", json={"status": "ended"})
        LaminaMemoryTool(self.memory, user_id=user).call({"command": "create", "path": FILE, "file_text": word})
        LaminaStore(self.memory, user_id=user).batch([PutOp((user,), "k", {"text": f"{word} is far."})])
        chat = json.dumps([{"role": "user", "content": f"Still in {word}."}])
        kind = {"Content-Type": "application/octet-stream", "X-Lamina-Filename": "chat.json"}
        job = self.client.post("/v1/jobs/import", content=chat, headers=kind, params={"user_id": user}).json()["id"]
        wait_until(lambda: self.client.get(f"/v1/jobs/{job}").json()["status"] == "done", "the chat is imported")
        self.post("/v1/settle", {})
        facts = self.client.get(f"/v1/users/{user}/facts").json()["items"]
        summaries = self.client.get(f"/v1/sessions/{first}/summaries").json()["items"]
        messages = self.client.get(f"/v1/sessions/{first}/messages").json()["items"]
        self.ids = {
            "user_id": [user],
            "session_id": [first, second],
            "fact_id": [one["id"] for one in facts],
            "memory_id": [one["id"] for one in facts],
            "message_id": [one["id"] for one in messages],
            "summary_id": [one["id"] for one in summaries],
            "job_id": [job],
        }

    # asking

    def rest(self) -> dict[str, str]:
        """Every address of the schema that can be read, and what is asked with a body."""
        found = {}
        paths = self.client.get("/openapi.json").json()["paths"]
        for template in [path for path, verbs in paths.items() if "get" in verbs and path != "/v1/events"]:
            names = re.findall(r"{(\w+)}", template)
            asked = {"user_id": self.user} if template in {"/v1/export", "/v1/sessions", "/v1/stats"} else {}
            for value in self.ids[names[0]] if names else [""]:
                path = re.sub(r"{\w+}", value, template)
                found[f"GET {path}"] = self.client.get(path, params=asked).text
        asked = {"query": self.question, "user_id": self.user}
        for path in ("/v1/search", "/v1/search/explained"):
            found[path] = self.post(path, {**asked, "top_k": 50})
        for session in self.ids["session_id"]:
            found[f"/v1/context {session}"] = self.post("/v1/context", {**asked, "session_id": session})
        return found

    def mem0(self) -> dict[str, str]:
        wanted = {"filters": {"user_id": self.user}}
        found = {
            "mem0 list": self.client.get("/v1/memories/", params={"user_id": self.user}).text,
            "mem0 list v2": self.post("/v2/memories/", wanted),
            "mem0 search": self.post("/v2/memories/search/", {**wanted, "query": self.question, "threshold": 0.0}),
        }
        for one in self.ids["memory_id"]:
            for path in (f"/v1/memories/{one}/", f"/v1/memories/{one}/history/"):
                found[f"mem0 {path}"] = self.client.get(path).text
        return found

    def mcp(self, *calls: tuple[str, dict[str, Any]]) -> dict[str, str]:
        async def run() -> dict[str, str]:
            async with (
                httpx2.AsyncClient(timeout=CEILING) as caller,
                Client(streamable_http_client(f"{self.client.base_url}/mcp", http_client=caller)) as client,
            ):
                return {f"mcp {name} {i}": str(await client.call_tool(name, {**given, "user_id": self.user}))
                        for i, (name, given) in enumerate(calls)}  # fmt: skip

        return asyncio.run(run())

    def mcp_asked(self) -> dict[str, str]:
        return self.mcp(
            ("search_memories", {"query": self.question}),
            ("get_context", {"query": self.question}),
            ("list_facts", {}),
            ("list_sessions", {}),
            *[("get_session", {"session_id": session}) for session in self.ids["session_id"]],
            *[("memory_history", {"fact_id": fact}) for fact in self.ids["fact_id"]],
        )

    def proxy(self) -> dict[str, str]:
        """What the endpoint is sent: in the next step of a turn, then in one that begins."""
        headers, asked = {"X-Lamina-User": self.user}, {"role": "user", "content": self.question}
        for step in (STEP, []):
            body = {"model": "m", "messages": [asked, *step]}
            self.post("/openai/v1/chat/completions", body, headers={**headers, "X-Lamina-Session": f"{self.user}-chat"})
        body = {"model": "m", "input": self.question}
        self.post("/openai/v1/responses", body, headers={**headers, "X-Lamina-Session": f"{self.user}-other"})
        sent = [str(one.body) for one in self.endpoint.journal]
        self.endpoint.journal.clear()
        return {f"proxy {name}": one for name, one in zip(("step", "turn", "responses"), sent, strict=True)}

    def library(self) -> dict[str, str]:
        memory, user = self.memory, self.user
        found = {
            "search": memory.search(self.question, user_id=user, top_k=50),
            "facts": memory.facts(user, statuses=("active", "candidate", "superseded", "retracted", "evidence")),
            "user_profile": memory.user_profile(user).markdown,
            "episodes": memory.episodes(user),
            "context": memory.context(self.question, user_id=user).text,
            "users": memory.users(),
        }
        return {f"library {name}": str(value) for name, value in found.items()}

    def adapters(self) -> dict[str, str]:
        memory, user, session = self.memory, self.user, f"{self.user}-2"
        agents = LaminaSession(session, memory, user_id=user)
        tool = LaminaMemoryTool(memory, user_id=user)

        def viewed() -> str:
            try:
                return str(tool.call({"command": "view", "path": FILE}))
            except Exception as error:  # noqa: BLE001 - of the SDK: what it says is looked at, too
                return str(error)

        found = {
            "langchain history": LaminaChatMessageHistory(session, memory, user_id=user).messages,
            "langchain retriever": LaminaRetriever(memory=memory, user_id=user).invoke(self.question),
            "llamaindex": LaminaMemory.from_defaults(memory=memory, session_id=session, user_id=user).get(
                self.question
            ),
            "openai agents": asyncio.run(agents.get_items()),
            "anthropic": viewed(),
            "langgraph": LaminaStore(memory, user_id=user).search((user,)),
        }
        return {name: str(value) for name, value in found.items()}

    def asked(self) -> dict[str, str]:
        """What each interface answers."""
        return {
            **self.rest(), **self.mem0(), **self.mcp_asked(), **self.proxy(), **self.library(), **self.adapters(),
        }  # fmt: skip

    def having(self) -> set[str]:
        return {name for name, answer in self.asked().items() if self.word.lower() in answer.lower()}

    def heard(self, since: str | None, until: str) -> list[str]:
        """The stream of events with their content, from now on or since an event, up to a line that has some text."""
        last = {} if since is None else {"Last-Event-ID": since}
        heard = []
        with self.client.stream("GET", "/v1/events", params={"include": "content"}, headers=last) as stream:
            for line in stream.iter_lines():
                heard.append(line)
                if until in line:
                    break
        return heard

    # forgetting

    def forgotten_by(self, way: str) -> None:
        if way == "rest":
            self.post("/v1/forget", {"user_id": self.user, "text": self.word})
        elif way == "mem0":
            assert self.client.delete(f"/v2/entities/user/{self.user}/").status_code == 200
        elif way == "mcp":
            self.mcp(("forget", {"text": self.word, "confirm": True}))
        elif way == "library":
            with Memory(self.database, worker=False) as other:
                other.forget(user_id=self.user, text=self.word)
        else:
            words = ["forget", "--user", self.user, "--text", self.word, "--yes"]
            subprocess.run([LAMINA, *words], env=plain_environ(LAMINA_DATABASE=self.database), check=True)


@pytest.fixture
def everything(place, tmp_path):
    database = str(place())
    with ExitStack() as stack:
        endpoint = stack.enter_context(LlmServer(lambda _: Said(text="I see.", plain=True)))
        environ = {"LAMINA_DATABASE": database, "LAMINA_PROXY_BASE_URL": endpoint.url}
        _, url = stack.enter_context(service_process(tmp_path, "--no-worker", **environ))
        client = stack.enter_context(httpx2.Client(base_url=url, timeout=CEILING))
        stack.enter_context(client.stream("GET", "/v1/events"))  # the service looks for changes while somebody listens
        memory = stack.enter_context(Memory(database, worker=False))
        yield Everything(database, client, endpoint, memory)


MUST_FIND = (
    "/v1/search", "/v1/context", "GET /v1/export", "/conversation", "/arc", "/digest", "/profile",
    "mem0 list", "mem0 search", "mem0 /v1/memories/", "mcp search_memories", "mcp get_context", "mcp list_facts",
    "mcp get_session", "mcp memory_history", "proxy step", "proxy turn", "proxy responses", "library search",
    "library facts", "library episodes", "library context", "langchain history",
    "langchain retriever", "llamaindex", "openai agents", "anthropic", "langgraph",
)  # fmt: skip


@pytest.mark.also_postgres
def test_what_is_forgotten_by_one_interface_is_found_by_none(everything):
    """Every interface finds a word first; the answers after it was forgotten come from processes that knew it."""
    for number, way in enumerate(("rest", "mem0", "mcp", "library", "command")):
        everything.user, everything.word = f"user{number}", f"Zanzibar{'aeiou'[number]}"
        since = everything.heard(None, "id:")[-1].removeprefix("id: ")
        everything.tell()
        everything.heard(since, "message.added")  # what was erased before it was noticed would be no event
        before = everything.having()
        assert [part for part in MUST_FIND if not any(part in name for name in before)] == []
        everything.forgotten_by(way)
        assert everything.having() == set(), way
        receipt = everything.client.get("/v1/receipts").json()["items"][-1]["id"]
        replayed = everything.heard(since, receipt)
        assert "message.added" in str(replayed)
        assert everything.word not in str(replayed)
