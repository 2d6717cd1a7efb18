"""Rules about files, clients and caches, beyond the examples of their pages."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.lint import Model
from nginxopt.lint.queries.static import is_for_files
from nginxopt.version import Version
from tests.lintcheck import diagnose, fixed, judge
from tests.rows import every_row

# The words of a location, and whether it is for files that seldom change.
PATTERNS = {
    r"~* \.(?:css|js|jpe?g|woff2?)$": True,
    r"~ ^/(img|css)/.*\.(png|svg)$": True,
    r"~* \.ico$": True,
    r"~* (.+)\.(?:\w+)\.(avifs?|css|m?js|a?png)$": True,
    "/static/": True,
    "^~ /wp-content/assets": True,
    r"~* \.(php|css)$": False,
    r"~ \.php$": False,
    r"~* \.(css|js)": False,
    r"~ /static/": False,
    "/": False,
    "/statics/": False,
    "/static/api/": False,
    "@static": False,
    "= /favicon.ico": True,
    "/img/Logo.PNG": True,
    "= /robots.txt": False,
    "/node.js/": False,
}


@every_row(("words", "expected"), PATTERNS.items())
def test_for_files(words: str, expected: bool) -> None:
    """A location serves files if all extensions of its pattern are static ones, or its last folder is."""
    quoted = " ".join(f'"{word}"' for word in words.split())
    config = load_text(f"events {{ }} http {{ server {{ location {quoted} {{ }} }} }}".encode(), "nginx.conf")
    (level,) = Model(config, Version(1, 28, 0)).levels("location")
    assert is_for_files(level) is expected


# Rule -> what is claimed -> what stands in http, in which it finds nothing.
SILENT = {
    "sendfile": {
        "an include that was not read may set it": "include other.conf;\nserver {\n    root /srv/www;\n}\n",
        "where nothing is found": "server {\n    listen 80;\n    root /dev/null;\n}\n",
        "a redirect sends no file": "server {\n    root /srv/www;\n    return 301 https://a.example;\n}\n",
        "nobody may read it": "server {\n    root /srv/www;\n    location / {\n        deny all;\n    }\n}\n",
        "PHP sends the pages": (
            "server {\n    root /srv/www;\n    location ~ \\.php$ {\n        fastcgi_pass 127.0.0.1:9000;\n    }\n}\n"
        ),
        "the challenges of certificates": (
            "server {\n    location ^~ /.well-known/acme-challenge/ {\n        root /srv/www;\n    }\n}\n"
        ),
    },
    "tcp-nopush-no-sendfile": {
        "a server says it is off, but a location has it on": (
            "sendfile on;\ntcp_nopush on;\nserver {\n    sendfile off;\n}\n"
        ),
        "an include may turn it on": "include a.conf;\ntcp_nopush on;\n",
        "an include of a server may turn it on": "tcp_nopush on;\nserver {\n    include a.conf;\n}\n",
    },
    "gzip-types-default": {
        "types that an include may name": "include mime.conf;\ngzip on;\n",
        "gzip is off": "gzip off;\n",
    },
    "client-keepalive": {
        "the pool of an upstream": (
            "upstream a {\n    server 127.0.0.1:1;\n    keepalive_timeout 0;\n    keepalive_requests 1;\n}\n"
        ),
        "a second for a client is not none": "keepalive_timeout 1 0;\n",
    },
    "cache-stampede": {
        "no cache": (
            "server {\n    proxy_cache off;\n    location / {\n        proxy_pass http://127.0.0.1:1;\n    }\n}\n"
        ),
    },
    "cacheable-uncached": {
        "a cache is in effect from around": (
            "proxy_cache_path a keys_zone=a:1m;\nproxy_cache a;\nserver {\n    location /css/ {\n"
            "        proxy_pass http://127.0.0.1:1;\n    }\n}\n"
        ),
        "someone asks who comes": (
            "server {\n    auth_request /auth;\n    location /css/ {\n"
            "        proxy_pass http://127.0.0.1:1;\n    }\n}\n"
        ),
        "FastCGI is no files": "server {\n    location /css/ {\n        fastcgi_pass 127.0.0.1:1;\n    }\n}\n",
    },
}


@every_row(
    ("rule", "http"),
    [pytest.param(rule, http, id=claim) for rule, cases in SILENT.items() for claim, http in cases.items()],
)
def test_silent(rule: str, http: str) -> None:
    """The rule reports nothing."""
    assert diagnose(rule, http, context="http") == ()


FRAGMENT = (
    "server {\n    root /srv/www;\n    gzip on;\n    location /css/ {\n        proxy_pass http://a:1;\n    }\n}\n"
)


@pytest.mark.parametrize("rule", ["sendfile", "open-file-cache", "gzip-types-default", "cacheable-uncached"])
def test_a_fragment_is_not_judged_by_what_it_lacks(rule: str) -> None:
    """A fragment is not flagged for directives that the http block elsewhere may have."""
    assert judge(rule, load_text(FRAGMENT.encode(), "site.conf")).diagnostics == ()


# What is claimed -> rule, what stands in http, what the fix makes of it.
FIXED = {
    "words go, comments and lines stay": (
        "gzip-precompressed",
        "gzip_types text/css\n           # pictures\n           image/png\n           image/gif # both\n"
        "           text/xml;\n",
        "gzip_types text/css\n           # pictures\n           # both\n           text/xml;\n",
    ),
    "the last lines go": (
        "gzip-precompressed",
        "gzip_types\n    text/css\n    image/png\n    font/woff2;\n",
        "gzip_types\n    text/css;\n",
    ),
    "the first word goes": ("gzip-precompressed", "gzip_types image/PNG text/css;\n", "gzip_types text/css;\n"),
    "a word before a comment goes": (
        "gzip-precompressed",
        "gzip_types text/css image/png # pictures\n    ;\n",
        "gzip_types text/css # pictures\n    ;\n",
    ),
    "nothing stays, and HTML was compressed before and is": (
        "gzip-precompressed",
        "gzip on;\ngzip_types image/png;\n",
        "gzip on;\n",
    ),
    "no fix where the types of the block around would come": (
        "gzip-precompressed",
        "gzip_types text/css;\nserver {\n    gzip_types image/png;\n}\n",
        "gzip_types text/css;\nserver {\n    gzip_types image/png;\n}\n",
    ),
    "one server of two has no types": (
        "gzip-types-default",
        "gzip on;\nserver {\n    gzip_types text/css;\n}\nserver {\n}\n",
        "gzip on;\ngzip_types text/plain text/css text/javascript application/javascript application/json "
        "application/xml image/svg+xml;\nserver {\n    gzip_types text/css;\n}\nserver {\n}\n",
    ),
    "only the first time is changed": ("client-keepalive", "keepalive_timeout 0s 10;\n", "keepalive_timeout 75s 10;\n"),
    "words of `use_stale` stay": (
        "cache-stampede",
        "server {\n    fastcgi_cache a;\n    fastcgi_cache_lock on;\n    fastcgi_cache_use_stale error;\n"
        "    location / {\n        fastcgi_pass 127.0.0.1:1;\n    }\n}\n",
        "server {\n    fastcgi_cache a;\n    fastcgi_cache_background_update on;\n    fastcgi_cache_lock on;\n"
        "    fastcgi_cache_use_stale error updating;\n    location / {\n        fastcgi_pass 127.0.0.1:1;\n    }\n}\n",
    ),
    "one line for two locations": (
        "cache-stampede",
        "proxy_cache a;\nproxy_cache_use_stale updating;\nserver {\n    location /a {\n"
        "        proxy_pass http://127.0.0.1:1;\n    }\n    location /b {\n"
        "        proxy_pass http://127.0.0.1:1;\n    }\n}\n",
        "proxy_cache a;\nproxy_cache_lock on;\nproxy_cache_use_stale updating;\nserver {\n    location /a {\n"
        "        proxy_pass http://127.0.0.1:1;\n    }\n    location /b {\n"
        "        proxy_pass http://127.0.0.1:1;\n    }\n}\n",
    ),
    "each cache for itself": (
        "cache-temp-path",
        "proxy_cache_path /a keys_zone=a:1m; fastcgi_cache_path /b keys_zone=b:1m use_temp_path=on;\n",
        "proxy_cache_path /a keys_zone=a:1m use_temp_path=off;"
        " fastcgi_cache_path /b keys_zone=b:1m use_temp_path=on;\n",
    ),
}


@every_row(("rule", "before", "after"), FIXED.values(), ids=FIXED)
def test_fixed(rule: str, before: str, after: str) -> None:
    """The rule reports the text, and its fix writes the expected one."""
    assert diagnose(rule, before, context="http")
    assert fixed(rule, before, context="http").decode() == after


def test_there_was_no_background_update_before() -> None:
    """Before 1.11.10 the fix leaves out `proxy_cache_background_update`."""
    text = "proxy_cache a;\nserver {\n    location / {\n        proxy_pass http://127.0.0.1:1;\n    }\n}\n"
    assert b"background" not in fixed("cache-stampede", text, context="http", target="1.11.9")
    assert b"background" in fixed("cache-stampede", text, context="http", target="1.11.10")


def test_live_video_occupies_its_connection() -> None:
    """chunked-off leaves it alone; ngx_http_flv_live_module is not in nginx's builds, so no page has it."""
    video = "server {{ location /live {{ {} chunked_transfer_encoding off; }} }}"
    assert len(diagnose("chunked-off", video.format(""), context="http")) == 1
    assert diagnose("chunked-off", video.format("flv_live on;"), context="http") == ()
