r"""Password file that is missing, cannot be read, or keeps passwords in the clear

With `--host` or `--root`, flags an `auth_basic_user_file` that nobody can log in with or that gives passwords away:

- it is missing (every request gets 403), or the user of the workers may not read it (500);
- no line of it is an entry `name:hash`;
- it has passwords in the clear (`{PLAIN}`), their SHA-1 (`{SHA}`, `{SSHA}`), or the hash of crypt(3) with eight
  characters, or what nginx takes for no hash at all.

No name, hash or password is shown.

## Why it matters
nginx reads the file in the worker, for each request, and starts without it: `nginx -t` finds nothing. A file with
passwords in the clear gives them to whoever gets a backup; a graphics card tries 10^10 SHA-1 hashes a second.

## Bad
The examples assume a file with a password in the clear:
```nginx http
server {
    auth_basic members;
    auth_basic_user_file old-users;
}
```
```nginx http
server {
    auth_basic members;
    auth_basic_user_file /etc/nginx/missing;
}
```

## Good
```nginx http
server {
    auth_basic members;
    auth_basic_user_file users;
}
```

## Silent
No file is read, or another one for each name:
```nginx http
server {
    auth_basic off;
    auth_basic_user_file /etc/nginx/missing;
}
server {
    server_name example.com;
    auth_basic members;
    auth_basic_user_file /etc/nginx/$host;
}
```

## When to ignore it
If the file is mounted when a container starts.

## References
- https://nginx.org/en/docs/http/ngx_http_auth_basic_module.html
- `ngx_http_auth_basic_handler` in ngx_http_auth_basic_module.c (403, 500), `ngx_crypt` in ngx_crypt.c (the forms)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, count, rule
from nginxopt.lint.hosted import UserFile, user_file
from nginxopt.semantics import Level

_LEVELS = ("http", "server", "location", "if", "limit_except")


@rule(severity=Severity.WARNING, highest=Severity.ERROR, category="security", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find password files that do not work, or are weak."""
    for directive, levels in _used(model).items():
        file = user_file(model, directive)
        if file is not None and levels:
            yield from _of_file(directive, file)


def _used(model: Model) -> dict[Directive, list[Level]]:
    """Return the levels that ask for a password, by the directive that names its file."""
    used: dict[Directive, list[Level]] = {}
    for level in model.levels(*_LEVELS):
        directive = level.setting("auth_basic_user_file").directive
        realm = level.setting("auth_basic")
        if directive is not None and realm.directive is not None and realm.value not in (None, "off"):
            used.setdefault(directive, []).append(level)
    return used


def _of_file(directive: Directive, file: UserFile) -> Iterator[Finding]:
    if file.is_missing:
        yield _finding(directive, f"{file.path} is missing: every request gets 403", Severity.ERROR)
    elif file.kept_from:
        yield _finding(directive, f"{file.reader} may not read {file.kept_from}: requests get 500", Severity.ERROR)
    if file.entries == 0:
        yield _finding(directive, f"{file.path} has no entry of the form name:hash: nobody can log in", Severity.ERROR)
    for kind, number in file.weak.items():
        yield _finding(directive, f"{file.path} has {count(number, 'password')} {kind}", Severity.WARNING)


def _finding(directive: Directive, message: str, severity: Severity) -> Finding:
    return Finding(directive.source, directive.args[0].span, message, severity=severity)
