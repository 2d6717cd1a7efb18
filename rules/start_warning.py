"""What nginx warns of at every start

Flags what `nginx -t` reports at level `warn`, in its words: values that stand twice, addresses with bits behind their
prefix, deprecated directives and parameters, servers that state different protocols for one address, statements that
replace earlier ones, and a cache without a key. Warnings that depend on the machine or on certificates belong to
`host-limits` and `stapling-dead`.

## Why it matters
nginx starts, but not always with what the line says: of two balancing methods the last one counts, `allow
192.168.1.5/24` admits 256 addresses, and without a key, a FastCGI cache gives every request the same response. An
operator who sees the same lines at every start stops reading them, and misses a new one.

## Bad
```nginx http
gzip_types text/html text/css application/json text/css;
```

```nginx http
upstream app {
    server 10.0.0.1;
    least_conn;
    ip_hash;
}
geo $office {
    default 0;
    10.0.0.0/8 1;
    10.0.0.0/8 2;
}
server {
    listen 80;
    server_name example.com/shop;
    allow 192.168.1.5/24;
    deny all;
    index /index.php index.html;
}
```

An address has the protocols that any of its servers states, so all three of these expect the PROXY protocol:
```nginx http 1.28.0
server {
    listen 80 proxy_protocol;
    server_name a.example.com;
}
server {
    listen 80;
    server_name b.example.com;
}
server {
    listen 80 proxy_protocol;
    server_name c.example.com;
}
```

## Good
```nginx http
gzip_types text/css application/json;
```

## Silent
```nginx http
gzip_types text/css application/json;
fastcgi_cache_path /var/cache/nginx keys_zone=pages:1m max_size=1g;
fastcgi_cache_key $scheme$host$request_uri;
upstream app {
    server 10.0.0.1;
    least_conn;
}
geo $office {
    default 0;
    10.0.0.0/8 1;
    10.1.0.0/16 2;
}
server {
    listen 80;
    server_name example.com;
    allow 192.168.1.0/24;
    allow 192.168.1.5;
    deny all;
    index index.html /index.php;
    location /app {
        fastcgi_cache pages;
        fastcgi_cache_lock on;
        fastcgi_pass 127.0.0.1:9000;
        fastcgi_param SCRIPT_FILENAME /srv/app.php;
    }
}
```

## Fix safety
May change: nothing.

nginx skips a value that its list has already, and takes a network without the bits behind its prefix.

## When to ignore it
If the configuration is for several releases, and an older one needs the deprecated form.

## References
- `NGX_LOG_WARN` in nginx's sources: `ngx_conf_set_bitmask_slot`, `ngx_http_types_slot`, `ngx_ptocidr`,
  `ngx_http_add_addresses`, `ngx_http_geo_cidr_add` and others
- CHANGES 1.15.0 and 1.25.1, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from nginxopt.config import Directive, Token, layout
from nginxopt.facts import declarations
from nginxopt.lint import Finding, Fix, Model, Related, Safety, Severity, rule
from nginxopt.lint.queries import names
from nginxopt.semantics import StartWarning, WarningKind, start_warnings

_HELP = {
    WarningKind.REPEATED: "delete the directive: its list has these values without it",
    WarningKind.PROTOCOLS: "state the same ssl, http2 and proxy_protocol in every listen of this address",
    WarningKind.REPLACED: "delete one of the two: the last one counts",
    WarningKind.NOTHING: "delete it, or write the network as the table has it",
    WarningKind.INDEX: "put the absolute index last: nginx tries no other after it",
    WarningKind.NAME: "a server name is a host name, without scheme, path or port",
    WarningKind.NO_KEY: "set the key: without one, every request gets the same cached response",
    WarningKind.MASKS: "write a mask for each worker, or `worker_cpu_affinity auto`",
}
_MASKS = "nginx warns: worker_cpu_affinity has a mask for some workers only; the others get the last one"
_HARMLESS = (WarningKind.REPEATED, WarningKind.LOW_BITS, WarningKind.DEPRECATED, WarningKind.PROTOCOLS)


@rule(
    severity=Severity.INFO,
    highest=Severity.WARNING,
    category="correctness",
    fix=Safety.SAFE,
    by_release=True,
)
def check(model: Model) -> Iterator[Finding]:
    """Find what nginx warns of; the repeated values of a directive are one finding."""
    repeated: dict[Directive, list[Token]] = {}
    has_blank = cache(names.has_blank)  # of a directive with many warnings once
    for warning in start_warnings(model.root, model.target):
        directive = warning.directive
        if has_blank(directive):
            continue
        if warning.kind is WarningKind.REPEATED:
            repeated.setdefault(directive, []).append(warning.word)
        else:
            yield _finding(warning)
    for directive, words in repeated.items():
        values = ", ".join(dict.fromkeys(f'"{word}"' for word in words))
        kind = "MIME type" if directive.name.endswith("_types") else "value"
        message = f"nginx warns: duplicate {kind} {values}"
        fix = (
            Fix("delete it", layout.without(directive, words), Safety.SAFE)
            if len(words) < len(directive.args)
            else None
        )
        help_ = "" if fix else _HELP[WarningKind.REPEATED]
        yield Finding(directive.source, words[0].span, message, fix, help_, severity=Severity.INFO)


def _finding(warning: StartWarning) -> Finding:
    directive, fix = warning.directive, None
    if warning.instead:
        change = layout.replace(directive, warning.word, warning.instead)
        fix = Fix(f"write {warning.instead}", (change,), Safety.SAFE)
    earlier, table = warning.earlier, warning.table
    return Finding(
        directive.source,
        warning.word.span,
        _MASKS if warning.kind is WarningKind.MASKS else f"nginx warns: {warning.message}",
        fix,
        _HELP.get(warning.kind) or _gone(warning),
        related=(Related(earlier.source, earlier.name.span, "replaces this"),) if earlier else (),
        severity=Severity.INFO if warning.kind in _HARMLESS else Severity.WARNING,
        cause=f"{warning.kind.value} in {table.name} {' '.join(table.args)}" if table else None,
    )


def _gone(warning: StartWarning) -> str:
    """Return the first release that refuses a deprecated directive; nothing if the newest accepts it."""
    name = str(warning.word)
    until = [row.until for row in declarations(name)] if warning.kind is WarningKind.DEPRECATED else []
    gone = max(filter(None, until), default=None) if None not in until else None
    return f"nginx {gone} and later do not start with it" if gone else ""
