"""A model server on loopback that plays scripted answers and records every request.

The first part of a path names a conversation, so that one server serves many runs at the same time:
`http://127.0.0.1:PORT/CONVERSATION/v1`. The rest of the path decides the protocol. The server streams if the
request asks for it.
"""

import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import wire_answers as wire
from wire_answers import Answer


@dataclass(frozen=True)
class Failure:
    """An answer that is an error."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Recorded:
    """One request as the server received it."""

    conversation: str
    protocol: str
    path: str
    headers: dict[str, str]
    body: Any


Step = Answer | Failure
# Chooses the answer from the body of a request and the number of requests before it.
Script = Callable[[Any, int], Step]


def in_order(*steps: Step) -> Script:
    """Plays the steps one after the other, and repeats the last one."""
    return lambda _body, number: steps[min(number, len(steps) - 1)]


# The end of a path, the protocol, and how it renders an answer.
PROTOCOLS = {
    "/responses": ("responses", wire.response_whole, wire.response_events),
    "/chat/completions": ("chat", wire.chat_whole, wire.chat_events),
    "/messages": ("messages", wire.message_whole, wire.message_events),
    "/api/chat": ("ollama", wire.ollama_whole, wire.ollama_events),
}


class ScriptedServer:
    """Owns the scripts of all conversations and the requests that arrived. A context manager ends it."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self._scripts: dict[str, Script] = {}
        self._lock = threading.Lock()
        owner = self

        class Handler(_Handler):
            server_state = owner

        self._http = _HttpServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)

    def __enter__(self) -> "ScriptedServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def base_url(self, conversation: str) -> str:
        """Returns the address of a conversation, without the version that a protocol may add."""
        return f"http://127.0.0.1:{self._http.server_port}/{conversation}"

    def play(self, conversation: str, script: Script) -> None:
        with self._lock:
            self._scripts[conversation] = script

    def of(self, conversation: str) -> list[Recorded]:
        with self._lock:
            return [request for request in self.requests if request.conversation == conversation]

    def record(self, request: Recorded) -> Step | None:
        """Stores a request and returns its answer; None if the conversation has no script."""
        with self._lock:
            script = self._scripts.get(request.conversation)
            number = sum(1 for earlier in self.requests if earlier.conversation == request.conversation)
            self.requests.append(request)
        return script(request.body, number) if script else None


class _HttpServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports errors, except that a client closed its connection, which it may do at any time."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server_state: ScriptedServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Writes no access log."""

    def do_GET(self) -> None:
        # Holon and litellm ask for the list of models, or for the properties of a server. This server has none.
        self._whole(404, {"error": {"message": "no such page", "type": "not_found_error"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        path = self.path.split("?")[0]
        ending = next((ending for ending in PROTOCOLS if path.endswith(ending)), None)
        if ending is None:
            return self._whole(404, {"error": {"message": "no such page", "type": "not_found_error"}})
        protocol, whole, events = PROTOCOLS[ending]
        body = json.loads(raw)
        headers = {name.lower(): value for name, value in self.headers.items()}
        conversation = path.split("/")[1]
        step = self.server_state.record(Recorded(conversation, protocol, path, headers, body))
        if step is None:
            return self._whole(404, {"error": {"message": f"no script for {conversation}", "type": "not_found_error"}})
        if isinstance(step, Failure):
            error = {"type": "server_error", "message": "scripted failure"}
            return self._whole(step.status, {"type": "error", "error": error}, step.headers)
        model = str(body.get("model", ""))
        # Ollama streams unless a request says otherwise; the others answer whole.
        if body.get("stream", protocol == "ollama"):
            return self._stream(events(step, model), protocol)
        return self._whole(200, whole(step, model))

    def _whole(self, status: int, value: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, events: Iterator[wire.Event], protocol: str) -> None:
        is_lines = protocol == "ollama"
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson" if is_lines else "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            text = data if isinstance(data, str) else json.dumps(data)
            head = f"event: {name}\n" if name else ""
            self._chunk(f"{text}\n" if is_lines else f"{head}data: {text}\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, text: str) -> None:
        content = text.encode()
        self.wfile.write(b"%x\r\n" % len(content) + content + b"\r\n")
        self.wfile.flush()
