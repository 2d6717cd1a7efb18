"""`accept_mutex on`: one worker accepts connections while the others wait for their turn

Flags `accept_mutex on` with more than one worker, for nginx 1.11.3 and later, where the default is `off`.

## Why it matters
With the mutex, only the worker that holds it accepts connections; the others try again after `accept_mutex_delay`, half
a second by default. The mutex keeps a new connection from waking all workers. Linux 4.5 and later prevents that by
itself (`EPOLLEXCLUSIVE`, used since nginx 1.11.3), and so does `listen ... reuseport`.

## Bad
```nginx
worker_processes auto;
events {
    worker_connections 1024;
    accept_mutex on;
}
```

## Good
```nginx
worker_processes auto;
events {
    worker_connections 1024;
}
```

## Silent
A single worker uses no mutex:
```nginx
worker_processes 1;
events {
    accept_mutex on;
}
```

## Fix safety
May change: connections.

A client may be served by another worker, and each worker has its own idle connections to upstreams and its own counts
of failures (premise `several-workers`). Measured on nginx 1.22.1 and 1.31.3 with two workers of 40 connections: of 60
clients that began a request at once, all were answered without the mutex, and 38 to 60 with it. Before 1.21.6, workers
without the mutex share connections unevenly, so that one can run out of them while another has some to spare: for these
versions, the fix needs `--unsafe-fixes`. It also does with `multi_accept on`, where one worker accepts all waiting
clients (38 of 60 were answered without the mutex, 51 to 60 with it), and with a method other than epoll.

Only `main` and `events` have the directive, and no level inherits it. So the fix needs the premise
`whole-configuration` only if a file that these two include was not read.

## When to ignore it
If the system has no `EPOLLEXCLUSIVE` (Linux before 4.5, BSD), and many workers share few connections.

## References
- https://nginx.org/en/docs/ngx_core_module.html#accept_mutex
- CHANGES 1.11.3, https://nginx.org/en/CHANGES; ngx_event_process_init in ngx_event.c (when there is a mutex)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import SEVERAL_WORKERS, Finding, Fix, Model, Reach, Safety, Severity, Version, rule
from nginxopt.semantics import Level, values

EVEN = Version(1, 21, 6)
"""The first version that spreads connections evenly without the mutex (CHANGES 1.21.6)."""


SPREAD = Safety.under(SEVERAL_WORKERS)


@rule(
    severity=Severity.INFO,
    category="process",
    reach=Reach.PROCESS,
    fix=(SPREAD, Safety.UNSAFE),
    since="1.11.3",
    about=("accept_mutex",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find `accept_mutex` where workers wait for it."""
    workers = model.root.setting("worker_processes")
    if workers.known and workers.value == "1":
        return
    for directive, events in model.each("accept_mutex"):
        if directive.args and values.flag(directive.args[0]):
            message = "with accept_mutex on, workers accept connections in turn and wait up to half a second"
            safety = SPREAD if model.target >= EVEN and _is_even(events) else Safety.UNSAFE
            fix = Fix("remove it: the default is off", (layout.delete(directive),), safety)
            yield Finding(directive.source, directive.args[0].span, message, fix)


def _is_even(events: Level) -> bool:
    """Return whether workers without the mutex accept one connection at a time, with epoll."""
    several, method = events.setting("multi_accept"), events.setting("use")
    takes_one = several.is_unset or values.flag(several.value or "") is False
    return takes_one and (method.is_unset or method.value == "epoll")
