"""Regular expression that PCRE cannot compile: nginx refuses the configuration

Flags the pattern of a `rewrite`, a regex `location`, an `if`, a `server_name`, a row of a `map` or another directive
with an error that every version of PCRE and PCRE2 reports: an open parenthesis or class, a repetition of nothing, a
range out of order.

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

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import refusals


@rule(severity=Severity.ERROR, category="refused")
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that do not compile."""
    for refused in refusals.refused_patterns(model.root):
        if refused.directive.name == "rewrite" and len(refused.directive.args) > 2:
            continue  # whatever compiles its list refuses it
        yield Finding(
            refused.directive.source,
            refused.word.span,
            f'nginx refuses this pattern: {refused.error} of "{refused.text}"',
            help="correct it; a \\ before a special character makes it literal",
        )
