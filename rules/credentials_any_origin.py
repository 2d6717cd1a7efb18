"""`Access-Control-Allow-Origin *` with credentials: browsers refuse the response

Flags an `Access-Control-Allow-Origin` of `*` beside an `Access-Control-Allow-Credentials` of `true`. Does not flag
either of them alone, or a list of origins (`origin-accepted` examines those).

## Why it matters
If a request has cookies or a password, browsers accept only the name of the origin: they refuse `*`, and the script
gets an error. A request without them does not need `Access-Control-Allow-Credentials`. So the two lines never do what
they are for. nginx sends both as written (seen on 1.22.1 and 1.31.3).

## Bad
```nginx location
add_header Access-Control-Allow-Origin *;
add_header Access-Control-Allow-Credentials true;
```

## Good
```nginx location
add_header Access-Control-Allow-Origin https://www.example.com;
add_header Access-Control-Allow-Credentials true;
```

## Silent
Each of them is alone:
```nginx server
location /fonts/ {
    add_header Access-Control-Allow-Origin *;
}
location /api/ {
    add_header Access-Control-Allow-Credentials true;
}
```

## When to ignore it
If the clients are not browsers.

## References
- https://fetch.spec.whatwg.org/#http-access-control-allow-credentials
- https://developer.mozilla.org/en-US/docs/Web/HTTP/Guides/CORS/Errors/CORSNotSupportingCredentials
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, rule

_ORIGIN = "access-control-allow-origin"
_CREDENTIALS = "access-control-allow-credentials"


@rule(severity=Severity.WARNING, category="correctness", about=("add_header",))
def check(model: Model) -> Iterator[Finding]:
    """Find any origin beside credentials, in one block."""
    for level in dict.fromkeys(level for _, level in model.each("add_header")):
        added = level.own("add_header")
        credentials = next((each for each in added if _is(each, _CREDENTIALS, "true")), None)
        if credentials is not None:
            yield from (_finding(each, credentials) for each in added if _is(each, _ORIGIN, "*"))


def _finding(origin: Directive, credentials: Directive) -> Finding:
    return Finding(
        origin.source,
        origin.args[1].span,
        "browsers refuse this response to a request with credentials: * stands for no origin then",
        help="name the origin, with a map of $http_origin if there are several, or delete the credentials",
        related=(Related(credentials.source, credentials.name.span, "credentials are allowed here"),),
        cause="",
    )


def _is(directive: Directive, name: str, value: str) -> bool:
    return [str(word).lower() for word in directive.args[:2]] == [name, value]
