"""`sendfile` without a limit: one fast client can block a worker for a whole file

Flags `sendfile_max_chunk 0` where nginx sends files with `sendfile`, and, before nginx 1.21.4, where 0 is the default,
`sendfile on` without `sendfile_max_chunk`.

## Why it matters
A call of `sendfile` returns when the socket accepts no more. A client on a fast network accepts data as fast as the
disk delivers it, and until the file is sent (or 2 GB of it), the worker serves nobody else. Starting with 1.21.4, a
call ends after 2 MB.

## Bad
```nginx http
sendfile on;
sendfile_max_chunk 0;
server {
    root /srv/www;
}
```
```nginx http 1.20.2
sendfile on;
server {
    root /srv/www;
}
```

## Good
```nginx http
sendfile on;
sendfile_max_chunk 2m;
server {
    root /srv/www;
}
```

## Silent
The current default:
```nginx http
sendfile on;
server {
    root /srv/www;
}
```
nginx sends no file with `sendfile`:
```nginx http
sendfile_max_chunk 0;
server {
    root /srv/www;
}
```

## Fix safety
May change: nothing.

A call ends after 2 MB, and the next one continues there: the bytes and their order stay the same.

## When to ignore it
If all files are small, or clients are slower than the disk.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#sendfile_max_chunk
- CHANGES 1.21.4, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import static
from nginxopt.semantics import values

CHUNK = "2m"
"""The default since 1.21.4."""


@rule(severity=Severity.INFO, category="static", fix=Safety.SAFE, about=("sendfile",))
def check(model: Model) -> Iterator[Finding]:
    """Find files that are sent in one call."""
    for level in static.senders(model):
        sendfile, chunk = level.setting("sendfile").directive, level.setting("sendfile_max_chunk")
        if sendfile is None or values.flag(level.setting("sendfile").value or "") is not True:
            continue
        if not chunk.known or values.size(chunk.value or "") != 0:
            continue
        message = "sendfile sends up to 2 GB in one call, which blocks the worker"
        if chunk.directive:
            word = chunk.directive.args[0]
            fix = Fix(f"set it to {CHUNK}", (layout.replace(chunk.directive, word, CHUNK),))
            yield Finding(chunk.directive.source, word.span, message, fix)
        else:
            line = f"sendfile_max_chunk {CHUNK};"
            yield Finding(
                sendfile.source, sendfile.name.span, message, Fix(f"add `{line}`", (layout.after(sendfile, [line]),))
            )
