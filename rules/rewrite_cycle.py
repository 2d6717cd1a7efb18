"""`rewrite` of a location to the URI that a request has anyway: nginx answers 500

Flags a `rewrite` without `break` in a location whose replacement has `$request_uri`, `$uri` or `$document_uri`, if all
requests that reach the location are rewritten there again and again. The rule asks the model of `nginxopt trace`. Other
rewrites that lead to themselves are reported by `redirect-loop`.

Does not flag a `rewrite` with `break`, and one whose new URI another rewrite or location takes.

## Why it matters
After the statements of a location, nginx looks for a location of the new URI. `rewrite ^ $request_uri` changes the URI
to what the client sent, which leads to the same location: after 10 changes nginx answers 500 with `rewrite or internal
redirection cycle` in the error log.

## Bad
```nginx server
location /files/ {
    rewrite ^ $request_uri;
    proxy_pass http://127.0.0.1:8080;
}
```

## Good
```nginx server
location /files/ {
    proxy_pass http://127.0.0.1:8080;
}
```

## Silent
```nginx server
location /files/ {
    rewrite ^ $request_uri;
    rewrite ^/files/(.*)$ /$1 break;
    return 400;
    proxy_pass http://127.0.0.1:8080/$1;
}
location /images/ {
    rewrite ^ $uri break;
    root /srv;
}
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#rewrite
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, ModelAnswer, Severity, pattern, rule
from nginxopt.lint.queries import reaching
from nginxopt.semantics import Level

_ITSELF = pattern(r"\$\{?(?:request_uri|uri|document_uri)\b")
_FLAGS = ((), ("last",))


@rule(severity=Severity.ERROR, category="rewrite", witness=True, about=("rewrite",))
def check(model: Model) -> Iterator[Finding]:
    """Find rewrites to the same URI."""
    for directive, level in model.each("rewrite"):
        if level.kind == "location" and _goes_on(directive):
            answer = _cycle(model, level)
            if answer is not None:
                yield Finding(
                    directive.source,
                    directive.args[1].span,
                    f"{directive.args[1]} leads to this location again: nginx answers 500 after 10 changes",
                    help="delete the rewrite, or use break",
                    witness=answer.witness("nginx answers 500"),
                )


def _goes_on(directive: Directive) -> bool:
    return len(directive.args) > 1 and directive.args[2:] in _FLAGS and _ITSELF.match(directive.args[1]) is not None


def _cycle(model: Model, level: Level) -> ModelAnswer | None:
    """Return an answer in which nginx gives up on a cycle, if that is so for all requests that reach a location."""
    answers = [answer for asked in reaching.reaching(level) for answer in model.requests.ask(level, asked)]
    inside = [answer for answer in answers if answer.is_in(level)]
    is_given_up = all(answer.is_at == "error" and answer.outcome["status"] == 500 for answer in inside)
    return inside[0] if inside and is_given_up else None
