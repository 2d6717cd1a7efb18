"""`map` without a default decides access: whatever it does not list passes

Flags a `map` or `geo` without `default` whose variable decides, in an `if` that refuses requests, where none of the
values that it lists is refused, nor is the default: an empty value. Nobody is refused then.

Does not flag lists of what is refused, where everything else is meant to pass.

## Why it matters
A variable whose map has no row for a value is empty. In `if ($denied)` an empty value is false like `0`, and
`if ($allowed = 0)` compares it with another text: the request passes in both cases. A list of those who may pass, which
was meant to refuse all others, refuses nobody.

## Bad
```nginx http
map $remote_addr $denied {
    192.0.2.10 0;
    192.0.2.11 0;
}
server {
    location /admin/ {
        if ($denied) {
            return 403;
        }
        root /srv/www;
    }
}
```
```nginx http
geo $allowed {
    192.0.2.0/24 1;
}
server {
    if ($allowed = 0) {
        return 403;
    }
}
```

## Good
```nginx http
map $remote_addr $denied {
    default 1;
    192.0.2.10 0;
    192.0.2.11 0;
}
server {
    location /admin/ {
        if ($denied) {
            return 403;
        }
        root /srv/www;
    }
}
```

## Silent
```nginx http
map $http_user_agent $is_bot {
    ~*scraper 1;
}
map $remote_addr $allowed {
    192.0.2.10 1;
}
server {
    if ($is_bot) {
        return 403;
    }
    if ($allowed = "") {
        return 403;
    }
}
```

## When to ignore it
If another directive refuses the requests.

## References
- https://nginx.org/en/docs/http/ngx_http_map_module.html
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#if
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, pattern, rule
from nginxopt.semantics import Level

_REFUSALS = pattern(r"4\d\d")
_SETTINGS = {"default", "hostnames", "volatile", "include", "ranges", "delete", "proxy", "proxy_recursive"}


@rule(severity=Severity.WARNING, category="security", about=("map", "geo"))
def check(model: Model) -> Iterator[Finding]:
    """Find conditions on maps that refuse no client."""
    maps = {_variable(level.args[-1]): level for level in model.levels("map", "geo") if level.args}
    open_maps = {name: level for name, level in maps.items() if _is_without_default(level)}
    for condition in model.levels("if") if open_maps else ():
        table = open_maps.get(_variable(condition.args[0])) if condition.args else None
        if table is None or table.opener is None or condition.opener is None or not _refuses(condition):
            continue
        values = [str(row.args[0]) for row in _rows(table)]
        if not any(_is_true(condition.args, value) for value in ("", *values)):
            yield Finding(
                table.opener.source,
                table.opener.name.span,
                f"{table.args[-1]} has no default, so `if ({' '.join(condition.args)})` refuses nobody",
                help="add a default that is refused",
                related=(Related(condition.opener.source, condition.opener.name.span, "this refuses nobody"),),
            )


def _variable(text: str) -> str:
    return text.lower().replace("{", "").replace("}", "")


def _is_without_default(level: Level) -> bool:
    """Return whether a map surely has rows and no default, and all of its values are fixed."""
    rows = _rows(level)
    is_fixed = all(row.args and "$" not in row.args[0] for row in rows)
    return bool(rows) and is_fixed and not level.is_open and not level.own("default") and not level.own("include")


def _rows(level: Level) -> list[Directive]:
    return [row for row in level.directives if row.name not in _SETTINGS]


def _refuses(condition: Level) -> bool:
    return any(_REFUSALS.fullmatch(word) for stated in condition.own("return") for word in stated.args[:1])


def _is_true(args: tuple[str, ...], value: str) -> bool:
    """Return whether a condition holds for a value of its variable; True for one that is not understood."""
    if len(args) == 1:
        return value not in ("", "0")
    sign, other = args[1], args[-1]
    if len(args) != 3 or "$" in other or sign not in ("=", "!="):
        return True
    return (value == other) is (sign == "=")
