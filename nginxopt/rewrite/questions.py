"""Compares an emission with its configuration on a real nginx: list by list, and as a whole."""

from __future__ import annotations

from collections.abc import Callable

from nginxopt.rewrite.comparison import Differential, Limits
from nginxopt.rewrite.emission import Emission
from nginxopt.rewrite.kinds.registry import KINDS
from nginxopt.rewrite.whole import differential as differential_of_whole
from nginxopt.system.nginx import Binary

REQUESTS = 20_000
"""The most requests to each side."""
SECONDS = 60.0
"""The time limit for all, in seconds."""


def ask(
    emission: Emission, binary: Binary, *, progress: Callable[[int, int], None] | None = None
) -> list[Differential]:
    """Return the results of the comparisons list by list, with at most `REQUESTS` and `SECONDS` in total.

    Lists that are right alone may differ together: see `ask_whole`.
    """
    questions = [question for kind in KINDS for question in kind.questions(emission)]
    share = max(1, len(questions))
    limits = Limits(max(500, REQUESTS // share), SECONDS / share, progress)
    return [question(binary, limits) for question in questions]


def ask_whole(
    emission: Emission, binary: Binary, *, progress: Callable[[int, int], None] | None = None
) -> list[Differential]:
    """Return the result of the comparison of the whole configuration, if it changes, with a quarter of the limits."""
    limits = Limits(REQUESTS // 4, SECONDS / 4, progress)
    return [differential_of_whole(emission, binary=binary, limits=limits)] if emission.changes else []
