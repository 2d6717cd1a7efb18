"""Pattern for a domain that also accepts foreign origins or referrers

Flags patterns that name a domain but also accept a name that anybody can register: those for `$http_origin` (in
conditions and maps), for `$http_referer` and `$host` (in conditions that refuse the rest), and of `valid_referers`.
Also flags an `Access-Control-Allow-Origin` that repeats any origin. The rule finds the foreign name with automata, so
the pattern is certain to accept it.

Does not flag patterns that accept only subdomains of the domains that they name, lists of blocked names, and patterns
whose foreign names nobody can register, such as `examplexcom`.

## Why it matters
An unescaped dot matches any character, and a pattern without `^` and `$` matches anywhere in the text. With
`Access-Control-Allow-Credentials: true`, a page of an accepted foreign origin can read whatever the user of the site
can read: accounts, tokens, messages. The severity is then error.

## Bad
```nginx http
map $http_origin $allowed_origin {
    default "";
    ~^https://example\\.com $http_origin;
}
server {
    add_header Access-Control-Allow-Origin $allowed_origin;
    add_header Access-Control-Allow-Credentials true;
}
```
```nginx server
location /files/ {
    if ($http_referer !~ "example\\.com/") {
        return 403;
    }
}
```
```nginx server
location /api/ {
    add_header Access-Control-Allow-Origin $http_origin;
    add_header Access-Control-Allow-Credentials true;
    return 200 "{}";
}
```

## Good
```nginx http
map $http_origin $allowed_origin {
    default "";
    ~^https://(?:[a-z0-9-]+\\.)?example\\.com$ $http_origin;
}
server {
    add_header Access-Control-Allow-Origin $allowed_origin;
    add_header Access-Control-Allow-Credentials true;
}
```

## Silent
```nginx http
map $http_referer $is_spam {
    default 0;
    ~*seo-offers\\.com 1;
}
map $http_origin $allowed_origin {
    https://example.com $http_origin;
    ~^https://[a-z]+\\.example\\.(?:com|org)(?::\\d+)?$ $http_origin;
}
server {
    add_header Access-Control-Allow-Origin $allowed_origin;
    location /files/ {
        if ($http_referer !~ ^https://example\\.com/) {
            return 403;
        }
    }
    location /old/ {
        if ($http_origin ~ example\\.com) {
            return 403;
        }
    }
}
```
A page of the site, whatever its name is:
```nginx http
server {
    location / {
        set $from elsewhere;
        if ($http_referer !~* wp-login.php) {
            set $from outside;
        }
        return 200 $from;
    }
}
```

## When to ignore it
If the pattern protects only public content, such as images that other sites should not embed.

## References
- https://fetch.spec.whatwg.org/#http-cors-protocol
- https://portswigger.net/research/exploiting-cors-misconfigurations-for-bitcoins-and-bounties
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from nginxopt.config import Directive
from nginxopt.lint import AskedRequest, Finding, Model, Severity, Witness, pattern, record, rule
from nginxopt.lint.queries import origins, reaching
from nginxopt.semantics import FRAGMENT, Level

EVIL = "https://evil.test"

_KINDS: dict[str, tuple[origins.Kind, str]] = {
    "$http_origin": ("origin", "Origin"),
    "$http_referer": ("referrer", "Referer"),
    "$host": ("host", "Host"),
    "$http_host": ("host", "Host"),
}
_ALLOW_ORIGIN = "access-control-allow-origin"
_ALLOW_CREDENTIALS = "access-control-allow-credentials"
_REFUSALS = pattern(r"4\d\d")
_MOST_LEVELS = 8
_MOST_PATTERNS = 500
"""The most patterns that are examined: each takes some milliseconds."""


@record(eq=True)
class _Pattern:
    """A pattern that lets some requests pass.

    Attributes:
        word: The word with the pattern, in `directive`.
        level: The level that a request has to reach.
    """

    text: str
    is_caseless: bool
    kind: origins.Kind
    header: str
    directive: Directive
    level: Level


@rule(severity=Severity.INFO, highest=Severity.ERROR, category="security", witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that accept foreign names, and origins that are repeated."""
    for accepting in islice((*_conditions(model), *_rows(model), *_referrers(model)), _MOST_PATTERNS):
        name = origins.foreign(accepting.text, accepting.kind, caseless=accepting.is_caseless)
        witness = _witness(model, accepting, name) if name else None
        if witness is not None:
            yield _finding(model, accepting, witness)
    yield from _repeated(model)


def _conditions(model: Model) -> Iterator[_Pattern]:
    """Yield the conditions that let an origin pass, or refuse whatever does not match."""
    for level in model.levels("if"):
        words = [str(word) for word in level.args]
        if len(words) != 3 or words[0].lower() not in _KINDS or level.opener is None or level.parent is None:
            continue
        kind, header = _KINDS[words[0].lower()]
        is_refusing = any(_REFUSALS.fullmatch(word) for stated in level.own("return") for word in stated.args[:1])
        is_allowing = words[1] in ("~", "~*") and kind == "origin" and not is_refusing
        is_demanding = words[1] in ("!~", "!~*") and (kind != "host" or is_refusing)
        if is_allowing or is_demanding:
            yield _Pattern(words[2], words[1].endswith("*"), kind, header, level.opener, level.parent)


def _rows(model: Model) -> Iterator[_Pattern]:
    """Yield the rows of maps that give an origin another value than the default."""
    for source in model.maps.values():
        if source.args[0].lower() != "$http_origin":
            continue
        default = next((str(row.args[0]) for row in source.own("default") if row.args), "")
        for row in source.directives:
            if row.name.startswith("~") and row.args and str(row.args[0]) not in ("", "0", default):
                is_caseless = row.name.startswith("~*")
                text = str(row.name)[2 if is_caseless else 1 :]
                yield _Pattern(text, is_caseless, "origin", "Origin", row, _first_server(model) or source)


def _referrers(model: Model) -> Iterator[_Pattern]:
    for directive, level in model.each("valid_referers"):
        for word in directive.args:
            if word.startswith("~"):
                yield _Pattern(str(word)[1:], True, "referrer without scheme", "Referer", directive, level)


def _first_server(model: Model) -> Level | None:
    return next(model.levels("server", FRAGMENT), None)


def _witness(model: Model, pattern: _Pattern, name: str) -> Witness | None:
    """Return a request with a foreign name to a level; None if no request gets there."""
    value = f"https://{name}" if pattern.kind == "referrer without scheme" else name
    header, shows = f"{pattern.header}: {value}", f"the pattern accepts {value}"
    if pattern.level.around("server") is None:  # of a fragment
        return Witness("http://localhost/", shows, headers=(header,))
    requests = [replace(asked, headers=(*asked.headers, header)) for asked in reaching.reaching(pattern.level)]
    answers = list(model.requests.all(pattern.level, *requests))
    answer = next((answer for answer in answers if answer.is_known), next(iter(answers), None))
    return None if answer is None else answer.witness(shows)


def _finding(model: Model, pattern: _Pattern, witness: Witness) -> Finding:
    names = ", ".join(origins.domains(pattern.text)[:3])
    words = (pattern.directive.name, *pattern.directive.args)
    word = next((word for word in words if pattern.text in word), pattern.directive.name)
    is_error = pattern.kind == "origin" and _sends_credentials(model)
    return Finding(
        pattern.directive.source,
        word.span,
        f"this pattern is for {names}, but also accepts names of others",
        help="begin with ^https:// and end with $, and write \\. for a dot",
        severity=Severity.ERROR if is_error else Severity.WARNING,
        witness=witness,
    )


def _sends_credentials(model: Model) -> bool:
    headers = (directive.args for directive, _ in model.each("add_header") if len(directive.args) > 1)
    return any(args[0].lower() == _ALLOW_CREDENTIALS and args[1].lower() == "true" for args in headers)


def _repeated(model: Model) -> Iterator[Finding]:
    """Yield the headers that repeat any origin."""
    for directive, level in model.each("add_header"):
        if len(directive.args) < 2 or directive.args[0].lower() != _ALLOW_ORIGIN or "$" not in directive.args[1]:
            continue
        inner = [other for other in level.walk() if directive in other.setting("add_header").directives]
        for other in islice(inner, _MOST_LEVELS):
            finding = _repeats(model, directive, other)
            if finding is not None:
                yield finding
                break


def _repeats(model: Model, directive: Directive, level: Level) -> Finding | None:
    for asked in reaching.reaching(level):
        own = AskedRequest(asked.target, asked.method, (*asked.headers, f"Origin: {EVIL}"))
        for answer in model.requests.all(level, own):
            if EVIL in answer.headers(_ALLOW_ORIGIN):
                has_credentials = "true" in answer.headers(_ALLOW_CREDENTIALS)
                return Finding(
                    directive.source,
                    directive.args[1].span,
                    f"every origin is allowed{' with credentials' if has_credentials else ', as with *'}",
                    help="list the origins in a map of $http_origin with an empty default",
                    severity=Severity.ERROR if has_credentials else Severity.INFO,
                    witness=answer.witness(f"the response has Access-Control-Allow-Origin: {EVIL}"),
                )
    return None
