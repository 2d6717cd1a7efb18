"""Status pages and the API of nginx are open to everybody

Flags `stub_status`, `status`, `api`, `dashboard`, `vhost_traffic_status_display` and `upstream_show` or `check_status`
that clients from outside can reach. The rule asks the model of `nginxopt trace` for such a request.

Does not flag servers on loopback addresses or UNIX-domain sockets, levels with a login, and lists that do not allow all
addresses. An `allow` without `deny` is reported by `allow-without-deny`. A comment may say that a server with a port of
its own is not published.

## Why it matters
The pages show connections and requests, and those of NGINX Plus and third-party modules show upstreams, their addresses
and servers; with `api write=on`, clients can change them.

## Bad
```nginx server
location = /nginx_status {
    stub_status;
}
```

## Good
```nginx server
location = /nginx_status {
    stub_status;
    allow 127.0.0.1;
    deny all;
}
```

## Silent
```nginx http
server {
    listen 127.0.0.1:8080;
    location = /nginx_status {
        stub_status;
    }
}
server {
    listen unix:/run/nginx/status.sock;
    location = /nginx_status {
        stub_status;
    }
}
server {
    listen 80;
    auth_basic staff;
    auth_basic_user_file /etc/nginx/users;
    location = /nginx_status {
        stub_status;
    }
}
# internal, for the exporter: this port is not published
server {
    listen 9113;
    location = /nginx_status {
        stub_status;
    }
}
```

## Fix safety
May change: responses.

Only this machine gets the page.

## When to ignore it
If a firewall protects the address.

## References
- https://nginx.org/en/docs/http/ngx_http_stub_status_module.html
- https://nginx.org/en/docs/http/ngx_http_api_module.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from nginxopt.config import Directive, layout
from nginxopt.lint import FOREIGN, Finding, Fix, Model, ModelAnswer, Safety, Severity, pattern, rule
from nginxopt.lint.queries import access, purpose, reaching
from nginxopt.semantics import Level, read_listens

_PUBLIC_PORTS = (80, 443)
_INSIDE = pattern(
    r"internal|exporter|metrics|prometheus|(?:not|never) (?:published|exposed|public)|private", re.IGNORECASE
)

_PAGES = (
    "stub_status", "status", "api", "dashboard", "vhost_traffic_status_display", "stream_server_traffic_status_display",
    "upstream_show", "check_status", "upstream_status",
)  # fmt: skip


@rule(severity=Severity.WARNING, category="security", fix=Safety.UNSAFE, witness=True, about=_PAGES)
def check(model: Model) -> Iterator[Finding]:
    """Find status pages that strangers reach."""
    for page, level in model.each(*_PAGES):
        if level.kind not in ("location", "server") or page.args[:1] == ("off",) or not _may_be_open(level):
            continue
        if _is_inside(page, level):
            continue
        requests = (replace(asked, client=FOREIGN) for asked in reaching.reaching(level))
        answer = model.requests.first(level, *requests)
        if answer is not None and answer.is_decided_by is page and not (answer.unknown_at and _is_restricted(level)):
            yield _finding(page, level, answer)


def _is_inside(page: Directive, level: Level) -> bool:
    """Return whether a comment says that the page is for the inside, and its server has only ports of its own."""
    server = level.around("server")
    if server is None or not any(map(_INSIDE.search, purpose.remarks(page, level))):
        return False
    return all(address.port not in _PUBLIC_PORTS for listen in read_listens([server]) for address in listen.addresses)


def _may_be_open(level: Level) -> bool:
    """Return whether a stranger can connect, and no restriction of the level is unknown or incomplete."""
    rules = access.rules(level)
    is_half_done = bool(rules) and not any(rule.name == "deny" or access.names_everybody(rule) for rule in rules)
    return access.is_public(level) and access.are_known(level) and not is_half_done


def _is_restricted(level: Level) -> bool:
    """Return whether a level keeps strangers out. The model does not know that for pages of modules."""
    return access.denies_others(level) or bool(access.logins(level))


def _at(level: Level) -> str:
    return f" at {level.path}" if level.kind == "location" else ""


def _finding(page: Directive, level: Level, answer: ModelAnswer) -> Finding:
    fix = None
    if not access.rules(level) and not access.takes_any(level):
        lines = ["allow 127.0.0.1;", "deny all;"]
        fix = Fix("allow only this machine", (layout.after(page, lines),), Safety.UNSAFE)
    return Finding(
        page.source,
        page.name.span,
        f"everybody can read the page of {page.name}{_at(level)}",
        fix,
        "" if fix else "allow the addresses that may see it, and deny all others",
        witness=answer.witness("nginx sends the page"),
    )
