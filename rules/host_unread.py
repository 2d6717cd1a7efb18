"""File or host name of the machine that could not be looked at: nothing is known of it

With `--host` or `--root`, reports each file that the configuration names and this user may not read, and each host name
for which no name server answered. Other rules are silent about them. nginx starts as root, and reads more.

## Why it matters
A key that only root may read is as it should be, but whether it belongs to its certificate was not checked. Silence
would look like a result.

## Bad
The examples assume that `slow.example.unanswered` is not answered in time:
```nginx http
upstream app {
    server slow.example.unanswered:8080;
}
```

## Good
```nginx http
upstream app {
    server 10.0.0.1:8080;
}
```

## Silent
Who looks this name up is the resolver, and only for a request:
```nginx http
server {
    location / {
        resolver 127.0.0.1;
        set $app slow.example.unanswered;
        proxy_pass http://$app:8080;
    }
}
```

## When to ignore it
If it was checked by another user, or by `nginx -t`.

## References
- path_resolution(7), getaddrinfo(3)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.hosted import unread


@rule(severity=Severity.INFO, category="config", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find what could not be inspected."""
    for each in unread(model):
        yield Finding(each.directive.source, each.word.span, f"not checked: {each.what}", help=each.help)
