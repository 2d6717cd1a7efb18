"""Values in which a part is known now."""

from __future__ import annotations

import re
from functools import lru_cache

from nginxopt._native import captures
from nginxopt.request.verify.symbols import Capture, Derived, Join, Match, Symbol, Text, derived, join

_SAME_IN_URIS = re.compile(rb"[A-Za-z0-9/_.~-]*")
"""What nginx does not escape when it copies a capture into a URI (`ngx_http_script_copy_capture_code`)."""


def replaced(symbol: Symbol, old: Symbol, new: Symbol) -> Symbol:
    """Return a value in which a part is replaced wherever it stands."""
    if symbol == old:
        return new
    match symbol:
        case Derived(name, sources):
            return derived(name, tuple(replaced(source, old, new) for source in sources))
        case Capture(Match(subject, pattern), group, use) if subject is not None:
            return captured(Capture(Match(replaced(subject, old, new), pattern), group, use))
        case Join(parts):
            return join(replaced(part, old, new) for part in parts)
    return symbol


class Substitution:
    """Puts values in the place of one part of others. Whether they have that part is found out once."""

    def __init__(self, old: Symbol) -> None:
        self._old = old
        self._known: dict[int, tuple[Symbol, bool]] = {}

    def into(self, symbol: Symbol, new: Symbol) -> Symbol:
        """Return a value in which the part is replaced."""
        known = self._known.get(id(symbol))
        if known is None:  # the value is kept, so that its id stays its own
            known = self._known[id(symbol)] = (symbol, _has_part(symbol, self._old))
        return replaced(symbol, self._old, new) if known[1] else symbol


def _has_part(symbol: Symbol, part: Symbol) -> bool:
    if symbol == part:
        return True
    match symbol:
        case Derived(_, inner) | Join(inner):
            return any(_has_part(each, part) for each in inner)
        case Capture(Match(subject, _)) if subject is not None:
            return _has_part(subject, part)
    return False


def is_raw(capture: Capture) -> bool:
    """Return whether a capture is used as it was matched."""
    return capture.use in ("map", "name")


def captured(capture: Capture) -> Symbol:
    """Return what was captured, if that is known now."""
    subject, pattern = capture.match.subject, capture.match.pattern
    if not isinstance(subject, Text) or pattern is None:
        return capture
    text = _group(pattern, subject.value, capture.group)
    if text is None or not (is_raw(capture) or _SAME_IN_URIS.fullmatch(text)):
        return capture
    return Text(text)


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
