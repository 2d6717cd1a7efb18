"""Sample directives for a tag that stands for whole directives (`{{ extra_settings }}`).

In some readings such a tag is an unreadable include, which may hold anything. In others one of these texts replaces it,
because rules also draw conclusions from the directives that they see. Each kind of block has a text with settings that
matter to rules, and one with the opposite settings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

TEXTS = 3
"""The number of texts for each kind of block, including the empty one; a location may have more (`count`)."""

_COMMON = (
    "sendfile on;gzip on;gzip_types text/css application/javascript;gzip_vary on;proxy_http_version 1.1;"
    'proxy_set_header Connection "";proxy_buffering on;open_file_cache max=1000;keepalive_timeout 65;access_log off;'
    "add_header X-Frame-Options DENY;resolver 10.0.0.2;proxy_temp_path /var/beta;proxy_read_timeout 30s;"
    "limit_rate 1m;proxy_set_header Host $host;proxy_connect_timeout 5s;fastcgi_keep_conn on;root /srv/beta;expires 1h;"
    "real_ip_recursive on",
    "sendfile off;gzip off;proxy_http_version 1.0;proxy_buffering off;open_file_cache off;"
    "access_log /var/log/beta.log combined buffer=64k;keepalive_timeout 0;proxy_intercept_errors on;"
    "error_page 404 /beta.html;proxy_request_buffering off;proxy_cache beta;proxy_ssl_session_reuse off;"
    "add_header Strict-Transport-Security max-age=1;deny all;proxy_set_header Upgrade $http_upgrade;"
    "proxy_set_header Connection upgrade;expires off;real_ip_header proxy_protocol",
)
_OF_SERVERS = (
    "merge_slashes on;ssl_session_cache shared:beta:10m;ssl_protocols TLSv1.2 TLSv1.3;ssl_session_tickets off;"
    "ssl_buffer_size 4k;ssl_stapling on;http2 on",
    "merge_slashes off;ssl_session_cache none;ssl_protocols TLSv1;ssl_stapling off;http2 off;ssl_session_tickets on",
)
_TEXTS = {
    "main": (
        "worker_processes auto;worker_rlimit_nofile 65535;pcre_jit on;error_log /var/log/beta.log warn",
        "worker_processes 4;worker_rlimit_nofile 512;pcre_jit off;error_log /dev/stderr",
    ),
    "events": ("worker_connections 4096;accept_mutex off;multi_accept on", "worker_connections 64;accept_mutex on"),
    "http": tuple(
        f"{common};{of_servers};{own}"
        for common, of_servers, own in zip(
            _COMMON,
            _OF_SERVERS,
            ("map_hash_max_size 4096;map_hash_bucket_size 256", "limit_req_status 429"),
            strict=True,
        )
    ),
    "server": tuple(
        f"{common};{of_servers};{own}"
        for common, of_servers, own in zip(
            _COMMON,
            _OF_SERVERS,
            ("rewrite ^/nginxopt-beta/(.*)$ $1 last;set $beta 1", "return 403;server_name ~^(www)\\.beta$"),
            strict=True,
        )
    ),
    "location": (_COMMON[0] + ";internal", _COMMON[1] + ";return 403"),
    "if": ("return 403", "rewrite ^/nginxopt-beta/(.*)$ /$1 break;set $beta 1"),
    "upstream": ("keepalive 32;server 10.0.0.9:8080;zone beta 64k", "server 10.0.0.9:8080 backup;ip_hash"),
    "map": ("/nginxopt-beta 1", "default beta;~*^/beta 1"),
}
_PROTOCOLS = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc")
_LOCAL = "proxy_pass http://127.0.0.1:8080"
_REMOTE = "proxy_pass http://beta.example.com"
_LISTS = {
    "add_header",
    "proxy_set_header",
    "rewrite",
    "server",
    "error_page",
    "set",
    "server_name",
    "access_log",
    "deny",
}
"""Directives that a block may have more than once."""


def passes(stated: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the `*_pass` directives that a location of a file may have.

    These are the ones that the file has elsewhere, and one for each protocol whose settings it has. `stated` are pairs
    of a directive in the file and its first argument.
    """
    stated = list(stated)
    elsewhere = {name: f"{name} {target}" for name, target in reversed(stated) if name.endswith("_pass")}
    used = {name.partition("_")[0] for name, _ in stated if not name.endswith("_pass")} - {"proxy"}
    return (*elsewhere.values(), *(f"{protocol}_pass 127.0.0.1:9000" for protocol in _PROTOCOLS if protocol in used))


def count(passes: Sequence[str]) -> int:
    """Return how many texts `text` has for a tag, in a file whose locations may have these `*_pass` directives."""
    return TEXTS + len(passes)


def text(kind: str, number: int, present: Collection[str], passes: Sequence[str]) -> bytes:
    """Return text `number` for a tag in a block of this kind; empty for number 0.

    Directives that may occur only once are left out if they are among those `present`. A location without a `*_pass`
    directive gets one. The texts from `TEXTS` on consist of one of `passes` each.
    """
    texts = _TEXTS.get(kind, ())
    takes_pass = kind == "location" and not any(name.endswith("_pass") for name in present)
    if not 0 < number <= len(texts):
        place = number - TEXTS
        return f"{passes[place]};".encode() if takes_pass and 0 <= place < len(passes) else b""
    statements = [f"{statement};" for statement in texts[number - 1].split(";")]
    if takes_pass:
        statements.append(f"{(_LOCAL, _REMOTE)[number - 1]};")
    return " ".join(item for item in statements if _name(item) in _LISTS or _name(item) not in present).encode()


def _name(statement: str) -> str:
    return statement.rstrip(";").split(" ")[0]


def kind_of_file(names: Iterable[str]) -> str:
    """Return the kind of block that a file with these directives belongs to; empty if they do not show it."""
    names = set(names)
    if names & {"http", "events"}:
        return "main"
    if names & {"server", "upstream", "map"}:
        return "http"
    return "server" if names & {"location", "listen", "server_name"} else ""
