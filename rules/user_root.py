"""Workers that run as root: one flaw in them is a flaw of the machine

Flags `user root`. Does not flag it where a comment of the file says why the workers run as root.

## Why it matters
The master needs root for ports below 1,024, logs and keys, and reads nothing from clients. Workers parse all that
clients send. By default they run as another user, and what they can read or change then ends at its permissions: a
traversal, an overflow or a `root` that is too wide gives away `/etc/shadow` only if they are root.

## Bad
```nginx
user root;
events {}
```

## Good
```nginx
user www-data;
events {}
```

## Silent
A group is not a user:
```nginx
user www-data root;
events {}
```

A comment gives the reason:
```nginx
# Run as root: the files of the volume belong to it.
user root;
events {}
```

## When to ignore it
If root of the container is no root outside of it (user namespaces), and nothing else is in there.

## References
- https://nginx.org/en/docs/ngx_core_module.html#user
- `ngx_worker_process_init` in ngx_process_cycle.c (setuid)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import purpose

_REASON = pattern(r"\b(?:runs?|running|workers?|needs?)\b.*\broot\b", re.IGNORECASE)


@rule(severity=Severity.WARNING, category="security", about=("user",))
def check(model: Model) -> Iterator[Finding]:
    """Find workers that are root."""
    for directive in model.root.own("user"):
        if directive.args[:1] == ("root",) and not any(map(_REASON.search, purpose.comments(model.root))):
            yield Finding(
                directive.source,
                directive.args[0].span,
                "workers run as root: whatever a client makes them do, they may",
                help="name a user that owns nothing, such as www-data or nginx",
            )
