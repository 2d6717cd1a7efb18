"""`gzip_comp_level` of 7 or more: processor time for next to no bytes

Flagged is a `gzip_comp_level` from 7 to 9.

## Why it matters
zlib's levels above 6 search longer for matches that make text about one per cent smaller.

## Bad
```nginx http
gzip on;
gzip_comp_level 9;
```

## Good
```nginx http
gzip on;
gzip_comp_level 5;
```

## Silent
```nginx http
gzip on;
gzip_comp_level 6;
```

## When to ignore it
Where bytes cost more than processors, and answers are cached after compression.

## References
- https://nginx.org/en/docs/http/ngx_http_gzip_module.html#gzip_comp_level
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.diagnostic import Finding, Fix, Safety, Severity
from nginxopt.layout import replace
from nginxopt.model import Model
from nginxopt.rule import rule

HIGH = ("7", "8", "9")


@rule(severity=Severity.INFO, category="client", fix=Safety.SAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find compression levels that cost more than they save."""
    for directive, _ in model.each("gzip_comp_level"):
        if directive.args[:1] and directive.args[0] in HIGH:
            level = directive.args[0]
            yield Finding(
                directive.source,
                level.span,
                f"gzip_comp_level {level} takes much more processor time than 5 and saves hardly a byte",
                Fix("set it to 5", (replace(directive, level, "5"),)),
            )
