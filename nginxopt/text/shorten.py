"""Text cut to a length, in the middle of what is long in it."""

from __future__ import annotations

import re

_SHORTEST = 12
"""To how many characters a word is cut before the sentence itself is."""


def fit(sentence: str, width: int) -> str:
    """Return a sentence of at most `width` characters: of its words, URIs and names, the longest are cut.

    A word that is cut has `…` in its middle; so has the sentence, if that is not enough.
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
    """Return a text of at most `width` characters, which is at least one: its middle is cut."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"
