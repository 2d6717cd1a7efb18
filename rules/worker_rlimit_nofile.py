"""Fewer file descriptors than connections: under load nginx stops accepting

Flags a `worker_rlimit_nofile` below `worker_connections`. Also reports, as info, more than 1024 connections without
`worker_rlimit_nofile`: systemd and most shells limit a process to 1024 descriptors. Containers have a limit of their
own, often of a million, so that info is not for a file that is for one: by the name of its folder (`docker`, `rootfs`,
`k8s` ...), by a Dockerfile or compose file near it that speaks of nginx, by `daemon off`, or by a log that is
`/dev/stdout` or `/dev/stderr`.

## Why it matters
Each connection, to a client or to an upstream, takes a descriptor, and so does each file that is being sent or written.
A worker that runs out of connections closes idle ones and continues. A worker that runs out of descriptors logs
`24: Too many open files` and stops accepting for half a second at a time, and requests that need an upstream or a file
fail with 500 or 502. nginx warns about it at startup: `2048 worker_connections exceed open file resource limit: 1024`.

## Bad
```nginx
worker_processes auto;
events {
    worker_connections 4096;
}
```
```nginx
worker_rlimit_nofile 1024;
events {
    worker_connections 2048;
}
```

## Good
Room for a connection and a file each, plus logs and sockets, as a power of two:
```nginx
worker_processes auto;
worker_rlimit_nofile 16384;
events {
    worker_connections 4096;
}
```

## Silent
`worker_connections` includes connections to upstreams, so a slightly higher limit can be enough:
```nginx
worker_rlimit_nofile 8192;
events {
    worker_connections 8000;
}
```
The usual limit is enough:
```nginx
events {
    worker_connections 1024;
}
```
In a container:
```nginx
worker_processes auto;
error_log /dev/stderr;
events {
    worker_connections 4096;
}
```

## Fix safety
May change: responses, limits, start.

The directive sets the limit of the workers even if `LimitNOFILE=` or a shell gave them a higher one: seen on nginx
1.22.1 and 1.31.3, it lowers 65,536 to the number in the configuration, and requests that need one more descriptor get
500. A master that does not run as root cannot exceed its hard limit: it then sets no limit at all, and only the log
shows it. So the fix needs the premise `raises-the-limit`; the number includes what caches of open files may hold. Where
the fix adds the line, it also needs `plain-command-line`: nginx refuses a directive that `-g` sets too.

Only `main` and `events` have the directive, and no level inherits it. So the fix needs the premise
`whole-configuration` only if a file that these two include was not read.

## When to ignore it
If nginx starts with a higher limit: `LimitNOFILE=` of its unit, `ulimits` of its container. With
`worker_rlimit_nofile`, nginx raises the limit of its workers beyond the hard limit if it runs as root, otherwise only
up to it.

## References
- https://nginx.org/en/docs/ngx_core_module.html#worker_rlimit_nofile
- ngx_event_module_init in ngx_event.c (the warning), ngx_event_accept in ngx_event_accept.c (what follows)
- systemd-system.conf(5): `DefaultLimitNOFILE=` is 1024, with a hard limit of 524288
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, layout
from nginxopt.lint import (
    PLAIN_COMMAND_LINE,
    RAISES_THE_LIMIT,
    Finding,
    Fix,
    Model,
    Reach,
    Safety,
    Severity,
    rule,
)
from nginxopt.lint.queries import containers
from nginxopt.semantics import values

USUAL = 1024
"""The usual soft limit of a process."""

OTHERS = 256
"""More than the logs, listening sockets and worker channels of most configurations."""

MOST = 1_048_576
"""Linux's default of `fs.nr_open`, above which no limit can be set."""

ADDED = Safety.under(RAISES_THE_LIMIT, PLAIN_COMMAND_LINE)
RAISED = Safety.under(RAISES_THE_LIMIT)


@rule(
    severity=Severity.INFO,
    highest=Severity.WARNING,
    category="process",
    reach=Reach.PROCESS,
    fix=ADDED,
    scenario="rush",
    about=("worker_connections",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find open file limits below the number of connections."""
    for directive, level in model.each("worker_connections"):
        count = values.number(directive.args[0]) if level.kind == "events" and directive.args else None
        if not count:
            continue
        limit = model.root.setting("worker_rlimit_nofile")
        enough = _enough(model, count)
        title = f"set worker_rlimit_nofile to {enough}, for connections, files, caches and logs"
        if limit.directive and limit.directive.args:
            word = limit.directive.args[0]
            stated = values.number(word)
            if stated is not None and stated < count:
                message = f"worker_rlimit_nofile {word} is too low for {count} worker_connections"
                raised = layout.replace(limit.directive, word, str(enough))
                higher = Fix(title, (raised,), RAISED)
                yield Finding(limit.directive.source, word.span, message, higher, severity=Severity.WARNING)
        elif limit.is_unset and count > USUAL and not containers.is_in_container(model):
            message = f"{count} connections need more than the usual {USUAL} descriptors"
            added = _added(model, f"worker_rlimit_nofile {enough};")
            fix = Fix(title, (added,), ADDED) if added else None
            advice = "ignore this if the service manager or container raises the limit"
            yield Finding(directive.source, directive.args[0].span, message, fix, advice, severity=Severity.INFO)


def _enough(model: Model, connections: int) -> int:
    """Return a power of two that is enough for the connections, a file for each, and the files in caches."""
    needed = 2 * connections + OTHERS
    for directive, _ in model.each("open_file_cache", "open_log_file_cache"):
        sizes = (values.number(word.removeprefix("max=")) for word in directive.args if word.startswith("max="))
        needed += next(sizes, None) or 0
    return min(1 << (needed - 1).bit_length(), max(MOST, connections))


def _added(model: Model, line: str) -> Change | None:
    """Add a line to the main file, after `worker_processes` if it is there."""
    block = model.root.block
    workers = next(
        (directive for directive in model.root.own("worker_processes") if block and directive.source is block.source),
        None,
    )
    if workers:
        return layout.after(workers, [line])
    return layout.prepend(block, [line]) if block else None
