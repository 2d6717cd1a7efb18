"""Log path `on`, `off` or `stdout`: nginx writes a file with that name

Flags `access_log` and `error_log` whose path is a word such as `on`, `off` or `none`, or the name of a stream. Only
`access_log off`, in lower case, and `error_log stderr` are not files. Those of `stream` and `mail` are flagged as well.

## Why it matters
`error_log off` still logs, to a file named `off` in nginx's prefix, which nobody rotates or reads. `access_log on`
replaces the log that the server had. In a container, `access_log stdout` fills the disk, and `docker logs` shows
nothing.

## Bad
```nginx http
error_log off;
server {
    root /srv/www;
}
```
```nginx http
access_log on;
server {
    root /srv/www;
}
```
```nginx http
server {
    access_log Off;
}
```
```nginx http
access_log stdout;
server {
    root /srv/www;
}
```
```nginx
events {
}
stream {
    error_log off;
}
```

## Good
```nginx http
error_log /dev/null crit;
server {
    root /srv/www;
}
```

## Silent
This is not a file:
```nginx http
access_log off;
```
These are not ambiguous either:
```nginx http
access_log on.log;
access_log /dev/stdout;
error_log stderr;
```

## Fix safety
May change: logs, files.

Errors that went to a file with the name of a switch are no longer written, or go to the log of the enclosing level.
What went to a file with the name of a stream goes to that stream.

## When to ignore it
Never. To keep errors, set the path of a log instead of `/dev/null`: errors that nobody sees are not fixed.

## References
- https://nginx.org/en/docs/ngx_core_module.html#error_log
- ngx_log_set_log in ngx_log.c, ngx_http_log_set_log in ngx_http_log_module.c (`ngx_strcmp` with `off`)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level

NO_LOG = ("off", "false", "no", "none")
A_LOG = ("on", "true", "yes")
STREAMS = ("stdout", "stderr")
NO_FILES = (("access_log", "off"), ("error_log", "stderr"))
"""The words that nginx knows."""


@rule(severity=Severity.ERROR, category="log", fix=Safety.UNSAFE, about=("access_log", "error_log"))
def check(model: Model) -> Iterator[Finding]:
    """Find logs whose file name is a switch value or a stream."""
    for directive, level in model.everywhere("access_log", "error_log"):
        word = next(iter(directive.args), None)
        if word is None or word.lower() not in (*NO_LOG, *A_LOG, *STREAMS) or (directive.name, word) in NO_FILES:
            continue
        message = f'{directive.name} {word} writes a file named "{word}"'
        title_and_change = _meant(directive, level)
        help_ = "" if title_and_change else f"replace {word} with a file name"
        fix = Fix(title_and_change[0], (title_and_change[1],), Safety.UNSAFE) if title_and_change else None
        yield Finding(directive.source, word.span, message, fix, help_)


def _meant(directive: Directive, level: Level) -> tuple[str, Change] | None:
    """Return the fix that does what a word says: title and change."""
    word = directive.args[0].lower()
    if word in STREAMS:
        return f"write to /dev/{word}", layout.replace(directive, directive.args[0], f"/dev/{word}")
    return _switched_off(directive, level) if word in NO_LOG else _default(directive, level)


def _switched_off(directive: Directive, level: Level) -> tuple[str, Change]:
    """Return the fix for a log that should be off: title and change."""
    if directive.name == "error_log":
        return "send errors to /dev/null", layout.rewrite(directive, "error_log /dev/null crit;")
    if len(level.own("access_log")) > 1:  # `off` would end the others too
        return "remove it", layout.delete(directive)
    return "write `off`", layout.rewrite(directive, "access_log off;")


def _default(directive: Directive, level: Level) -> tuple[str, Change] | None:
    """Return the fix for a log that should be on: inherit it. None if the outer level has it off."""
    outer = level.parent.setting(str(directive.name)) if level.parent else None
    if len(directive.args) > 1 or (outer and outer.value == "off"):
        return None
    return "remove it, to inherit the log of the level above", layout.delete(directive)
