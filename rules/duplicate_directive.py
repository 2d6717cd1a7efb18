"""Directive twice in one block: nginx refuses the configuration

Flags the second of two directives in a block, including its includes, where nginx accepts only one, such as `root`.
`alias` and `root` count as the same directive. Does not flag directives that add to each other, such as `add_header`,
and those of other modules.

The sources of each nginx release say which directives a block may have only once.

## Why it matters
nginx does not start, and a reload keeps the old configuration. The second one often comes from an include, where nobody
sees it.

## Bad
```nginx server
client_max_body_size 10m;
location / {
    root /srv/www;
    index index.html;
}
client_max_body_size 20m;
```
```nginx location
root /srv/www;
alias /srv/files;
```

## Good
```nginx server
client_max_body_size 20m;
location / {
    root /srv/www;
    index index.html;
}
```

## Silent
An inner block has its own:
```nginx server
root /srv/www;
location /files/ {
    root /srv;
}
add_header X-A a;
add_header X-A b;
```

## When to ignore it
If a patched nginx or a fork takes the directive twice.

## References
- `ngx_conf_set_str_slot` and its kin in ngx_conf_file.c: "is duplicate"
- `ngx_http_core_root` in ngx_http_core_module.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.semantics import commands


@rule(severity=Severity.ERROR, category="refused", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find second directives that nginx refuses."""
    pairs = list(commands.duplicates(model.config, model.target))
    twice = {second.source for first, second in pairs if second.name == "http" and first.source is second.source}
    for first, second in pairs:
        is_same = first.name == second.name
        yield Finding(
            second.source,
            second.name.span,
            f'duplicate "{second.name}" in this block: nginx does not start'
            if is_same
            else f'"{second.name}" and "{first.name}" in one block: nginx does not start',
            help="keep one of them",
            related=(Related(first.source, first.name.span, "the first one"),),
            cause=_cause(first, second, is_twice=second.source in twice),
        )


def _cause(first: Directive, second: Directive, *, is_twice: bool) -> str | None:
    """Return the cause of directives that one file repeats, or that a file has because it has two configurations."""
    if first.source is not second.source:
        return f"{second.source.path} repeats {first.source.path}"
    return "two configurations" if is_twice else None
