"""Rewrites and locations that no ordinary request matches, with the reason.

nginx matches `$uri`: decoded, without arguments, with merged slashes and resolved dots (ngx_http_parse_complex_uri).
Only `rewrite` puts anything else there: its replacement becomes the URI as it is written.

Automata decide, whose size can be exponential in that of a pattern. So their steps count against the budget
`backtracking`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nginxopt import budget, lazy
from nginxopt.config import Directive, encode, has_placeholder
from nginxopt.lint.queries.model import Model
from nginxopt.rewrite.suspicious import Never, why_never
from nginxopt.semantics import Level, subjects, values
from nginxopt.semantics.inherit import MODIFIERS
from nginxopt.settings.vocabulary import Severity

_ESCAPE = lazy.pattern("%[0-9A-Fa-f]{2}")
_QUERY = lazy.pattern(r"([\w./-])\?[A-Za-z_][\w.-]*=")
_GLOB = lazy.pattern(r"/\*\.\w")
_ORDINARY = lazy.pattern(r"\^?(?:/|(?:/[\w-]+)+/?)", re.ASCII)
"""Matches the paths that clients send as they are, which are their own patterns."""
_PLAIN_START = lazy.pattern(r"\^?\(?/")
_IRREGULAR = lazy.pattern(r"(?!/)|.*(?://|/\.|/\$)", re.DOTALL)
"""Matches replacements that may become a URI without a leading slash, or with `//` or `/../`."""
_ARGUMENTS = "match the path, and test the argument with `if ($arg_name = value)` or a map of $arg_name"


class Unmatched(NamedTuple):
    """A rewrite or the opener of a location, what it matches instead of what it seems to, and what to do.

    The severity is a warning if a client can send a URL that matches, though none does by itself.
    """

    directive: Directive
    message: str
    advice: str
    severity: Severity


class _Why(NamedTuple):
    text: str
    advice: str
    severity: Severity = Severity.ERROR
    escape: str = ""
    """What only a URI that nginx does not decode has, such as `%20`."""


def unmatched_rewrites(model: Model) -> Iterator[Unmatched]:
    """Yield the rewrites that no ordinary request matches.

    Raises `InputError` for one that nginx rejects, and `budget.ExceededError` for patterns that take too long.
    """
    suspicious = [(directive, level) for directive, level in model.suspicious_rewrites if len(directive.args) > 1]
    irregular = {_server(level) for directive, level in suspicious if _makes_irregular(directive)}
    for directive, level in suspicious:
        word = directive.args[0]
        why = _why(encode(word), word, level, directive)
        if why is None or _is_reached(model, directive, level, why):
            continue
        if not (why.severity is Severity.ERROR and _server(level) in irregular):
            yield Unmatched(directive, f'"{word}" {why.text}', why.advice, why.severity)


def unmatched_locations(model: Model) -> Iterator[Unmatched]:
    """Yield the openers of locations that no ordinary request matches. Raises `budget.ExceededError` as above."""
    irregular = {_server(level) for directive, level in model.each("rewrite") if _makes_irregular(directive)}
    for level in model.levels("location"):
        opener = level.opener
        is_refused = opener is not None and len(opener.args) > 1 and opener.args[0] not in MODIFIERS
        why = None if opener is None or is_refused else _why_no_location(level, opener)
        if opener is None or why is None or _is_reached(model, opener, level, why):
            continue
        if not (why.severity is Severity.ERROR and _server(level) in irregular):
            yield Unmatched(opener, f'"{opener.args[-1]}" {why.text}', why.advice, why.severity)


def _server(level: Level) -> Level:
    """Return the server of a level, or the outermost level of a fragment."""
    while level.kind != "server" and level.parent is not None and level.parent.scope is not None:
        level = level.parent
    return level


def _is_reached(model: Model, directive: Directive, level: Level, why: _Why) -> bool:
    """Return whether another directive of the server leads to a URI with the escape, which nginx takes as it is."""
    if not why.escape:
        return False
    server = _server(level)
    return any(
        why.escape in word and other is not directive and _server(around) is server
        for other, around in model.each("rewrite", "error_page", "try_files")
        if other.name != "rewrite" or _goes_on(other)
        for word in other.args[1:]
    )


def _goes_on(rewrite: Directive) -> bool:
    """Return whether nginx goes on with the replacement as the URI."""
    target = "".join(rewrite.args[1:2])
    return rewrite.args[2:] in ((), ("last",), ("break",)) and not values.is_url(target)


def _makes_irregular(rewrite: Directive) -> bool:
    """Return whether nginx may continue with a URI that no client can send: one that is not normalized."""
    return _goes_on(rewrite) and _IRREGULAR.match("".join(rewrite.args[1:2])) is not None


def _why_no_location(location: Level, opener: Directive) -> _Why | None:
    text, sign = location.path, location.modifier
    if not text or text.startswith("@") or location.own("internal") or location.around("if"):
        return None
    if has_placeholder(text):
        return None
    if sign in ("~", "~*"):
        return _why(location.pattern, text, location, opener)
    if text.startswith("^"):
        return _Why("matches no request: without `~`, it is a prefix, not a regular expression", "write `~` before it")
    escaped = re.sub(rb"([^A-Za-z0-9_/])", rb"\\\1", encode(text))
    return _never(b"^" + escaped + (b"\\z" if sign == "=" else b""), "^" + text, location, opener)


def _why(pattern: bytes, shown: str, level: Level, at: Directive) -> _Why | None:
    """Return why a pattern matches nothing, or not what its author meant; None if it may match."""
    optional = _QUERY.search(shown)
    if optional is not None:
        text = f'matches no arguments: its `?` makes the "{optional[1]}" before it optional'
        return _Why(text, _ARGUMENTS, Severity.WARNING)
    glob = _GLOB.search(shown)
    if glob is not None and subjects.matches(pattern, _file(shown)) is False:
        text = "matches no such file: `*` repeats the slash before it and matches no other text"
        return _Why(text, "write `[^/]*` or `.*`, and `\\.` for a dot", Severity.WARNING)
    return _never(pattern, shown, level, at)


def _file(glob: str) -> bytes:
    """A URI that the author meant if `*` was supposed to match any text."""
    return encode(glob.removeprefix("^").removesuffix("$").replace("/*.", "/index.").replace("\\", ""))


_STEP = 40
"""The number of PCRE2's steps that take as long as one step of an automaton."""


def _never(pattern: bytes, shown: str, level: Level, at: Directive) -> _Why | None:
    """Return why no ordinary request matches a pattern; None if one does."""
    merges = level.setting("merge_slashes")
    if _ORDINARY.fullmatch(shown):
        return None
    spent = budget.meter("backtracking")
    spent.spend(0, source=at.source, span=at.name.span)  # raises if the budget is spent, before anything is tried
    why, steps = why_never(pattern, merge_slashes=merges.known and merges.value != "off")
    spent.spend(steps * _STEP, source=at.source, span=at.name.span)
    if why == Never.IMPOSSIBLE:
        return _impossible(shown)
    if why == Never.PERCENT:
        escape = _ESCAPE.search(shown)
        twice = f" (%25{escape[0][1:]})" if escape else ""
        advice = "nginx matches the decoded URI: write the character itself, in quotes if it is a space"
        return _Why(f"matches only double-encoded URLs{twice}", advice, Severity.WARNING, escape[0] if escape else "")
    if why == Never.QUERY:
        text = "matches only URLs with an encoded question mark (%3F), and no arguments"
        return _Why(text, _ARGUMENTS, Severity.WARNING)
    return None


def _impossible(text: str) -> _Why:
    if "://" in text:
        reason, advice = "nginx matches the URI without scheme and host", "move it to the server of that name"
    elif text.startswith("^") and not _PLAIN_START.match(text):
        reason, advice = "every URI begins with a slash", "begin with `/`"
    elif "//" in text:
        reason, advice = "nginx merges slashes before it matches (merge_slashes)", "write one slash"
    else:
        reason, advice = "no URI is like that", "correct or delete it"
    return _Why(f"matches no request: {reason}", advice)
