"""`resolver` for a fixed host name: nginx never uses it

Flags a `resolver` in a server or location that passes requests to a host name without variables, if nothing there needs
a resolver while requests are served.

Does not flag a resolver that something uses or may use: a target with variables, `server ... resolve` in an upstream,
OCSP stapling, scripts, or a missing include.

## Why it matters
nginx resolves a name without variables when it reads its configuration, with the system's resolver, and keeps the
addresses until the next reload. Whoever adds a `resolver` there expects nginx to notice new addresses, and gets 502 or
the wrong server after the next change. Counted on nginx 1.22.1 and 1.31.3: a name server that is configured this way
gets no query.

## Bad
```nginx server
location / {
    resolver 127.0.0.53 valid=10s;
    proxy_pass http://localhost:8080;
}
```

## Good
```nginx server
location / {
    proxy_pass http://localhost:8080;
}
```

## Silent
A variable makes nginx resolve the name for requests, and stapling uses the resolver for the OCSP responder:
```nginx http
server {
    location / {
        resolver 127.0.0.53;
        set $app app.internal;
        proxy_pass http://$app:8080;
    }
}
server {
    resolver 127.0.0.53;
    ssl_stapling on;
    location / {
        proxy_pass http://localhost:8080;
    }
}
```

## When to ignore it
Never: delete it, or use it. From 1.27.3 on, `server NAME resolve;` in an upstream with a `zone` follows its addresses
and keeps connections.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#resolver
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#resolve
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from nginxopt.config import Directive
from nginxopt.facts import lexicon
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.semantics import Level, Pass

_ADDRESS = pattern(r"\d+(?:\.\d+){3}|\[[0-9a-f:.]+\]|unix", re.IGNORECASE)
_USERS = pattern(r"ssl_stapling|ssl_ocsp|auth_jwt.*|.*_by_lua.*|js_.*|perl.*|resolver_.*|acme.*|otel.*|.*oidc.*|mirror")


@rule(severity=Severity.INFO, category="proxy", about=("resolver",))
def check(model: Model) -> Iterator[Finding]:
    """Find resolvers that no request asks."""
    for directive, level in model.each("resolver"):
        if level.kind not in ("server", "location"):
            continue
        passes = [pass_ for inner in level.walk() for pass_ in model.passes_at.get(inner, ())]
        named = next(filter(_is_fixed_name, passes), None)
        if named is not None and not any(pass_.has_variable for pass_ in passes) and not _is_used(level):
            yield Finding(
                directive.source,
                directive.name.span,
                f"this resolver is never used: nginx resolves {named.host} once, when it reads its configuration",
                help=_help(named),
                cause="",
            )


def _help(pass_: Pass) -> str:
    """Return the advice. With a variable, `proxy_pass` would send the URI in its parameter, whatever was requested."""
    variable = ", or put the host in a variable" if pass_.uri is None else ""
    return f"delete it{variable}; from 1.27.3 on, an upstream with zone and `server NAME resolve;` asks it"


def _is_fixed_name(pass_: Pass) -> bool:
    return pass_.upstream is None and pass_.names_an_address and not _ADDRESS.fullmatch(pass_.host)


def _is_used(level: Level) -> bool:
    """Return whether something in a level uses a resolver, or may: scripts, unknown directives, unread text."""
    inside = list(level.walk())
    if any(inner.is_open for inner in inside) or level.setting("ssl_stapling").value == "on":
        return True
    return any(map(_asks, chain.from_iterable(around.directives for around in (*inside, *_around(level)))))


def _around(level: Level) -> Iterator[Level]:
    while level.parent is not None:
        level = level.parent
        yield level


def _asks(directive: Directive) -> bool:
    name = str(directive.name)
    is_on = directive.args[:1] != ("off",)
    return is_on and (name not in lexicon.NAMES or (bool(_USERS.fullmatch(name)) and name != "resolver_timeout"))
