"""Folder or socket that workers cannot reach: requests get 403, 404 or 502

With `--host` or `--root`, flags the folder of a `root` or `alias` that is not there or that the user of the workers may
not enter, for one of its folders above as well, and the UNIX socket of an upstream that is not there, is no socket, or
may not be written to.

What a user may do is known only where `user` names it. Access control lists keep nobody out here: what they allow is
not read. Does not flag relative paths, which start from the prefix of the build, and paths with variables. With
`--root`, nothing is said of `/run`, `/tmp` and other folders that are filled when a machine starts.

## Why it matters
nginx starts. Each request gets 404 from a missing folder, 403 from one that workers may not enter ("Permission denied"
in the error log), and 502 from a socket, and only the error log says why. A home folder is the usual reason:
`/home/anna` has mode 700, whatever the folders in it allow.

## Bad
The examples assume that only root may enter `/srv/private`:
```nginx
user www-data;
events {}
http {
    server {
        root /srv/private;
    }
}
```
```nginx server
root /srv/missing;
```

## Good
```nginx
user www-data;
events {}
http {
    server {
        root /srv/www;
    }
}
```

## Silent
Who the workers are is not stated, and the other folder is another one for each name:
```nginx server
root /srv/private;
location /names/ {
    root /srv/$host;
}
```

## When to ignore it
If the folder is mounted, or the application makes its socket, after this was checked.

## References
- path_resolution(7), unix(7): connect needs write permission
- `ngx_http_static_handler` in ngx_http_static_module.c (404 and 403)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.hosted import unreachable


@rule(severity=Severity.WARNING, category="correctness", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find what workers cannot reach."""
    for found in unreachable(model):
        place = found.directive.args[0]
        yield Finding(found.directive.source, place.span, f"{found.path} {found.what}")
