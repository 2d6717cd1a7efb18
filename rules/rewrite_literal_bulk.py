"""Many rewrites of fixed URIs: nginx tries each pattern on every request

Flags a run of rewrites of which 20 or more match only URIs that can be listed, such as `^/old$` or `^/old/?$`.
`nginxopt rewrite-to-map` moves them into a map, where nginx finds the match with a single lookup, and proves that no
response changes.

The severity follows the cost, at 472 instructions a rewrite: info; warning from 159 rewrites, which double the
processor time of a request; error from 1,589, which take ten times as much (`map-regex-bulk` has the figures).

## Why it matters
nginx runs one regular expression after another until one matches, and most requests match none. User-space instructions
per request, counted on nginx 1.22.1: 7,364 without rules, 394,082 with 819 rewrites (1,242,850 if the URI begins as
they do), 9,575 with the same rules as a map. That is some 480 to 1,500 instructions a rule, so 20 rules cost more than
everything else nginx does for such a request.

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
A few rules cost less than the map would, and patterns that match any number of URIs cannot be listed:
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
- docs/rewrite-to-map.md
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Span
from nginxopt.lint import Finding, Model, Part, PlannedRun, Severity, cost, rule

LEAST = 20
"""At 472 instructions each, for a dissimilar URI, this many rules cost more than a request without rules."""

NEAR = 1_508
"""Instructions of a rule for a URI that starts like its pattern; `cost.REGEX` for a dissimilar URI."""


@rule(severity=Severity.INFO, category="rewrite", scenario="rewrites", by_cost=True)
def check(model: Model) -> Iterator[Finding]:
    """Find runs of rewrites that a map can replace."""
    for part in model.plan.parts:
        for run in part.runs:
            if run.native.moved >= LEAST:
                yield _finding(model, part, run)


def _finding(model: Model, part: Part, run: PlannedRun) -> Finding:
    moved, rules = run.native.moved, len(run.native)
    start = run.first.start
    least = moved * cost.REGEX
    return Finding(
        part.file.source,
        Span(start, start + len("rewrite")),
        f"{moved:,} of {rules:,} rewrites match fixed URIs and cost {least:,} to {moved * NEAR:,} instructions",
        help=f"use a map, which costs one lookup: nginxopt rewrite-to-map {model.config.main.path} --plan-only",
        severity=cost.severity(least),
    )
