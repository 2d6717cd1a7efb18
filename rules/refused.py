"""Value, name or combination that nginx refuses

Flags what `nginx -t` refuses for its text alone: values out of bounds, sizes, times, ports and codes that are none,
unknown parameters, variables, log formats, zones and caches that nothing defines, conflicting zones and `listen`s,
upstreams without servers, conditions, rows of maps, buffers that do not fit each other, certificates without a key.
Each finding is what nginx says, and nginx stops at the first: all are found at once. Does not flag what depends on
files, names, certificates or the machine, placeholders (`<size>`, `<doc root>`, `127.0.0.1:xxx`, `${limit}`,
`[NAME-OF-HOST]`, or `CACHE_SIZE` for a size), names that text which was not read may define, and directives of other
modules.

Directives that are unknown, misplaced, given twice or have a wrong number of arguments, second locations and patterns
have rules of their own in the same category.

## Why it matters
nginx does not start, and a reload keeps the old configuration: the change that was deployed has no effect, and the
next restart of the machine leaves it without a server.

## Bad
```nginx http
limit_req_zone $binary_remote_addr zone=one:10mb rate=1r/s;
```
```nginx server
error_page 200 /ok.html;
location / {
    proxy_buffers 8 4k;
    proxy_buffer_size 64k;
    proxy_pass http://127.0.0.1:8080;
}
```
```nginx http
upstream app {
    server 127.0.0.1:8080 weight=0;
}
```

## Good
```nginx http
limit_req_zone $binary_remote_addr zone=one:10m rate=1r/s;
```

## Silent
The longest unit of a timeout is a week; other times have months and years. Flags and names may be in upper case:
```nginx server
send_timeout 1w;
expires 1y;
sendfile ON;
location / {
    proxy_buffers 16 16k;
    proxy_buffer_size 64k;
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
If a patched nginx or a fork accepts it.

## References
- The setters that `ngx_command_t` names, in nginx's sources: `ngx_conf_set_size_slot` and its kin in ngx_conf_file.c
- `ngx_http_merge_servers` in ngx_http.c, `ngx_http_variables_init_vars` in ngx_http_variables.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.facts import lexicon
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import names
from nginxopt.semantics import refusals

_NAME_OF_VALUE = pattern(r"\[?[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)+\]?(?::\d+)?/?")
_FILLED_IN = pattern(r"(?:^|[=:])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|:[xX]{2,}(?:/|$)|\$\{\w+\}")
"""Matches a word that ends with a name in place of a value, such as `keys_zone=a:CACHE_SIZE`, or has a name in braces
where nginx has no variables. A script replaces such names.
"""

_QUOTED = pattern(r'"(?:https?://)?([^"]+)"')

_BRACED = pattern(r"\$\{(\w+)\}")

_RENAMED = {
    "http3": "write `quic`: only previews of nginx 1.25.0 had http3",
    "spdy": "write `http2`, which replaced it in nginx 1.9.5",
}

_UPSTREAMS = "duplicate upstream"
"""nginx's message for each block of a file that repeats another file: these have one cause."""

_STAGES = (
    refusals.RefusalStage.SETTER,
    refusals.RefusalStage.MERGE,
    refusals.RefusalStage.VARIABLE,
    refusals.RefusalStage.SHARED,
)


@rule(severity=Severity.ERROR, category="refused", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find what nginx refuses when it reads a directive or closes a block; for each directive, the first refusal."""
    seen: set[Directive] = set()
    for refusal in refusals.refusals(model.root, model.target):
        if refusal.stage in _STAGES and refusal.directive not in seen and not _is_filled_in(refusal):
            seen.add(refusal.directive)
            message = f"nginx refuses it: {refusal.message}"
            cause = _UPSTREAMS if refusal.message.startswith(_UPSTREAMS) else None
            yield Finding(refusal.directive.source, refusal.word.span, message, cause=cause, help=_help(refusal))


def _help(refusal: refusals.Refusal) -> str:
    """Return the likely cause: a missing semicolon, or a parameter that has another name now."""
    directive = refusal.directive
    for word in directive.args if directive.block is None else ():
        if word in lexicon.NGINX and not word.quoted and layout.begins_line(directive, word):
            return f'if "{word}" is a directive of its own, a semicolon is missing before it'
    return _RENAMED.get(str(refusal.word), "") if directive.name == "listen" else ""


def _braced(directive: Directive) -> Iterator[str]:
    """Yield the names in braces, in lower case."""
    return (match[1].lower() for word in directive.args for match in _BRACED.finditer(word))


def _is_filled_in(refusal: refusals.Refusal) -> bool:
    """Return whether nginx refuses a value that is a placeholder, or a variable in braces."""
    if names.has_blank(refusal.directive):
        return True
    is_parameter = "invalid parameter" in refusal.message and not names.is_blank(str(refusal.directive.args[0]))
    if not is_parameter and any(map(_NAME_OF_VALUE.fullmatch, _QUOTED.findall(refusal.message))):
        return True
    if refusal.stage is refusals.RefusalStage.VARIABLE:
        return any(f'unknown "{name}" variable' == refusal.message for name in _braced(refusal.directive))
    is_value = "invalid " in refusal.message and "invalid parameter" not in refusal.message
    return is_value and any(map(_FILLED_IN.search, refusal.directive.args))
