r"""Log format of JSON without `escape=json`: a quote or a byte in a request breaks the line

Flags a `log_format` whose lines are JSON objects with strings that clients decide, such as `$request`, `$request_uri`
and `$http_user_agent`, but which does not have `escape=json`. Does not flag other formats, and objects with nothing but
addresses, times and numbers.

## Why it matters
By default, nginx writes `"`, `\` and bytes that are not ASCII as `\xXX`, which no JSON parser accepts: the line is lost
for whoever reads the log. A client that sends a quote in its User-Agent or its URI keeps its requests out of the
analysis, and with `escape=none` it writes any members into the line. On nginx 1.22.1, `curl -A 'a"b'` gives
`{"agent":"a\x22b"}`.

## Bad
```nginx http
log_format json '{"request":"$request","status":$status,"agent":"$http_user_agent"}';
```
```nginx http
log_format json escape=none '{"uri": "$request_uri"}';
```

## Good
```nginx http
log_format json escape=json '{"request":"$request","status":$status,"agent":"$http_user_agent"}';
```

## Silent
```nginx http
log_format plain '$remote_addr "$request" $status';
log_format numbers '{"status":$status,"time":$request_time,"client":"$remote_addr"}';
```

## Fix safety
May change: logs.

Quotes, backslashes and control characters are written as JSON has them, other bytes as they are, and values that are
not known as nothing instead of `-`.

## When to ignore it
If what reads the log undoes `\xXX` before it parses the line.

## References
- https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format
- ngx_http_log_escape and ngx_http_log_json_variable in ngx_http_log_module.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Change, Directive, Edit, Span, encode
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule

_OBJECT = pattern(r"\s*\{\s*\"[^\"]*\"\s*:.*\}\s*,?\s*\Z", re.DOTALL)
_OF_CLIENTS = pattern(
    r"\"[^\"]*\"\s*:\s*\"[^\"$]*\$\{?(?:request|request_uri|uri|document_uri|args|query_string|request_body|remote_user"
    r"|http_(?!host\b)\w+|arg_\w+|cookie_\w+)\b"
)


@rule(severity=Severity.WARNING, category="log", fix=Safety.UNSAFE, since="1.11.8", about=("log_format",))
def check(model: Model) -> Iterator[Finding]:
    """Find formats of JSON with values that are not escaped as JSON."""
    for directive, _ in model.each("log_format"):
        name, *texts = directive.args or ("",)
        stated = str(texts.pop(0)) if texts and texts[0].startswith("escape=") else ""
        text = "".join(texts)
        found = _OF_CLIENTS.search(text)
        if stated == "escape=json" or found is None or not _OBJECT.match(text):
            continue
        variable = "$" + found[0].rpartition("$")[2].lstrip("{")
        fix = None if stated else Fix("add `escape=json`", (_escaped(directive),), Safety.UNSAFE)
        yield Finding(
            directive.source,
            directive.name.span,
            f"a quote in {variable} makes a line of the format {name} that is no JSON",
            fix,
            "" if fix else "use escape=json",
        )


def _escaped(directive: Directive) -> Change:
    """State how values are escaped, behind the name of the format."""
    end = directive.args[0].span.end
    return Change(directive.source, Edit(Span(end, end), encode(" escape=json")))
