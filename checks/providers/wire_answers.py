"""Renders a scripted answer in the protocols of the vendors, streamed and whole.

`Answer` says what the model does. Each protocol has a function that returns the events of a stream, and one that
returns the whole answer. An event is a name (or None) and its data.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Event = tuple[str | None, Any]
USAGE = {"input": 120, "output": 12}


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` is a text for a freeform tool, and an object for any other tool."""

    name: str
    arguments: Any
    id: str = "call_check_1"

    @property
    def is_freeform(self) -> bool:
        return isinstance(self.arguments, str)


@dataclass(frozen=True)
class Answer:
    """What the model says in one round."""

    text: str = ""
    calls: list[Call] = field(default_factory=list)
    reasoning: str = ""


def pieces(text: str) -> Iterator[str]:
    """Cuts a text into three parts, so that a stream has more than one delta."""
    size = max(1, -(-len(text) // 3))
    return (text[start : start + size] for start in range(0, len(text), size))


# Responses


def response_items(answer: Answer) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.reasoning:
        summary = [{"type": "summary_text", "text": answer.reasoning}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "sealed"})
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
        items.append({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [part]})
    for number, call in enumerate(answer.calls, 1):
        head = {"id": f"fc_{number}", "call_id": call.id, "name": call.name, "status": "completed"}
        if call.is_freeform:
            items.append(head | {"type": "custom_tool_call", "input": call.arguments})
        else:
            items.append(head | {"type": "function_call", "arguments": json.dumps(call.arguments)})
    return items


def response_whole(answer: Answer, model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": USAGE["input"],
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": USAGE["output"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": USAGE["input"] + USAGE["output"],
    }
    return {
        "id": "resp_1", "object": "response", "created_at": 1741476542, "status": "completed", "model": model,
        "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
        "output": response_items(answer), "parallel_tool_calls": True, "temperature": 1.0, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "usage": usage,
    }  # fmt: skip


def response_events(answer: Answer, model: str) -> Iterator[Event]:
    whole = response_whole(answer, model)
    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for index, item in enumerate(whole["output"]):
        events.extend(_response_item_events(index, item))
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield event["type"], event | {"sequence_number": number}


def _response_item_events(index: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    empty: dict[str, dict[str, Any]]
    empty = {"message": {"content": []}, "function_call": {"arguments": ""}, "custom_tool_call": {"input": ""}}
    at = {"output_index": index, "item_id": item["id"]}
    begun = item | empty.get(item["type"], {}) | ({} if item["type"] == "reasoning" else {"status": "in_progress"})
    yield {"type": "response.output_item.added", "output_index": index, "item": begun}
    if item["type"] == "message":
        part, at = item["content"][0], at | {"content_index": 0}
        yield at | {"type": "response.content_part.added", "part": part | {"text": ""}}
        for piece in pieces(part["text"]):
            yield at | {"type": "response.output_text.delta", "delta": piece, "logprobs": []}
        yield at | {"type": "response.output_text.done", "text": part["text"], "logprobs": []}
        yield at | {"type": "response.content_part.done", "part": part}
    if item["type"] == "function_call":
        for piece in pieces(item["arguments"]):
            yield at | {"type": "response.function_call_arguments.delta", "delta": piece}
        done = {"type": "response.function_call_arguments.done", "arguments": item["arguments"], "name": item["name"]}
        yield at | done
    if item["type"] == "custom_tool_call":
        for piece in pieces(item["input"]):
            yield at | {"type": "response.custom_tool_call_input.delta", "delta": piece}
        yield at | {"type": "response.custom_tool_call_input.done", "input": item["input"]}
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


# Chat Completions


def _chat_usage() -> dict[str, int]:
    return {
        "prompt_tokens": USAGE["input"],
        "completion_tokens": USAGE["output"],
        "total_tokens": USAGE["input"] + USAGE["output"],
    }


def _chat_calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(call.arguments)}}
        for call in answer.calls
    ]


def chat_whole(answer: Answer, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text or None}
    if answer.reasoning:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = _chat_calls(answer)
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if answer.calls else "stop"}
    head = {"id": "chatcmpl_1", "object": "chat.completion", "created": 1741476542, "model": model}
    return head | {"choices": [choice], "usage": _chat_usage()}


def chat_events(answer: Answer, model: str) -> Iterator[Event]:
    head = {"id": "chatcmpl_1", "object": "chat.completion.chunk", "created": 1741476542, "model": model}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> Event:
        return None, head | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(answer.reasoning):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(answer.text):
        yield chunk({"content": piece})
    for index, call in enumerate(_chat_calls(answer)):
        arguments = call["function"]["arguments"]
        begun = call | {"index": index, "function": call["function"] | {"arguments": ""}}
        yield chunk({"tool_calls": [begun]})
        for piece in pieces(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if answer.calls else "stop")
    yield None, head | {"choices": [], "usage": _chat_usage()}
    yield None, "[DONE]"


# Messages


def _message_blocks(answer: Answer) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if answer.reasoning:
        blocks.append({"type": "thinking", "thinking": answer.reasoning, "signature": "sealed"})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text, "citations": None})
    for call in answer.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    return blocks


def message_whole(answer: Answer, model: str) -> dict[str, Any]:
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": _message_blocks(answer),
        "stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": USAGE["input"], "output_tokens": USAGE["output"]},
    }  # fmt: skip


def message_events(answer: Answer, model: str) -> Iterator[Event]:
    whole = message_whole(answer, model)
    begun = whole | {"content": [], "stop_reason": None, "usage": {"input_tokens": USAGE["input"], "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": begun}
    yield "ping", {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        empty = {"text": {"text": ""}, "tool_use": {"input": {}}, "thinking": {"thinking": "", "signature": ""}}
        begun = block | empty[block["type"]]
        yield "content_block_start", {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in _message_deltas(block):
            yield "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": index}
    end = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": end, "usage": {"output_tokens": USAGE["output"]}}
    yield "message_stop", {"type": "message_stop"}


def _message_deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in pieces(block["text"]))
    if block["type"] == "tool_use":
        arguments = json.dumps(block["input"])
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces(arguments))
    if block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}


# Ollama's own protocol, which litellm can use upstream


def ollama_whole(answer: Answer, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.calls:
        message["tool_calls"] = [{"function": {"name": c.name, "arguments": c.arguments}} for c in answer.calls]
    counts = {"prompt_eval_count": USAGE["input"], "eval_count": USAGE["output"]}
    head = {"model": model, "created_at": "2025-03-08T23:29:02Z"}
    return head | {"message": message, "done": True, "done_reason": "stop"} | counts


def ollama_events(answer: Answer, model: str) -> Iterator[Event]:
    whole = ollama_whole(answer, model)
    for piece in pieces(answer.text):
        part = {"role": "assistant", "content": piece}
        yield None, {"model": model, "created_at": whole["created_at"], "message": part, "done": False}
    yield None, whole | {"message": whole["message"] | {"content": ""}}
