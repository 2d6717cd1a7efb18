"""Chain of `if`s that test one variable: a `map` needs one lookup

Flags eight or more `if`s that compare the same variable with texts, each with a single `set` of the same other
variable, if a map can replace them: a `map` evaluates that variable only when it is used. With regular expressions,
flags those that together take a microsecond or more. Also flags such a row of `if`s that each contain only a `return`:
`nginxopt rewrite-to-map` replaces them with one lookup, with a proof that no response changes.

For those with `set`, the fix moves them into a `map` in the http block if all of them compare with `=`, or all with
regular expressions. It is not safe: a map variable is evaluated on first use and keeps its value, and plain keys ignore
letter case. The rule is silent if something else sets the variable as well, or a value has a capture. There is no fix
for blocks with comments, which would be lost.

In a map of regular expressions, the fix writes `(?:...)` for `(...)`: up to nginx 1.30.3 and 1.31.2, in builds without
the fix (Debian's 1.22.1-9+deb12u10 has it), a capture that a map sets while another text with captures is evaluated
could overflow a buffer (CVE-2026-42533). The rule is silent if a pattern has a named group or one that may be referred
to (`\\1`, `(?1)`, `(?|`), and if `$1` to `$9` may be read after the conditions, or in one text with the variable of a
map.

## Why it matters
nginx runs each `if` for each request to the server or location, whether the variable is used or not: a regular
expression that does not match takes some 480 user-space instructions, counted on nginx 1.22.1. A map is not evaluated
before its variable is used, and one lookup finds its plain keys.

## Bad
```nginx http
server {
    set $pool web;
    if ($host = api.example.com) { set $pool api; }
    if ($host = img.example.com) { set $pool img; }
    if ($host = dev.example.com) { set $pool dev; }
    if ($host = cdn.example.com) { set $pool cdn; }
    if ($host = doc.example.com) { set $pool doc; }
    if ($host = git.example.com) { set $pool git; }
    if ($host = ops.example.com) { set $pool ops; }
    if ($host = www.example.com) { set $pool www; }
    return 200 $pool;
}
```

Each of these is evaluated until one is true:
```nginx http
server {
    if ($http_user_agent ~* bot10) { return 403; }
    if ($http_user_agent ~* bot11) { return 403; }
    if ($http_user_agent ~* bot12) { return 403; }
    if ($http_user_agent ~* bot13) { return 403; }
    if ($http_user_agent ~* bot14) { return 403; }
    if ($http_user_agent ~* bot15) { return 403; }
    if ($http_user_agent ~* bot16) { return 403; }
    if ($http_user_agent ~* bot17) { return 403; }
    if ($http_user_agent ~* bot18) { return 403; }
    if ($http_user_agent ~* bot19) { return 403; }
    if ($http_user_agent ~* bot20) { return 403; }
    if ($http_user_agent ~* bot21) { return 403; }
    if ($http_user_agent ~* bot22) { return 403; }
    if ($http_user_agent ~* bot23) { return 403; }
    if ($http_user_agent ~* bot24) { return 403; }
    if ($http_user_agent ~* bot25) { return 403; }
    if ($http_user_agent ~* bot26) { return 403; }
    if ($http_user_agent ~* bot27) { return 403; }
    if ($http_user_agent ~* bot28) { return 403; }
    if ($http_user_agent ~* bot29) { return 403; }
    if ($http_user_agent ~* bot30) { return 403; }
    if ($http_user_agent ~* bot31) { return 403; }
    if ($http_user_agent ~* bot32) { return 403; }
    if ($http_user_agent ~* bot33) { return 403; }
    if ($http_user_agent ~* bot34) { return 403; }
    if ($http_user_agent ~* bot35) { return 403; }
    if ($http_user_agent ~* bot36) { return 403; }
    if ($http_user_agent ~* bot37) { return 301 /bots; }
}
```

## Good
```nginx http
map $host $pool {
    default web;
    api.example.com api;
    img.example.com img;
    dev.example.com dev;
    cdn.example.com cdn;
    doc.example.com doc;
    git.example.com git;
    ops.example.com ops;
    www.example.com www;
}
server {
    return 200 $pool;
}
```

## Silent
Three are as clear as a map. No map can replace the others: another `if` sets the same variable.
```nginx http
server {
    set $pool web;
    if ($host = api.example.com) { set $pool api; }
    if ($host = img.example.com) { set $pool img; }
    if ($host = dev.example.com) { set $pool dev; }
    return 200 $pool;
}
server {
    set $bot 0;
    if ($arg_from = a) { set $bot 1; }
    if ($arg_from = b) { set $bot 1; }
    if ($arg_from = c) { set $bot 1; }
    if ($arg_from = d) { set $bot 1; }
    if ($arg_from = e) { set $bot 1; }
    if ($arg_from = f) { set $bot 1; }
    if ($arg_from = g) { set $bot 1; }
    if ($arg_from = h) { set $bot 1; }
    if ($request_method = POST) { set $bot 1; }
    return 200 $bot;
}
```

## Fix safety
May change: responses, logs.

A map ignores letter case in literal keys, which `=` does not; nginx evaluates it when its variable is read, not at the
place of the `if`, and the tested variable may change in between; and a true `if` in a location takes over the whole
request.

## When to ignore it
If the tests must run at their place among other rules.

## References
- https://nginx.org/en/docs/http/ngx_http_map_module.html
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nginxopt.config import Directive, decode, encode, layout
from nginxopt.lint import Finding, Fix, Model, PlannedChain, Safety, Saving, Severity, pattern, rule, without_captures
from nginxopt.lint.queries import whole
from nginxopt.semantics import Level, cost, maphash, subjects, values

LEAST = 8
"""Fewer conditions that compare strings are as readable as a map, and take next to no time."""

LEAST_PATTERNS = 25
"""Fewer regular expressions take less than a microsecond."""

_CAPTURE = pattern(r"\$\{?[1-9]")
_TABLES = ("map", "geo", "split_clients")
_SETTER = pattern(r"set|set_.*|.*_set|js_var|keyval|geoip2|num_map")
_SPECIAL = ("default", "hostnames", "include", "volatile")


class _Case(NamedTuple):
    """An `if` on `tested` with one `set` of `name`."""

    condition: Directive
    operator: str
    tested: str
    compared: str
    name: str
    value: str


@rule(severity=Severity.INFO, category="rewrite", fix=Safety.UNSAFE, about=("if",))
def check(model: Model) -> Iterator[Finding]:
    """Find chains of conditions that a map can replace."""
    planned = model.plan.chains.compiled if model.mentions("if") else ()
    compiled = [each for each in planned if _saved(each) >= cost.PER_MICROSECOND]
    replaced = {condition.directive.origin for each in compiled for condition in each.chain.conditions}
    for level in model.levels("server", "location"):
        chains: dict[tuple[str, str], list[_Case]] = {}
        for inner in level.levels:
            case = _case(inner) if inner.kind == "if" else None
            if case is not None:
                chains.setdefault((case.tested, case.name), []).append(case)
        for cases in chains.values():
            if _are_many(cases) and not any(case.condition.origin in replaced for case in cases):
                yield from _finding(model, level, cases)
    yield from _compiled(model, compiled)


def _saved(compiled: PlannedChain) -> int:
    return cost.saved(compiled.before.far, compiled.after.far)


def _are_many(cases: list[_Case]) -> bool:
    """Return whether there are so many conditions that they bother a reader or slow down a request."""
    return len(cases) >= (LEAST if all(case.operator == "=" for case in cases) else LEAST_PATTERNS)


def _compiled(model: Model, chains: Iterable[PlannedChain]) -> Iterator[Finding]:
    """Find conditions that `nginxopt rewrite-to-map` replaces by one lookup."""
    for compiled in chains:
        conditions, saved = compiled.chain.conditions, _saved(compiled)
        first = conditions[0].directive
        command = f"nginxopt rewrite-to-map {model.config.main.path}"
        counted = f"at least {len(conditions)} of {compiled.of}" if compiled.of else f"{len(conditions)}"
        about = "at least " if compiled.of else ""
        stated = [inner for each in conditions if each.directive.block for inner in each.directive.block.directives()]
        flag = next((inner.args[0] for inner in stated if inner.name == "set" and inner.args), "")
        ends = any(inner.name == "return" for inner in stated)
        how = "in turn, and only the first that is true returns" if ends else f"one after the other, to set {flag}"
        yield Finding(
            first.source,
            first.name.span,
            f"{counted} ifs test {conditions[0].variable} {how}",
            help=f"{command} replaces them with one lookup, which saves {about}{cost.time(saved)} a request",
            saves=Saving(instructions=saved),
        )


def _case(level: Level) -> _Case | None:
    condition = level.opener
    if condition is None or len(condition.args) != 3 or len(level.directives) != 1:
        return None
    (only,) = level.directives
    tested, operator, compared = condition.args
    if only.name != "set" or len(only.args) != 2 or not tested.startswith("$") or operator not in ("=", "~", "~*"):
        return None
    return _Case(condition, operator, tested, compared, *only.args)


def _finding(model: Model, level: Level, cases: list[_Case]) -> Iterator[Finding]:
    first = cases[0]
    try:
        fix, advice = _advice(model, level, cases)
    except ValueError:
        return
    yield Finding(
        first.condition.source,
        first.condition.name.span,
        f"{len(cases)} ifs test {first.tested} one after the other on every request, to set {first.name}",
        fix,
        help=advice,
    )


def _advice(model: Model, level: Level, cases: list[_Case]) -> tuple[Fix | None, str]:
    """Return the fix, or the map to write by hand if only unread text may forbid it.

    Raises `ValueError` with the reason if no map is equivalent.
    """
    rows, default = _map(level, cases)
    _check(model, level, cases, default)
    listed = " ".join(row.strip() for row in rows)
    server, http = level.around("server"), level.around("http")
    if server is None or server.opener is None or http is None or http.block is None or not model.is_whole:
        return None, f"if nothing that was not read sets {cases[0].name}, in the http block: {listed}"
    if any(layout.has_comments_inside(case.condition) for case in cases):
        return None, f"with the comments of the blocks, in the http block: {listed}"
    gone = [case.condition for case in cases] + ([default] if default is not None else [])
    changes = (layout.before(server.opener, rows), *map(layout.delete, gone))
    return Fix(f"move them into a map of {cases[0].tested}", changes, Safety.UNSAFE), ""


def _map(level: Level, cases: list[_Case]) -> tuple[list[str], Directive | None]:
    """Return the lines of the map, and the preceding `set` that is its default.

    Raises `ValueError` with the reason if no map is equivalent.
    """
    name = cases[0].name
    default = next((directive for directive in level.own("set") if directive.args[:1] == (name,)), None)
    rows = _plain_rows(cases) if cases[0].operator == "=" else _regex_rows(cases)
    if default is not None and len(default.args) == 2:
        rows.insert(0, f"default {layout.quoted(default.args[1])};")
    return [f"map {cases[0].tested} {name} {{", *(f"    {row}" for row in rows), "}"], default


def _plain_rows(cases: list[_Case]) -> list[str]:
    if any(case.operator != "=" for case in cases):
        raise ValueError("a map tries its plain keys before its regular expressions")
    return [f"{_key(case.compared)} {layout.quoted(case.value)};" for case in cases]


def _key(compared: str) -> str:
    is_special = compared in _SPECIAL or compared.startswith(("~", "\\"))
    return layout.quoted("\\" + compared) if is_special else layout.quoted(compared) if compared else '""'


def _regex_rows(cases: list[_Case]) -> list[str]:
    """Return the rows of regular expressions, last case first: if several match, the last `if` but the first row wins.

    A map does not try them on an empty value (ngx_http_map_find), which therefore gets a separate row.
    """
    if any(case.operator == "=" for case in cases):
        raise ValueError("a map tries its plain keys before its regular expressions")
    ordered = cases[::-1]
    rows = [f"{layout.quoted(case.operator + _pattern(case))} {layout.quoted(case.value)};" for case in ordered]
    empty = next((f'"" {layout.quoted(case.value)};' for case in ordered if _takes_empty(case)), None)
    return rows if empty is None else [empty, *rows]


def _pattern(case: _Case) -> str:
    """Return the regular expression of a case without captures."""
    if _CAPTURE.search(case.value):
        raise ValueError(f"{case.name} is set to a capture")
    try:
        return decode(without_captures(encode(case.compared)))
    except ValueError as reason:
        raise ValueError(f'"{case.compared}" has {reason}') from None


def _takes_empty(case: _Case) -> bool:
    """Whether a case matches the empty value."""
    answer = subjects.matches(encode(case.compared if case.operator == "~" else f"(?i){case.compared}"), b"")
    if answer is None:
        raise ValueError(f'"{case.compared}" may match an empty value, on which a map tries no pattern')
    return answer


def _check(model: Model, level: Level, cases: list[_Case], default: Directive | None) -> None:
    """Raise `ValueError` with the reason if a map would give the variable other values, or nginx may refuse it."""
    name = cases[0].name
    _check_values(level, cases, default)
    conditions = [case.condition for case in cases]
    ours = {inner.own("set")[0] for inner in level.levels if inner.opener in conditions} | {default}
    other = next((directive for directive in _setters(model, name) if directive not in ours), None)
    if other is not None:
        raise ValueError(f"{name} is also set in {other.source.path}:{other.line}")
    if model.is_whole and whole.is_read_by_code(model):
        raise ValueError(f"code (Lua, njs, Perl, SSI) or a module that is not nginx's may set {name}")
    if cases[0].operator != "=" and _captures_matter(model, name):
        raise ValueError(f"its patterns would overwrite $1 to $9, which may be read with {name} or after it")
    http, server = level.around("http"), level.around("server")
    keys = [case.compared for case in cases if case.operator == "="]
    if (
        http is not None
        and server is not None
        and server.opener is not None
        and not _map_fits(http, server.opener, keys)
    ):
        raise ValueError("its keys may not fit the hash tables of maps (map_hash_max_size, map_hash_bucket_size)")


def _setters(model: Model, name: str) -> Iterator[Directive]:
    """Yield the directives that give a variable a value: `set` and those like it of modules, and tables."""
    for directive, _ in model.config.walk():
        words = directive.args[-1:] if directive.name in _TABLES else directive.args[:2]
        if name in words and (directive.name in _TABLES or _SETTER.fullmatch(directive.name)):
            yield directive


def _captures_matter(model: Model, name: str) -> bool:
    """Whether anything may read `$1` to `$9` after the map has overwritten them.

    A map is evaluated, and sets them, wherever its variable is read, also through another map.
    """
    blocks = model.levels("map", "geo", "split_clients")
    names = {name, *(level.args[-1] for level in blocks if level.args)}
    return model.reads_captures or any(
        any(map(_CAPTURE.search, directive.args))
        for directive in whole.readers(model, [variable.lstrip("$") for variable in names])
    )


def _map_fits(http: Level, server: Directive, keys: list[str]) -> bool:
    """Whether nginx accepts a map before a server: its keys fit, and no hash table size is set after it.

    The first map fixes the sizes (ngx_http_map_block); after that, a `map_hash_*` "directive is duplicate".
    """
    sizes = [http.setting(name) for name in ("map_hash_max_size", "map_hash_bucket_size")]
    order = http.directives
    ahead = order[: order.index(server)] if server in order else []
    numbers = [
        values.number(size.value or usual) for size, usual in zip(sizes, ("2048", "64"), strict=True) if size.known
    ]
    if len(numbers) < len(sizes) or not all(size.is_unset or size.directive in ahead for size in sizes):
        return False
    max_size, bucket = numbers
    return (
        bool(max_size and bucket)
        and maphash.verdict([encode(key) for key in keys], max_size or 0, bucket or 0) == maphash.Verdict.FITS
    )


def _check_values(level: Level, cases: list[_Case], default: Directive | None) -> None:
    """Raise `ValueError` unless values are constant, no key is repeated, and the default precedes the first case."""
    keys = [case.compared.lower() for case in cases]
    values = [case.value for case in cases] + ([default.args[1]] if default is not None else [])
    if any("$" in value for value in [*values, *(keys if cases[0].operator == "=" else [])]):
        raise ValueError("a map evaluates the variables in its values when it is read, and takes none in its keys")
    if len(set(keys)) < len(keys):
        raise ValueError("two of them compare with the same text, and a map ignores the case of its keys")
    if default is not None and level.directives.index(default) > level.directives.index(cases[0].condition):
        raise ValueError(f"{cases[0].name} is set again after them")
