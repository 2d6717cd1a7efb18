"""Makes a text parse while it is being typed, without moving its directives.

Unreadable text is replaced by blanks, and missing `}` are added at the end, so that all other directives keep their
offsets. The result is used for navigation and completion, and never checked by rules.
"""

from __future__ import annotations

import re

from nginxopt import lazy
from nginxopt.config import Source, statements
from nginxopt.config.reader import File, parsed
from nginxopt.errors import InputError

_MOST = 50
"""The number of unreadable statements after which recovery gives up."""

_VISIBLE = lazy.pattern(rb"\S")
_MARK = "\ufeff".encode()


def recovered(path: str, data: bytes) -> File | None:
    """Return a text as a file without its unreadable statements; None if there are too many of them."""
    data = data.replace(b"\0", b" ")
    if data.startswith(_MARK):
        data = b" " * len(_MARK) + data[len(_MARK) :]
    for _ in range(_MOST):
        end, blocks, error = _read(data)
        if error is None:
            break
        start = _VISIBLE.search(data, end)
        if start is None:
            data += b"}" * blocks
        else:
            data = _blanked(data, start.start())
    try:
        return parsed(path, data)
    except InputError:
        return None


def _read(data: bytes) -> tuple[int, int, InputError | None]:
    """Return the end of the last readable statement, the number of open blocks there, and the error, if any."""
    end = blocks = 0
    try:
        for statement in statements(Source("", data)):
            if statement.kind != "#":
                end = statement.end
                blocks += {"{": 1, "}": -1}.get(statement.kind, 0)
    except InputError as error:
        return end, blocks, error
    return end, blocks, None


def _blanked(data: bytes, start: int) -> bytes:
    """Replace the rest of the line at `start` by blanks; if it is a brace that closes no block, only the brace."""
    if data[start : start + 1] in b"{};":
        end = start + 1
    else:
        line_end = re.compile(rb"[\r\n]|\Z").search(data, start)
        end = line_end.start() if line_end else len(data)
        brace = data.find(b"}", start, end)
        end = brace if brace > start else end
    return data[:start] + b" " * (end - start) + data[end:]
