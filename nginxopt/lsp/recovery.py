"""Makes a text parse while it is being typed, without moving its directives.

Unreadable text is replaced by blanks, and missing `}` are added at the end, so that all other directives keep their
offsets. The result is used for navigation and completion, and never checked by rules.
"""

from __future__ import annotations

import re

from nginxopt import lazy
from nginxopt.config import Source, statements
from nginxopt.config.includes import File, parsed, wrong_includes
from nginxopt.config.tree import DEPTH
from nginxopt.errors import InputError

_MOST = 50
"""The number of unreadable statements after which recovery gives up."""

_BETWEEN = lazy.pattern(rb"(?:[ \t\r\n]+|#[^\n]*)*+")
_VISIBLE = lazy.pattern(rb"[^\r\n]")
_MARK = "\ufeff".encode()


def recovered(path: str, data: bytes) -> File | None:
    """Return a text as a file without its unreadable statements; None if there are too many of them."""
    data = data.replace(b"\0", b" ")
    if data.startswith(_MARK):
        data = b" " * len(_MARK) + data[len(_MARK) :]
    end = blocks = 0
    for _ in range(_MOST):
        end, blocks, fault = _read(data, end, blocks)
        if fault is None or blocks > DEPTH:
            break
        end = _after_comments(data, end, fault)
        data = data + b"\n" + b"}" * blocks if end == len(data) else _blanked(data, end)
    try:
        file = parsed(path, data)
        wrong = [slice(include.start, include.end) for include in wrong_includes(file)]
        for span in wrong:
            data = data[: span.start] + _VISIBLE.sub(b" ", data[span]) + data[span.stop :]
        return parsed(path, data) if wrong else file
    except InputError:
        return None


def _read(data: bytes, start: int, blocks: int) -> tuple[int, int, int | None]:
    """Read from `start`, inside `blocks` open blocks. The caller continues after the result, so each byte is read once.

    Return the end of the last readable statement, the number of open blocks there, which is at most one more than a
    file may have, and the offset of the error, if any.
    """
    opened = b"a{" * blocks
    end, shift = start, start - len(opened)
    try:
        for statement in statements(Source("", opened + data[start:])):
            if statement.kind != "#" and statement.end > len(opened):
                end = statement.end + shift
                blocks += {"{": 1, "}": -1}.get(statement.kind, 0)
                if blocks > DEPTH:
                    break
    except InputError as error:
        return end, blocks, end if error.span is None else error.span.start + shift
    return end, blocks, None


def _after_comments(data: bytes, end: int, fault: int) -> int:
    """Return where the unreadable statement, or the unreadable comment, after a readable statement begins."""
    between = _BETWEEN.match(data, end)
    after = between.end() if between else end
    return fault if end <= fault < after else after


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
