"""What to change by hand so that a list moves, for each reason to stay for which there is a small change.

Each may change responses, which is why it is not done: whoever knows the site knows whether it is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

RULES: Mapping[str, str] = {
    "no-flag": "end the rule with `last`, if no later rule is for the URI that it writes",
    "break-redirect": "write `redirect` for `break`",
    "unanchored": "begin the pattern with `^`, if it is meant for URIs that begin so",
    "prefix": "end the pattern with `$`, if it is meant for this URI only",
    "unescaped-dot": r"write `\.` for a dot that is meant as one",
    "too-many-strings": "state --max-strings, which may be up to 1,024",
    "pattern-not-understood": "write the pattern without look-arounds and references to groups",
    "pcre-dependent": "write what every PCRE reads alike, such as `{0,3}` for `{,3}`",
    "behind-pcre-dependent": "write the earlier rule so that every PCRE reads it alike, such as `{0,3}` for `{,3}`",
    "named-capture": "write `(...)` and `$1` for the named group, if nothing else reads its variable",
    "captures-in-location": "write `(?:...)` for groups whose text nothing reads",
    "empty-target": "begin the target with text, such as `/`",
    "capture-escaping": "write a rule for each string, with the captured text in its target",
    "capture-case": "leave out `(?i)`, if one spelling is meant",
    "capture-variable": "write a rule for each string, with the captured text in its target",
    "case-overlap": "put the rule before the one that stays, if both are meant for different URIs",
    "match-limit": "write `[^/]+` for a `.+` before a slash in the earlier rule, so that PCRE has one way to match it",
    "backtracking": "write `[^/]+` for a `.+` before a slash, so that PCRE has one way to match it",
    "inside-if": "put the rules before the `if`, if they are meant for all requests",
}
"""By the code of the reason for which a rewrite stays."""

MAPS: Mapping[str, str] = {
    "default-captures": "write a default and a source without `$1` to `$9`",
    "captures-read": "read `$1` to `$9` only where the pattern that sets them stands",
    "unbounded-row": "in this row, write `[^/]+` for a `.+` before a slash, so that PCRE has one way to match it",
    "showing-row": "in this row, write `(...)` and `$1` for the named group, or put the row first",
    "hash-collision": "remove keys that only collide: nginx compares each with all of them",
}
"""By the code of the reason for which a map stays."""


def lines(remedies: Mapping[str, str], reason: str) -> Iterator[str]:
    """Yield the line of the summary below a reason, if there is a small change."""
    if reason in remedies:
        yield f"                   by hand: {remedies[reason]}"
