"""Location that no URI reaches: regular expressions match all of its URIs first

Flags regex locations if earlier patterns of the same block match all of their URIs, and prefix locations if patterns
match all of theirs. The rule compares the patterns as automata, so a finding is certain.

Does not flag patterns that cannot be read exactly, exact locations, `^~`, locations that refuse all requests where the
others refuse them too, or that say the same as the others, and blocks with more than 200 patterns.

## Why it matters
nginx tries patterns in the order of the file and uses the first one that matches (`ngx_http_core_find_location`). The
other location is never used, whether it restricts access, sets an expiration time or passes requests to another
application.

## Bad
```nginx server
location ~ \\.(?:css|js|png)$ {
    root /srv/static;
}
location ~* ^/img/[a-z]+\\.png$ {
    root /srv/img;
}
location ~ ^/img/logo\\.png$ {
    deny all;
}
```
```nginx server
location /old/ {
    return 410;
}
location ~ ^/ {
    proxy_pass http://127.0.0.1:8080;
}
```

The empty pattern matches all URIs:
```nginx server
location ~ {
    proxy_pass http://127.0.0.1:8080;
}
location ~ ^/\\.git {
    deny all;
}
```

## Good
```nginx server
location ~ ^/img/logo\\.png$ {
    deny all;
}
location ~ \\.(?:css|js|png)$ {
    root /srv/static;
}
```

## Silent
```nginx server
location ~ \\.(?:css|js|png)$ {
    root /srv/static;
}
location ~* \\.(?:css|js|png|PNG)$ {
    root /srv/static;
}
location /.git {
    deny all;
}
location ~ /\\.(?:git|svn|ht) {
    deny all;
    access_log off;
}
location ~ ^/\\.git/hooks/ {
    return 404;
}
location ~ /package\\.json {
    internal;
}
location ~ /package\\.json\\.bak {
    internal;
}
location ^~ /old/ {
    return 410;
}
location = /new {
    return 200;
}
location ~ ^/[a-z]/ {
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#location
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nginxopt.config import encode
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.lint.queries import access
from nginxopt.semantics import FRAGMENT, PROTOCOLS, Level, subjects

_MOST_PATTERNS = 200
_MOST_WINNERS = 4
"""The most earlier locations that together take all URIs of a later one."""


@rule(severity=Severity.WARNING, category="correctness", everywhere=True)
def check(model: Model) -> Iterator[Finding]:
    """Find locations whose URIs others take."""
    for level in model.levels("server", "location", FRAGMENT):
        inner = [other for other in level.levels if other.kind == "location" and other.opener is not None]
        patterns = [location for location in inner if location.modifier in ("~", "~*")]
        if (level.is_open and level.kind != FRAGMENT) or len(patterns) > _MOST_PATTERNS:
            model.decline()
            continue
        for place, location in enumerate(patterns):
            yield from _finding(model, location, patterns[:place])
        for location in inner:
            if location.modifier == "" and not location.levels and location not in patterns:
                yield from _finding(model, location, patterns)


def _finding(model: Model, location: Level, others: Sequence[Level]) -> Iterator[Finding]:
    winners = _winners(model, location, others)
    is_moot = access.refuses_all(location) and all(map(access.refuses_all, winners))
    is_moot |= all(_content(winner) == _content(location) for winner in winners)
    if winners and not is_moot and location.source is not None and location.opener is not None:
        names = " and ".join(_shown(winner) for winner in winners)
        yield Finding(
            location.source,
            location.opener.args[-1].span,
            f"no URI reaches this location: {names} {'takes' if len(winners) == 1 else 'take'} them all",
            help=_help(location, winners),
            related=tuple(
                Related(winner.source, winner.opener.args[-1].span, "this is chosen")
                for winner in winners
                if winner.source is not None and winner.opener is not None
            ),
        )


def _content(level: Level) -> list[tuple[str, ...]]:
    """Return the statements of a level and of those inside it."""
    return [(directive.name, *directive.args) for inner in level.walk() for directive in inner.directives]


def _shown(winner: Level) -> str:
    return f"{winner.modifier} {winner.path}" if winner.path else "the empty pattern"


_ANSWERING = frozenset([*(f"{protocol}_pass" for protocol in PROTOCOLS), "return"])


def _help(location: Level, winners: Sequence[Level]) -> str:
    """Return how to make nginx choose a location; empty if it would then send as files what the others pass on."""
    passes = any(not _ANSWERING.isdisjoint(inner.names) for winner in winners for inner in winner.walk())
    answers = access.refuses_all(location) or not _ANSWERING.isdisjoint(location.names)
    if passes and not answers:
        return "delete it, or move what it has into the location that is chosen: by itself, it would send files"
    return "move it up, or use ^~ or = for a path"


def _winners(model: Model, location: Level, others: Sequence[Level]) -> list[Level]:
    """Return the locations among `others` that take all URIs of a location; none if it has URIs of its own, or if that
    is not certain."""
    own = _uris(location) if others else None
    winners: list[Level] = []
    while own is not None and len(winners) <= _MOST_WINNERS:
        outside = tuple(winner.pattern for winner in winners)
        if winners and subjects.is_none((own,), outside, is_uri=True):
            return winners
        uri = subjects.shortest((own,), outside, is_uri=True)
        if uri is None:
            model.decline()
        winner = None if uri is None else next((other for other in others if _takes(other, uri)), None)
        if winner is None or winner in winners:
            return []
        winners.append(winner)
    return []


def _uris(location: Level) -> bytes | None:
    """Return a pattern of the URIs of a location; None for a named one."""
    if location.modifier in ("~", "~*"):
        return location.pattern
    path = location.path
    return b"^" + re.escape(encode(path)) if path.startswith("/") else None


def _takes(other: Level, uri: bytes) -> bool:
    return bool(subjects.matches(other.pattern, uri))
