"""Finds the tests of the URI in a program by the prefix that each requires."""

from __future__ import annotations

from bisect import bisect_left

from nginxopt.verify.path_condition import beginning
from nginxopt.verify.program import Operation, Program
from nginxopt.verify.words import Words


class ProgramIndex:
    """Where a program tests the URI by patterns. O(n log n) for n operations."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._places: dict[bytes, list[int]] = {}
        others: list[int] = []
        for at, operation in enumerate(program):
            text = _beginning(operation)
            (others if text is None else self._places.setdefault(text, [])).append(at)
        self._others = others
        self._texts = Words(self._places)

    def first(self, at: int, known: bytes) -> int:
        """Return the first operation from `at` on that concerns a URI which starts with `known`, in lower case: a test
        whose prefix agrees with it, or an operation that is not a test."""
        places = [self._others, *(self._places[text] for text in self._texts.near(known))]
        nexts = (bisect_left(numbers, at) for numbers in places)
        found = (numbers[next_at] for numbers, next_at in zip(places, nexts, strict=True) if next_at < len(numbers))
        return min(found, default=len(self._program))


def _beginning(operation: Operation) -> bytes | None:
    """Return the prefix that a test requires; None for any other operation, and for a test that may match any URI."""
    if operation.kind not in ("rewrite", "locate"):
        return None
    text = operation.words[1 if operation.kind == "locate" else 0]
    assert text is not None
    return beginning(text.encode("latin-1"))
