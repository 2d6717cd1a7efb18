"""Parses arguments like nginx: flags, numbers, sizes and times. Functions return None for invalid arguments.

The sources are `ngx_conf_set_flag_slot` in ngx_conf_file.c, `ngx_atoi` in ngx_string.c, and ngx_parse.c.
"""

from __future__ import annotations

import re

from nginxopt import lazy

_MAX = 2**63 - 1  # NGX_MAX_INT_T_VALUE where a pointer has eight bytes

_NUMBER = lazy.pattern(r"[0-9]+")
_SIZE = lazy.pattern(r"([0-9]+)([kmg]?)", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

# Units occur in this order and at most once. A number without a unit is in seconds; another may follow after a blank.
_TIME = lazy.pattern(
    r"(?:([0-9]*)y *)?(?:([0-9]*)M *)?(?:([0-9]*)w *)?(?:([0-9]*)d *)?(?:([0-9]*)h *)?(?:([0-9]*)m(?!s) *)?"
    r"(?:(?:([0-9]*)s *)?(?:([0-9]*)ms *)?|([0-9]*) +)([0-9]*)"
)
_MILLISECONDS = (31_536_000_000, 2_592_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1, 1000, 1000)
_YEAR, _MONTH, _MS = 0, 1, 7


def flag(text: str) -> bool | None:
    """Return True for `on` and False for `off`, in any case of letters."""
    return {"on": True, "off": False}.get(text.lower())


def is_url(text: str) -> bool:
    """Return whether `rewrite` and `return` redirect to a text without a flag or code, by how it begins.

    The text is compared, not its value (`ngx_http_rewrite`, `ngx_http_rewrite_return`).
    """
    return text.startswith(("http://", "https://", "$scheme"))


def number(text: str) -> int | None:
    """Return the value of a decimal number."""
    return _bounded(int(text)) if _NUMBER.fullmatch(text) else None


def size(text: str, *, giga: bool = False) -> int | None:
    """Return a size such as `64k` in bytes. `giga`: whether `g` is a unit, too, as in offsets (`max_size=10g`)."""
    match = _SIZE.fullmatch(text)
    if match is None or (match[2].lower() == "g" and not giga):
        return None
    return _bounded(int(match[1]) * _UNITS[match[2].lower()])


def milliseconds(text: str) -> int | None:
    """Return a time such as `1m 30s` or `500ms` in milliseconds, for timeouts, which have no years and months."""
    parts = _parts(text)
    if parts is None or parts[_YEAR] is not None or parts[_MONTH] is not None:
        return None
    return _bounded(_sum(parts))


def seconds(text: str) -> int | None:
    """Return a time such as `1y` or `30d` in seconds, for `expires`, `valid=` and the like, which have no `ms`."""
    parts = _parts(text)
    if parts is None or parts[_MS] is not None:
        return None
    return _bounded(_sum(parts) // 1000)


def _parts(text: str) -> tuple[str | None, ...] | None:
    """Return the number of each unit, in the order of `_MILLISECONDS`; None if the text is not a time."""
    match = _TIME.fullmatch(text)
    return match.groups() if match and any(char.isdigit() for char in text) else None


def _sum(parts: tuple[str | None, ...]) -> int:
    return sum(int(part or 0) * unit for part, unit in zip(parts, _MILLISECONDS, strict=True))


def _bounded(value: int) -> int | None:
    return value if value <= _MAX else None
