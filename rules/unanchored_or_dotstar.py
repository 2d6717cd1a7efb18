"""`.*` at the edge of a pattern: PCRE scans the whole URI for nothing

Flags a pattern of a `rewrite` or a regex `location` that begins with `.*` or `^.*`, or ends in `.*` or `.*$`. The
fix takes it away, for a search finds the same URIs without it. Does not flag patterns where a group captures what `.*`
matches.

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
What is captured is used, an escaped dot is none, and everything is meant:
```nginx server
rewrite ^/blog/(.*)$ /news/$1 last;
rewrite ^/a\\.* /b last;
rewrite .* /index.php last;
```

## Fix safety
May change: nothing.

A search for `\\.php$` begins everywhere, so that it finds what `.*\\.php$` finds. That is not so, and the fix is made
on request only,

- with `^` or `$` beside the `.*`: a dot does not match a newline, which a URI may hold as `%0A`;
- at the beginning if there are groups, which may capture another place;
- if the rest repeats something, or is an alternative behind a `.*`: the search may be given up where PCRE's limits
  are reached, which nginx answers with 500, and that depends on both.

## When to ignore it
If clarity is worth more than a microsecond.

## References
- https://www.pcre.org/current/doc/html/pcre2perform.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Change, Directive, Edit, Token
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import locations

_HEAD = re.compile(r"\^?\.\*(?![?+*{|)]|$)")
_TAIL = re.compile(r"(?<!\\)\.\*\$?$")
_EVERYTHING = ("", "^", "$", "^/", "/", "^$")
_GROUP = re.compile(r"(?<!\\)\((?!\?[:=!>#])")
_BOUNDED = re.compile(r"(?:[^\\*+?{}\[\]#]|\\[^\w\s]|\\[dDsSwW]|\[\^?[\w./%,;:=&~ -]+\]|(?<=\()\?:)*")
"""Matches patterns without repetition, which cannot fail with an error; each escape is a character or a class."""


@rule(severity=Severity.INFO, category="rewrite", fix=(Safety.SAFE, Safety.UNSAFE))
def check(model: Model) -> Iterator[Finding]:
    """Find patterns with a useless `.*`."""
    for directive, _ in model.suspicious_rewrites:
        if directive.args:
            yield from _findings(directive, directive.args[0])
    for level in model.levels("location"):
        if level.opener is not None and len(level.args) == 2 and locations.modifier(level) in ("~", "~*"):
            yield from _findings(level.opener, level.opener.args[1])


def _findings(directive: Directive, pattern: Token) -> Iterator[Finding]:
    head, tail = _HEAD.match(pattern), _TAIL.search(pattern)
    if "\\Q" in pattern or not (head or tail):
        return
    start, end = head.end() if head else 0, tail.start() if tail else len(pattern)
    rest = pattern[start:end]
    if start >= end or rest in _EVERYTHING:
        return
    idle = [part[0] for part in (head, tail) if part]
    edges = " and ".join(f"`{part}`" for part in idle)
    fix = Fix(f"write `{rest}`", (_cut(directive, pattern, start, len(pattern) - end),), _safety(pattern, rest, idle))
    yield Finding(
        directive.source,
        pattern.span,
        f'{edges} at the edge of "{pattern}" makes PCRE scan the whole URI for nothing',
        fix if rest[0] not in "#\"'{" else None,
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
