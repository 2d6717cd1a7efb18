"""Rewrite or location that no request reaches: nginx matches the decoded path, without arguments

Flags the pattern of a `rewrite` or `location`, or the text of a `location`, that

- contains `%20` or another escape: nginx matches the decoded URI, which has a space there;
- holds arguments, as `\\?id=1` or `.php?id=`: they are no part of the URI that is matched;
- does not begin with the slash that every URI begins with, or contains a scheme or a host;
- holds `//`, `/./` or `/../`, which nginx has merged and resolved before;
- is a regular expression without the `~` before it;
- is a shell pattern: `/*.html` is any number of slashes, one character, and `html`.

The rule decides that nothing matches with automata over all normalized URIs, not by how the pattern looks.

## Why it matters
The directive has no effect, and nginx tries the pattern on request after request. `ngx_http_parse_complex_uri` decodes
the path, merges slashes and removes the arguments before any rule runs.

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
A percent sign may be part of a name, `%20` one of several alternatives, and a question mark a quantifier or a literal:
```nginx server
rewrite ^/100%$ /all permanent;
rewrite ^/a(?:%20|-)b$ /ab permanent;
rewrite ^/what\\?$ /help permanent;
rewrite ^/colou?r$ /color permanent;
```

## When to ignore it
If clients really encode twice: `%2520` is the `%20` that a pattern sees.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#location
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nginxopt.config import Directive, Token, encode
from nginxopt.lint import Finding, Model, Severity, rule, why_never
from nginxopt.semantics import Level, locations

_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_QUERY = re.compile(r"[\w./-]\?[A-Za-z_][\w.-]*=")
_GLOB = re.compile(r"/\*\.\w")
_PLACEHOLDER = re.compile(r"\$(?:\{[A-Z_][A-Z0-9_]*\}|[A-Z_][A-Z0-9_]+)")
"""Matches placeholders that envsubst fills in; nginx itself has no variables in location names."""
_PLAIN_START = re.compile(r"\^?\(?/")


@rule(severity=Severity.ERROR, category="rewrite")
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that never match."""
    bare = {level for directive, level in model.suspicious_rewrites if _may_lose_the_slash(directive)}
    for directive, level in model.suspicious_rewrites:
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
    opener, text, sign = location.opener, locations.path(location), locations.modifier(location)
    if opener is None or not text or text.startswith("@") or location.own("internal") or location.around("if"):
        return None
    if _PLACEHOLDER.search(text):
        return None
    if sign in ("~", "~*"):
        why = _why(locations.pattern(location), text, location)
    elif text.startswith("^"):
        why = _Why("without `~`, it is a prefix, not a regular expression", "write `~` before it")
    else:
        escaped = re.sub(rb"([^A-Za-z0-9_/])", rb"\\\1", encode(text))
        why = _never(b"^" + escaped + (b"\\z" if sign == "=" else b""), "^" + text, location)
    return None if why is None else _finding(opener, opener.args[-1], why)


class _Why(NamedTuple):
    """Why a pattern never matches, what to do, and what it does not match."""

    reason: str
    advice: str
    missed: str = "no request"


_QUERIES = _Why(
    "nginx matches the URI without its arguments",
    "match the path, and test the argument with `if ($arg_name = value)` or a map of $arg_name",
)


def _why(text: bytes, shown: str, level: Level) -> _Why | None:
    """Return why a pattern matches nothing, or not what its author meant; None if it may match."""
    if _QUERY.search(shown):
        return _QUERIES
    glob = _GLOB.search(shown)
    if glob is not None and locations.matches(text, _file(shown)) is False:
        advice = "write `[^/]*` or `.*`, and `\\.` for a dot"
        return _Why("`*` repeats the slash before it and matches no other text", advice, "no such file")
    return _never(text, shown, level)


def _file(glob: str) -> bytes:
    """A URI that the author meant if `*` was supposed to match any text."""
    return encode(glob.removeprefix("^").removesuffix("$").replace("/*.", "/index.").replace("\\", ""))


def _never(text: bytes, shown: str, level: Level) -> _Why | None:
    """Return why no request matches a pattern; None if one may."""
    merges = level.setting("merge_slashes")
    why = why_never(text, merge_slashes=merges.known and merges.value != "off")
    if why == "impossible":
        return _impossible(shown)
    if why == "percent":
        escape = _ESCAPE.search(shown)
        name = escape[0] if escape else "an escape"
        advice = "write the character itself, in quotes if it is a space"
        return _Why(f"nginx matches the decoded URI, in which {name} is one character", advice)
    return None if why is None else _QUERIES


def _impossible(text: str) -> _Why:
    if "://" in text:
        return _Why("nginx matches the URI without scheme and host", "move it to the server of that name")
    if text.startswith("^") and not _PLAIN_START.match(text):
        return _Why("every URI begins with a slash", "begin with `/`")
    if "//" in text:
        return _Why("nginx merges slashes before it matches (merge_slashes)", "write one slash")
    return _Why("no URI is like that", "correct or delete it")


def _may_lose_the_slash(rewrite: Directive) -> bool:
    """Whether later rules may see a URI without a leading slash: the target has none, and the rewrite has no flag."""
    return len(rewrite.args) == 2 and not rewrite.args[1].startswith(("/", "http://", "https://", "$scheme"))


def _finding(directive: Directive, word: Token, why: _Why) -> Finding:
    return Finding(directive.source, word.span, f'"{word}" matches {why.missed}: {why.reason}', help=why.advice)
