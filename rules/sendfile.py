"""`sendfile` is off: each file is copied through the worker's memory

Flags an `http` block that does not set `sendfile` although files are served below it, and a `sendfile off` that applies
to files.

How much it matters depends on the load and the disks, which no text shows. So it is on by default only where the
machine is checked.

## Why it matters
Without `sendfile`, a worker reads a file piece by piece into a buffer and writes the buffer to the socket: two copies
and two system calls for every 32 KB (`output_buffers`). With it, the kernel sends the file itself. It applies to files
sent as they are on disk: over TLS only with kTLS, and not if `gzip` compresses them.

## Bad
```nginx http
default_type text/html;
server {
    root /srv/www;
    location / {
        try_files $uri =404;
    }
}
```
```nginx http
sendfile off;
server {
    root /srv/www;
}
```

## Good
```nginx http
sendfile on;
default_type text/html;
server {
    root /srv/www;
    location / {
        try_files $uri =404;
    }
}
```

## Silent
No file is served:
```nginx http
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```
A single error page is not worth it:
```nginx http
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
    location = /50x.html {
        root /srv/www;
    }
}
```

## Fix safety
May change: responses.

The kernel sends the same bytes if the file system allows it: it has sent old content from shared folders of virtual
machines, it fails on some network file systems, and a file that is overwritten while it is sent arrives as a mixture. A
directive added to http applies to caches and temporary files as well. So the fix needs the premise `local-files`. With
kTLS (`ssl_conf_command Options KTLS`), where the kernel would also encrypt, the fix needs `--unsafe-fixes`, and so does
the change of an explicit `sendfile off`.

## When to ignore it
If the file system does not support it well: shared folders of VirtualBox (`vboxsf` sends old content), some network
file systems. An explicit `sendfile off` may be there for that reason.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#sendfile
- ngx_linux_sendfile_chain in ngx_linux_sendfile_chain.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import LOCAL_FILES, Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import static
from nginxopt.semantics import Level, values


@rule(severity=Severity.INFO, category="static", on_host=True, fix=(Safety.under(LOCAL_FILES), Safety.UNSAFE))
def check(model: Model) -> Iterator[Finding]:
    """Find files that are not sent with sendfile."""
    unset: dict[Level, None] = {}
    for level in static.senders(model):
        if static.replaces_all(level):
            continue
        setting, http = level.setting("sendfile"), level.around("http")
        if setting.is_unset and http:
            unset[http] = None
        elif setting.directive and values.flag(setting.value or "") is False:
            word = setting.directive.args[0]
            fix = Fix("turn it on", (layout.replace(setting.directive, word, "on"),), Safety.UNSAFE)
            message = "sendfile is off: each file is copied through the worker's memory"
            yield Finding(setting.directive.source, word.span, message, fix)
    for http in unset:
        if http.block:
            fix = Fix("add `sendfile on;`", (layout.prepend(http.block, ["sendfile on;"]),), _safety(http))
            message = "sendfile is not set: each file is copied through the worker's memory"
            yield Finding(http.block.source, http.span, message, fix)


def _safety(http: Level) -> Safety:
    """Return UNSAFE if the kernel encrypts what it sends (kTLS)."""
    words = (
        word.lower() for level in http.walk() for command in level.own("ssl_conf_command") for word in command.args
    )
    return Safety.UNSAFE if any("ktls" in word for word in words) else Safety.under(LOCAL_FILES)
