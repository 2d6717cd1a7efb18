"""`$http_referrer`: the header is `Referer`, and the variable is always empty

Flags `$http_referrer`, which is the header that a client would call Referrer. Does not flag `$http_referer`.

## Why it matters
The name of the header has been misspelled since RFC 1945, and browsers send it as `Referer`. A condition on
`$http_referrer` sees an empty value: a list of the sites that may embed an image refuses all of them, or none.

## Bad
```nginx server
if ($http_referrer !~ ^https://example\\.com/) {
    return 403;
}
```

## Good
```nginx server
if ($http_referer !~ ^https://example\\.com/) {
    return 403;
}
```

## Silent
```nginx server
add_header Referrer-Policy no-referrer;
location / {
    proxy_set_header X-Referrer $http_referer;
    proxy_pass http://127.0.0.1:8080;
}
```

## Fix safety
May change: responses, upstream requests, logs.

The variable has the value of the header.

## When to ignore it
If a client of your own sends a header `Referrer`.

## References
- https://www.rfc-editor.org/rfc/rfc9110#name-referer
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Change, Edit, Span
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import whole

_MISSPELLED = pattern(rb"(?<=http_refer)r(?=er\b)", re.IGNORECASE)


@rule(severity=Severity.WARNING, category="correctness", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find the variable of a header that no client sends."""
    if not any(_MISSPELLED.search(file.source.data) for file in model.config.files):
        return
    for directive in whole.readers(model, ["http_referrer"]):
        for word in directive.args:
            data = directive.source.data[word.span.start : word.span.end]
            places = [
                Span(word.span.start + match.start(), word.span.start + match.end())
                for match in _MISSPELLED.finditer(data)
            ]
            if places:
                changes = tuple(Change(directive.source, Edit(place, b"")) for place in places)
                yield Finding(
                    directive.source,
                    word.span,
                    "$http_referrer is always empty: browsers send Referer",
                    Fix("write $http_referer", changes, Safety.UNSAFE),
                )
                break
