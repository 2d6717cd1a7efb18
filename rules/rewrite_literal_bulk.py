"""Many rewrites: nginx tries each pattern on every request

Flags a run of rewrites of which 20 or more can be looked up: those that match only URIs that can be listed, such as
`^/old$` or `^/old/?$`, and, in a server and in most locations, those that match any number of URIs, such as
`^/old/(.*)$`. `nginxopt rewrite-to-map` moves the former into a map, where nginx finds the match with a single lookup,
puts the others behind a tree of lookups that selects the few to try, and proves that no response changes.

The severity follows the cost, at 794 instructions a rewrite: info; warning from 95 rewrites, which double the
processor time of a request; error from 945, which take ten times as much (`map-regex-bulk` has the figures).

## Why it matters
nginx runs one regular expression after another until one matches, and most requests match none. User-space instructions
per request, counted on nginx 1.22.1: 7,364 without rules, 394,082 with 819 rewrites (1,242,850 if the URI begins as
they do), 8,791 with the same rules as a map. A rule takes 482 instructions if the URI is shorter than all that it
matches, as in the first of these figures; else, as for most URIs, 794, and 28 for each further byte that both share. So
20 rules cost more than everything else nginx does for such a request. Rules of a server run again after an internal
redirect, as by `try_files`, `index` and `error_page`: 120 of them took 115,000 instructions instead of 57,000.

## Bad
```nginx server
rewrite ^/page-1$ /pages/1 permanent;
rewrite ^/page-2$ /pages/2 permanent;
rewrite ^/page-3$ /pages/3 permanent;
rewrite ^/page-4$ /pages/4 permanent;
rewrite ^/page-5$ /pages/5 permanent;
rewrite ^/page-6$ /pages/6 permanent;
rewrite ^/page-7$ /pages/7 permanent;
rewrite ^/page-8$ /pages/8 permanent;
rewrite ^/page-9$ /pages/9 permanent;
rewrite ^/page-10$ /pages/10 permanent;
rewrite ^/page-11$ /pages/11 permanent;
rewrite ^/page-12$ /pages/12 permanent;
rewrite ^/page-13$ /pages/13 permanent;
rewrite ^/page-14$ /pages/14 permanent;
rewrite ^/page-15$ /pages/15 permanent;
rewrite ^/page-16$ /pages/16 permanent;
rewrite ^/page-17$ /pages/17 permanent;
rewrite ^/page-18$ /pages/18 permanent;
rewrite ^/page-19$ /pages/19 permanent;
rewrite ^/page-20$ /pages/20 permanent;
```

## Good
Simplified; `nginxopt rewrite-to-map` also preserves letter case, arguments and internal redirects exactly:
```nginx http
map $uri $new_uri {
    volatile;
    /page-1 /pages/1;
    /page-2 /pages/2;
}
server {
    if ($new_uri) {
        rewrite ^ $new_uri permanent;
    }
}
```

## Silent
A few rules cost less than the map would:
```nginx server
rewrite ^/a$ /b permanent;
rewrite ^/c$ /d permanent;
rewrite ^/blog/(.*)$ /news/$1 permanent;
```

## When to ignore it
If the server handles only a few requests a second and the file is easier to maintain as it is.

## References
- https://nginx.org/en/docs/http/ngx_http_map_module.html
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html
- docs/guide/rewrite-to-map.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.config import Span
from nginxopt.lint import Finding, Model, Saving, Severity, rule
from nginxopt.lint.queries import severity
from nginxopt.semantics import cost

if TYPE_CHECKING:
    from nginxopt.lint import PlannedRun, RulesOfFile

LEAST = 20
"""At 794 instructions each, for a dissimilar URI, this many rules cost more than a request without rules."""


@rule(severity=Severity.INFO, category="rewrite", scenario="rewrites", by_cost=True, about=("rewrite",))
def check(model: Model) -> Iterator[Finding]:
    """Find runs of rewrites that a lookup can replace."""
    for part in model.plan.rules.parts if model.mentions("rewrite") else ():
        for run in part.runs:
            if _moved(run) >= LEAST:
                yield _finding(model, part, run)


def _finding(model: Model, part: RulesOfFile, run: PlannedRun) -> Finding:
    moved, rules = _moved(run), len(run.native)
    start = run.first.start
    least, most = moved * cost.REGEX, moved * cost.NEAR
    saved = cost.saved(rules, run.cost.far)
    is_bound = run.native.is_partial
    counted = f"at least {moved:,}" if is_bound else f"{moved:,}"
    costs = f"at least {cost.time(least)}" if is_bound else cost.between(least, most)
    about = "at least " if is_bound else ""
    return Finding(
        part.file.source,
        Span(start, start + len("rewrite")),
        f"a request tries {rules:,} rewrites in turn; one lookup can replace {counted} that take {costs}",
        help=f"nginxopt rewrite-to-map {model.config.main.path} saves {about}{cost.time(saved)} a request"
        if saved
        else "",
        severity=severity.by_cost(least),
        saves=Saving(instructions=saved) if saved else None,
    )


def _moved(run: PlannedRun) -> int:
    """Return the number of rules that `nginxopt rewrite-to-map` looks up."""
    return run.native.moved + run.native.grouped
