"""Headers of an `if` are lost where another `if` of the location holds as well

Flags two or more `if` blocks of a location that add headers, where the conditions may hold for the same request. Does
not flag conditions that exclude each other, such as two methods, and blocks that answer by themselves.

## Why it matters
Each `if` is a location of its own, and a request is handled in the last one whose condition holds: it has the headers
of that block, and neither those of the earlier blocks nor those of the location. Of two blocks that each add a header
for CORS, one works at a time.

## Bad
```nginx server
location /api/ {
    if ($http_origin ~ ^https://[a-z]+\\.example\\.com$) {
        add_header Access-Control-Allow-Origin $http_origin;
    }
    if ($arg_download) {
        add_header Content-Disposition attachment;
    }
    proxy_pass http://127.0.0.1:8080;
}
```

## Good
A header with an empty value is not sent:
```nginx http
map $http_origin $allowed {
    ~^https://[a-z]+\\.example\\.com$ $http_origin;
}
map $arg_download $disposition {
    ~. attachment;
}
server {
    location /api/ {
        add_header Access-Control-Allow-Origin $allowed;
        add_header Content-Disposition $disposition;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
```nginx server
location /api/ {
    if ($request_method = GET) {
        add_header X-Kind read;
    }
    if ($request_method = POST) {
        add_header X-Kind write;
    }
    if ($arg_x) {
        add_header X-Kind none;
        return 204;
    }
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
If no request meets both conditions.

## References
- https://www.nginx.com/resources/wiki/start/topics/depth/ifisevil/
- https://nginx.org/en/docs/http/ngx_http_headers_module.html#add_header
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.semantics import Level

_EQUAL = ("=", "==")


@rule(severity=Severity.INFO, category="correctness", about=("if",))
def check(model: Model) -> Iterator[Finding]:
    """Find blocks that take headers from each other."""
    for location in model.levels("location"):
        adding = [level for level in location.levels if level.kind == "if" and _adds(level)]
        for first, second in pairwise(adding):
            if first.opener and second.opener and not _exclude(first.args, second.args) and _loses(first, second):
                yield Finding(
                    second.opener.source,
                    second.opener.name.span,
                    f"where this holds, {first.own('add_header')[0].args[0]} of the `if` before is not sent",
                    help="set variables by map, and add the headers in the location",
                    related=(Related(first.opener.source, first.opener.name.span, "this adds the header"),),
                )


def _adds(level: Level) -> bool:
    return any(stated.args for stated in level.own("add_header")) and not level.own("return")


def _loses(first: Level, second: Level) -> bool:
    """Return whether the first block adds a header that the second does not."""
    names = [{stated.args[0].lower() for stated in level.own("add_header") if stated.args} for level in (first, second)]
    return bool(names[0] - names[1])


def _exclude(first: tuple[str, ...], second: tuple[str, ...]) -> bool:
    """Return whether two conditions are certain not to hold both: they ask the same variable for different values."""
    if len(first) != 3 or len(second) != 3 or first[0].lower() != second[0].lower():
        return False
    return (first[1] in _EQUAL and second[1] in _EQUAL and first[2] != second[2]) or (
        {first[1], second[1]} in ({"=", "!="}, {"~", "!~"}, {"~*", "!~*"}) and first[2] == second[2]
    )
