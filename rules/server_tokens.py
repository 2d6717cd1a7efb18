"""Responses and error pages show the version of nginx

Flags `server_tokens on` and `server_tokens build`, and http blocks in which a server has the default, which is `on`.

Does not flag servers in a file whose http block is not known.

## Why it matters
The version tells a scanner which published vulnerabilities to try. Hiding it does not stop an attacker who tries them
all, and the header still says `nginx`.

## Bad
```nginx http
server_tokens on;
server {
    root /srv/www;
}
```
```nginx http
server {
    root /srv/www;
}
```

## Good
```nginx http
server_tokens off;
server {
    root /srv/www;
}
```

## Silent
```nginx http
server {
    server_tokens off;
    root /srv/www;
}
```

## Fix safety
May change: responses.

The header `Server` and nginx's own error pages have no version.

## When to ignore it
If clients or monitoring read the version.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#server_tokens
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule

_LINE = "server_tokens off;"


@rule(severity=Severity.INFO, category="hardening", default=False, fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find what shows the version to clients."""
    for directive, _ in model.each("server_tokens"):
        if directive.args[:1] in [("on",), ("build",)]:
            fix = Fix(f"set `{_LINE}`", (layout.rewrite(directive, _LINE),), Safety.UNSAFE)
            yield Finding(directive.source, directive.span, "responses show the version of nginx", fix)
    for http in model.levels("http"):
        servers = [level for level in http.levels if level.kind == "server"]
        opener = http.opener
        if opener is None or opener.block is None:
            continue
        if any(server.setting("server_tokens").is_unset for server in servers):
            fix = Fix(f"add `{_LINE}`", (layout.prepend(opener.block, [_LINE]),), Safety.UNSAFE)
            message = "responses show the version of nginx: server_tokens is on by default"
            yield Finding(opener.source, opener.name.span, message, fix)
