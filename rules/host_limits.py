"""Configuration that needs more than the machine allows

With `--host`, flags settings that exceed the limits of this machine:

- `worker_connections` for which a worker has too few descriptors, if `worker_rlimit_nofile` is not set: each connection
  takes one, and one more for the file that it is served from or buffered in; logs, listening sockets and the worker
  itself take theirs.
- All workers together against `fs.file-max`.
- `worker_rlimit_nofile` above `fs.nr_open`, or above the hard limit if the master does not run as root.
- `backlog` above `net.core.somaxconn`, to which the system reduces it.
- More connections to one address than it has local ports, if all requests are passed there. A request that is passed on
  takes two of `worker_connections`.
- More workers than processors: `auto` counts all that are online, whatever a control group or an affinity allows; an
  explicit number may be up to twice as high.

## Why it matters
Workers without descriptors refuse connections ("Too many open files"), a full queue drops them, a proxy without ports
responds with 502 ("Cannot assign requested address"), and too many workers wait for each other: all of this only under
load.

## Bad
The examples assume a machine with 4 processors, 1,024 descriptors for nginx.service, `fs.file-max` 65,536,
`net.core.somaxconn` 4,096 and 28,232 local ports:
```nginx
worker_processes 4;
events {
    worker_connections 10240;
}
```

```nginx
worker_processes 16;
events {}
```

```nginx http
server {
    listen 80 backlog=8192;
}
```

## Good
```nginx
worker_processes 4;
worker_rlimit_nofile 8192;
events {
    worker_connections 4000;
}
```

## Silent
The default of 512 connections stays below any common limit:
```nginx
worker_processes auto;
events {}
http {
    server {
        listen 80;
        location / {
            proxy_pass http://10.0.0.1:8080;
        }
    }
}
```

## When to ignore it
If nginx runs on another machine, or starts with limits other than those read.

## References
- https://nginx.org/en/docs/ngx_core_module.html#worker_connections
- `ngx_worker_process_init` in ngx_process_cycle.c: setrlimit, whose failure is only logged
- listen(2), ip(7), proc(5), cgroups(7)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import BACKLOG, Pass, Setting, sockets

if TYPE_CHECKING:
    from nginxopt.lint import Host

PER_CONNECTION = 2
"""Descriptors per connection: its own, and one for a file, which may be temporary."""

OWN = 5
"""Descriptors of each worker on Linux: standard input, output and error, epoll, and an eventfd."""


@rule(severity=Severity.WARNING, category="process", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find settings beyond the limits of the machine; nothing without a machine."""
    if model.host is None:
        return
    yield from _rlimit(model, model.host)
    yield from _descriptors(model, model.host)
    yield from _backlogs(model, model.host)
    yield from _ports(model, model.host)
    yield from _processors(model, model.host)


def _rlimit(model: Model, host: Host) -> Iterator[Finding]:
    """Find a `worker_rlimit_nofile` that cannot be set."""
    setting = model.root.setting("worker_rlimit_nofile")
    limit = _number(setting)
    if limit is None or setting.directive is None:
        return
    if host.nr_open is not None and limit > host.nr_open:
        message = f"worker_rlimit_nofile {limit:,} > fs.nr_open {host.nr_open:,}: setting it fails with a log message"
        yield _at(setting.directive, message, f"raise the system limit: sysctl fs.nr_open={limit}")
    elif host.is_root is False and host.nofile and limit > host.nofile.hard:
        message = (
            f"worker_rlimit_nofile {limit:,} > {host.nofile.hard:,}, the hard limit of {host.nofile.owner}:"
            " only root can raise it"
        )
        yield _at(setting.directive, message, f"set LimitNOFILE={limit} in the service: systemctl edit nginx")


def _descriptors(model: Model, host: Host) -> Iterator[Finding]:
    """Find `worker_connections` for which a worker, or all of them, have too few descriptors."""
    setting = _connections(model)
    connections = _number(setting)
    if setting is None or connections is None or setting.directive is None:
        return
    workers = _workers(model, host)
    fixed = _fixed(model, workers or 1)
    needed = connections * PER_CONNECTION + fixed
    sum_ = f"{connections:,} connections x {PER_CONNECTION} descriptors + {fixed}"
    rest = f"{fixed} are for logs, sockets and nginx itself"
    nofile = host.nofile
    if nofile and needed > nofile.soft and _starts_with_the_hosts_limit(model, host):
        message = f"{sum_} = {needed:,} per worker > {nofile.soft:,}, the limit of {nofile.owner}"
        yield _at(
            setting.directive, message, f"set `worker_rlimit_nofile {needed};`, or reduce worker_connections; {rest}"
        )
    if workers and host.file_max is not None and workers * needed > host.file_max:
        message = f"{workers} workers x ({sum_}) = {workers * needed:,} > fs.file-max {host.file_max:,}"
        yield _at(setting.directive, message, f"raise the system limit: sysctl fs.file-max={workers * needed}; {rest}")


def _starts_with_the_hosts_limit(model: Model, host: Host) -> bool:
    """Whether a worker keeps the limit with which nginx was started: no other is set, or setting it fails."""
    setting = model.root.setting("worker_rlimit_nofile")
    return setting.is_unset or (setting.is_set and any(_rlimit(model, host)))


def _fixed(model: Model, workers: int) -> int:
    """How many descriptors a worker has before the first connection.

    Log files; listening sockets, with `reuseport` one for each worker, which all of them hold; a channel for each
    worker; and OWN.
    """
    logs = {
        directive.args[0]
        for directive, _ in model.each("error_log", "access_log")
        if directive.args and not directive.args[0].startswith(("syslog:", "memory:", "off", "stderr"))
    }
    opened = sockets(model.endpoints.values())
    return len(logs) + sum(workers if endpoint.has("reuseport") else 1 for endpoint in opened) + workers + OWN


def _backlogs(model: Model, host: Host) -> Iterator[Finding]:
    """Find queues longer than the system allows; only one finding for all queues of default length."""
    if host.somaxconn is None:
        return
    default_reported = False
    for endpoint in sockets(model.endpoints.values()):
        if endpoint.address.datagram or endpoint.backlog <= host.somaxconn:
            continue
        listen = next((candidate for candidate in endpoint.listens if candidate.value("backlog")), endpoint.listens[0])
        word = listen.word("backlog")
        source = listen.source
        if source is None or (word is None and default_reported):
            continue
        default_reported = default_reported or word is None
        what = f"backlog {endpoint.backlog:,}" if word else f"backlog {BACKLOG} (by default)"
        yield Finding(
            source,
            word.span if word else listen.span,
            f"{what} > net.core.somaxconn {host.somaxconn:,}: the system limits the queue",
            help=f"raise the system limit: sysctl net.core.somaxconn={endpoint.backlog}",
        )


def _ports(model: Model, host: Host) -> Iterator[Finding]:
    """Find too few local ports for the connections, if all go to the target with the fewest servers."""
    setting = _connections(model)
    connections, workers = _number(setting), _workers(model, host)
    targets = [(count, pass_) for pass_ in model.passes if (count := _addresses(pass_))]
    if not targets or host.ports is None or not connections or not workers:
        return
    count, target = min(targets, key=lambda pair: pair[0])
    passed = workers * connections // 2
    if setting is not None and setting.directive and passed > count * host.ports:
        servers = f"{count} servers x " if count > 1 else ""
        yield _at(
            setting.directive,
            f"{workers} workers x {connections:,} connections / 2 = {passed:,} to {target.directive.args[0]}"
            f" > {servers}{host.ports:,} local ports",
            "widen the range: sysctl net.ipv4.ip_local_port_range='1024 65535'; or use a UNIX-domain socket or more"
            " addresses",
        )


def _addresses(pass_: Pass) -> int:
    """The number of addresses of a pass; 0 if it is unknown, or if no local ports are needed."""
    if pass_.has_variable or pass_.setting("bind").is_set or not pass_.setting("bind").known:
        return 0
    if pass_.upstream is None:
        return int(pass_.names_an_address and pass_.host not in ("unix", "localhost"))
    servers = pass_.upstream.servers
    hosts = [server.args[0] for server in servers if server.args]
    bounded = any(word.startswith(("max_conns=", "resolve")) for server in servers for word in server.args[1:])
    if pass_.upstream.level.is_open or bounded or any(host.startswith("unix:") for host in hosts):
        return 0
    return len(set(hosts))


def _processors(model: Model, host: Host) -> Iterator[Finding]:
    """Find more workers than usable processors."""
    setting = model.root.setting("worker_processes")
    workers = _workers(model, host)
    if setting.directive is None or workers is None or host.cpus is None:
        return
    usable = max(1, math.ceil(host.cpus))
    if setting.value == "auto" and workers > usable:
        message = f"auto starts {workers} workers, one per processor, but nginx may use only {host.cpus:g}"
    elif setting.value != "auto" and workers > 2 * usable:
        message = f"{workers} workers > 2 x {usable} usable processors: workers wait for each other"
    else:
        return
    yield _at(setting.directive, message, f"set `worker_processes {usable};`")


def _workers(model: Model, host: Host) -> int | None:
    """The number of workers; `auto` is one for each online processor (`ngx_ncpu`)."""
    setting = model.root.setting("worker_processes")
    return host.processors if setting.value == "auto" else _number(setting)


def _connections(model: Model) -> Setting | None:
    """The `worker_connections` of `events`."""
    return next((level.setting("worker_connections") for level in model.levels("events")), None)


def _number(setting: Setting | None) -> int | None:
    value = setting.value if setting else None
    return int(value) if value is not None and value.isdecimal() else None


def _at(directive: Directive, message: str, help_: str) -> Finding:
    """Return a finding at the value of a directive."""
    place = directive.args[0] if directive.args else directive.name
    return Finding(directive.source, place.span, message, help=help_)
