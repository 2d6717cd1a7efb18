"""`pcre_jit` off where requests run many regular expressions

Flags configurations that do not set `pcre_jit` and have a server with 20 to 1,000 regular expressions: its rewrites,
conditions and regex locations, plus those of the location with the most. Above 1,000 the code takes too much memory,
and `rewrite-literal-bulk` applies. By default, it speaks only of a configuration that shows load: tuned for many
connections, or balancing requests over several servers. If the rule is selected by name, or with `--host`, it always
does.

## Why it matters
Compiled to machine code, a pattern that begins like the URI takes a third of the instructions. User-space instructions
per request, counted on nginx 1.22.1 with 819 rewrites: 949,252 without `pcre_jit` and 358,038 with it; if the URI
begins differently, 393,886 and 336,524. With 10,000 rewrites, the code takes 93 MB, which the workers share.

## Bad
```nginx
events {}
http {
    server {
        rewrite ^/a(\\d+)$ /a last; rewrite ^/b(\\d+)$ /b last; rewrite ^/c(\\d+)$ /c last; rewrite ^/d(\\d+)$ /d last;
        rewrite ^/e(\\d+)$ /e last; rewrite ^/f(\\d+)$ /f last; rewrite ^/g(\\d+)$ /g last; rewrite ^/h(\\d+)$ /h last;
        rewrite ^/i(\\d+)$ /i last; rewrite ^/j(\\d+)$ /j last; rewrite ^/k(\\d+)$ /k last; rewrite ^/l(\\d+)$ /l last;
        rewrite ^/m(\\d+)$ /m last; rewrite ^/n(\\d+)$ /n last; rewrite ^/o(\\d+)$ /o last; rewrite ^/p(\\d+)$ /p last;
        rewrite ^/q(\\d+)$ /q last; rewrite ^/r(\\d+)$ /r last; rewrite ^/s(\\d+)$ /s last; rewrite ^/t(\\d+)$ /t last;
    }
}
```

## Good
```nginx
pcre_jit on;
events {}
http {
    server {
        rewrite ^/a(\\d+)$ /a last; rewrite ^/b(\\d+)$ /b last; rewrite ^/c(\\d+)$ /c last; rewrite ^/d(\\d+)$ /d last;
        rewrite ^/e(\\d+)$ /e last; rewrite ^/f(\\d+)$ /f last; rewrite ^/g(\\d+)$ /g last; rewrite ^/h(\\d+)$ /h last;
        rewrite ^/i(\\d+)$ /i last; rewrite ^/j(\\d+)$ /j last; rewrite ^/k(\\d+)$ /k last; rewrite ^/l(\\d+)$ /l last;
        rewrite ^/m(\\d+)$ /m last; rewrite ^/n(\\d+)$ /n last; rewrite ^/o(\\d+)$ /o last; rewrite ^/p(\\d+)$ /p last;
        rewrite ^/q(\\d+)$ /q last; rewrite ^/r(\\d+)$ /r last; rewrite ^/s(\\d+)$ /s last; rewrite ^/t(\\d+)$ /t last;
    }
}
```

## Silent
A few patterns are not worth compiling:
```nginx
events {}
http {
    server {
        rewrite ^/blog/(.*)$ /news/$1 permanent;
        location ~ \\.php$ {
            return 404;
        }
    }
}
```

## Fix safety
May change: responses, limits, start.

Compiled code matches what the interpreter matches unless the library has a bug, as releases in use do: PCRE2 10.35 to
10.40 in ordinary patterns, 10.45 to 10.47 if an optional character precedes a literal. So the fix needs the premise
`pcre-library`, and `plain-command-line`, as nginx refuses a `pcre_jit` that `-g` sets too.

The fix needs `--unsafe-fixes` if any word of the configuration repeats a group, such as `(a|b)*`, or calls one:
compiled code has a stack of only 32 KB for that. With `^/(a|b)*$`, nginx answers a URI of 3,000 bytes without
`pcre_jit`, and responds with 500 with it (1.22.1, 1.31.3); so do `fastcgi_split_path_info` and other directives that
take a regular expression.

## When to ignore it
If memory is short, or the system's PCRE is built without JIT: then `nginx -t` warns that PCRE does not support it.

## References
- https://nginx.org/en/docs/ngx_core_module.html#pcre_jit
- https://www.pcre.org/current/doc/html/pcre2jit.html
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nginxopt.config import layout
from nginxopt.lint import PCRE_LIBRARY, PLAIN_COMMAND_LINE, Finding, Fix, Model, Safety, Saving, Severity, pattern, rule
from nginxopt.semantics import Level

LEAST, MOST = 20, 1_000
"""At about 480 instructions each, 20 regular expressions cost more than a request without any; above 1,000, the
compiled code takes more than 9 MB."""

SAVED = (0.48, 0.88)
"""The share of the time of patterns that machine code saves: for short ones without a match, and long alternations."""

NEEDS = Safety.under(PCRE_LIBRARY, PLAIN_COMMAND_LINE)

_OPERATORS = ("~", "~*", "!~", "!~*")
_REPEATED_GROUP = pattern(r"(?<!\\)\)(?:[*+]|\{)|\(\?(?:R|&|P>|[0-9+-]*\d\))")


@rule(severity=Severity.INFO, category="process", fix=(NEEDS, Safety.UNSAFE), under_load=True)
def check(model: Model) -> Iterator[Finding]:
    """Find configurations with many regular expressions and no `pcre_jit`."""
    block = model.root.block
    if model.root.kind != "main" or block is None or not model.root.setting("pcre_jit").is_unset:
        return
    servers = [(_count(server), server) for server in model.levels("server")]
    most, server = max(servers, key=lambda pair: pair[0], default=(0, None))
    if server is None or not LEAST <= most <= MOST:
        return
    yield Finding(
        block.source,
        model.root.span,
        f"pcre_jit is not set, and requests to one server run through up to {most:,} regular expressions",
        Fix("add `pcre_jit on;`", (layout.prepend(block, ["pcre_jit on;"]),), _safety(model)),
        saves=Saving(cause="patterns", part=SAVED),
    )


def _count(server: Level) -> int:
    """Return the maximum number of regular expressions that a request to a server runs, without those of maps."""
    regexes = sum(level.modifier in ("~", "~*") for level in server.walk() if level.kind == "location")
    within = max((_script(level) for level in server.walk() if level.kind == "location"), default=0)
    return _script(server) + regexes + within


def _script(level: Level) -> int:
    """Return the number in the rewrite rules of a level."""
    rewrites = len(level.own("rewrite")) + sum(bulk.count for bulk in level.bulks)
    conditions = [child for child in level.own("if") if any(word in _OPERATORS for word in child.args)]
    return rewrites + len(conditions) + sum(len(child.own("rewrite")) for child in level.levels if child.kind == "if")


def _safety(model: Model) -> Safety:
    """Return UNSAFE if a pattern may need more stack than the JIT provides; any word may be a pattern."""
    return Safety.UNSAFE if not model.is_whole or _repeats_a_group(model) else NEEDS


def _repeats_a_group(model: Model) -> bool:
    words = (word for directive, _ in model.config.walk() for word in (directive.name, *directive.args))
    bulks = (bulk.source.text(bulk.span) for level in model.levels("server", "location") for bulk in level.bulks)
    return any(_REPEATED_GROUP.search(text) for text in chain(words, bulks))
