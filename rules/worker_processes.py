"""One worker process: all other processors are idle

Flags a main configuration without `worker_processes`, for which nginx starts one worker, and one with
`worker_processes 1`.

Does not flag the configuration of a container, whose image or orchestrator sets the number of workers or processors by
other means: `daemon off`, logs in `/dev/stdout`, Docker's resolver at 127.0.0.11, a file in a directory such as
`docker/` or `k8s/`, and an explicit 1 in a main file that has the servers inside and includes no directory, as in
container images. With `--host`, it does not flag a machine on which nginx may use one processor.

How many workers are needed depends on the machine. So it is on by default only where that is checked.

## Why it matters
A worker uses one processor, however many the machine has, and while it compresses or reads from a slow disk, all its
connections wait. `auto` starts one worker per processor (since 1.3.8).

## Bad
```nginx
user www-data;
events {
    worker_connections 1024;
}
```

## Good
```nginx
worker_processes auto;
user www-data;
events {
    worker_connections 1024;
}
```

## Silent
A number chosen explicitly:
```nginx
worker_processes 2;
events {
}
```
Processors chosen explicitly; more workers would share the last of them:
```nginx
worker_cpu_affinity 01;
events {
}
```

An image starts one worker or more by its entry point:
```nginx
worker_processes 1;
error_log /dev/stderr warn;
events {
}
```

## Fix safety
May change: upstream requests, connections, limits, start.

Each worker has its own memory, its own idle connections to upstreams, its own round-robin state and failure counts in
an upstream without `zone`, and its own Lua, njs and Perl variables. nginx refuses the configuration if `-g` on its
command line also sets the number. So the fix needs the premises `several-workers` and `plain-command-line`. The change
of an explicit `worker_processes 1` needs `--unsafe-fixes`, and so does a configuration with `max_conns` in an upstream
without `zone`.

Only `main` and `events` have the directive, and no level inherits it. So the fix needs the premise
`whole-configuration` only if a file that these two include was not read.

## When to ignore it
In a container limited to a part of the machine: `auto` counts the processors of the machine, so set the number that the
container has. On Windows, one worker does all the work in any case.

## References
- https://nginx.org/en/docs/ngx_core_module.html#worker_processes
- ngx_set_worker_processes in nginx.c; `ngx_ncpu` is `sysconf(_SC_NPROCESSORS_ONLN)`, ngx_os_init in ngx_posix_init.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import (
    PLAIN_COMMAND_LINE,
    SEVERAL_WORKERS,
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

NEEDS = Safety.under(PLAIN_COMMAND_LINE, SEVERAL_WORKERS)

TITLE = "start one per processor: `worker_processes auto;`"


@rule(
    severity=Severity.INFO,
    category="process",
    on_host=True,
    reach=Reach.PROCESS,
    fix=(NEEDS, Safety.UNSAFE),
    since="1.3.8",
)
def check(model: Model) -> Iterator[Finding]:
    """Find main files that start a single worker."""
    if _is_pinned(model) or containers.is_in_container(model) or _has_one_processor(model):
        return
    stated = () if _has_servers_inside(model) else model.root.own("worker_processes")
    for directive in stated:
        if directive.args and values.number(directive.args[0]) == 1:
            word = directive.args[0]
            fix = Fix(TITLE, (layout.replace(directive, word, "auto"),), Safety.UNSAFE)
            yield Finding(directive.source, word.span, "worker_processes is 1: nginx uses one processor", fix)
    events = next(model.levels("events"), None)
    if events and events.source and model.root.block and model.root.setting("worker_processes").is_unset:
        fix = Fix(TITLE, (layout.prepend(model.root.block, ["worker_processes auto;"]),), _safety(model))
        message = "worker_processes is not set: nginx starts one worker and uses one processor"
        yield Finding(events.source, events.span, message, fix)


def _safety(model: Model) -> Safety:
    """Return UNSAFE if workers count limits separately."""
    counted = any(
        word.startswith("max_conns=")
        for upstream in model.upstreams.values()
        if upstream.level.setting("zone").is_unset
        for server in upstream.servers
        for word in server.args
    )
    return Safety.UNSAFE if counted else NEEDS


def _has_one_processor(model: Model) -> bool:
    cpus = model.host.cpus if model.host is not None else None
    return cpus is not None and cpus <= 1


def _has_servers_inside(model: Model) -> bool:
    """Return whether the main file has servers, and includes no folder that may have others: an image brings such."""
    inside = any(level.source is model.root.source for level in model.levels("server"))
    folders = any("*" in word for include, _ in model.each("include") for word in include.args)
    return inside and not folders


def _is_pinned(model: Model) -> bool:
    """Return whether workers are bound to given processors; further workers share the last (ngx_get_cpu_affinity)."""
    affinity = model.root.setting("worker_cpu_affinity")
    return not affinity.known or (affinity.is_set and affinity.value != "auto")
