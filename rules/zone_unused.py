"""Unused zone: no request is limited or cached

Flags a `limit_req_zone`, `limit_conn_zone` or `proxy_cache_path` (`fastcgi_`, `uwsgi_`, `scgi_`) whose zone no
`limit_req`, `limit_conn` or `proxy_cache` names, in configurations that were read as a whole. A `limit_conn_zone` of
`stream` is for `limit_conn` there.

Does not flag zones that a file which was not read may use, or a fragment that is checked as well, such as another site
of `sites-available`; nor caches where a variable names the zone, or whose use is commented out.

## Why it matters
The zone only reserves memory. What was meant, such as a limit for each client, is not in effect: at one request a
minute, all of 20 got 200 with the zone alone, and 19 of them 503 with `limit_req` (nginx 1.22.1 and 1.31.3).

## Bad
```nginx
events {
}
http {
    limit_req_zone $binary_remote_addr zone=each:10m rate=10r/s;
    server {
        listen 80;
        root /srv/www;
    }
}
```

```nginx
events {
}
stream {
    limit_conn_zone $binary_remote_addr zone=each:10m;
    server {
        listen 8443;
        proxy_pass 127.0.0.1:443;
    }
}
http {
    limit_conn_zone $binary_remote_addr zone=client:10m;
    server {
        listen 80;
        limit_conn client 10;
    }
}
```

## Good
```nginx
events {
}
http {
    limit_req_zone $binary_remote_addr zone=each:10m rate=10r/s;
    server {
        listen 80;
        root /srv/www;
        limit_req zone=each burst=20 nodelay;
    }
}
```

## Silent
A file that was not read may use the zone, and so may a variable:
```nginx http
limit_conn_zone $binary_remote_addr zone=each:10m;
include sites-enabled/*.conf;
```
```nginx http
proxy_cache_path /var/cache/a keys_zone=a:10m max_size=1g;
proxy_cache_path /var/cache/b keys_zone=b:10m max_size=1g;
server {
    set $zone a;
    location / {
        proxy_pass http://127.0.0.1:8080;
        proxy_cache $zone;
    }
}
```

The cache is turned off for now:
```nginx
events {
}
http {
    proxy_cache_path /var/cache/nginx keys_zone=pages:10m max_size=1g;
    # proxy_cache pages;
    server {
        listen 80;
        location / {
            proxy_pass http://127.0.0.1:8080;
        }
    }
}
```

## When to ignore it
If a third-party module uses the zone.

## References
- https://nginx.org/en/docs/http/ngx_http_limit_req_module.html
- https://nginx.org/en/docs/http/ngx_http_limit_conn_module.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive, encode
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import whole
from nginxopt.semantics import Level

_LIMITS = {"limit_req_zone": "limit_req", "limit_conn_zone": "limit_conn"}
_CACHES = {f"{protocol}_cache_path": f"{protocol}_cache" for protocol in ("proxy", "fastcgi", "uwsgi", "scgi")}


@rule(severity=Severity.WARNING, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find zones without users."""
    for protocol in model.protocols("http", "stream"):
        if whole.is_known(model, protocol.kind):
            yield from _of_protocol(protocol, model)


def _of_protocol(protocol: Level, model: Model) -> Iterator[Finding]:
    """Yield the unused zones of http or of stream; neither can use those of the other."""
    levels = tuple(protocol.walk())
    for declaration, user in (_LIMITS | _CACHES).items():
        declared = protocol.own(declaration)
        users = (directive for name in (user, f"{user}_purge") for level in levels for directive in level.own(name))
        used = {_named(directive) for directive in users} if declared else set()
        for directive in declared:
            name = _zone(directive)
            if not name or name in used or any("$" in word for word in used):
                continue
            if _is_turned_off(model, user, name):
                continue
            if all(_named(directive) != name for directive in model.beside(user)):
                yield _finding(directive, name, user)


def _is_turned_off(model: Model, user: str, name: str) -> bool:
    """Return whether a comment has the line that would use a zone."""
    line = re.compile(rb"^[ \t]*#[ \t]*%s[ \t](?:zone=)?%s\b" % (user.encode(), re.escape(encode(name))), re.MULTILINE)
    return any(line.search(file.source.data) for file in model.config.files)


def _finding(directive: Directive, name: str, user: str) -> Finding:
    verb = "limited" if directive.name in _LIMITS else "cached"
    message = f'no {user} names the zone "{name}": nothing is {verb}'
    advice = f"add {user} where it should apply, or delete the zone"
    return Finding(directive.source, directive.name.span, message, help=advice, cause=user)


def _zone(directive: Directive) -> str:
    """Return the name of the zone that a directive declares, empty without one."""
    words = (word.partition("=") for word in directive.args)
    return next((value.partition(":")[0] for key, _, value in words if key in ("zone", "keys_zone")), "")


def _named(directive: Directive) -> str:
    """Return the name of the zone that a directive uses, empty without one."""
    words = [word.removeprefix("zone=") for word in directive.args if "=" not in word or word.startswith("zone=")]
    return words[0] if words else ""
