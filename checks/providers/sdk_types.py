"""Strict validation of request bodies by the parameter types of the vendors' SDKs.

The SDKs declare a request as a TypedDict. Read as written, pydantic would accept unknown keys and would check an
`Iterable` only when a caller reads it. `strict_validator` rewrites the schema: unknown keys are refused, and every
iterable is a list that is checked at once.
"""

import json
from dataclasses import dataclass
from typing import Any

from anthropic.types import MessageCreateParams
from anthropic.types.beta import MessageCreateParams as BetaMessageCreateParams
from openai.types.chat import CompletionCreateParams
from openai.types.responses import ResponseCreateParams
from pydantic import TypeAdapter
from pydantic_core import SchemaValidator, ValidationError

# Most violations that are reported for one body.
MOST_VIOLATIONS = 5
# Keys that say which variant of a union is meant.
TAGS = ("type", "role", "stream")


@dataclass(frozen=True)
class Violation:
    """A place in a body that the vendor's type does not accept."""

    place: str
    message: str
    value: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}; the body has {self.value}"


def strict_validator(parameters: Any) -> SchemaValidator:
    """Returns a validator that refuses unknown keys and checks every element of a list."""
    return SchemaValidator(_strict(TypeAdapter(parameters).core_schema))


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(part) for part in schema]
    if isinstance(schema, tuple):
        return tuple(_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return schema
    rewritten = {key: _strict(part) for key, part in schema.items()}
    if schema.get("type") == "generator":
        rewritten = {"type": "list", "items_schema": rewritten["items_schema"]}
    # A type that declares extra items, such as a JSON schema, says itself what else it accepts.
    if schema.get("type") == "typed-dict" and "extras_schema" not in schema:
        rewritten["extra_behavior"] = "forbid"
    return rewritten


VALIDATORS = {
    "responses": strict_validator(ResponseCreateParams),
    "chat": strict_validator(CompletionCreateParams),
    "messages": strict_validator(MessageCreateParams),
    "messages_beta": strict_validator(BetaMessageCreateParams),
}


def violations(protocol: str, body: Any) -> list[Violation]:
    """Returns what the vendor's type does not accept, the most telling places first; empty if it accepts the body."""
    try:
        VALIDATORS[protocol].validate_json(json.dumps(body), strict=True)
    except ValidationError as error:
        return _telling([dict(found) for found in error.errors(include_url=False)], body)
    return []


def _telling(errors: list[dict[str, Any]], body: Any) -> list[Violation]:
    """A union reports every variant that did not fit. Only the errors of the variant that fits best are returned:
    one whose tags match, that fails deep in the body and has few errors."""
    variants: dict[tuple[Any, ...], list[tuple[list[Any], dict[str, Any]]]] = {}
    for error in errors:
        path, variant = _split(error["loc"], body)
        variants.setdefault(variant, []).append((path, error))

    def misfit(found: list[tuple[list[Any], dict[str, Any]]]) -> tuple[int, int, int]:
        tags = sum(1 for path, _ in found if path and path[-1] in TAGS)
        return tags, -max(len(path) for path, _ in found), len(found)

    best = min(variants.values(), key=misfit)
    return [_violation(path, error) for path, error in best[:MOST_VIOLATIONS]]


def _violation(path: list[Any], error: dict[str, Any]) -> Violation:
    shown = json.dumps(error["input"], default=str)
    place = "/".join(str(step) for step in path) or "body"
    return Violation(place, error["msg"], shown if len(shown) <= 200 else shown[:200] + "…")


def _split(location: tuple[Any, ...], body: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """Separates the keys of the body from the names of variants that pydantic puts between them."""
    path, variant, value = [], [], body
    for position, step in enumerate(location):
        is_last = position == len(location) - 1
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        elif not (is_last and isinstance(value, dict)):
            variant.append(step)
            continue
        path.append(step)
    return path, tuple(variant)
