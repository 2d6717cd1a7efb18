"""Shortens text: `…` replaces the middle of long words."""

from __future__ import annotations

import re
from collections.abc import Collection

_SHORTEST = 12
"""The length to which words are cut before the sentence itself is cut."""


def fit(sentence: str, width: int) -> str:
    """Return a sentence of at most `width` characters: its longest words (URIs, names) are cut in the middle.

    Words that would look alike keep the part in which they differ.
    If all words are cut to the minimum and the sentence is still too long, the sentence itself is cut.
    """
    if len(sentence) <= width:
        return sentence
    words = re.split(r"(\s+)", sentence)
    for longest in range(width, _SHORTEST - 1, -1):
        short = _apart(set(words), longest)
        cut = "".join(short[word] for word in words)
        if len(cut) <= width:
            return cut
    return shorten(sentence, width)


def _apart(words: Collection[str], width: int, start: int = 0) -> dict[str, str]:
    """Return words of at most `width` characters for these, which are the same up to `start`; no two look alike."""
    head = width // 3 if start > width // 3 else start
    short = {word: _from(word, start, head, width) for word in words}
    alike: dict[str, list[str]] = {}
    for word, cut in short.items():
        alike.setdefault(cut, []).append(word)
    for those in alike.values():
        if len(those) > 1:
            short |= _apart(those, width, _same(those))
    return short


def _same(words: Collection[str]) -> int:
    """Return how many characters are the same at the start of all words."""
    columns = enumerate(zip(*words, strict=False))
    return next((at for at, letters in columns if len(set(letters)) > 1), min(map(len, words)))


def _from(word: str, start: int, head: int, width: int) -> str:
    """Return the first `head` characters of a word, and what is behind `start`."""
    if len(word) <= width or head == start:
        return shorten(word, width)
    return f"{word[:head]}…{shorten(word[start:], width - head - 1)}"


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` characters (at least 1), with `…` in place of its middle if it is longer."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"
