"""Wrong number of arguments, or neither on nor off: nginx refuses the configuration

Flags directives of nginx with a number of arguments that they do not take, with another value than `on` or `off` where
these are the only ones, with a block that they do not have, or without the one they need. Does not flag directives of
NGINX Plus and of other modules, the `sync` that NGINX Plus takes in `limit_req_zone`, and values that envsubst writes,
such as `gzip ${GZIP};`.

`ssl_certificate ;`, with a blank and no value, is what is left of a template whose values were taken out. All such
directives are one finding.

The sources of each nginx release say what a directive takes.

## Why it matters
nginx stops at the first such directive: it does not start, and a reload keeps the old configuration. Often the cause is
a missing semicolon: the next line becomes arguments.

## Bad
```nginx location
proxy_pass http://127.0.0.1:8080
proxy_buffering off;
```
```nginx http
sendfile yes;
```

A template whose values are to be filled in:
```nginx http
server {
    listen 443 ssl;
    server_name ;
    ssl_certificate ;
    ssl_certificate_key ;
}
```

## Good
```nginx location
proxy_pass http://127.0.0.1:8080;
proxy_buffering off;
```

## Silent
Upper case is the same to nginx:
```nginx http
sendfile ON;
```

## When to ignore it
If a patched nginx or a fork takes such arguments.

## References
- `ngx_conf_handler` in ngx_conf_file.c: "invalid number of arguments"
- `ngx_conf_set_flag_slot` in ngx_conf_file.c
- https://nginx.org/en/docs/dirindex.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, has_placeholder
from nginxopt.facts import lexicon
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import names
from nginxopt.semantics import commands

_KINDS = (commands.FaultKind.BLOCK, commands.FaultKind.ARGUMENTS, commands.FaultKind.FLAG)


@rule(severity=Severity.ERROR, category="refused", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find directives with arguments or a block that nginx does not take."""
    for directive, _, fault in model.faults:
        if fault.kind in _KINDS and not _is_for_others(directive, fault):
            yield _finding(directive, fault)


def _finding(directive: Directive, fault: commands.Fault) -> Finding:
    if fault.kind is commands.FaultKind.ARGUMENTS and _is_emptied(directive):
        message = (
            f"{directive.name} has no value: nginx does not start with it; this looks like a template to be filled in"
        )
        return Finding(directive.source, directive.name.span, message, help="fill in the value", cause="no value")
    return Finding(directive.source, directive.name.span, _message(directive, fault), help=_help(directive, fault))


def _is_emptied(directive: Directive) -> bool:
    """Return whether a value was taken out: `ssl_certificate ;`, with a blank that nobody writes otherwise."""
    end = directive.name.end
    return not directive.args and directive.source.data[end : end + 1].isspace()


def _is_for_others(directive: Directive, fault: commands.Fault) -> bool:
    """Return whether another program replaces the value before nginx reads it, or NGINX Plus accepts the arguments."""
    if fault.kind is commands.FaultKind.FLAG:
        return has_placeholder(directive.args[0])
    if fault.kind is commands.FaultKind.ARGUMENTS and names.has_blank(directive):
        return True
    return directive.name == "limit_req_zone" and directive.args[-1:] == ("sync",)


def _message(directive: Directive, fault: commands.Fault) -> str:
    name = directive.name
    if fault.kind is commands.FaultKind.BLOCK:
        return f'"{name}" needs a block' if directive.block is None else f'"{name}" has no block'
    if fault.kind is commands.FaultKind.FLAG:
        return f'"{name}" must be on or off, not "{directive.args[0]}"'
    return f'"{name}" takes {_count(fault.declaration.arguments)}, not {len(directive.args)}'


def _count(arguments: str) -> str:
    """Return the number of arguments in words: `no argument`, `1 or 2 arguments`, `at least 1 argument`."""
    if arguments in ("0", "1", "flag"):
        return "no argument" if arguments == "0" else "1 argument"
    least, more, _ = arguments.partition("+")
    if more:
        return f"at least {least} argument{'' if least == '1' else 's'}"
    *others, last = least.split(",")
    return f"{', '.join(others)} or {last} arguments" if others else f"{last} arguments"


def _help(directive: Directive, fault: commands.Fault) -> str:
    """Return the likely cause."""
    swallowed = [str(word) for word in directive.args[1:] if word in lexicon.NGINX and word not in ("on", "off")]
    if fault.kind is not commands.FaultKind.FLAG and swallowed:
        return f'if "{swallowed[0]}" is a directive of its own, a semicolon is missing before it'
    if fault.kind is commands.FaultKind.FLAG:
        return "write on or off"
    return ""
