"""`tcp_nopush` without `sendfile` has no effect

Flags a `tcp_nopush on` that applies only where `sendfile` is off. Does not flag it where files are served and
`sendfile off` is stated, as on a shared folder of a virtual machine.

## Why it matters
nginx sets `TCP_CORK` in one place, where it sends a header and then a file with `sendfile`. Elsewhere, the directive
has no effect, although it looks as if something were tuned.

## Bad
```nginx http
tcp_nopush on;
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```
If files are served, `sendfile` is what is missing:
```nginx http
tcp_nopush on;
server {
    root /srv/www;
}
```

## Good
```nginx http
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
A part of what is below sends files by the kernel:
```nginx http
tcp_nopush on;
server {
    location /files/ {
        root /srv/www;
        sendfile on;
    }
}
```

`sendfile` is off on purpose:
```nginx http
sendfile off;
tcp_nopush on;
server {
    root /srv/www;
}
```

## Fix safety
May change: nothing.

The line has no effect: nginx sets `TCP_CORK` where it sends a file with `sendfile`, and nowhere else. There is a fix
only if `sendfile` is certain to be off wherever the line applies.

## When to ignore it
If you keep the line until you enable `sendfile`.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#tcp_nopush
- ngx_linux_sendfile_chain in ngx_linux_sendfile_chain.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import static
from nginxopt.semantics import Level, values


@rule(severity=Severity.INFO, category="static", fix=Safety.SAFE, about=("tcp_nopush",))
def check(model: Model) -> Iterator[Finding]:
    """Find `tcp_nopush` without sendfile, where it has no effect."""
    sending = set(static.senders(model))
    for directive, level in model.each("tcp_nopush"):
        held = [inner for inner in level.walk() if inner.setting("tcp_nopush").directive is directive]
        is_known = all(inner.setting("tcp_nopush").known for inner in level.walk())
        if not (is_known and _is_on(directive)) or not all(_is_without_sendfile(inner) for inner in held):
            continue
        senders = sending.intersection(held)
        if senders and all(sender.setting("sendfile").is_set for sender in senders):
            continue
        fix = None if senders else Fix("remove it", (layout.delete(directive),))
        message = "tcp_nopush has no effect with sendfile off"
        yield Finding(
            directive.source, directive.name.span, message, fix, "" if fix else "add `sendfile on;` next to it"
        )


def _is_on(directive: Directive) -> bool:
    return values.flag(next(iter(directive.args), "")) is True


def _is_without_sendfile(level: Level) -> bool:
    return values.flag(level.setting("sendfile").value or "") is False
