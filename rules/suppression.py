"""Suppression comment without effect

Flags comments that begin with `nginxopt:` and have no rule ids, an unknown id, an unknown keyword, or a place where
they have no effect.

## Why it matters
The finding that the comment should hide is still reported.

## Bad
```nginx http
gzip_comp_level 9; # nginxopt: ignore
```

```nginx http
gzip_comp_level 9; # nginxopt: ignore[gzip-levle]
```

```nginx http
gzip_comp_level 9; # nginxopt: ignore-file[gzip-level]
```

## Good
```nginx http
gzip_comp_level 9; # nginxopt: ignore[gzip-level] answers are cached after compression
```

## Silent
```nginx http
gzip_comp_level 6; # as nginxopt: 6 is enough
```

## When to ignore it
If the comments are for another version of nginxopt, which has other rules.

## References
- https://github.com/nginxopt/nginxopt/blob/main/docs/guide/settings.md#suppressions
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule


@rule(severity=Severity.WARNING, category="config")
def check(_: Model) -> Iterator[Finding]:
    """Find nothing: `nginxopt.lint.suppress` reports these findings after all rules have run."""
    return iter(())
