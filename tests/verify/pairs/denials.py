"""Pairs of servers that deny all clients of a location, by an access rule and by a `return`."""

from __future__ import annotations

from tests.verify.pairs.pair import Pair


def _pair(name: str, text: str, code: str = "403") -> Pair:
    return Pair(name, text.replace("DENIED", "deny all;"), text.replace("DENIED", f"return {code};"))


_LIMITED = (
    "limit_req_zone $server_port zone=z:1m rate=1r/m; server { listen 127.0.0.1:{P}; server_name h; root {T}/r;"
    " limit_req zone=z; location /a { DENIED } }"
)

DENIED_ALIKE = tuple(
    _pair(f"a denial {name}", text)
    for name, text in {
        "by a pattern": "root {T}/r; location ~ ^/a { DENIED }",
        "in front of an upstream": "location /a/ { DENIED proxy_pass http://127.0.0.1:{U}; }",
        "behind a password": (
            "root {T}/r; auth_basic x; auth_basic_user_file {T}/r/f.txt; location /a { DENIED } location /b { }"
        ),
        "of what is internal": "root {T}/r; try_files $uri /a/f.txt; location /a { internal; DENIED } location /b { }",
        "with files to try": "root {T}/r; location /a { log_not_found off; DENIED try_files /f.txt =404; }",
        "behind a rewrite": "root {T}/r; rewrite ^/x/(.*)$ /a/$1; rewrite ^/c /a break; location /a { DENIED }",
        "with headers": "root {T}/r; allow 127.0.0.1; location = /a { add_header X $uri always; expires 1h; DENIED }",
        "of an error page": "error_page 404 /a; location = /a { DENIED } location / { return 404; }",
        "of a page with another status": (
            "root {T}/r; error_page 404 =200 /a; error_page 403 =410 /f.txt; location = /a { DENIED } location /b { }"
        ),
        "of recursive error pages": (
            "root {T}/r; recursive_error_pages on; error_page 404 /a; error_page 403 =201 /f.txt;"
            " location = /a { DENIED } location /b { }"
        ),
        "of a named page": "root {T}/r; error_page 403 @n; location /a { DENIED } location @n { return 402 $uri; }",
        "beside another limit": _LIMITED.replace(" limit_req zone=z;", "").replace(
            "location", "location /q { limit_req zone=z; } location"
        ),
    }.items()
)

DENIED_UNLIKE = (
    _pair("a denial by another code", "root {T}/r; location /a { DENIED }", "404"),
    *(
        _pair(f"a denial {name}", text)
        for name, text in {
            "of a subrequest": (
                "root {T}/r; location /b { auth_request /a; try_files /f.txt =404; } location = /a { DENIED }"
            ),
            "or a password": (
                "root {T}/r; satisfy any; auth_basic x; auth_basic_user_file {T}/r/f.txt; location /a { DENIED }"
            ),
            "behind a limit": _LIMITED,
            "of what is inside": "root {T}/r; location /a { DENIED location /a/f { } }",
            "of others only": "root {T}/r; location /a { allow 127.0.0.1; DENIED }",
        }.items()
    ),
)
"""nginx shows each of these to a plain request."""
