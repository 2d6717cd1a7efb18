"""`Access-Control-Allow-Origin *` with credentials: browsers refuse the response

Flags an `Access-Control-Allow-Origin` of `*` beside an `Access-Control-Allow-Credentials` of `true`. Does not flag
either of them alone, or a list of origins (`origin-accepted` examines those).

## Why it matters
For a request with cookies or a password, browsers demand the name of the origin: they refuse `*`, and the script gets
an error. For one without, `Access-Control-Allow-Credentials` says nothing. So no script gets what the two lines are
for. nginx sends them as they are written, as 1.22.1 and 1.31.3 do.

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
If the clients are no browsers.

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
    for directive, level in model.each("add_header"):
        beside = level.own("add_header")
        credentials = next((each for each in beside if _is(each, _CREDENTIALS, "true")), None)
        if credentials is not None and _is(directive, _ORIGIN, "*"):
            yield Finding(
                directive.source,
                directive.args[1].span,
                "browsers refuse this response to a request with credentials: * is no origin for them",
                help="name the origin, with a map of $http_origin if there are several, or delete the credentials",
                related=(Related(credentials.source, credentials.name.span, "credentials are allowed here"),),
                cause="",
            )


def _is(directive: Directive, name: str, value: str) -> bool:
    return [str(word).lower() for word in directive.args[:2]] == [name, value]
