"""Reads JSON that anybody may have written: whatever is wrong with it is one error with a place."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises `json.JSONDecodeError` also where Python gives up: arrays nested more deeply than its stack, integers of
    thousands of digits. Their place is the beginning, as Python names none. Raises `UnicodeDecodeError` for bytes.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise json.JSONDecodeError("Nested too deeply", "", 0) from None
    except ValueError:
        raise json.JSONDecodeError("Integer with too many digits", "", 0) from None
