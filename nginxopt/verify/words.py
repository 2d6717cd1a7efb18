"""An index of words by their beginnings."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator


class Words:
    """Some words, each once. O(n log n) to build; a search takes O(log n), the length of the text and what it finds."""

    def __init__(self, words: Iterable[bytes]) -> None:
        self._known = frozenset(words)
        self._sorted = sorted(self._known)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._sorted)

    def starting_with(self, text: bytes) -> Iterator[bytes]:
        """Yield the words that start with a text, which may be that text."""
        for at in range(bisect_left(self._sorted, text), len(self._sorted)):
            if not self._sorted[at].startswith(text):
                return
            yield self._sorted[at]

    def at_start_of(self, text: bytes) -> Iterator[bytes]:
        """Yield the shorter words that a text starts with."""
        return (text[:end] for end in range(len(text)) if text[:end] in self._known)

    def near(self, text: bytes) -> Iterator[bytes]:
        """Yield the words that may stand at the start of something that starts with a text."""
        yield from self.at_start_of(text)
        yield from self.starting_with(text)
