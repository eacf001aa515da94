#!/usr/bin/env python3
"""Validates the request bodies of Holon strictly by the parameter types of the vendors' SDKs.

The bodies come from the golden files of `crates/llm`, and from `holon run` with real tools against a scripted
server. Exit code: 0 if every body is accepted, 1 if one is not or a run failed, 2 if there is no built program.
"""

import argparse
import copy
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holon_runner import REPOSITORY, TRANSPORTS, Home, find_holon
from scripted_server import Failure, Recorded, Script, ScriptedServer, in_order
from sdk_types import violations
from wire_answers import Answer, Call

GOLDEN = REPOSITORY / "crates/llm/tests/golden"
GOLDEN_PROTOCOLS = {"anthropic": "messages", "chat": "chat", "codex": "responses", "responses": "responses"}
PATCH = "--- /dev/null\n+++ b/note.txt\n@@ -0,0 +1 @@\n+hello\n"


@dataclass(frozen=True)
class Situation:
    """Runs that produce bodies: a script, the questions in order, and the settings before them."""

    name: str
    script: Script
    requests: int
    questions: tuple[str, ...] = ("Look around.",)
    # Uses the built-in provider of the transport and a model of the table, with all that Holon knows about them.
    is_built_in: bool = False
    effort: str | None = None
    settings: tuple[tuple[str, str], ...] = ()
    # A text that only the result of a tool contains; the last request has it.
    result: str = ""
    transports: tuple[str, ...] = TRANSPORTS


def command(text: str, number: int = 1, say: str = "I look.", reasoning: str = "") -> Answer:
    return Answer(say, [Call("ExecCommand", {"cmd": text}, f"call_check_{number}")], reasoning)


BUILT_IN = {
    "openai_responses": ("openai", "gpt-5.4"),
    "openai_codex_responses": ("openai-codex", "gpt-5.3-codex"),
    "anthropic_messages": ("anthropic", "claude-sonnet-4-6"),
    "openai_chat_completions": ("deepseek-openai", "deepseek-chat"),
}
DONE = Answer("That is all.")
SITUATIONS = [
    Situation("plain text", in_order(DONE), 1),
    Situation("tool call and result", in_order(command("printf %s%s zq 81w"), DONE), 2, result="zq81w"),
    Situation("call without text", in_order(command("printf %s%s zq 81w", say=""), DONE), 2, result="zq81w"),
    Situation(
        "two calls at once",
        in_order(
            Answer("", [Call("ExecCommand", {"cmd": "echo a"}, "call_a"), Call("TaskList", {}, "call_b")]),
            DONE,
        ),
        2,
    ),
    Situation("a call that fails", in_order(Answer("", [Call("NoSuchTool", {"x": 1})]), DONE), 2),
    Situation(
        "error and retry",
        in_order(Failure(503, {"retry-after": "0"}), command("printf %s%s zq 81w"), DONE),
        3,
        result="zq81w",
    ),
    Situation(
        "second turn with history",
        in_order(command("echo first"), DONE, command("echo second", 2), DONE),
        4,
        questions=("Look around.", "And again."),
    ),
    Situation(
        "reasoning effort",
        in_order(command("printf %s%s zq 81w", reasoning="I should look."), DONE, DONE),
        3,
        questions=("Look around.", "And again."),
        effort="high",
    ),
    Situation(
        "built-in provider",
        in_order(command("printf %s%s zq 81w", reasoning="I should look."), DONE, DONE),
        3,
        questions=("Look around.", "And again."),
        is_built_in=True,
    ),
    Situation(
        "thinking",
        in_order(command("printf %s%s zq 81w", reasoning="I should look."), DONE),
        2,
        settings=(('models.catalog."check/plain-model".thinking_tokens', "2048"),),
        # The signed block goes back unchanged.
        result='"signature": "sealed"',
        transports=("anthropic_messages",),
    ),
    Situation(
        "freeform patch",
        in_order(Answer("I write.", [Call("ApplyPatch", PATCH)]), DONE),
        2,
        result="A note.txt",
        settings=(('models.catalog."check/plain-model".freeform_tools', "true"),),
        transports=("openai_responses", "openai_codex_responses"),
    ),
    Situation(
        "stored responses",
        in_order(command("printf %s%s zq 81w"), DONE),
        2,
        settings=(("providers.check.store_responses", "true"),),
        transports=("openai_responses",),
    ),
    Situation(
        "context management",
        in_order(command("printf %s%s zq 81w"), DONE),
        2,
        settings=(("providers.check.context_management.enabled", "true"),),
        transports=("anthropic_messages",),
    ),
]


def without_documented_differences(protocol: str, body: Any) -> Any:
    """Removes what Holon sends on purpose although the vendor's type does not have it; README.md lists the reasons."""
    body = copy.deepcopy(body)
    if protocol == "chat":
        for message in body.get("messages", []):
            if message.get("role") == "assistant":
                message.pop("reasoning_content", None)
    return body


def type_of(protocol: str, body: Any, headers: dict[str, str] | None) -> str:
    """Returns the type that applies. Messages has a beta type, which a header selects; golden files have no headers."""
    if protocol != "messages":
        return protocol
    if headers is None:
        is_beta = "context_management" in body
    else:
        is_beta = "context-management" in headers.get("anthropic-beta", "")
    return "messages_beta" if is_beta else "messages"


def check_body(source: str, protocol: str, body: Any, headers: dict[str, str] | None = None) -> list[str]:
    checked = without_documented_differences(protocol, body)
    return [f"{source}: {found}" for found in violations(type_of(protocol, body, headers), checked)]


def check_golden() -> tuple[int, list[str]]:
    """Returns the number of golden bodies and their violations."""
    found, count = [], 0
    for path in sorted(GOLDEN.glob("*/request-*.json")) + sorted(GOLDEN.glob("*/*.request.json")):
        count += 1
        protocol = GOLDEN_PROTOCOLS[path.parent.name]
        found += check_body(str(path.relative_to(REPOSITORY)), protocol, json.loads(path.read_text()))
    return count, found


def check_validators() -> list[str]:
    """Returns the wrong bodies that the types accept: with such a type, an accepted body would mean nothing."""
    user = {"role": "user", "content": "Hello."}
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
    limits = {"model": "m", "max_tokens": 16}
    wrong = {
        "an unknown key": ("responses", {"model": "m", "input": "Hello.", "unknown": 1}),
        "a number as text": ("responses", {"model": "m", "input": "Hello.", "max_output_tokens": "16"}),
        "a wrong item in a list": ("responses", {"model": "m", "input": [item]}),
        "a message without its call": ("chat", {"model": "m", "messages": [user, {"role": "tool", "content": "x"}]}),
        "an unknown key in a list": ("chat", {"model": "m", "messages": [user | {"unknown": 1}]}),
        "a missing limit": ("messages", {"model": "m", "messages": [user]}),
        "an unknown block": ("messages", limits | {"messages": [{"role": "user", "content": [{"type": "unknown"}]}]}),
        "an unknown key of the beta": ("messages_beta", limits | {"messages": [user], "unknown": 1}),
    }
    return [
        f"{name}: {protocol} accepts it" for name, (protocol, body) in wrong.items() if not violations(protocol, body)
    ]


def base_url(server: ScriptedServer, transport: str, conversation: str) -> str:
    # Only the base address of Messages has no version, as with the vendor's own SDK.
    return server.base_url(conversation) + ("" if transport == "anthropic_messages" else "/v1")


def run_situation(holon: Path, server: ScriptedServer, transport: str, situation: Situation) -> list[str]:
    """Runs one situation over one transport and returns what went wrong in the runs; the server has the bodies."""
    conversation = f"{transport}-{situation.name.replace(' ', '-')}"
    server.play(conversation, situation.script)
    provider, model = BUILT_IN[transport] if situation.is_built_in else ("check", "plain-model")
    with Home(holon) as home:
        home.configure(provider, transport, base_url(server, transport, conversation))
        if situation.effort:
            home.must("config", "set", f"providers.{provider}.reasoning_effort", situation.effort)
        for key, value in situation.settings:
            home.must("config", "set", key, value)
        for question in situation.questions:
            agent = ("--agent", "check", "--create-agent")
            ran = home.run("run", question, *agent, "--model", f"{provider}/{model}", "--json")
            if ran.code != 0 or ran.json().get("final_text") != DONE.text:
                return [f"{conversation}: the run ended with {ran.code}: {(ran.stderr + ran.stdout)[-800:]}"]
    arrived = server.of(conversation)
    if len(arrived) != situation.requests:
        return [f"{conversation}: {situation.requests} requests were expected, {len(arrived)} arrived"]
    if situation.result not in json.dumps(arrived[-1].body):
        return [f"{conversation}: the last request does not contain the result {situation.result!r}"]
    return []


def run_or_report(holon: Path, server: ScriptedServer, transport: str, situation: Situation) -> list[str]:
    """Runs one situation; a program that fails or does not end is a problem of this situation only."""
    try:
        return run_situation(holon, server, transport, situation)
    except (OSError, RuntimeError, ValueError, subprocess.TimeoutExpired) as error:
        return [f"{transport}, {situation.name}: {error}"]


def check_runs(holon: Path, server: ScriptedServer, workers: int) -> list[str]:
    """Runs every situation over every transport, and returns failures of runs and violations of bodies."""
    cases = [(transport, case) for case in SITUATIONS for transport in case.transports]
    with ThreadPoolExecutor(workers) as pool:
        outcomes = pool.map(lambda case: run_or_report(holon, server, *case), cases)
        found = [problem for problems in outcomes for problem in problems]
    for number, request in enumerate(server.requests, 1):
        source = f"{request.conversation}, request {number}"
        found += check_body(source, request.protocol, request.body, request.headers)
    return found


def save(directory: Path, requests: list[Recorded]) -> None:
    """Writes the captured bodies, one file each."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, request in enumerate(requests, 1):
        path = directory / f"{request.conversation}-{number:03}.json"
        path.write_text(json.dumps(request.body, indent=2, ensure_ascii=False) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, metavar="DIR", help="write the captured bodies into this directory")
    parser.add_argument("--workers", type=int, default=4, help="runs at the same time [default: 4]")
    arguments = parser.parse_args()

    found = check_validators()
    count, golden = check_golden()
    found += golden
    print(f"golden bodies: {count}")
    holon = find_holon()
    if holon is None:
        print("there is no built program; run `cargo build`, or set HOLON_BIN", file=sys.stderr)
        return 2
    with ScriptedServer() as server:
        found += check_runs(holon, server, arguments.workers)
        print(f"captured bodies: {len(server.requests)}")
        if arguments.save:
            save(arguments.save, server.requests)
    for problem in found:
        print(f"violation: {problem}")
    print(f"violations: {len(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
