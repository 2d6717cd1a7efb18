"""`.*` at the edge of a pattern: PCRE scans the whole URI for nothing

Flags patterns of `rewrite` or regex `location` directives that begin with `.*` or `^.*`, or end in `.*` or `.*$`. The
fix removes it, as the search finds the same URIs without it. Does not flag patterns where a group captures what `.*`
matches. A block has one finding for its rewrites and one for its locations, each separate for those whose fix needs
`--unsafe-fixes`.

Off by default, since most patterns of this kind cost little.

## Why it matters
After a leading `.*`, PCRE cannot search for anything directly: it goes to the end of the URI and comes back byte by
byte. Counted on nginx 1.22.1, in user-space instructions a request with a URI of 115 bytes that does not match: 9,230
with `rewrite \\.php$`, 24,579 with `rewrite .*\\.php$`. At the end it costs less: 9,902 with `^/blog/` against 12,174
with `^/blog/.*`, for a URI that matches.

## Bad
```nginx server
rewrite .*\\.php$ /gone last;
rewrite ^/blog/.* /news last;
location ~ .*\\.(gif|jpg)$ {
    return 404;
}
```

## Good
```nginx server
rewrite \\.php$ /gone last;
rewrite ^/blog/ /news last;
location ~ \\.(gif|jpg)$ {
    return 404;
}
```

## Silent
What is captured is used, the dots are a dot and a control character (`\\c.`), and the last pattern is meant to match
everything:
```nginx server
rewrite ^/blog/(.*)$ /news/$1 last;
rewrite ^/a\\.* /b last;
rewrite ^/a\\c.* /b last;
rewrite .* /index.php last;
```

## Fix safety
May change: nothing.

A search for `\\.php$` begins everywhere, so it finds what `.*\\.php$` finds. That is not certain, and the fix needs
`--unsafe-fixes`,

- with `^` or `$` beside the `.*`: a dot does not match a newline, which a URI may hold as `%0A`;
- at the beginning if there are groups, which may capture another place;
- if the rest repeats something, or is an alternative behind a `.*`: the search may be given up where PCRE's limits
  are reached, which nginx answers with 500, and that depends on both.

Where it is safe, both patterns match the same URIs and capture the same, whatever other files contain. So the fix does
not need the premise `whole-configuration`.

## When to ignore it
If clarity is worth more than a microsecond.

## References
- https://www.pcre.org/current/doc/html/pcre2perform.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nginxopt.config import Change, Directive, Edit, Token
from nginxopt.lint import Finding, Fix, Model, Reach, Related, Safety, Severity, pattern, rule
from nginxopt.semantics import Level

_HEAD = pattern(r"\^?\.\*(?![?+*{|)]|$)")
_TAIL = pattern(r"(?<!\\)(?<!\\c)\.\*\$?$")
_EVERYTHING = ("", "^", "$", "^/", "/", "^$")
_GROUP = pattern(r"(?<!\\)\((?!\?[:=!>#])")
_BOUNDED = pattern(r"(?:[^\\*+?{}\[\]#]|\\[^\w\s]|\\[dDsSwW]|\[\^?[\w./%,;:=&~ -]+\]|(?<=\()\?:)*")
"""Matches patterns without repetition, on which PCRE cannot give up; each escape is a character or a class."""


@rule(severity=Severity.INFO, category="rewrite", reach=Reach.WORDS, fix=(Safety.SAFE, Safety.UNSAFE), default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find patterns with a useless `.*`, in one finding for each block and kind of fix."""
    groups: dict[tuple[Level | None, str, Safety | None], list[_Idle]] = {}
    for directive, word, block in _patterns(model):
        idle = _idle(directive, word)
        if idle is not None:
            groups.setdefault((block, str(directive.name), idle.safety), []).append(idle)
    for (_, _, safety), group in groups.items():
        yield _finding(group, safety)


class _Idle(NamedTuple):
    """A pattern with a useless `.*`, what to write instead, and the safety of that; None if there is no fix."""

    directive: Directive
    pattern: Token
    edges: str
    rest: str
    change: Change
    safety: Safety | None


def _patterns(model: Model) -> Iterator[tuple[Directive, Token, Level | None]]:
    """Yield the directives with a pattern, and the blocks that they stand in."""
    for directive, level in model.suspicious_rewrites:
        if directive.args:
            yield directive, directive.args[0], level
    for level in model.levels("location"):
        if level.opener is not None and len(level.args) == 2 and level.modifier in ("~", "~*"):
            yield level.opener, level.opener.args[1], level.parent


def _idle(directive: Directive, pattern: Token) -> _Idle | None:
    head, tail = _HEAD.match(pattern), _TAIL.search(pattern)
    if "\\Q" in pattern or not (head or tail):
        return None
    start, end = head.end() if head else 0, tail.start() if tail else len(pattern)
    rest = pattern[start:end]
    if start >= end or rest in _EVERYTHING:
        return None
    idle = [part[0] for part in (head, tail) if part]
    change = _cut(directive, pattern, start, len(pattern) - end)
    safety = _safety(pattern, rest, idle) if rest[0] not in "#\"'{" else None
    return _Idle(directive, pattern, " and ".join(f"`{part}`" for part in idle), rest, change, safety)


def _finding(group: list[_Idle], safety: Safety | None) -> Finding:
    first, *others = group
    also = f" (and {len(others)} more here)" if others else ""
    title = f"write `{first.rest}`{f' and {len(others)} more' if others else ''}"
    return Finding(
        first.directive.source,
        first.pattern.span,
        f'{first.edges} at the edge of "{first.pattern}"{also} makes PCRE scan the whole URI for nothing',
        None if safety is None else Fix(title, tuple(idle.change for idle in group), safety),
        related=tuple(Related(idle.directive.source, idle.pattern.span, f"{idle.edges} as well") for idle in others),
    )


def _cut(directive: Directive, pattern: Token, head: int, tail: int) -> Change:
    """Remove bytes at both ends of a pattern as written; they contain no escapes."""
    quote = int(pattern.quoted)
    written = directive.source.data[pattern.start : pattern.end]
    kept = written[:quote] + written[quote + head : len(written) - quote - tail] + written[len(written) - quote :]
    return Change(directive.source, Edit(pattern.span, kept))


def _safety(pattern: str, rest: str, idle: list[str]) -> Safety:
    """Return UNSAFE if newlines in the URI, captures, or the limits of PCRE make a difference."""
    starts = pattern.startswith(".*")
    is_exact = all(part == ".*" for part in idle) and not (starts and (_GROUP.search(pattern) or "|" in rest))
    return Safety.SAFE if is_exact and _BOUNDED.fullmatch(rest) else Safety.UNSAFE
