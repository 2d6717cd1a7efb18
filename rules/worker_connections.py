"""Proxy with 512 connections per worker: two per request, so 256 clients exhaust it

Flags configurations that proxy requests and have no `worker_connections`, or set fewer than nginx's default of 512.

Reports by default only what shows load: an upstream with several servers, a pool or a cache, `worker_rlimit_nofile`,
`open_file_cache`, or the machine (`--host`). If the rule is selected by name, it reports all.

## Why it matters
The limit covers connections to clients and to upstreams together. When it is reached, nginx closes idle connections,
then refuses new ones, and logs `512 worker_connections are not enough`. An unused connection takes 430 bytes of memory
(1.22.1).

## Bad
```nginx
events {
}
http {
    server {
        location / {
            proxy_pass http://127.0.0.1:8080;
        }
    }
}
```

## Good
```nginx
events {
    worker_connections 1024;
}
http {
    server {
        location / {
            proxy_pass http://127.0.0.1:8080;
        }
    }
}
```

## Silent
Nothing is proxied:
```nginx
events {
}
http {
    server {
        root /srv/www;
    }
}
```

## Fix safety
May change: responses, limits.

nginx serves more clients at once and needs more descriptors for it, and upstreams get more requests at once. A worker
that runs out of connections closes idle ones; a worker that runs out of descriptors responds with 500, even to requests
it could answer before. So the fix needs the premise `enough-descriptors`. An explicit number may be there to keep the
load low, so changing it needs `--unsafe-fixes`.

Only `main` and `events` have the directive, and no level inherits it. So the fix needs the premise
`whole-configuration` only if a file that these two include was not read.

## When to ignore it
If you expect few clients, or the limit is there to keep the load low.

## References
- https://nginx.org/en/docs/ngx_core_module.html#worker_connections
- ngx_get_connection in ngx_connection.c (the message)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import ENOUGH_DESCRIPTORS, Finding, Fix, Model, Reach, Safety, Severity, rule
from nginxopt.semantics import values

DEFAULT = 512
ENOUGH = 1024
"""The value in nginx's default nginx.conf, which the usual limit of open files allows."""


@rule(
    severity=Severity.INFO,
    category="process",
    reach=Reach.PROCESS,
    fix=(Safety.under(ENOUGH_DESCRIPTORS), Safety.UNSAFE),
    scenario="rush",
    under_load=True,
)
def check(model: Model) -> Iterator[Finding]:
    """Find proxies with few connections."""
    if not model.passes:
        return
    title = f"set worker_connections to {ENOUGH}"
    for events in model.levels("events"):
        setting = events.setting("worker_connections")
        if setting.is_unset and events.block:
            message = f"worker_connections is not set: each worker has {DEFAULT}, and a proxied request takes two"
            change = layout.append(events.block, [f"worker_connections {ENOUGH};"])
            fix = Fix(title, (change,), Safety.under(ENOUGH_DESCRIPTORS))
            yield Finding(events.block.source, events.span, message, fix)
        elif setting.directive and setting.directive.args:
            word = setting.directive.args[0]
            count = values.number(word)
            if count is not None and count < DEFAULT:
                message = f"worker_connections {word} is below the default, and a proxied request takes two"
                fix = Fix(title, (layout.replace(setting.directive, word, str(ENOUGH)),), Safety.UNSAFE)
                yield Finding(setting.directive.source, word.span, message, fix)
