"""`if` that tests for a file and rewrites: `try_files` does both

Flags an `if` that tests `!-f` or `!-e` on a path with `$request_filename` or `$uri` and contains one `rewrite`, which
matches every URI, or all below a directory, and is not a redirect. Does not flag rewrites for only some of the missing
files: `try_files` has one fallback for all of them.

The fix covers one well-known form only: in `location /`, with `if (!-e $request_filename)` and a rewrite of everything
to one file, without comments. It is not safe, since `try_files` changes the URI in a later phase: `$uri` in logs, and
rules after the `if`, may see a different one.

## Why it matters
In a server, the `if` checks the disk for each request, including those that are passed on to an application and have no
file at all. In a location, it means another run of the rules, another search for a location, and a block where most
directives do not work as they seem to. `try_files` checks only in its own location.

## Bad
```nginx server
root /srv/www;
location / {
    if (!-e $request_filename) {
        rewrite ^ /index.php last;
    }
}
location ~ \\.php$ {
    return 200;
}
```
```nginx server
if (!-f $request_filename) {
    rewrite ^/(.*)$ /index.php?q=$1 last;
}
```
```nginx server
if (!-e $request_filename) {
    rewrite ^(.+)$ /index.php?q=$1 last;
}
```

## Good
```nginx server
root /srv/www;
location / {
    try_files $uri $uri/ /index.php$is_args$args;
}
location ~ \\.php$ {
    return 200;
}
```

## Silent
An `if` is the best test for a maintenance page, and `try_files` cannot redirect:
```nginx server
if (-f /srv/www/maintenance.html) {
    return 503;
}
if (!-e $request_filename) {
    rewrite ^(.+)/$ $1 permanent;
}
```
A network of blogs in directories: two kinds of missing files have a fallback, and nginx answers the others with 404:
```nginx server
if (!-e $request_filename) {
    rewrite ^/[a-z0-9-]+(/wp-(?:content|admin|includes)/.*)$ $1 last;
    rewrite ^/[a-z0-9-]+(/.*\\.php)$ $1 last;
}
```

## Fix safety
May change: responses, logs.

`try_files` changes the URI in a later phase, also looks for `$uri/` below `root`, and passes on no captures.

## When to ignore it
If the rewrite is one of several that depend on each other.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#try_files
- https://nginx.org/en/docs/http/converting_rewrite_rules.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule, transparent
from nginxopt.semantics import Level

_FILE = pattern(r"\$\{?(?:request_filename|uri|document_uri)\b")
_REDIRECTS = ("http://", "https://", "$scheme")
_EVERYTHING = ("^", ".", ".*", "^.*$", "^(.*)$", "^(.+)$", "^(.*)", "(.*)", "^/(.*)$", "^/(.+)$", "^/")
_FOLDER = pattern(r"\^/(?:[\w-]+/)+(?:\(?\.\*\)?)?\$?")
_TARGET = pattern(r"/[\w./-]+")
_HANDLERS = pattern(r"\w+_pass|try_files|alias|internal|empty_gif|stub_status|dav_methods|index|error_page")


@rule(severity=Severity.INFO, category="rewrite", fix=Safety.UNSAFE, about=("if",))
def check(model: Model) -> Iterator[Finding]:
    """Find rewrites that depend on a file."""
    for level in model.levels("if"):
        condition = level.opener
        if condition is not None and _looks_for_a_file(condition) and _is_fallback(level.own("rewrite")):
            yield _finding(level, condition)


def _looks_for_a_file(condition: Directive) -> bool:
    return len(condition.args) == 2 and condition.args[0] in ("!-f", "!-e") and bool(_FILE.search(condition.args[1]))


def _is_fallback(rewrites: tuple[Directive, ...]) -> bool:
    """Return whether the only rewrite of a block goes on from everything, or from all below a folder."""
    if len(rewrites) != 1 or not _goes_on(rewrites[0]):
        return False
    pattern = rewrites[0].args[0]
    return pattern in _EVERYTHING or _FOLDER.fullmatch(pattern) is not None


def _goes_on(directive: Directive) -> bool:
    """Whether a rewrite is not a redirect."""
    is_redirect = directive.args[2:3] in (("permanent",), ("redirect",))
    return len(directive.args) > 1 and not is_redirect and not directive.args[1].startswith(_REDIRECTS)


def _finding(level: Level, condition: Directive) -> Finding:
    target = _target(level, condition)
    everywhere = level.parent is not None and level.parent.kind == "server"
    cost = "on every request to the server" if everywhere else "and makes nginx search for a location again"
    statement = f"try_files $uri $uri/ {target}$is_args$args;"
    fix = (
        None if target is None else Fix(f"write `{statement}`", (layout.rewrite(condition, statement),), Safety.UNSAFE)
    )
    return Finding(
        condition.source,
        condition.name.span,
        f"this `if` looks for a file {cost}: use try_files instead",
        fix,
        help="" if fix else "add `try_files $uri $uri/ /fallback$is_args$args;` to the location of the files",
    )


def _target(level: Level, condition: Directive) -> str | None:
    """Return the fallback of the well-known pattern; None for any other."""
    location = level.parent
    if location is None or location.kind != "location" or (location.modifier, location.path) != ("", "/"):
        return None
    others = [directive for directive in location.directives if directive is not condition]
    is_plain = all(directive.name in transparent() and not _HANDLERS.fullmatch(directive.name) for directive in others)
    if not is_plain or condition.args[0] != "!-e" or len(level.directives) != 1:
        return None
    (only,) = level.directives
    is_known = len(only.args) == 3 and only.args[0] in _EVERYTHING and only.args[2] == "last"
    is_replaceable = is_known and _TARGET.fullmatch(only.args[1]) and not layout.has_comments_inside(condition)
    return str(only.args[1]) if is_replaceable else None
