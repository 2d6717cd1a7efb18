"""`Strict-Transport-Security: max-age=0` makes browsers forget that the site has TLS

Flags an `add_header` of Strict-Transport-Security whose max-age is 0. Does not flag other ages, and a comment that says
that TLS is to go away.

## Why it matters
An age of 0 deletes what browsers know of the site: the next link with http:// is followed without TLS, and an attacker
on the network can answer it. It is right for a site that gives up TLS, and is often left over from a test.

## Bad
```nginx server
add_header Strict-Transport-Security "max-age=0; includeSubDomains";
```

## Good
```nginx server
add_header Strict-Transport-Security "max-age=63072000; includeSubDomains";
```

## Silent
```nginx server
# disabled until the shop has left this domain
add_header Strict-Transport-Security "max-age=0";
```

## When to ignore it
While a site goes back to plain HTTP.

## References
- https://www.rfc-editor.org/rfc/rfc6797#section-6.1.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from nginxopt.config import Comment, Directive, layout
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.semantics import Level

_ZERO = pattern(r"max-age\s*=\s*\"?0+\"?\s*(?:;|$)", re.IGNORECASE)
_MEANT = pattern(r"disabl|remov|forget|reset|clear|off\b|until|undo|revert|turn", re.IGNORECASE)


@rule(severity=Severity.INFO, category="security", about=("add_header",))
def check(model: Model) -> Iterator[Finding]:
    """Find headers that undo themselves."""
    for directive, level in model.each("add_header"):
        name, value = directive.args[:2] if len(directive.args) > 1 else ("", "")
        if name.lower() == "strict-transport-security" and _ZERO.search(value) and not _is_meant(directive, level):
            yield Finding(
                directive.source,
                directive.args[1].span,
                "browsers that get max-age=0 forget that this site has TLS",
                help="state an age such as max-age=63072000, or delete the header",
            )


def _is_meant(directive: Directive, level: Level) -> bool:
    """Return whether a comment before a directive or behind it says that this is on purpose."""
    remarks = [*layout.remarks(directive)]
    for before, node in pairwise(level.block.nodes if level.block else ()):
        if node is directive and isinstance(before, Comment):
            remarks.append(before.text)
    return any(_MEANT.search(remark) for remark in remarks)
