"""No compression: text takes three to ten times the bytes

Flags a whole configuration that sends files of a site from a `root` and compresses nothing: it has no `gzip`,
`gzip_static`, `brotli` or `zstd` anywhere. A server is that of a site if it has TLS or a name of its own, sets
`expires`, or has an application of one page (`try_files $uri /index.html`). Does not flag other servers, such as those
of examples (`localhost`, `example.com`), fragments, files for developers (`nginx.dev.conf`) and of exercises
(`examples/nginx.conf`), and servers that only answer on loopback addresses or sockets, behind another server.

## Why it matters
HTML, CSS, JavaScript and JSON shrink to a third or less, which matters most on slow connections. `gzip` is off by
default, and stays off in the nginx.conf that comes with nginx.

## Bad
```nginx
events {
}
http {
    types {
        text/html html;
        text/css css;
    }
    server {
        listen 80;
        server_name www.shop.example;
        root /srv/www;
    }
}
```

## Good
```nginx
events {
}
http {
    types {
        text/html html;
        text/css css;
    }
    gzip on;
    gzip_types text/css application/javascript application/json image/svg+xml;
    server {
        listen 80;
        server_name www.shop.example;
        root /srv/www;
    }
}
```

## Silent
Another server in front compresses, images are compressed already, and the last server is that of an example:
```nginx
events {
}
http {
    types {
        text/html html;
    }
    server {
        listen 127.0.0.1:8080;
        root /srv/www;
    }
    server {
        listen 80;
        location ~ \\.(png|jpg)$ {
            root /srv/photos;
        }
    }
    server {
        listen 8081;
        server_name localhost;
        root /usr/share/nginx/html;
    }
}
```

## When to ignore it
If something in front of nginx compresses, such as a content delivery network.

## References
- https://nginx.org/en/docs/http/ngx_http_gzip_module.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import names, static, whole
from nginxopt.semantics import Level, read_listens

COMPRESSING = (
    "gzip", "gzip_static", "gunzip", "brotli", "brotli_static", "zstd", "zstd_static", "pagespeed",
)  # fmt: skip
_BINARY = pattern(r"\\\.\(?(?:\?:)?(?:jpe?g|png|gif|ico|webp|avif|mp4|webm|woff2?|zip|gz|pdf)\b", re.IGNORECASE)
_LOCAL = pattern(r"unix:|127\.|\[::1\]|localhost")


@rule(severity=Severity.INFO, category="client")
def check(model: Model) -> Iterator[Finding]:
    """Find whole configurations that send text and compress nothing."""
    http = next(model.levels("http"), None)
    if http is None or http.source is None or any(True for _ in model.each(*COMPRESSING)):
        return
    if names.is_without_service(http.source.path) or not whole.is_known(model):
        return
    if any(map(_sends_text, static.senders(model))):
        message = "gzip is off everywhere: text is sent uncompressed, in three to ten times the bytes"
        yield Finding(http.source, http.span, message, help="add `gzip on;` and `gzip_types` with the text types")


def _sends_text(level: Level) -> bool:
    """Return whether a sender of files has clients elsewhere, and more than images, fonts or archives."""
    server = level.around("server")
    listens = read_listens([server]) if server is not None else iter(())
    is_public = any(not (listen.directive and any(map(_LOCAL.match, listen.directive.args[:1]))) for listen in listens)
    is_of_site = server is None or _is_of_site(server)
    return is_public and is_of_site and not any(_BINARY.search(word) for word in level.args)


def _is_of_site(server: Level) -> bool:
    """Return whether a server has clients that somebody cares for."""
    words = [str(word) for named in server.own("server_name") for word in named.args]
    has_name = any("." in word and not names.is_blank(word) for word in words) and not names.is_inside(server)
    return has_name or server.setting("ssl_certificate").is_set or any(map(_is_tuned, server.walk()))


def _is_tuned(level: Level) -> bool:
    pages = (tried.args[-1] for tried in level.own("try_files") if tried.args)
    return bool(level.own("expires")) or any(page.endswith("/index.html") for page in pages)
