"""Parses JSON from untrusted sources: every kind of invalid text raises an error with a position."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises `json.JSONDecodeError` for invalid JSON, and for what Python refuses to parse: arrays nested more deeply than
    its stack, and integers of thousands of digits. Python gives no position for these, so it is 0. Raises
    `UnicodeDecodeError` for bytes that are not UTF-8.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", "", 0) from None
    except ValueError:
        raise json.JSONDecodeError("Integer with too many digits", "", 0) from None
