"""Rewrite in a location of one URI: an unnecessary regular expression

Flags redirects by `rewrite` with a fixed target that are the only rule of a `location = /uri`.

Off by default: on most sites such a location gets few requests.

The fix uses `return`. Seen on nginx 1.22.1, its responses are the same byte for byte, except for two kinds of requests
with a body, which is why the fix is not safe: after `Expect: 100-continue`, nginx sends `100 Continue` first, and a
malformed chunked body gets 400.

## Why it matters
nginx selects the location without a regular expression, and then runs one on a URI that can only be this one: 9,266
user-space instructions a request against 8,607 with `return`, counted on nginx 1.22.1.

## Bad
```nginx server
location = /old {
    rewrite ^/old$ /new permanent;
}
```

## Good
```nginx server
location = /old {
    return 301 /new$is_args$args;
}
```

## Silent
nginx combines the arguments of the target and of the client, which `return` cannot do; and a rule that continues within
nginx is not a redirect:
```nginx server
location = /old {
    rewrite ^ /new?from=old permanent;
}
location = /start {
    rewrite ^ /index.php last;
}
```

## Fix safety
May change: responses.

Two kinds of requests with a body get a different response: see above.

## When to ignore it
If a program generates the file.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#return
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, encode, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule, transparent
from nginxopt.semantics import Level, subjects

_CODES = {"permanent": "301", "redirect": "302"}


@rule(severity=Severity.INFO, category="rewrite", fix=Safety.UNSAFE, default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find redirects by rewrite in exact locations."""
    for level in model.levels("location"):
        directive = _only_rule(level) if level.modifier == "=" else None
        answer = _return(level, directive) if directive is not None else None
        if directive is not None and answer is not None:
            yield Finding(
                directive.source,
                directive.name.span,
                f"only {level.path} reaches this rewrite: `return` needs no regular expression",
                Fix(f"use `{answer}`", (layout.rewrite(directive, answer),), Safety.UNSAFE),
            )


def _only_rule(location: Level) -> Directive | None:
    """Return the rewrite of a location without other rewrite module directives."""
    script = [directive for directive in location.directives if directive.name not in transparent()]
    rewrites = location.own("rewrite")
    return rewrites[0] if len(script) == len(rewrites) == 1 and not location.is_open else None


def _return(location: Level, directive: Directive) -> str | None:
    """Return the equivalent `return` statement; None if there is none."""
    if len(directive.args) not in (2, 3):
        return None
    pattern, target, *flags = directive.args
    code = _CODES.get(flags[0]) if flags else "302"
    is_url = target.startswith(("http://", "https://"))
    if code is None or not (target.startswith("/") or is_url) or (not flags and not is_url):
        return None
    if "$" in target or "%" in target or not subjects.matches(encode(pattern), encode(location.path)):
        return None
    if target.endswith("?"):
        return f"return {code} {layout.quoted(target[:-1])};"
    return None if "?" in target else f"return {code} {layout.quoted(target + '$is_args$args')};"
