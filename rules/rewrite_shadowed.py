"""Rewrite that never fires: earlier ones match all its URIs

Flags rewrites whose URIs are all matched by earlier rewrites in the same run, and names one of these URIs. Each of the
earlier rules ends the script (`last`, `break`, `redirect`, `permanent`, or a target with a scheme), so nginx never
reaches the later one.

The rule compares patterns that match any number of URIs in up to 2,000 rules, and rules with fixed URIs without a
limit.

## Why it matters
The intended redirect does not happen, and nginx still tries the pattern on every request that no rule answers. nginx
uses the first rule that matches, in the order of the file (`ngx_http_rewrite_handler`).

## Bad
```nginx server
rewrite ^/blog/(.*)$ /news/$1 permanent;
rewrite ^/blog/about$ /about permanent;
```

## Good
```nginx server
rewrite ^/blog/about$ /about permanent;
rewrite ^/blog/(.*)$ /news/$1 permanent;
```

## Silent
A rule that continues with the new URI leaves something for later ones, and `/blog` is not under `/blog/`:
```nginx server
rewrite ^/blog/(.*)$ /news/$1 permanent;
rewrite ^/blog$ /news permanent;
rewrite ^/a$ /b;
rewrite ^/a$ /c permanent;
```

A rule that no request matches is another rule's, `rewrite-never-matches`:
```nginx server
rewrite ^/a%20b$ /c permanent;
rewrite ^/a%20b$ /d permanent;
```

## When to ignore it
Never: delete the rule, or move it further up.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.config import Source, Span, decode
from nginxopt.lint import Finding, Model, Related, Severity, rule, shown
from nginxopt.lint.queries import unmatched

if TYPE_CHECKING:
    from nginxopt.lint import Dead

MOST_KEPT = 2_000
"""The maximum number of kept rules that are compared with each other: at 50 us each, a tenth of a second."""


_REPEATED = "the same rewrite again"
"""The cause of all rules of a file that are there twice, as a list that was pasted twice has them."""


@rule(severity=Severity.WARNING, category="rewrite", about=("rewrite",))
def check(model: Model) -> Iterator[Finding]:
    """Find rewrites that are never the first to match."""
    if not model.mentions("rewrite"):
        return
    plan = model.plan
    kept = sum(run.kept for part in plan.rules.parts for run in part.runs)
    if kept > MOST_KEPT:
        model.decline()
    dead = [other for other in plan.rules.dead(among_kept=kept <= MOST_KEPT) if other.by is not None]
    never: set[tuple[Source, int]] = set()
    with model.within_budget():
        for rewrite in unmatched.unmatched_rewrites(model) if dead else ():
            never.add(rewrite.directive.origin)
    for other in dead:
        if other.by is not None and other.witness is not None and (other.file.source, other.span.start) not in never:
            yield _finding(other, other.by, other.witness)


def _finding(dead: Dead, by: Span, witness: bytes) -> Finding:
    source = dead.file.source
    line = source.position(by.start).line
    earlier = decode(source.data[by.start : by.end])
    uri = shown(witness)
    return Finding(
        source,
        _name(source, dead.span),
        f"never reached: the rewrite in line {line} takes all its URIs, such as {uri}",
        help=f"delete it, or move it before line {line}",
        related=(Related(source, _name(source, by), f"{uri} is matched here"),),
        cause=_REPEATED if decode(source.data[dead.span.start : dead.span.end]) == earlier else earlier,
    )


def _name(source: Source, span: Span) -> Span:
    """The first line of a rewrite."""
    end = source.data.find(b"\n", span.start, span.end)
    return span if end < 0 else Span(span.start, end)
