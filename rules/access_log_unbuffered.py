"""Access log without a buffer: one system call per request

If selected, flags an `access_log` to a file without `buffer=` or `gzip`.

## Why it matters
nginx writes each line with its own system call, and the worker waits for it. With `buffer=64k`, it writes hundreds of
lines at once.

## Bad
```nginx http
access_log /var/log/nginx/access.log;
```
```nginx http
log_format short "$remote_addr $status";
access_log /var/log/nginx/access.log short if=$request_body;
```

## Good
```nginx http
access_log /var/log/nginx/access.log combined buffer=64k flush=5s;
```

## Silent
```nginx http
access_log /var/log/nginx/access.log combined buffer=32k;
```
Logs that are read as they are written, and logs that cannot be buffered:
```nginx http
access_log /dev/stdout;
access_log syslog:server=127.0.0.1;
access_log /var/log/nginx/$host.log;
access_log off;
```

## Fix safety
May change: logs.

nginx writes lines up to five seconds later and in blocks, and the lines in the buffer are lost if a worker is killed.

## When to ignore it
If something watches or counts lines as they are written, such as fail2ban: they arrive up to five seconds later, and
those in the buffer are lost if a worker is killed. At a few hundred requests a second, a buffer gains nothing.

## References
- https://nginx.org/en/docs/http/ngx_http_log_module.html#access_log
- ngx_http_log_handler in ngx_http_log_module.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, Directive, Edit, Span, encode
from nginxopt.lint import Finding, Fix, Model, Safety, Saving, Severity, rule

BUFFER = "buffer=64k flush=5s"
WRITE_NANOSECONDS = 700
"""The processor time of writing a line at once, beyond that of a buffer: a system call (measured)."""


@rule(severity=Severity.INFO, category="log", fix=Safety.UNSAFE, since="1.3.10", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find logs that are written line by line."""
    logs = [directive for directive, _ in model.each("access_log") if _is_file(directive)]
    buffered = {str(directive.args[0]) for directive in logs if _is_buffered(directive)}
    for directive in logs:
        if _is_buffered(directive):
            continue
        # All logs to one file need the same buffer.
        fix = None if directive.args[0] in buffered else Fix(f"add `{BUFFER}`", (_buffered(directive),), Safety.UNSAFE)
        help_ = "" if fix else "another access_log writes to this file with a buffer: use the same buffer here"
        message = "access_log has no buffer: each line is a system call"
        yield Finding(
            directive.source, directive.name.span, message, fix, help_, saves=Saving(nanoseconds=WRITE_NANOSECONDS)
        )


def _is_file(directive: Directive) -> bool:
    """Return whether a log is a file that stays open, not syslog, a device or a variable path."""
    path = next(iter(directive.args), "off")
    return path != "off" and not path.startswith(("syslog:", "/dev/")) and "$" not in path


def _is_buffered(directive: Directive) -> bool:
    return any(word.startswith("buffer=") or word.partition("=")[0] == "gzip" for word in directive.args[2:])


def _buffered(directive: Directive) -> Change:
    """Add the buffer after the format, which has to precede it."""
    words = f" {BUFFER}" if len(directive.args) > 1 else f" combined {BUFFER}"
    end = directive.args[:2][-1].span.end
    return Change(directive.source, Edit(Span(end, end), encode(words)))
