"""Shortens text: `…` replaces the middle of long words."""

from __future__ import annotations

import re

_SHORTEST = 12
"""The length to which words are cut before the sentence itself is cut."""


def fit(sentence: str, width: int) -> str:
    """Return a sentence of at most `width` characters: its longest words (URIs, names) are cut in the middle.

    If all words are cut to the minimum and the sentence is still too long, the sentence itself is cut.
    """
    if len(sentence) <= width:
        return sentence
    words = re.split(r"(\s+)", sentence)
    for longest in range(width, _SHORTEST - 1, -1):
        cut = "".join(shorten(word, longest) for word in words)
        if len(cut) <= width:
            return cut
    return shorten(sentence, width)


def shorten(text: str, width: int) -> str:
    """Return a text of at most `width` characters (at least 1), with `…` in place of its middle if it is longer."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"
