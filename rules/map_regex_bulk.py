"""Map with many regular expressions: nginx tries them one after the other

Flags a `map` with 20 or more regular expressions as keys, if that costs a request a microsecond or more that a lookup
does not, or doubles its processor time. The message counts those that match only one string
(`~^/old$`): nginx finds them with one lookup if they are plain keys. `nginxopt rewrite-to-map` turns all of them into a
tree of lookups that answers every value as before, and proves it. The help names the command, with the instructions
that it saves, unless the map would stay as it is.

The severity follows the cost, at 794 instructions a pattern: info; warning from 95 patterns, which double the processor
time of a request; error from 945, which take ten times as much.

## Why it matters
nginx looks up a value among the plain keys first, and then tries each regular expression in the order of the file
(`ngx_http_map_find`), at about the cost of a rewrite: 394,082 instructions a request with 819 that do not match,
against 7,364 for everything else (counted on nginx 1.22.1). This happens once per request, or each time the variable is
used if the map is `volatile`.

Processor time a worker spends on a request that nginx answers itself, kernel included, on nginx 1.22.1. Its URI is
shorter than all that the patterns match, so a pattern takes 472 instructions; a longer one, as most are, takes 794:

| patterns | instructions more | in a map | as rewrites |
|---:|---:|---:|---:|
| 0 | 0 | 5.8 us | 5.4 us |
| 20 | 9,440 | 6.8 us | 6.1 us |
| 159 | 75,048 | 12.0 us | 11.6 us |
| 1,589 | 750,008 | 55.3 us | 61.7 us |

## Bad
```nginx http
map $uri $new {
    ~^/a$ /1; ~^/b$ /2; ~^/c$ /3; ~^/d$ /4; ~^/e$ /5; ~^/f$ /6; ~^/g$ /7; ~^/h$ /8; ~^/i$ /9; ~^/j$ /10;
    ~^/k$ /11; ~^/l$ /12; ~^/m$ /13; ~^/n$ /14; ~^/o$ /15; ~^/p$ /16; ~^/q$ /17; ~^/r$ /18; ~^/s$ /19; ~^/t$ /20;
    ~^/u$ /21; ~^/v$ /22; ~^/w$ /23; ~^/x$ /24; ~^/y$ /25; ~^/z$ /26;
}
```

## Good
Plain keys ignore letter case, and end where the key does:
```nginx http
map $uri $new {
    /a /1; /b /2; /c /3; /d /4; /e /5; /f /6; /g /7; /h /8; /i /9; /j /10;
    /k /11; /l /12; /m /13; /n /14; /o /15; /p /16; /q /17; /r /18; /s /19; /t /20;
    /u /21; /v /22; /w /23; /x /24; /y /25; /z /26;
}
```

## Silent
```nginx http
map $http_user_agent $is_bot {
    default 0;
    ~*bot 1;
    ~*crawl 1;
}
```

## When to ignore it
If few requests use the variable.

## References
- https://nginx.org/en/docs/http/ngx_http_map_module.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Saving, Severity, pattern, rule
from nginxopt.lint.queries import severity
from nginxopt.semantics import MANY_REGEXES, Level, cost

_LITERAL = pattern(r"~\*?\^(?:[\w/~@!,:;=&'%. -]|\\[^\w\s])*(?:/\?)?\$")


@rule(severity=Severity.INFO, category="rewrite", scenario="rewrites", by_cost=True, about=("map",))
def check(model: Model) -> Iterator[Finding]:
    """Find maps with many regular expressions."""
    for level in model.levels("map"):
        keys = [str(directive.name) for directive in level.directives if directive.name.startswith("~")]
        if len(keys) >= MANY_REGEXES and level.source is not None:
            yield from _finding(model, level, keys)


def _finding(model: Model, level: Level, keys: list[str]) -> Iterator[Finding]:
    assert level.source is not None
    name = level.args[-1] if level.args else "map"
    literals = sum(_LITERAL.fullmatch(key) is not None for key in keys)
    some = f"; {literals:,} are fixed strings" if literals else ""
    instructions = len(keys) * cost.REGEX
    saved, rows = _saved(model, level)
    if instructions < severity.WARNING and saved < cost.PER_MICROSECOND:
        return
    yield Finding(
        level.source,
        level.span,
        f"{name} tries {len(keys):,} regular expressions in turn, {cost.time(instructions)} if none matches{some}",
        help=_help(model, saved, rows),
        severity=severity.by_cost(instructions),
        saves=Saving(instructions=saved) if saved else None,
    )


def _saved(model: Model, level: Level) -> tuple[int, int]:
    """Return the instructions that a request saves if the map is compiled, and 0 rows; 0 instructions if it stays.

    If only its first rows were planned, because all of them take too much work, return what these save, and their
    number.
    """
    maps = model.plan.maps
    for compiled in maps.compiled:
        if compiled.map.directive is level.opener:
            return cost.saved(compiled.before.far, compiled.after.far), 0
    for kept in maps.kept:
        if kept.map.directive is level.opener and kept.reason == "too-much-work" and kept.of_shorter is not None:
            return cost.saved(kept.shorter, kept.of_shorter.far), kept.shorter
    return 0, 0


def _help(model: Model, saved: int, rows: int) -> str:
    """Return the command that replaces the patterns, and what it saves; nothing if it saves nothing."""
    command = f"nginxopt rewrite-to-map {model.config.main.path}"
    if not saved:
        return ""
    if rows:
        return f"a tree of lookups for its first {rows:,} alone saves at least {cost.time(saved)}; see {command}"
    return f"{command} turns them into a tree of lookups, which saves {cost.time(saved)}"
