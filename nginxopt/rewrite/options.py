"""The options of a compilation."""

from __future__ import annotations

import re
from dataclasses import field, fields

from nginxopt import lazy
from nginxopt.errors import UsageError
from nginxopt.records import record
from nginxopt.version import Version

OLDEST = Version(1, 11, 7)
"""The oldest nginx that can run the result: the first with `volatile` maps (CHANGES 1.11.7)."""

BOUND = 64
"""The default number of strings that a moved rule may match."""

MOST_BOUND = 1024
"""The largest bound: the proof lists the strings of a rule independently, and at most four times as many."""

# Prefixes of nginx's own variables (ngx_http_core_prefix_variables; $is_args, $memcached_key), and prefixes that turn a
# target into a redirect (ngx_http_rewrite).
_TAKEN = lazy.pattern(
    r"(http|sent_http|sent_trailer|upstream_http|upstream_trailer|upstream_cookie|cookie|arg)(_|$)"
    r"|(is|memcached|upstream_cache)$|scheme"
)


@record(eq=True)
class Readings:
    """The differences that a user may declare. Each interprets patterns as their authors probably intended.

    Attributes:
        ignore_case: A pattern matches in any case of its letters.
        literal_dots: An unescaped `.` in a literal is a dot.
        literal_ends: A literal without `$` ends there.
        drop_newline_twins: `$` does not match before a final newline.
    """

    ignore_case: bool = field(default=False, metadata={"says": "letters match in any case"})
    literal_dots: bool = field(default=False, metadata={"says": "an unescaped `.` in a literal is a dot"})
    literal_ends: bool = field(default=False, metadata={"says": "a literal without `$` matches nothing longer"})
    drop_newline_twins: bool = field(
        default=False, metadata={"says": "`$` does not match before a newline that ends the URI"}
    )

    @classmethod
    def sentences(cls) -> dict[str, str]:
        """Return a sentence for the difference that each reading declares, by name."""
        return {reading.name: reading.metadata["says"] for reading in fields(cls)}

    @classmethod
    def flag(cls, name: str) -> str:
        """Return the command line option of a reading."""
        return f"--{name.replace('_', '-')}"


@record(eq=True)
class Options:
    """The options of `plan` and `emit`. Raises `UsageError` for invalid ones.

    Attributes:
        readings: The declared differences; by default none.
        name: The prefix of emitted variable names; by default derived from the text of the rules.
        bound: The number of strings that a moved rule may match.
        around: The head of the map that is put around a file of rows, such as `map $uri $new`.
        target: The target nginx version, if known.
        groups: Whether to put rules that match infinitely many URIs into groups, and to compile chains of `if`s.
        in_place: Whether a fragment is changed where it is, with its maps in a file beside it.
        effort: How much work the plan of a list and its proof may take, as a multiple of what is usual for its size.
        for_remark: Whether only a remark depends on the plan. It takes less work, and lists that need more stay.
    """

    readings: Readings = Readings()
    name: str | None = None
    bound: int = BOUND
    target: Version | None = None
    groups: bool = False
    around: str | None = None
    in_place: bool = False
    effort: float = 1.0
    for_remark: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.bound <= MOST_BOUND:
            raise UsageError(f"the number of strings must be from 1 to {MOST_BOUND:,}")
        if not self.effort > 0:
            raise UsageError("the effort must be more than 0")
        if self.target is not None and self.target < OLDEST:
            raise UsageError(
                f"nginx {self.target} cannot run the result: it has no volatile maps",
                hint=f"use nginx {OLDEST} or later; without volatile maps, responses after internal redirects change",
            )
        if self.name is not None and (not re.fullmatch(r"[a-z_][a-z0-9_]{0,39}", self.name) or _TAKEN.match(self.name)):
            raise UsageError(
                f"invalid prefix of variable names {self.name!r}",
                hint="use lowercase letters, digits and _; not http, arg, cookie or another nginx variable prefix",
            )
