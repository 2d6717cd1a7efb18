"""`root /` or the folder of the configuration: clients can read files that are not part of the site

Flags a `root` or `alias` with which a request gets `/etc/passwd`, or the main file of the configuration: `root /`,
`root /etc`, `alias /` for a folder, `root` of the folder in which nginx.conf is. The rule asks the model of `nginxopt
trace` for the file that such a request gets.

Does not flag a `root /` in a location for one folder, which serves that folder alone, internal locations, and a
`root` that only requests for other locations inherit.

## Why it matters
nginx appends the URI to the `root`. With `root /`, `GET /etc/passwd` is a file that exists, and the workers can read
most of the others as well: sources with passwords, backups, what other applications have under `/tmp` and `/proc`. The
folder of the configuration has keys, password files and the addresses of internal servers.

## Bad
```nginx server
root /;
location / {
    try_files $uri =404;
}
```
```nginx server
location /files/ {
    alias /;
}
```
```nginx server
root /etc/nginx;
```

## Good
```nginx server
root /srv/www;
location / {
    try_files $uri =404;
}
```

## Silent
The location serves one folder; an upstream answers all requests:
```nginx server
location /usr/share/doc/ {
    root /;
}
location /sent/ {
    internal;
    alias /;
}
location / {
    root /;
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
If nginx runs where there are no other files, such as in a chroot.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#root
- https://www.nginx.com/resources/wiki/start/topics/tutorials/config_pitfalls/
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import AskedRequest, Finding, Model, ModelAnswer, Severity, rule
from nginxopt.semantics import FRAGMENT, Level

_MAIN_FILES = ("/etc/nginx/nginx.conf", "/usr/local/nginx/conf/nginx.conf", "/usr/local/etc/nginx/nginx.conf")
"""Where packages and builds of nginx have the main file."""
_MOST_LEVELS = 8


@rule(severity=Severity.WARNING, category="security", witness=True, about=("root", "alias"))
def check(model: Model) -> Iterator[Finding]:
    """Find folders that hold more than a site."""
    exposing = _exposing(model)
    for stated, level in model.each("root", "alias"):
        secrets = exposing.get(_normal(stated))
        answer = _answer(model, stated, level, secrets) if secrets else None
        if answer is not None:
            yield Finding(
                stated.source,
                stated.args[0].span,
                f"{stated.name} {stated.args[0]} serves more than a site: {answer.file}, for instance",
                help="name a folder that has the files of the site and nothing else",
                witness=answer.witness(f"nginx sends {answer.file}, if it may read it"),
            )


def _normal(stated: Directive) -> str | None:
    """Return the path of a folder without `.` and `..`; None if it has variables or is relative."""
    path = str(stated.args[0]) if stated.args else ""
    return "/" + posixpath.normpath(path).lstrip("/") if path.startswith("/") and "$" not in path else None


def _exposing(model: Model) -> dict[str | None, list[str]]:
    """Return the folders around files that no site is meant to serve, each with these files."""
    main = model.config.main.path
    folders: dict[str | None, list[str]] = {}
    for secret in ("/etc/passwd", *_MAIN_FILES, *([main] if main.startswith("/") else [])):
        names = [name for name in secret.split("/") if name not in ("", ".")]
        for depth in range(len(names) + 1):
            folders.setdefault("/" + "/".join(names[:depth]), []).append(secret)
    return folders


def _answer(model: Model, stated: Directive, level: Level, secrets: list[str]) -> ModelAnswer | None:
    """Return the answer to a request that gets one of the files by this directive; None if there is none."""
    if level.kind not in ("http", "server", "location", FRAGMENT):
        return None
    heirs = [other for other in level.walk() if stated in other.setting(str(stated.name)).directives]
    servers = [other for other in heirs if other.kind in ("server", "location", FRAGMENT)]
    for other in servers[:_MOST_LEVELS]:
        for secret in secrets:
            asked = AskedRequest(_target(other, stated, secret).encode(errors="surrogateescape"))
            answer = model.requests.first(other, asked)
            if answer is not None and posixpath.normpath(answer.file or "").replace("//", "/") == secret:
                return answer
    return None


def _target(level: Level, stated: Directive, secret: str) -> str:
    """Return the URI for which nginx takes a file below a `root` or `alias`."""
    folder = str(stated.args[0])
    rest = posixpath.relpath(secret, folder)
    if stated.name == "root":
        return f"/{rest}"
    return level.path + ("" if folder.endswith("/") else "/") + rest
