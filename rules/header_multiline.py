"""Header over several lines: clients and proxies may refuse the response

Flags `add_header`, `add_trailer` and `more_set_headers` whose value has a line end. Does not flag values that stand on
several lines of the file as several words.

## Why it matters
nginx sends the value as it is, with its line ends. HTTP has not allowed such headers since 2014 (RFC 7230, obs-fold):
some clients take the next line for another header, proxies answer with 502, and Content-Security-Policy, for example,
ends at the first line. In HTTP/2 and HTTP/3 a line end in a value is an error, and browsers drop the whole response
(RFC 9113, section 8.2.1).

## Bad
```nginx server
add_header Content-Security-Policy "default-src 'self';
    img-src 'self' data:;
    script-src 'self'" always;
```

## Good
```nginx server
add_header Content-Security-Policy "default-src 'self'; img-src 'self' data:; script-src 'self'" always;
```

## Silent
```nginx server
add_header
    Content-Security-Policy
    "default-src 'self'";
```

## Fix safety
May change: responses.

The header is on one line, with blanks in place of the line ends.

## When to ignore it
Never.

## References
- https://www.rfc-editor.org/rfc/rfc9112#name-obsolete-line-folding
- https://www.rfc-editor.org/rfc/rfc9113#section-8.2.1
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule

_OPTIONS = ("-s", "-t")
"""The options of `more_set_headers` that list statuses and types."""
_FOLD = pattern(r"\s*[\r\n]\s*")


@rule(
    severity=Severity.WARNING,
    category="correctness",
    fix=Safety.UNSAFE,
    about=("add_header", "add_trailer", "more_set_headers"),
)
def check(model: Model) -> Iterator[Finding]:
    """Find values with line ends."""
    for directive, _ in model.each("add_header", "add_trailer", "more_set_headers"):
        for before, word in pairwise((directive.name, *directive.args)):
            if "\n" not in word or before in _OPTIONS:
                continue
            line = _FOLD.sub(" ", word).strip()
            yield Finding(
                directive.source,
                directive.args[0].span,
                "this value has line ends: HTTP/2 clients refuse the response, others read half of the header",
                Fix("write the value on one line", (layout.replace(directive, word, line),), Safety.UNSAFE),
            )
            break
