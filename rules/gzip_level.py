"""`gzip_comp_level` 8 or 9: CPU time for almost no compression

Flags a `gzip_comp_level` of 8 or 9. Level 7 takes a third more than level 6, which few servers notice. Does not flag a
level whose comment weighs bandwidth against processor time.

## Why it matters
Above level 6, zlib searches much longer for matches that are hardly any better. Measured with zlib 1.2.13: 150 KB of
program text took 4.8 times as much processor time at level 9 as at level 6, and became 1.7 % smaller; 73 KB of style
sheets took 1.7 times as much, and became 1.1 % smaller. The worker does nothing else meanwhile.

## Bad
```nginx http
gzip on;
gzip_comp_level 9;
```

## Good
```nginx http
gzip on;
gzip_comp_level 6;
```

## Silent
```nginx http
gzip on;
gzip_comp_level 7;
```
```nginx http
gzip on;
# The link is slow: spend CPU time to save bandwidth.
gzip_comp_level 9;
```

## Fix safety
May change: logs.

Every response is the same once decoded: zlib writes different bytes, sometimes more. `$bytes_sent`, `$body_bytes_sent`
and `$gzip_ratio` show the difference in logs, `$upstream_response_length` and `$upstream_bytes_received` in those of
another server that passes to this one; where they may reach clients (`add_trailer`, Lua, njs, Perl, SSI), the fix needs
`--unsafe-fixes`.

## When to ignore it
If bandwidth costs more than processor time, and compressed responses are cached.

## References
- https://nginx.org/en/docs/http/ngx_http_gzip_module.html#gzip_comp_level
- `configuration_table` in deflate.c of zlib: how long each level searches
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Saving, Severity, pattern, rule
from nginxopt.lint.queries import whole

HIGH = ("8", "9")
ENOUGH = "6"
"""The default of zlib."""

SAVED = {"8": (0.02, 0.52), "9": (0.02, 0.58)}
"""The share of the instructions for compression that level 6 saves, by level, as the range of nine in ten texts from 4
to 200 kB (by `nginxopt.profile.terms`). The median is 14 % from level 9.
"""

_WEIGHED = pattern(r"\bbandwidth\b|\b(?:expense|cost|price) of\b.*\bcpu\b", re.IGNORECASE)

# A compressed response has no Content-Length, so only these variables tell its size.
_SIZES = ("bytes_sent", "body_bytes_sent", "gzip_ratio", "upstream_response_length", "upstream_bytes_received")
_LOGS = ("log_format", "access_log")


@rule(severity=Severity.INFO, category="client", fix=(Safety.SAFE, Safety.UNSAFE), about=("gzip_comp_level",))
def check(model: Model) -> Iterator[Finding]:
    """Find compression levels that cost more than they save."""
    high = [
        directive
        for directive, _ in model.each("gzip_comp_level")
        if directive.args and directive.args[0] in HIGH
        if not any(map(_WEIGHED.search, (*layout.above(directive), *layout.remarks(directive))))
    ]
    if high:
        safety = Safety.UNSAFE if _tells_sizes(model) else Safety.SAFE
        for directive in high:
            level = directive.args[0]
            yield Finding(
                directive.source,
                level.span,
                f"gzip_comp_level {level} takes up to five times the CPU time of level {ENOUGH} and saves 1 to 2 %",
                Fix(f"set it to {ENOUGH}", (layout.replace(directive, level, ENOUGH),), safety),
                saves=Saving(cause="gzip", part=SAVED[str(level)]),
            )


def _tells_sizes(model: Model) -> bool:
    """Return whether anything other than a log may report the number of bytes sent."""
    return whole.is_read_by_code(model) or any(reader.name not in _LOGS for reader in whole.readers(model, _SIZES))
