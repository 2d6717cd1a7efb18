"""Rewrite that repeats an earlier one

Flags rewrites with the pattern, target and flag of an earlier one in the same run.

## Why it matters
The later one never fires, and nginx still tries its pattern on every request that no rule answers: some 480 to 1,500
user-space instructions, counted on nginx 1.22.1 with 819 rules.

## Bad
```nginx server
rewrite ^/old$ /new permanent;
rewrite ^/about$ /us permanent;
rewrite ^/old$ /new permanent;
```

## Good
```nginx server
rewrite ^/old$ /new permanent;
rewrite ^/about$ /us permanent;
```

## Silent
Rewrites with a `set` between them are not in the same run, and a different flag makes a different rule:
```nginx server
rewrite ^/old$ /new permanent;
set $seen 1;
rewrite ^/old$ /new permanent;
```

## Fix safety
May change: logs.

Both rules try the same pattern on the same URI, since no rule in the run continues with another URI: if the first does
not match, neither does the second, and an error of the first ends the request. With `rewrite_log`, the log has one line
less. For a pattern with groups, the fix needs `--unsafe-fixes`: PCRE1 may overwrite captures of an earlier match when
it fails, which shows in a later `$1`.

Other files make no difference, so the fix does not need the premise `whole-configuration`: levels inherit no rewrites,
and between the two rules there is nothing that changes the URI, not even an include.

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.config import Directive, directive_at, layout
from nginxopt.lint import Finding, Fix, Model, Reach, Related, Safety, Severity, rule

if TYPE_CHECKING:
    from nginxopt.lint import Duplicate


@rule(
    severity=Severity.WARNING,
    category="rewrite",
    reach=Reach.WORDS,
    fix=(Safety.SAFE, Safety.UNSAFE),
    about=("rewrite",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find rewrites that repeat an earlier one."""
    for duplicate in model.plan.rules.duplicates() if model.mentions("rewrite") else ():
        yield _finding(duplicate)


def _finding(duplicate: Duplicate) -> Finding:
    source = duplicate.file.source
    line = source.position(duplicate.of.start).line
    directive = directive_at(source, duplicate.span)
    return Finding(
        source,
        duplicate.span,
        f"this rewrite repeats the one in line {line} and never fires",
        Fix("delete it", (layout.delete(directive),), _safety(directive)),
        related=(Related(source, duplicate.of, "the same rewrite"),),
    )


def _safety(rewrite: Directive) -> Safety:
    """Return UNSAFE if a pattern that does not match may change captures (pcre_exec: "ovector")."""
    return Safety.UNSAFE if "(" in rewrite.args[0] else Safety.SAFE
