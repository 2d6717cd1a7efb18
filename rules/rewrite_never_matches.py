"""Rewrite or location that no request reaches: nginx matches the decoded path, without arguments

Flagged is the pattern of a `rewrite` or `location`, or the text of a `location`, that

- holds `%20` or another escape: nginx matches the decoded URI, where it is a blank;
- holds arguments, as `\\?id=1` or `.php?id=`: they are no part of the URI that is matched;
- does not begin with the slash that every URI begins with, or holds a scheme or a host;
- holds `//`, `/./` or `/../`, which nginx has merged and resolved before;
- is a shell's: `/*.html` is any number of slashes, one character, and `html`.

That nothing matches is decided by automata over all normalised URIs, not by the look of the pattern.

## Why it matters
What the line was written for does not happen, and nginx tries the pattern on request after request.
`ngx_http_parse_complex_uri` decodes the path, merges slashes and cuts the arguments off before any rule is run.

## Bad
```nginx server
rewrite ^/a%20b$ /a-b permanent;
rewrite ^/item\\.php\\?id=(\\d+)$ /items/$1 permanent;
rewrite ^old\\.html$ /new permanent;
rewrite ^/*.html$ /new permanent;
location /my%20files/ {
    return 404;
}
```

## Good
```nginx server
rewrite "^/a b$" /a-b permanent;
if ($arg_id ~ "^(\\d+)$") {
    rewrite ^/item\\.php$ /items/$arg_id? permanent;
}
rewrite ^/old\\.html$ /new permanent;
rewrite \\.html$ /new permanent;
location "/my files/" {
    return 404;
}
```

## Silent
A percent sign may be a part of a name, `%20` one of several ways, and a question may be asked:
```nginx server
rewrite ^/100%$ /all permanent;
rewrite ^/a(?:%20|-)b$ /ab permanent;
rewrite ^/what\\?$ /help permanent;
rewrite ^/colou?r$ /color permanent;
```

## When to ignore it
Where clients really encode twice: `%2520` is the `%20` that a pattern sees.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#location
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.diagnostic import Finding, Severity
from nginxopt.inherit import Level
from nginxopt.locations import modifier, path, pattern
from nginxopt.model import Model
from nginxopt.rewrite.oddities import why_never
from nginxopt.rule import rule
from nginxopt.source import encode
from nginxopt.tokens import Token

_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_QUERY = re.compile(r"[\w./-]\?[A-Za-z_][\w.-]*=")
_GLOB = re.compile(r"/\*\.\w")
_PLAIN_START = re.compile(r"\^?\(?/")


@rule(severity=Severity.ERROR, category="rewrite")
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that nothing matches."""
    bare = {level for directive, level in model.odd_rewrites if _may_lose_the_slash(directive)}
    for directive, level in model.odd_rewrites:
        if len(directive.args) > 1 and level not in bare:
            word = directive.args[0]
            why = _why(encode(word), word, level)
            if why is not None:
                yield _finding(directive, word, why)
    for level in model.levels("location"):
        finding = _location(level)
        if finding is not None:
            yield finding


def _location(location: Level) -> Finding | None:
    opener, text, sign = location.opener, path(location), modifier(location)
    if opener is None or not text or text.startswith("@") or location.own("internal") or location.around("if"):
        return None
    if sign in ("~", "~*"):
        why = _why(pattern(location), text, location)
    else:
        escaped = re.sub(rb"([^A-Za-z0-9_/])", rb"\\\1", encode(text))
        why = _why(b"^" + escaped + (b"\\z" if sign == "=" else b""), text, location, regex=False)
    return None if why is None else _finding(opener, opener.args[-1], why)


def _why(text: bytes, shown: str, level: Level, *, regex: bool = True) -> tuple[str, str] | None:
    """Return why nothing matches and what to do, None if something may."""
    if regex and _QUERY.search(shown):
        return _REASONS["query"]
    if regex and _GLOB.search(shown):
        return "`*` repeats the slash before it, it stands for no text", "write `[^/]*` or `.*`, and `\\.` for a dot"
    merges = level.setting("merge_slashes")
    why = why_never(text, merge_slashes=merges.known and merges.value != "off")
    if why == "impossible":
        return _impossible(shown)
    if why == "percent":
        escape = _ESCAPE.search(shown)
        return _REASONS["percent"] if escape is None else (
            f"nginx matches the decoded URI, in which {escape[0]} is one character", _REASONS["percent"][1]
        )  # fmt: skip
    return None if why is None else _REASONS[why]


_REASONS = {
    "percent": (
        "nginx matches the decoded URI, in which an escape is one character",
        "write the character itself, in quotes if it is a blank",
    ),
    "query": (
        "nginx matches the URI without its arguments",
        "match the path, and ask for the argument with `if ($arg_name = value)` or a map of $arg_name",
    ),
}


def _impossible(text: str) -> tuple[str, str]:
    if "://" in text:
        return "the URI that nginx matches has no scheme and no host", "put it into the server of that name"
    if not _PLAIN_START.match(text):
        return "every URI begins with a slash", "begin with `^/`"
    if "//" in text:
        return "nginx merges slashes before it matches (merge_slashes)", "write one slash"
    return "no URI of a request is like that", "see what it was meant for, or delete it"


def _may_lose_the_slash(rewrite: Directive) -> bool:
    """Whether what follows may see a URI without a slash at its beginning: the target has none, and rules go on."""
    return len(rewrite.args) == 2 and not rewrite.args[1].startswith(("/", "http://", "https://", "$scheme"))


def _finding(directive: Directive, word: Token, why: tuple[str, str]) -> Finding:
    reason, advice = why
    return Finding(directive.source, word.span, f'"{word}" matches no request: {reason}', help=advice)
