"""What stands around sites: the main level, and what `http` says for all of them."""

from __future__ import annotations

import random

from tests.fuzz.sites.words import chance

_LEVELS = 250
"""How many levels of a site have a log of their own at most."""

_HTTP = """
    client_body_temp_path temp/body; proxy_temp_path temp/proxy; fastcgi_temp_path temp/fastcgi;
    uwsgi_temp_path temp/uwsgi; scgi_temp_path temp/scgi; server_names_hash_bucket_size 128; map_hash_bucket_size 128;
    variables_hash_max_size 4096; variables_hash_bucket_size 512; keepalive_requests 100000;
    server_names_hash_max_size 8192; proxy_headers_hash_max_size 4096; lingering_close off;
    types { text/html html; text/plain txt; }
"""
_SETTINGS = (
    "root {T}/r;", "error_page 404 /err/404.html;", "error_page 403 =200 /x.html;", "add_header X-A http;",
    "autoindex on;",
    "absolute_redirect off;", "port_in_redirect off;", "index f.txt index.html;", "expires 1h;", "merge_slashes off;",
    "recursive_error_pages on;", "add_header X-B $uri always;", "deny 10.0.0.0/8;", "server_name_in_redirect on;",
)  # fmt: skip


def http(draw: random.Random) -> str:
    """Return what `http` says before the sites, with a format of logs for each level."""
    formats = "\n".join(
        f"    log_format l{number} '{number}	$http_x_n	$status	$uri	$args';" for number in range(1, _LEVELS)
    )
    return "\n    ".join([_HTTP, formats, "access_log logs/a.log l1;", *_settings(draw)])


def http_without_logs(draw: random.Random) -> str:
    """Return what `http` says before sites that nobody reads the logs of."""
    return "\n    ".join([_HTTP, "access_log off;", *_settings(draw)])


def _settings(draw: random.Random) -> list[str]:
    some = [setting for setting in _SETTINGS if chance(draw, 0.08)]
    root = "" if some and some[0].startswith("root") else "root {T}/r;"
    return [root, *some]


def whole(http: str, sites: str) -> str:
    """Return a whole configuration."""
    return f"events {{ worker_connections 4096; }}\nhttp {{\n{http}\n{sites}\n}}\n"
