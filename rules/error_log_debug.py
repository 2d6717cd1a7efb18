"""Debug log: about 80 lines per request

Flags an `error_log` at the level `debug`, or at a part of it such as `debug_http`.

Does not flag what is meant: a comment, a name or a file that speaks of debugging, development or tests.

## Why it matters
A request for a small file writes 83 lines, 5,600 bytes in total, or 69 lines on a kept connection, each with its own
system call that the worker waits for (counted on nginx 1.22.1; a binary built without `--with-debug` writes what `info`
does). At 100 requests a second, the log grows by 48 GB a day.

## Bad
```nginx http
error_log /var/log/nginx/error.log debug;
server {
    root /srv/www;
}
```

## Good
```nginx http
error_log /var/log/nginx/error.log warn;
server {
    root /srv/www;
}
```

## Silent
A memory buffer is meant for debugging under load:
```nginx
error_log memory:32m debug;
events {
}
```
`info` adds a line per connection, not per request:
```nginx http
error_log /dev/stderr info;
```

## Fix safety
May change: logs.

nginx no longer writes messages of the levels `debug`, `info` and `notice`, including those of `rewrite_log`.

## When to ignore it
While you investigate a fault. `debug_connection` in `events` writes the debug log for some addresses only.

## References
- https://nginx.org/en/docs/debugging_log.html
- ngx_log_set_levels in ngx_log.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import purpose

_MEANT = pattern(r"debug|troubleshoot|\bdev(?:el)?\b|develop|\btests?\b", re.IGNORECASE)


@rule(severity=Severity.WARNING, category="log", fix=Safety.UNSAFE, about=("error_log",))
def check(model: Model) -> Iterator[Finding]:
    """Find debug logs that are written to disk, a pipe or syslog."""
    for directive, level in model.each("error_log"):
        if not directive.args or directive.args[0].startswith("memory:") or purpose.says(directive, level, _MEANT):
            continue
        word = next((word for word in directive.args[1:] if word.startswith("debug")), None)
        if word is None:
            continue
        path = directive.source.text(directive.args[0].span)
        fix = Fix(
            "log only warnings and errors", (layout.rewrite(directive, f"error_log {path} warn;"),), Safety.UNSAFE
        )
        message = f"error_log at level {word} writes about 80 lines per request"
        yield Finding(directive.source, word.span, message, fix, "a binary without --with-debug writes what info does")
