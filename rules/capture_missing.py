"""`$2` where the pattern has one group: the value is always empty

Flags `$1` to `$9` that no pattern sets:

- in the replacement of a `rewrite`, where only its own pattern counts;
- in the value of a pattern in a map, and in an `if` with a pattern, where only that pattern counts;
- elsewhere, if no location, `if`, `rewrite`, `server_name` or map with patterns can set it.

Does not flag a value that an earlier pattern may have set, such as in a block after an `if` with groups.

## Why it matters
For a group that does not exist, nginx writes nothing and logs nothing (`ngx_http_script_copy_capture_code`). The
redirect leads to the wrong page, or the upstream gets the wrong path.

## Bad
```nginx server
rewrite ^/blog/(.*)$ /posts/$2 permanent;
```
```nginx http
map $uri $page {
    ~^/old/ /new/$1;
}
```
```nginx server
location ~ ^/static/ {
    return 301 https://cdn.example.com/$1;
}
```

## Good
```nginx server
rewrite ^/blog/(.*)$ /posts/$1 permanent;
```

## Silent
```nginx server
server_name ~^(www)\\.example\\.com$;
location /api/ {
    return 301 /v2/$1;
}
```
```nginx server
location ~ ^/(.+)/(\\d+)$ {
    if ($arg_page ~ ^(\\d+)$) {
        set $page $1;
    }
    rewrite ^/(.*)$ /x/$12 break;
}
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, Token
from nginxopt.facts import group
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.semantics import FRAGMENT, Level, subjects

_CAPTURE = pattern(r"\$(?:\{([1-9])\}|([1-9]))")
_READERS = group("captures")


@rule(severity=Severity.WARNING, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find captures that no pattern sets."""
    for level in model.levels("server", "location", "if", FRAGMENT):
        for rewrite in level.own("rewrite"):
            if len(rewrite.args) > 1:
                yield from _beyond(rewrite, rewrite.args[1], str(rewrite.args[0]))
    for source in model.maps.values():
        for row in source.directives:
            if row.name.startswith("~") and row.args:
                yield from _beyond(row, row.args[0], str(row.name).lstrip("~").removeprefix("*"))
    for level in model.levels("if"):
        if len(level.args) == 3 and level.args[1] in ("~", "~*") and not level.own("rewrite"):
            for directive in level.directives:
                for word in directive.args if directive.name in _READERS else ():
                    yield from _beyond(directive, word, str(level.args[2]))
    if not _may_be_set_anywhere(model):
        yield from _elsewhere(model)


def _beyond(directive: Directive, word: Token, pattern: str) -> Iterator[Finding]:
    """Yield a finding if a text reads more groups than its pattern has."""
    numbers = _numbers(word)
    groups = subjects.group_count(pattern) if numbers else None
    if groups is not None and max(numbers) > groups:
        has = f"{groups} group" if groups == 1 else f"{groups or 'no'} groups"
        yield _finding(directive, word, f"${max(numbers)} is always empty: the pattern has {has}")


def _numbers(text: str) -> list[int]:
    return [int(match[1] or match[2]) for match in _CAPTURE.finditer(text)]


def _may_be_set_anywhere(model: Model) -> bool:
    """Return whether the name of a server, or a map, has a pattern: it sets captures whenever nginx tries it."""
    names = (word for directive, _ in model.each("server_name") for word in directive.args)
    rows = (row.name for source in model.maps.values() for row in source.directives)
    return any(word.startswith("~") for word in (*names, *rows))


def _elsewhere(model: Model) -> Iterator[Finding]:
    setters: dict[int, list[Level] | None] = {}
    for level in model.levels("location"):
        read = [*_reads(level)]
        server = level.around("server") if read else None
        if server is None:
            continue
        if id(server) not in setters:
            setters[id(server)] = _setters(server)
        others = setters[id(server)]
        # An internal redirect may lead here from any other level of the server, and keeps its captures.
        if others is None or any(other is not level for other in others):
            continue
        pattern = _pattern(level)
        groups = 0 if pattern is None else subjects.group_count(pattern)
        for directive, word in read:
            if groups is not None and max(_numbers(word)) > groups:
                yield _finding(directive, word, f"${max(_numbers(word))} is always empty: no pattern sets it")


def _reads(level: Level) -> Iterator[tuple[Directive, Token]]:
    """Yield the directives of a level that read captures, each with the first word that has one."""
    for directive in level.directives:
        if directive.name in _READERS:
            word = next((word for word in directive.args if "$" in word and _CAPTURE.search(word)), None)
            if word is not None:
                yield directive, word


def _pattern(level: Level) -> str | None:
    """Return the pattern of a location; None for a prefix."""
    return level.path if level.modifier in ("~", "~*") else None


def _setters(server: Level) -> list[Level] | None:
    """Return up to two levels of a server whose patterns set captures; None if rewrites or unread text may do it."""
    found: list[Level] = []
    for level in server.walk():
        if level.is_open or level.own("rewrite") or level.bulks:
            return None
        if len(found) < 2 and _has_groups(level):
            found.append(level)
    return found


def _has_groups(level: Level) -> bool:
    words = level.args if level.kind in ("location", "if") else ()
    return any("(" in word for word in words)


def _finding(directive: Directive, word: Token, message: str) -> Finding:
    return Finding(directive.source, word.span, message, help="add the group to the pattern, or use another number")
