"""A server on this machine that speaks the OpenAI API and does as it is told, for tests of what talks to one.

It answers chat completions, responses (both also as streams), embeddings and models, and Anthropic's messages. It keeps
a journal of what it was asked, and can be slow, refuse, break off or talk nonsense.
"""

import json
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from lamina.testing.llm_wire import (
    ASKED_AT,
    Answer,
    Asked,
    Brain,
    Fault,
    Said,
    chat,
    chat_events,
    claude,
    data_of,
    embeddings,
    response,
    response_events,
    sensible,
    vector_of,
)

__all__ = ["Answer", "Asked", "Brain", "Fault", "LlmServer", "Said", "data_of", "sensible", "vector_of"]


_CONVERSATIONS = {"chat": chat, "responses": response, "messages": claude}


class LlmServer:
    """The server, on a free port of the loopback; `with LlmServer() as server: ... server.url`.

    `brain` answers; what `then` was given comes first, one a request. Ways in `refuses` are answered with 400.
    """

    def __init__(
        self,
        brain: Brain | None = None,
        *,
        refuses: Collection[str] = (),  # ways; also "responses", "hosted", "max_tokens", "temperature", "seed"
        dimensions: int = 64,
        key: str | None = None,  # that callers must have
        models: Sequence[str] = ("test-model",),
    ) -> None:
        self.brain: Brain = brain or sensible
        self.refuses = frozenset(refuses)
        self.dimensions = dimensions
        self.key = key
        self.models = tuple(models)
        self.journal: list[Asked] = []
        self.hung_up: list[Asked] = []  # whose caller left before the end of the answer
        self.stopping = threading.Event()
        self._script: deque[Answer] = deque()
        self._lock = threading.Lock()
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base URL for a client."""
        if self._http is None:
            raise RuntimeError("the server is not running; use `with LlmServer() as server:`")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def root(self) -> str:
        """The base URL for a client that adds the version itself, such as Anthropic's."""
        return self.url.removesuffix("/v1")

    def then(self, *answers: Answer) -> Self:
        """Give these answers to the next requests."""
        with self._lock:
            self._script.extend(answers)
        return self

    def asked(self, kind: str = "chat") -> list[Asked]:
        """The requests of a kind so far."""
        with self._lock:
            return [one for one in self.journal if one.kind == kind]

    def taken(self, asked: Asked) -> Answer:
        """Note a request and find its answer."""
        with self._lock:
            self.journal.append(asked)
            if self._script:
                return self._script.popleft()
        if refused := self._refused(asked):
            return refused
        if asked.body.get("messages") == []:
            return Fault(status=400, body={"error": {"message": "[] is too short - 'messages'"}})
        return self.brain(asked) if asked.kind in _CONVERSATIONS else ""

    def _refused(self, asked: Asked) -> Fault | None:
        if self.key is not None and asked.headers.get("authorization") != f"Bearer {self.key}":
            given = asked.headers.get("authorization", "").removeprefix("Bearer ")
            return Fault(status=401, body={"error": {"message": f"Incorrect API key provided: {given}"}})
        if asked.kind == "responses" and "responses" in self.refuses:
            return Fault(status=404, body={"error": {"message": "no such path"}})
        if asked.body.get("prompt") and "hosted" in self.refuses:
            return Fault(status=404, body={"error": {"message": "Prompt not found"}})
        for name in ("max_tokens", "temperature", "seed"):
            if name in asked.body and name in self.refuses:
                other = " Use 'max_completion_tokens' instead." if name == "max_tokens" else ""
                return Fault(status=400, body={"error": {"message": f"Unsupported parameter: '{name}'.{other}"}})
        if asked.kind == "chat" and asked.way != "text" and asked.way in self.refuses:
            return Fault(status=400, body={"error": {"message": f"{asked.way} is not supported"}})
        return None

    def __enter__(self) -> Self:
        self.stopping.clear()
        self._http = _Http(("127.0.0.1", 0), _Handler, self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), name="llm-server", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None and self._thread is not None:
            self.stopping.set()
            self._http.shutdown()
            self._http.hang_up()
            self._http.server_close()
            self._thread.join()
            self._http = None


class _Http(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], owner: LlmServer) -> None:
        super().__init__(address, handler)
        self.owner = owner
        self.connections: set[socket.socket] = set()

    def hang_up(self) -> None:
        for connection in tuple(self.connections):
            _shut(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller who leaves is nothing to report."""


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.connections.add(self.connection)

    def finish(self) -> None:
        self.server.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has there
        """Say nothing: there is a journal."""

    def do_GET(self) -> None:
        self._handle({})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._handle(body)

    def _handle(self, body: Any) -> None:
        owner = self.server.owner
        headers = {name.lower(): value for name, value in self.headers.items()}
        known = body if isinstance(body, dict) else {}
        asked = Asked(at=time.monotonic(), method=self.command, path=self.path, headers=headers, body=known)
        answer: Answer = Fault(status=400) if body is None else owner.taken(asked)
        try:
            if isinstance(answer, Fault):
                self._fail(answer)
            else:
                self._answer(asked, Said(text=answer) if isinstance(answer, str) else answer)
        except OSError:
            owner.hung_up.append(asked)
            self.close_connection = True

    # faults

    def _fail(self, fault: Fault) -> None:
        self._wait(fault.seconds)
        if fault.ends == "hung up":
            self._hang_up()
            return
        body = fault.body
        if body is None:
            body = {"error": {"message": f"told to fail with {fault.status}", "type": "test", "code": None}}
        sent = body if isinstance(body, str) else json.dumps(body)
        self._send(fault.status, sent.encode(), fault.headers, whole=fault.ends == "well")

    def _hang_up(self) -> None:
        self.close_connection = True
        _shut(self.connection)

    def _wait(self, seconds: float) -> None:
        if seconds and self.server.owner.stopping.wait(seconds):
            raise ConnectionError("the server stops")

    # answers

    def _answer(self, asked: Asked, said: Said) -> None:
        owner = self.server.owner
        if asked.kind == "models":
            data = [{"id": name, "object": "model", "created": ASKED_AT, "owned_by": "test"} for name in owner.models]
            self._json({"object": "list", "data": data})
        elif asked.kind == "embeddings":
            self._json(embeddings(asked, owner.dimensions))
        elif asked.kind not in _CONVERSATIONS or (asked.stream and asked.kind == "messages"):
            self._json({"error": {"message": f"no such path: {asked.path}"}}, 404)
        elif asked.stream:
            self._stream(asked, said)
        else:
            self._wait(said.first_seconds)
            self._json({**_CONVERSATIONS[asked.kind](asked, said), **said.extra})

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode(), {})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], *, whole: bool = True) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if whole else body[: len(body) // 2])
        self.wfile.flush()
        if not whole:
            self._hang_up()

    def _stream(self, asked: Asked, said: Said) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        pieces = said.pieces if said.pieces is not None else re.findall(r"\s*\S+\s*", said.text or "")
        sent = 0
        for event in chat_events(asked, said, pieces) if asked.kind == "chat" else response_events(asked, said, pieces):
            if event.delta:
                if sent == said.hang_up_after:
                    self._hang_up()
                    return
                self._wait(said.gap_seconds if sent else said.first_seconds)
                sent += 1
            self._chunk(event.text.encode())
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
