"""Variable in a log path: the file is opened and closed for each line

Flags an `access_log` with a variable in its path if `open_log_file_cache` is not set.

Does not flag `${name}` if neither nginx nor the configuration defines such a variable: another program replaces it.

## Why it matters
If the path is known only at request time, nginx opens the file, writes one line and closes it, and it cannot buffer.
With the cache, it keeps the last files open.

## Bad
```nginx http
access_log /var/log/nginx/$host.log;
```

## Good
```nginx http
access_log /var/log/nginx/$host.log;
open_log_file_cache max=100;
```

## Silent
Only the path counts, and a log with a fixed path stays open:
```nginx http
map $status $writes {
    default 1;
    ~^2     0;
}
access_log /var/log/nginx/access.log combined if=$writes;
access_log syslog:server=127.0.0.1,tag=a combined;
```

## Fix safety
May change: logs, limits.

Each worker has up to 100 more files open, and keeps writing to a file that was renamed or deleted for up to a minute.

## When to ignore it
If logs are rotated by renaming and compressed at once: with the cache, nginx keeps writing to the renamed file for up
to a minute (`valid`), which is why the fix needs `--unsafe-fixes`. There are then up to 100 more open files.

## References
- https://nginx.org/en/docs/http/ngx_http_log_module.html#open_log_file_cache
- ngx_http_log_script_write in ngx_http_log_module.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.facts import is_variable
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule

LINE = "open_log_file_cache max=100;"
_BRACED = pattern(r"\$\{(\w+)\}")


@rule(severity=Severity.WARNING, category="log", fix=Safety.UNSAFE, about=("access_log",))
def check(model: Model) -> Iterator[Finding]:
    """Find logs whose file is opened for each line."""
    for directive, level in model.each("access_log"):
        word = next(iter(directive.args), "")
        if "$" not in word or word.startswith("syslog:") or not level.setting("open_log_file_cache").is_unset:
            continue
        if any(_is_replaced(model, name) for name in _BRACED.findall(word)):
            continue
        fits = level.kind not in ("if", "limit_except")  # where open_log_file_cache is not allowed
        fix = (
            Fix(f"add `{LINE}`", (layout.after(level.own("access_log")[-1], [LINE]),), Safety.UNSAFE) if fits else None
        )
        message = "access_log has a variable in its path: nginx opens and closes the file for each line"
        help_ = "" if fits else f"add `{LINE}` to the enclosing block"
        yield Finding(directive.source, directive.args[0].span, message, fix, help_)


def _is_replaced(model: Model, name: str) -> bool:
    """Return whether `${name}` is not a variable: nginx has none of that name, and no definition or group names it."""
    is_known = is_variable(name.lower(), "http", model.target)
    return not (is_known or model.mentions(f"${name}") or model.mentions(f"<{name}>"))
