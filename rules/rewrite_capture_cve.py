"""Rewrites and maps that make old versions of nginx write beyond a buffer

Flags what three vulnerabilities need, for the versions that have them:

- CVE-2026-42945 (before 1.30.1): a `rewrite` with `?` in its replacement that neither redirects nor ends the script,
  and then a `set`, `if` or `rewrite` that reads `$1` to `$9`;
- CVE-2026-9256 (before 1.30.2, and 1.31.0): a `rewrite` whose replacement has a group and another inside it, in a
  redirect or in arguments, each once and without variables;
- CVE-2026-42533 (before 1.30.4, and 1.31.0 to 1.31.2): a string with `$1` to `$9`, followed by the variable of a `map`
  with patterns.

Does not flag rules with `last`, `break`, `redirect` or `permanent`, which end the script, groups with names, and a `?`
at the end of a replacement.

## Why it matters
nginx computes the length of a string and then writes a longer one, as by then the captures are escaped or are those of
the map. The client chooses the bytes that overwrite the memory after the buffer. A build may be patched whatever its
version says: Debian's 1.22.1-9+deb12u11 is.

## Bad
```nginx server 1.28.0
location / {
    rewrite ^/user/(.*)$ /user.php?name=$1;
    set $name $1;
}
```
```nginx server 1.28.0
rewrite ^/go/((.*))$ https://shop.example/$1$2;
```
```nginx http 1.28.0
map $host $site {
    ~^(?:www\\.)?(.+)$ $1;
}
server {
    location ~ ^/to/(.*)$ {
        return 200 "$1 $site";
    }
}
```

## Good
```nginx server 1.28.0
location / {
    rewrite ^/user/(?<name>.*)$ /user.php?name=$name;
}
```
```nginx server 1.30.4
location / {
    rewrite ^/user/(.*)$ /user.php?name=$1;
    set $name $1;
}
```

## Silent
```nginx server 1.28.0
location / {
    rewrite ^/user/(.*)$ /user.php?name=$1 last;
    set $name $1;
}
location /go/ {
    rewrite ^/go/((.*))$ /to/$1$2 last;
    rewrite ^/at/((.*))$ https://shop.example/$1$2$host;
}
```

## When to ignore it
If the package of nginx has the fixes: see its changelog.

## References
- https://nginx.org/en/security_advisories.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nginxopt.config import Bulk, Directive, Span, directive_at
from nginxopt.lint import Finding, Model, Related, Severity, Version, pattern, rule
from nginxopt.semantics import FRAGMENT, Level

_ARGS_FIXED = (Version(1, 30, 1), Version(1, 31, 0))
_OVERLAP_FIXED = (Version(1, 30, 2), Version(1, 31, 1))
_MAPS_FIXED = (Version(1, 30, 4), Version(1, 31, 3))
_MAINLINE = Version(1, 31, 0)

_CAPTURE = pattern(r"\$(?:\{([1-9])\}|([1-9]))")
_VARIABLE = pattern(r"\$\{?[A-Za-z_]\w*", re.ASCII)
_ABSOLUTE = ("http://", "https://", "$scheme")
_REDIRECTS = ("redirect", "permanent")
_FLAGS = ("last", "break", *_REDIRECTS)
_ENDING = ("return", "break")
_NESTED = pattern(rb"rewrite\s+\S*\([^()\s]*\((?!\?)\S*\s+[^\s;]*\$\d[^\s;]*\$\d[^\s;]*")
_FLAGLESS = pattern(rb"rewrite\s+\S+\s+[^\s;]*\?[^\s;]+\s*;")
"""What makes a folded run worth reading: a group inside another, arguments without a flag."""
_PATCHED = "name the groups: (?<name>...) and $name; or update nginx, unless the build is patched"


@rule(severity=Severity.WARNING, category="security", until="1.31.2")
def check(model: Model) -> Iterator[Finding]:
    """Find strings that overflow."""
    if not _is_fixed(model, _ARGS_FIXED):
        for level in model.levels("server", "location", FRAGMENT):
            yield from _after_arguments(level)
    if not _is_fixed(model, _OVERLAP_FIXED):
        for level in model.levels("server", "location", "if", FRAGMENT):
            yield from (_overlap(rewrite) for rewrite in _rewrites(level) if _overlaps(rewrite))
    if not _is_fixed(model, _MAPS_FIXED):
        yield from _beside_maps(model)


def _is_fixed(model: Model, since: tuple[Version, Version]) -> bool:
    stable, mainline = since
    return model.target >= mainline or (stable <= model.target < _MAINLINE)


def _rewrites(level: Level) -> Iterator[Directive]:
    """Yield the rewrites of a level, of folded runs only those with a group inside another."""
    yield from level.own("rewrite")
    for bulk in level.bulks:
        data = bulk.source.data
        for match in _NESTED.finditer(data, bulk.span.start, bulk.span.end):
            yield directive_at(bulk.source, Span(match.start(), data.index(b";", match.end()) + 1))


def _after_arguments(level: Level) -> Iterator[Finding]:
    """Yield the first statement of a script that reads captures while arguments are still escaped."""
    if not _has_arguments(level):
        return
    writer: Directive | None = None
    for statement, is_nested in _script(level):
        if statement.name in _ENDING and not is_nested:
            return
        if writer is not None and _reads(statement):
            yield Finding(
                statement.source,
                statement.name.span,
                "CVE-2026-42945: reading a capture after a rewrite with arguments may overflow a buffer",
                help=_PATCHED,
                related=(Related(writer.source, writer.name.span, "this rewrite has arguments"),),
            )
            return
        if statement.name == "rewrite" and _begins_arguments(statement):
            writer = statement


def _has_arguments(level: Level) -> bool:
    """Return whether a rewrite of a script begins arguments."""
    levels = (level, *(inner for inner in level.levels if inner.kind == "if"))
    return any(_begins_arguments(rewrite) for other in levels for rewrite in other.own("rewrite")) or any(
        _FLAGLESS.search(bulk.source.data, bulk.span.start, bulk.span.end) for bulk in level.bulks
    )


def _script(level: Level) -> Iterator[tuple[Directive, bool]]:
    """Yield the statements of a script in their order, with whether they are in an `if`."""
    inner = {other.opener: other for other in level.levels if other.kind == "if"}
    nodes: list[Directive | Bulk] = sorted([*level.directives, *level.bulks], key=lambda node: node.span.start)
    for node in nodes if len({node.source for node in nodes}) == 1 else level.directives:
        if isinstance(node, Bulk):
            yield from ((rewrite, False) for rewrite in node)
            continue
        yield node, False
        if node in inner:
            yield from ((statement, True) for statement in inner[node].directives)


def _begins_arguments(rewrite: Directive) -> bool:
    args = rewrite.args
    ends = len(args) > 2 and args[2] in _FLAGS
    return len(args) > 1 and not ends and not args[1].startswith(_ABSOLUTE) and "?" in args[1].removesuffix("?")


def _reads(statement: Directive) -> bool:
    """Return whether a statement writes a capture into a string of its own."""
    args = [str(word) for word in statement.args]
    if statement.name == "set":
        return len(args) > 1 and bool(_CAPTURE.search(args[1]))
    if statement.name == "rewrite":
        return len(args) > 1 and bool(_CAPTURE.search(args[1].partition("?")[0])) and not args[1].startswith(_ABSOLUTE)
    if statement.name == "if" and len(args) > 1:
        compares = args[1] in ("=", "!=") or args[0].lstrip("!") in ("-f", "-d", "-e", "-x")
        return compares and bool(_CAPTURE.search(args[-1]))
    return False


def _overlaps(rewrite: Directive) -> bool:
    """Return whether two captures of a redirect or of arguments have a part in common."""
    if len(rewrite.args) < 2:
        return False
    pattern, replacement = str(rewrite.args[0]), str(rewrite.args[1])
    is_redirect = replacement.startswith(_ABSOLUTE[:2]) or rewrite.args[-1] in _REDIRECTS
    escaped = replacement if is_redirect else replacement.removesuffix("?").partition("?")[2]
    numbers = [int(match[1] or match[2]) for match in _CAPTURE.finditer(escaped)]
    everywhere = _CAPTURE.findall(replacement)
    if len(numbers) < 2 or len(set(everywhere)) < len(everywhere) or _VARIABLE.search(replacement):
        return False
    outer = _nesting(pattern)
    return any(one in outer.get(other, ()) for one in numbers for other in numbers)


def _nesting(pattern: str) -> dict[int, Sequence[int]]:
    """Return the groups around each group, by number."""
    around: dict[int, Sequence[int]] = {}
    opened: list[int | None] = []
    number = 0
    for match in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^]])*\]|\((\?[P<'][^=!]|\?|\*)?|\)", pattern):
        text = match[0]
        if text == ")":
            opened = opened[:-1]
        elif text.startswith("(") and (match[1] is None or match[1].startswith(("?P", "?<", "?'"))):
            number += 1
            around[number] = [group for group in opened if group is not None]
            opened = [*opened, number]
        elif text.startswith("("):
            opened = [*opened, None]
    return around


def _overlap(rewrite: Directive) -> Finding:
    return Finding(
        rewrite.source,
        rewrite.args[1].span,
        "CVE-2026-9256: repeating a group and another one inside it may overflow a buffer",
        help=_PATCHED,
    )


def _beside_maps(model: Model) -> Iterator[Finding]:
    """Yield strings in which the map behind a capture changes it."""
    names = [name for name, source in model.maps.items() if any(row.name.startswith("~") for row in source.directives)]
    if not names:
        return
    either = "|".join(map(re.escape, names))
    shape = re.compile(rf"\$(?:[1-9]|\{{[1-9]\}}).*\$(?:(?:{either})(?!\w)|\{{(?:{either})\}})", re.IGNORECASE)
    for level in model.levels("http", "server", "location", "if", FRAGMENT):
        for directive in level.directives:
            word = next((word for word in directive.args if "$" in word and shape.search(word)), None)
            if word is not None and directive.block is None:
                yield Finding(
                    directive.source,
                    word.span,
                    "CVE-2026-42533: a map with patterns after a capture changes it, which may overflow a buffer",
                    help=_PATCHED,
                )
