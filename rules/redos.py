"""A short request makes PCRE2 give up: nginx answers 500 after ten million steps

Flags patterns of locations, rewrites, conditions and maps that a request of less than 300 bytes drives into the match
limit of PCRE2. The rule tries the subject with PCRE2 itself, and the model of `nginxopt trace` shows that the request
gets to the pattern. A map then takes its default, without an error.

Does not flag patterns whose backtracking is bounded: possessive, atomic, or with choices that exclude each other; and
maps that only a header to the upstream or a log reads.

## Why it matters
A worker does nothing else for 10,000,000 steps, some tenths of a second, so a few requests a second from one client
stop it for all clients. PCRE2 tries each way in which `(a+)+` can divide the same text, and each further character
doubles their number.

## Bad
```nginx server
location ~ ^/(?:[a-z]+-?)+\\.html$ {
    return 204;
}
```
```nginx server
location / {
    rewrite ^/(\\w+\\s?)*$ /index.php last;
}
```
```nginx http
map $http_user_agent $is_bot {
    default 0;
    "~*^(?:[a-z]+[ /]?)+bot$" 1;
}
server {
    listen 80;
    if ($is_bot) {
        return 403;
    }
}
```

## Good
```nginx server
location ~ ^/[a-z]+(?:-[a-z]+)*\\.html$ {
    return 204;
}
```

## Silent
```nginx server
location ~ ^/(?:[a-z]+/)+feed$ {
    return 204;
}
location ~ ^/(?:[a-z]+-?)++\\.json$ {
    return 204;
}
location ~ ^/(?:foo|bar)+\\.js$ {
    return 204;
}
```

## When to ignore it
Never.

## References
- https://cwe.mitre.org/data/definitions/1333.html
- https://www.pcre.org/current/doc/html/pcre2api.html (pcre2_set_match_limit)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice
from urllib.parse import quote

from nginxopt.config import Directive, Span, decode
from nginxopt.lint import AskedRequest, Finding, Model, ModelAnswer, Severity, Sign, record, rule
from nginxopt.lint.queries import backtracking, reaching
from nginxopt.semantics import FRAGMENT, Level

_SAFE = "/:~!$&'()*+,;=@"
_HEADERS = "$http_"
_PATHS = ("$uri", "$document_uri", "$request_uri")
_ARGUMENTS = ("$args", "$query_string")
_MOST_READERS = 6

_GIVES_UP = r"failed: (?:-47|-8) on "
"""What nginx logs at the match limit of PCRE2, and of PCRE."""


@record(eq=True)
class _Pattern:
    """A pattern, and the variable `subject` with which it is compared."""

    text: str
    subject: str
    directive: Directive
    level: Level


@rule(severity=Severity.WARNING, category="security", witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find patterns on which PCRE2 gives up."""
    trials = backtracking.Trials()
    found: set[int] = set()
    with model.within_budget():
        for pattern in chain(_locations(model), _conditions(model), _rewrites(model), _maps(model, trials)):
            if id(pattern.directive) in found:  # a row of a map that several levels read
                continue
            subject = trials.exploding(pattern.text, pattern.directive)
            answer = _answer(model, pattern, subject, trials) if subject is not None else None
            if answer is not None:
                found.add(id(pattern.directive))
                yield _finding(pattern, answer)


def _locations(model: Model) -> Iterator[_Pattern]:
    for level in model.levels("location"):
        if level.opener is not None and level.modifier in ("~", "~*"):
            yield _Pattern(decode(level.pattern), "$uri", level.opener, level)


def _conditions(model: Model) -> Iterator[_Pattern]:
    for level in model.levels("if"):
        words = [str(word) for word in level.args]
        if len(words) == 3 and words[1].lstrip("!") in ("~", "~*") and level.opener and level.parent:
            text = f"(?i){words[2]}" if words[1].endswith("*") else words[2]
            yield _Pattern(text, words[0].lower(), level.opener, level.parent)


def _rewrites(model: Model) -> Iterator[_Pattern]:
    for level in model.levels("server", "location", "if", FRAGMENT):
        yield from (_Pattern(str(own.args[0]), "$uri", own, level) for own in level.own("rewrite") if own.args)


def _maps(model: Model, trials: backtracking.Trials) -> Iterator[_Pattern]:
    """Yield the rows of maps that explode, at some of the levels that read the variable."""
    for name, level in model.maps.items():
        readers: list[Level] | None = None
        for row in level.directives:
            text = _of_row(str(row.name))
            if not row.name.startswith("~") or trials.exploding(text, row) is None:
                continue
            if readers is None:
                readers = [*islice(_readers(model, name), _MOST_READERS)]
            yield from (_Pattern(text, level.args[0].lower(), row, reader) for reader in readers)


def _of_row(key: str) -> str:
    return f"(?i){key[2:]}" if key.startswith("~*") else key[1:]


def _readers(model: Model, name: str) -> Iterator[Level]:
    """Yield the servers and locations that read a variable, or whose conditions do."""
    reads = re.compile(rf"\$(?:\{{{name}\}}|{name}(?!\w))", re.IGNORECASE)
    for level in model.levels("server", "location", "if"):
        words = (word for directive in level.directives for word in directive.args)
        if any(reads.search(word) for word in (*level.args, *words)):
            yield level.parent if level.kind == "if" and level.parent is not None else level


def _answer(model: Model, pattern: _Pattern, subject: bytes, trials: backtracking.Trials) -> ModelAnswer | None:
    """Return an answer that depends on a pattern which gives up."""
    for asked in _requests(pattern, subject):
        for answer in model.requests.all(pattern.level, asked):
            trials.asked(pattern.directive, gave_up=answer.unknown_at is not None)
            if answer.unknown_at is pattern.directive:
                return answer
    return None


def _requests(pattern: _Pattern, subject: bytes) -> Iterator[AskedRequest]:
    if pattern.subject in _PATHS and subject.startswith(b"/"):
        yield AskedRequest(quote(subject, safe=_SAFE).encode())
    elif pattern.subject in _PATHS:
        yield AskedRequest(b"/" + quote(subject, safe=_SAFE).encode())
    elif pattern.subject in _ARGUMENTS and quote(subject, safe=_SAFE).encode() == subject:
        for asked in reaching.reaching(pattern.level):
            yield AskedRequest(asked.target.partition(b"?")[0] + b"?" + subject, asked.method, asked.headers)
    elif pattern.subject.startswith(_HEADERS):
        name = pattern.subject.removeprefix(_HEADERS).replace("_", "-").title()
        for asked in reaching.reaching(pattern.level):
            yield AskedRequest(asked.target, asked.method, (*asked.headers, f"{name}: {subject.decode('ascii')}"))


def _finding(pattern: _Pattern, answer: ModelAnswer) -> Finding:
    words = (word for word in pattern.directive.args if word and str(word) in pattern.text)
    span: Span = next((word.span for word in words), pattern.directive.name.span)
    is_row = pattern.directive.name.startswith("~")
    answers, status = ("takes the default", None) if is_row else ("answers 500", 500)
    return Finding(
        pattern.directive.source,
        span,
        f"PCRE2 gives up on this pattern after 10,000,000 steps: {pattern.text}",
        help="let each text match in one way only; a possessive repetition, (...)++, gives nothing back, and is "
        "the same only if nothing behind it may match what it took",
        witness=answer.witness(
            f"nginx {answers} after 10,000,000 steps: tenths of a second", Sign(status=status, logs=_GIVES_UP)
        ),
    )
