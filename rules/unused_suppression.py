"""Suppression comment that hides no finding

Flags ids in a suppression whose rule finds nothing that the suppression would hide: in the whole configuration, and for
every nginx that `target-version` in the settings names, or for any nginx if it names none. Does not check fragments
that are linted alone, templates, nor configurations where an include cannot be read or a rule was not selected. A rule
that cannot judge a part of the configuration, such as what a location with Lua answers, has not spoken.

## Why it matters
The comment claims a problem where there is none, and it would hide a new finding.

## Bad
```nginx http
gzip_comp_level 5; # nginxopt: ignore[gzip-level]
```

## Good
```nginx http
gzip_comp_level 5;
```

## Silent
```nginx http
gzip_comp_level 9; # nginxopt: ignore[gzip-level] answers are cached after compression
```

## Fix safety
May change: nothing.

nginx does not read comments.

## When to ignore it
If several configurations include the file and not all of them are named on the command line.

## References
- https://github.com/nginxopt/nginxopt/blob/main/docs/guide/settings.md#suppressions
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Safety, Severity, rule


@rule(severity=Severity.INFO, category="config", fix=Safety.SAFE)
def check(_: Model) -> Iterator[Finding]:
    """Find nothing: `nginxopt.lint.suppress` reports these findings after all rules have run."""
    return iter(())
