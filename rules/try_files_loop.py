"""`try_files` whose last argument leads back to itself: nginx answers 500

Flags `try_files` whose last argument is `$uri/` or the like, if a request for a missing file comes back to it. The rule
asks the model of `nginxopt trace` for such a request.

Does not flag a last argument with a status or a name, and one that another location takes, or may take: a file of
locations may have `/index.php$uri`, which another file of the same server handles.

## Why it matters
The last argument is the fallback: nginx redirects to it internally, whatever exists. With `try_files $uri $uri/;` a
request for a missing file goes to `/x/`, then `/x//`, and so on, until nginx gives up after 10 internal redirects and
answers 500 with `rewrite or internal redirection cycle` in the error log. Visitors see 500 instead of 404.

## Bad
```nginx server
root /srv/www;
location / {
    try_files $uri $uri/;
}
```

## Good
```nginx server
root /srv/www;
location / {
    try_files $uri $uri/ =404;
}
```

## Silent
```nginx server
root /srv/www;
location / {
    try_files $uri $uri/ /index.html;
}
location /app/ {
    try_files $uri /index.html?q=$uri;
}
location = /a {
    try_files /b.html $uri.php;
}
location ~ \\.php$ {
    return 200;
}
```

## Fix safety
May change: responses.

Missing files are answered with 404 instead of 500.

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#try_files
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, ModelAnswer, Safety, Severity, rule
from nginxopt.lint.queries import reaching
from nginxopt.semantics import FRAGMENT, Level


@rule(severity=Severity.WARNING, category="correctness", fix=Safety.UNSAFE, witness=True, about=("try_files",))
def check(model: Model) -> Iterator[Finding]:
    """Find fallbacks that lead to themselves."""
    for directive, level in model.each("try_files"):
        if level.kind in ("server", "location", FRAGMENT) and len(directive.args) > 1 and _has_uri(directive):
            answer = _cycle(model, directive, level) if _comes_back(directive, level) else None
            if answer is not None:
                yield _finding(directive, answer)


def _has_uri(directive: Directive) -> bool:
    """Return whether the path of the fallback depends on the URI: a file for all, such as /index.html, is there."""
    return "uri" in directive.args[-1].partition("?")[0]


def _comes_back(directive: Directive, level: Level) -> bool:
    """Return whether no file beside a file of locations can have the location of the fallback, such as `/index.php`."""
    return level.around("server") is not None or directive.args[-1].startswith("$")


def _cycle(model: Model, directive: Directive, level: Level) -> ModelAnswer | None:
    """Return the answer to a request that nginx redirects until it gives up; None if there is none."""
    requests = sorted(reaching.reaching(level), key=lambda asked: asked.target.endswith(b"/"))  # files before folders
    answers = (answer for asked in requests for answer in model.requests.all(level, asked))
    cycles = (answer for answer in answers if answer.is_at == "error" and answer.outcome["status"] == 500)
    return next((answer for answer in cycles if answer.is_decided_by is directive), None)


def _finding(directive: Directive, answer: ModelAnswer) -> Finding:
    line = " ".join(["try_files", *map(layout.quoted, directive.args), "=404;"])
    return Finding(
        directive.source,
        directive.args[-1].span,
        f"nginx answers 500 if no file is there: it goes to {directive.args[-1]} again and again",
        Fix(f"set `{line}`", (layout.rewrite(directive, line),), Safety.UNSAFE),
        witness=answer.witness("nginx answers 500 after 10 internal redirects"),
    )
