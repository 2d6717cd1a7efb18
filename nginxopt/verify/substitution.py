"""Replaces a part of values by what has become known of it."""

from __future__ import annotations

from functools import lru_cache

from nginxopt import lazy
from nginxopt._native import captures
from nginxopt.verify.symbols import Capture, Derived, KnownBytes, Match, Symbol, derived, join, mapped, parts_of

_SAME_IN_URIS = lazy.pattern(rb"[A-Za-z0-9/_.~-]*")
"""What nginx does not escape when it copies a capture into a URI (`ngx_http_script_copy_capture_code`)."""


def replaced(symbol: Symbol, old: Symbol, new: Symbol) -> Symbol:
    """Return a value in which a part is replaced wherever it stands."""
    return mapped(symbol, {old: new}, _of_parts)


def _of_parts(symbol: Symbol, parts: tuple[Symbol, ...]) -> Symbol:
    """Return a value with other parts."""
    if parts == parts_of(symbol):
        return symbol
    match symbol:
        case Derived(name, _):
            return derived(name, parts)
        case Capture(Match(_, pattern), group, use):
            return captured(Capture(Match(parts[0], pattern), group, use))
    return join(parts)


class Substitution:
    """Replaces one part of values. The result for each value is computed once."""

    def __init__(self, old: Symbol) -> None:
        self._old = old
        self._known: dict[Symbol, dict[Symbol, Symbol]] = {}

    @property
    def work(self) -> int:
        """Return how many values were looked at."""
        return sum(map(len, self._known.values()))

    def into(self, symbol: Symbol, new: Symbol) -> Symbol:
        """Return a value in which the part is replaced."""
        return mapped(symbol, self._known.setdefault(new, {self._old: new}), _of_parts)


def is_raw(capture: Capture) -> bool:
    """Return whether a capture is used as it was matched."""
    return capture.use in ("map", "name")


def captured(capture: Capture) -> Symbol:
    """Return what was captured, if that is known now."""
    subject, pattern = capture.match.subject, capture.match.pattern
    if not isinstance(subject, KnownBytes) or pattern is None:
        return capture
    text = _group(pattern, subject.value, capture.group)
    if text is None or not (is_raw(capture) or _SAME_IN_URIS.fullmatch(text)):
        return capture
    return KnownBytes(text)


@lru_cache(maxsize=1 << 12)
def _group(pattern: bytes, subject: bytes, name: str) -> bytes | None:
    """Return what a group captures, empty if it takes no part; None if that is not known."""
    found = captures(pattern, subject)
    if found is None:
        return None
    groups, named = found
    if not name.isdigit():
        return {key.decode().lower(): text for key, text in named}.get(name)
    number = int(name)
    return (groups[number] if number < len(groups) else None) or b""
