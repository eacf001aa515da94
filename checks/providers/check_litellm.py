#!/usr/bin/env python3
"""Runs Holon through litellm in all pairs of a transport and an upstream protocol, each with a tool call.

litellm runs on loopback, in front of the scripted server. A pair passes if the answer arrives, the tool ran, and
the upstream saw its result in its own protocol. Exit code: 0 if all pairs pass, 1 if one does not, 2 if a program
is missing.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holon_runner import TRANSPORTS, Home, find_holon
from scripted_server import ScriptedServer, Step
from wire_answers import Answer, Call

KEY = "sk-check"
# Seconds until litellm must answer; it imports for a long time on a small machine.
START_SECONDS = 240
COMMAND = Call("ExecCommand", {"cmd": "printf %s%s zq 81w"})
ANSWER = "The command printed it."


@dataclass(frozen=True)
class Upstream:
    """A server behind litellm: the prefix of its models, the end of its address, and the protocol it must see."""

    name: str
    prefix: str
    path: str
    protocol: str


UPSTREAMS = [
    Upstream("chat", "custom_openai/", "/v1", "chat"),
    Upstream("responses", "openai/responses/", "/v1", "responses"),
    Upstream("messages", "anthropic/", "", "messages"),
    Upstream("ollama", "ollama_chat/", "", "ollama"),
]


def answer_by_result(body: Any, _number: int) -> Step:
    """Answers as soon as the request contains the output of the command; before, it calls the command."""
    return Answer(ANSWER) if "zq81w" in json.dumps(body) else Answer("I look.", [COMMAND])


def pair_name(transport: str, upstream: Upstream) -> str:
    return f"{transport}-to-{upstream.name}"


def configuration(server: ScriptedServer, drop_params: bool) -> dict[str, Any]:
    """One model for each pair, so that the address tells the pairs apart. JSON is also YAML."""
    models = [
        {
            "model_name": pair_name(transport, upstream),
            "litellm_params": {
                "model": f"{upstream.prefix}plain-model",
                "api_base": server.base_url(pair_name(transport, upstream)) + upstream.path,
                "api_key": "upstream-key",
            },
        }
        for transport in TRANSPORTS
        for upstream in UPSTREAMS
    ]
    settings = {"telemetry": False, "num_retries": 0, "drop_params": drop_params}
    return {"model_list": models, "litellm_settings": settings, "general_settings": {"master_key": KEY}}


class Gateway:
    """A litellm process of its own. A context manager ends it."""

    def __init__(self, program: str, server: ScriptedServer, drop_params: bool) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="litellm-check-")
        self._config = Path(self._directory.name) / "config.yaml"
        self._config.write_text(json.dumps(configuration(server, drop_params)))
        self.log = Path(self._directory.name) / "log"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._program = program

    def __enter__(self) -> "Gateway":
        variables = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ} | {
            "HOME": self._directory.name,
            # litellm would fetch its price list at the start.
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            # Nothing listens here, so litellm reaches only this machine.
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1,localhost",
        }
        arguments = ["--config", str(self._config), "--host", "127.0.0.1", "--port", str(self.port)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [self._program, *arguments], env=variables, cwd=self._directory.name, stdout=log, stderr=log
            )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"litellm ended with {self._process.returncode}:\n{self.log_end()}")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health/liveliness", timeout=2).close()
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.5)
        raise RuntimeError(f"litellm did not answer within {START_SECONDS} s:\n{self.log_end()}")

    def log_end(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()


def run_pair(
    holon: Path, server: ScriptedServer, port: int, transport: str, upstream: Upstream, effort: str | None
) -> str | None:
    """Runs one pair and returns why it failed; None if it passed."""
    pair = pair_name(transport, upstream)
    server.play(pair, answer_by_result)
    version = "" if transport == "anthropic_messages" else "/v1"
    with Home(holon) as home:
        home.configure("gateway", transport, f"http://127.0.0.1:{port}{version}", KEY)
        if effort:
            home.must("config", "set", "providers.gateway.reasoning_effort", effort)
        ran = home.run("run", "What does the command print?", "--model", f"gateway/{pair}", "--json")
    if ran.code != 0:
        return f"holon ended with {ran.code}: {(ran.stderr + ran.stdout)[-1500:]}"
    result = ran.json()
    if (said := result.get("final_text")) != ANSWER:
        return f"the answer is {said!r}"
    if (calls := result.get("tool_calls")) != 1:
        return f"{calls} tool calls ran instead of 1"
    seen = server.of(pair)
    if protocols := {request.protocol for request in seen} - {upstream.protocol}:
        return f"litellm used {', '.join(sorted(protocols))} upstream"
    if len(seen) != 2:
        return f"the upstream saw {len(seen)} requests instead of 2"
    if not all(request.body.get("stream", False) for request in seen):
        return "litellm did not stream from the upstream"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--litellm", help="the program [default: next to this Python, or from PATH]")
    parser.add_argument("--log", type=Path, help="copy litellm's log into this file")
    drop_help = "let litellm drop parameters that an upstream does not support, instead of refusing the request"
    parser.add_argument("--drop-params", action="store_true", help=drop_help)
    effort_help = "also ask for this reasoning effort [default: none]"
    parser.add_argument("--effort", choices=("low", "medium", "high", "xhigh"), help=effort_help)
    arguments = parser.parse_args()
    beside = Path(sys.executable).parent / "litellm"
    program = arguments.litellm or (str(beside) if beside.is_file() else shutil.which("litellm"))
    holon = find_holon()
    if holon is None or program is None:
        print("needs a built program (`cargo build`, or HOLON_BIN) and litellm", file=sys.stderr)
        return 2

    outcomes: dict[tuple[str, str], str | None] = {}
    with ScriptedServer() as server, Gateway(program, server, arguments.drop_params) as gateway:
        for transport in TRANSPORTS:
            for upstream in UPSTREAMS:
                outcome = run_pair(holon, server, gateway.port, transport, upstream, arguments.effort)
                outcomes[transport, upstream.name] = outcome
        if arguments.log:
            shutil.copyfile(gateway.log, arguments.log)
    return report(outcomes)


def report(outcomes: dict[tuple[str, str], str | None]) -> int:
    """Prints the table and the reasons, and returns the exit code."""
    names = [upstream.name for upstream in UPSTREAMS]
    print("| transport | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for transport in TRANSPORTS:
        cells = ["passed" if outcomes[transport, name] is None else "FAILED" for name in names]
        print(f"| {transport} | " + " | ".join(cells) + " |")
    failed = {pair: reason for pair, reason in outcomes.items() if reason is not None}
    for (transport, name), reason in failed.items():
        print(f"\n{transport} to {name}: {reason}")
    print(f"\n{len(outcomes) - len(failed)} of {len(outcomes)} pairs passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
