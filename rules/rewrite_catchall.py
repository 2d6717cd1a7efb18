"""Rewrite of every URI: a regular expression where `return` needs none

Flags redirects whose pattern matches every URI and whose target is a URL followed by the URI:
`rewrite ^ https://example.com$request_uri? permanent` or `rewrite ^(.*)$ https://example.com$1 permanent`.

The fix uses `return` with `$request_uri`, the URI as the client sent it. It is not safe, because `rewrite` changes the
URI on the way, often for the worse. Seen on nginx 1.22.1:

| request | `^ URL$request_uri?` | `^(.*)$ URL$1` | `return` |
|---|---|---|---|
| `/a%3Fb?c` | `/a?b?c` | `/a?b?c` | `/a%3Fb?c` |
| `/a%2Fb` | `/a/b` | `/a/b` | `/a%2Fb` |
| `//a` | `//a` | `/a` | `//a` |
| `/a%0ab` | `/a%0ab` | no redirect | `/a%0ab` |

## Why it matters
Counted on nginx 1.22.1, for a URI of 115 bytes: 12,168 user-space instructions with `^` and `$request_uri?`, 14,694
with `^(.*)$` and `$1`, 9,271 with `return`. In the first row above, `rewrite` breaks the link.

## Bad
```nginx server
rewrite ^ https://example.com$request_uri? permanent;
```
```nginx server
rewrite ^(.*)$ https://example.com$1 redirect;
```

## Good
```nginx server
return 301 https://example.com$request_uri;
```

## Silent
These change the URI, or do not redirect:
```nginx server
rewrite ^/blog/(.*)$ https://blog.example.com/$1 permanent;
rewrite ^ https://example.com/closed? redirect;
location / {
    rewrite ^(.*)$ /index.php?q=$1 last;
}
```

## Fix safety
May change: responses.

`return` sends the URI as the client sent it, `rewrite` the decoded one: see the table above.

## When to ignore it
If clients rely on the normalized URI in the target.

## References
- https://nginx.org/en/docs/http/converting_rewrite_rules.html
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#return
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.semantics import FRAGMENT, Level

CODES = {"permanent": "301", "redirect": "302"}

_ALL = pattern(r"\^?(?:/?\(\.\*\)|\.\*|/?)\$?")
"""Matches patterns that match every non-empty URI; those with `$` do not match one with a newline."""

_WHOLE = pattern(r"((?:https?|\$scheme)://[^\s/?%]+?)(?:\$\{?(?:request_uri|uri|document_uri)\}?|(/?)\$1)(\??)")


@rule(severity=Severity.INFO, category="rewrite", fix=Safety.UNSAFE, about=("rewrite",))
def check(model: Model) -> Iterator[Finding]:
    """Find redirects of every URI to the same URI elsewhere."""
    for directive, level in model.suspicious_rewrites:
        url = _url(directive)
        if url is not None:
            yield _finding(directive, level, url)


def _url(directive: Directive) -> str | None:
    """Return the start of the URL to which every URI is appended; None for any other rewrite."""
    if len(directive.args) not in (2, 3) or not _ALL.fullmatch(directive.args[0]) or directive.args[0] in ("", "$"):
        return None
    target = _WHOLE.fullmatch(directive.args[1])
    if target is None or _repeats_the_slash(directive.args[0], target[2]):
        return None
    drops, repeats_arguments = bool(target[3]), "request_uri" in directive.args[1]
    return target[1] if drops == repeats_arguments else None


def _repeats_the_slash(pattern: str, slash: str | None) -> bool:
    """Whether the target has one slash more or less than the URI: `$1` may start with it or not."""
    return slash is not None and (slash == "/") != ("/(" in pattern)


def _finding(directive: Directive, level: Level, url: str) -> Finding:
    flag = directive.args[2] if len(directive.args) == 3 else "redirect"
    code = CODES.get(flag, "302")
    answer = f"return {code} {layout.quoted(url + '$request_uri')};"
    fix = Fix(f"use `{answer}`", (layout.rewrite(directive, answer),), Safety.UNSAFE)
    return Finding(
        directive.source,
        directive.args[0].span,
        'each URI goes through a regular expression, and %3F in it becomes "?": `return` leaves it as it is',
        fix if _is_original(level, directive) else None,
        help="" if _is_original(level, directive) else f"use `{answer}`, which redirects the URI as the client sent it",
    )


def _is_original(level: Level, directive: Directive) -> bool:
    """Whether `$uri` is certainly that of the client: no rule has changed it."""
    if "request_uri" in directive.args[1]:
        return True
    around = level.parent if level.kind == "if" else level
    if around is None or around.kind not in ("server", FRAGMENT) or around.bulks:
        return False
    return all(rule is directive or len(rule.args) == 3 for rule in around.own("rewrite"))
