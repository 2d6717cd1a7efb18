"""Words that no message shows: those that only files have which the user did not name.

Most messages have none, because an error or a finding in such a file shows only its place. This is for the
others: a message about one file may name a value that another has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from nginxopt import lazy

_SHORTEST = 5
"""Shorter words are shown: they are anywhere, and tell little."""

_PIECE = lazy.pattern(r"[A-Za-z0-9_]+")
_CUT = ("…", "...")

Words = Callable[[], frozenset[str]]

_sources: dict[str, tuple[bool, Words]] = {}
"""For each path whether its words are withheld, and its words."""
_found: frozenset[str] | None = None


def words(text: str) -> frozenset[str]:
    """Return the words of a text as `hide` finds them."""
    return frozenset(_PIECE.findall(text))


def remember(path: str, find: Words, *, withheld: bool) -> None:
    """Remember the words of a file, which `find` returns: to withhold them, or as words that may be shown."""
    global _found
    _sources[path] = withheld, find
    _found = None


def forget() -> None:
    """Forget all files, before another command."""
    global _found
    _sources.clear()
    _found = None


def hide(text: str, withheld: frozenset[str] | None = None) -> str:
    """Return a text with `...` in place of the words that are withheld, and of what begins them and was cut.

    These are by default the words of all files that were remembered.
    """
    withheld = _withheld() if withheld is None else withheld
    if not withheld:
        return text
    return _PIECE.sub(lambda word: "..." if _is_hidden(word, withheld) else word[0], text)


def hide_in_json(text: str) -> str:
    """Return a JSON text, indented by two, in which `hide` was applied to all values that are text."""
    if not _withheld():
        return text
    return json.dumps(_hidden_in(json.loads(text)), indent=2, ensure_ascii="\\u" in text) + "\n"


def _hidden_in(value: Any) -> Any:
    if isinstance(value, str):
        return hide(value)
    if isinstance(value, list):
        return [_hidden_in(item) for item in value]
    return {key: _hidden_in(item) for key, item in value.items()} if isinstance(value, dict) else value


def _is_hidden(word: re.Match[str], withheld: frozenset[str]) -> bool:
    if word[0] in withheld:
        return True
    is_cut = len(word[0]) >= _SHORTEST and word.string.startswith(_CUT, word.end())
    return is_cut and any(whole.startswith(word[0]) for whole in withheld)


def only_in(secret: Iterable[str], known: Iterable[str]) -> frozenset[str]:
    """Return the words that are in `secret`, not in `known`, and long enough to be withheld."""
    return frozenset(word for word in set(secret).difference(known) if len(word) >= _SHORTEST)


def _withheld() -> frozenset[str]:
    global _found
    if _found is None:
        secret: set[str] = set()
        known: set[str] = set()
        for path, (withheld, find) in _sources.items():
            known |= words(path)
            (secret if withheld else known).update(find())
        _found = only_in(secret, known | _vocabulary()) if secret else frozenset()
    return _found


@cache
def _vocabulary() -> frozenset[str]:
    """Return the words of nginxopt itself, which tell nothing: names of directives, and what messages are made of."""
    package = Path(__file__).parents[1]
    rules = package.parent / "rules"  # beside it in a checkout
    files = [*package.rglob("*.py"), *package.rglob("*.tsv"), *rules.glob("*.py")]
    return frozenset().union(*(words(path.read_text("utf-8", "replace")) for path in files))
