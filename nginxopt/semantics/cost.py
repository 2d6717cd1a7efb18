"""What trying patterns costs nginx, in user-space instructions and as time.

Counted on nginx 1.22.1; `docs/rules/map-regex-bulk.md` has the experiments.
"""

from __future__ import annotations

from nginxopt.text.display import count

SHORT = 482
"""Instructions to try a regular expression on a URI that is shorter than any match: PCRE only compares the lengths."""

REGEX = 794
"""Instructions to try a regular expression on a URI that begins differently and is long enough to match.

Most URIs are long enough: they have 32 bytes on average in a public log.
"""

SHARED = 28
"""Additional instructions for each byte, from the second on, that such a URI has in common with the pattern."""

NEAR = REGEX + 26 * SHARED
"""Instructions to try a regular expression on a URI whose first 27 bytes match, but not the rest."""

LOOKUP = 3_000
"""Instructions of the lookup that a map or a list of rewrites compiles to, for a value that nothing matches, without
the regular expressions that it still tries: `nginxopt bench rewrites FILE --metric instructions` counts them.
"""


def saved(before: int, after: int) -> int:
    """Return the instructions that a request saves if `after` regular expressions behind a lookup replace `before`.

    The request matches none of them and is dissimilar. Returns 0 if it costs more.
    """
    return max(0, (before - after) * REGEX - LOOKUP)


PER_MICROSECOND = 100_000 / 6
"""Instructions in a microsecond: trying patterns takes 6 microseconds for each 100,000 (`nginxopt bench rewrites`)."""


def time(instructions: float) -> str:
    """Return how long instructions take, with two digits, such as `40 microseconds` or `1.2 milliseconds`."""
    microseconds = instructions / PER_MICROSECOND
    if microseconds < 1:
        return "less than a microsecond"
    if microseconds < 999.5:
        return count(round(float(f"{microseconds:.2g}")), "microsecond")
    milliseconds = float(f"{microseconds / 1000:.2g}")
    return "1 millisecond" if milliseconds == 1 else f"{milliseconds:g} milliseconds"


def between(least: float, most: float) -> str:
    """Return the time for a range of instructions, such as `170 to 540 microseconds`."""
    low, high = time(least), time(most)
    number, _, unit = low.partition(" ")
    if low == high:
        return low
    return f"{number} to {high}" if high.rstrip("s").endswith(f" {unit.rstrip('s')}") else f"{low} to {high}"
