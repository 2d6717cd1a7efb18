"""Regular expression that PCRE cannot compile: nginx refuses the configuration

Flags the pattern of a `rewrite`, a regex `location`, an `if`, a `server_name` or a row of a `map` with an error that
every version of PCRE and PCRE2 reports: an open parenthesis or class, a repetition of nothing, a range out of order.

## Why it matters
nginx compiles all patterns when it reads its configuration. `nginx -t` fails, a reload keeps the old configuration, and
nginx does not start.

## Bad
```nginx server
rewrite ^/(old|older /new;
location ~ *\\.php$ {
    return 404;
}
if ($http_user_agent ~ "[z-a]bot") {
    return 403;
}
```

```nginx http
map $uri $moved_to {
    ~^/(old|older /new;
    ~*^/b[z-a]$ /b;
}
```

## Good
```nginx server
rewrite ^/(?:old|older) /new;
location ~ \\.php$ {
    return 404;
}
if ($http_user_agent ~ "[a-z]bot") {
    return 403;
}
```

## Silent
Escaped or in a class, these characters are literal:
```nginx server
rewrite ^/a\\(b /new;
location ~ ^/[(*]$ {
    return 404;
}
if ($uri ~* "\\[old") {
    return 403;
}
```

In a `map`, only a key that begins with `~` is a pattern:
```nginx http
map $uri $moved_to {
    "(old" /new;
    "\\~(old" /new;
}
```

## When to ignore it
Never.

## References
- ngx_http_regex_compile in ngx_http_variables.c, ngx_regex_compile in ngx_regex.c
- https://www.pcre.org/current/doc/html/pcre2pattern.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, Token, encode
from nginxopt.lint import Finding, Model, Severity, pattern_error, rule
from nginxopt.semantics import Level, locations

_MATCHES = ("~", "~*", "!~", "!~*")


@rule(severity=Severity.ERROR, category="refused")
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that do not compile."""
    for directive, pattern, text in _patterns(model):
        error = pattern_error(encode(text))
        if error is not None:
            message = f'nginx refuses this pattern: {error} of "{text}"'
            yield Finding(
                directive.source,
                pattern.span,
                message,
                help="correct it; a \\ before a special character makes it literal",
            )


def _patterns(model: Model) -> Iterator[tuple[Directive, Token, str]]:
    """Yield the directives with a pattern, its word, and its text."""
    for rewrite, _ in model.each("rewrite"):
        if len(rewrite.args) == 2:  # one with a flag is refused by whatever plans it
            yield rewrite, rewrite.args[0], rewrite.args[0]
    for level in model.levels("location", "if"):
        if level.opener is not None:
            yield from _of_block(level, level.opener)
    for names, _ in model.each("server_name"):
        yield from ((names, word, word[1:]) for word in names.args if word.startswith("~"))
    for block in model.protocols("http", "stream"):
        for level in block.levels:
            if level.kind == "map":
                yield from ((row, row.name, _of_row(row.name)) for row in level.directives if row.name.startswith("~"))


def _of_row(key: str) -> str:
    """Return the pattern of a row (`ngx_http_map`): `~*` ignores case."""
    return key.removeprefix("~").removeprefix("*")


def _of_block(level: Level, opener: Directive) -> Iterator[tuple[Directive, Token, str]]:
    if level.kind == "if":
        if len(opener.args) == 3 and opener.args[1] in _MATCHES:
            yield opener, opener.args[2], opener.args[2]
    elif locations.modifier(level) in _MATCHES:
        yield opener, opener.args[-1], locations.path(level)
