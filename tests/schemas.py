"""The JSON schemas of reports, and what they say of a document."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


@cache
def schema(name: str) -> dict[str, Any]:
    """Return a schema of nginxopt, such as `lint-report`."""
    value: dict[str, Any] = json.loads(files("nginxopt").joinpath("schemas", f"{name}.json").read_bytes())
    return value


def validator(of: dict[str, Any]) -> Validator:
    """Return what checks documents with a schema, which is a valid schema itself."""
    import jsonschema  # takes two seconds for the grammar of IRIs: only a process that validates waits for it

    kind = jsonschema.validators.validator_for(of)
    kind.check_schema(of)
    return kind(of)


@cache
def _of(name: str) -> Validator:
    return validator(schema(name))


def validate(document: Any, name: str) -> None:
    """Check a document with a schema of nginxopt."""
    _of(name).validate(document)


def is_valid(document: Any, name: str) -> bool:
    """Return whether a document follows a schema of nginxopt."""
    return _of(name).is_valid(document)
