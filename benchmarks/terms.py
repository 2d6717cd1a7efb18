"""The terms of `nginxopt.profile.terms`, counted on an nginx: the difference between configurations with one feature.

    python -m benchmarks.terms                       the nginx on PATH
    python -m benchmarks.terms --nginx PATH --raw    also what each request takes

Each configuration runs under callgrind, and answers twelve requests on an open connection. Needs nginx and valgrind.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import nan
from pathlib import Path
from statistics import mean

from benchmarks.blind import count
from benchmarks.sites.clients import SIGNED
from benchmarks.sites.parts import KEPT, PARAMS, POOL, Kind, Site
from nginxopt.errors import InputError
from nginxopt.profile import terms
from nginxopt.profile.figures import PRINTED_FORMAT
from nginxopt.system import nginx
from nginxopt.version import Version

_BROWSER = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: en-US,en;q=0.5\r\n"
    "Referer: https://www.example.com/products/overview.html\r\nConnection: keep-alive\r\n"
    "Cookie: session=c4ca4238a0b923820dcc509a6f75849b; _ga=GA1.2.1234567890.1700000000\r\n"
    "Sec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Site: same-origin\r\n"
    "Cache-Control: max-age=0\r\n"
)
_CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
_ACCEPTED = (
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n"
)
_HINTS = (
    'sec-ch-ua: "Google Chrome";v="141", "Not?A_Brand";v="8", "Chromium";v="141"\r\nsec-ch-ua-mobile: ?0\r\n'
    'sec-ch-ua-platform: "Windows"\r\nConnection: keep-alive\r\n'
)
_COOKIES = "; ".join(f"_ga_{number}=GS2.1.s17600{number}$o1$g0$t17600{number}" for number in range(8))
_CLIENTS = {
    "curl": "User-Agent: curl/8.5.0\r\nAccept: */*\r\n",
    "requests": "User-Agent: python-requests/2.32.3\r\nAccept-Encoding: gzip, deflate\r\nAccept: */*\r\n"
    "Connection: keep-alive\r\n",
    "go": "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n",
    "iphone": "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    f"Gecko) Version/18.6 Mobile/15E148 Safari/604.1\r\n{_ACCEPTED}",
    "browser": _BROWSER,
    "okhttp": f"User-Agent: okhttp/4.12.0\r\nAuthorization: Bearer {'eyJhbGciOiJSUzI1NiIs' * 20}\r\n",
    "image": f"{_HINTS}User-Agent: {_CHROME}\r\nAccept: image/avif,image/webp,*/*\r\nReferer: https://site.example/list\r\n",
    "page": f"{_HINTS}User-Agent: {_CHROME}\r\n{_ACCEPTED}Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Mode: navigate\r\n",
    "cookies": f"{_HINTS}User-Agent: {_CHROME}\r\n{_ACCEPTED}Cookie: {_COOKIES}\r\n",
    "more": f"{_HINTS}User-Agent: {_CHROME}\r\n{_ACCEPTED}Cookie: {'; '.join([_COOKIES] * 6)}\r\n",
}
"""Headers of usual clients."""
_NAMELESS, _LONGER = "x" * 100, 300
"""A `User-Agent` in which nginx seeks six names, and the bytes of a longer one."""
_FAR = "/far/miss.html"
_JSON = (
    'log_format j escape=json \'{"time":"$time_iso8601","addr":"$remote_addr","host":"$host",'
    '"method":"$request_method","uri":"$request_uri","status":$status,"bytes":$body_bytes_sent,"rt":$request_time,'
    '"ref":"$http_referer","ua":"$http_user_agent","xff":"$http_x_forwarded_for","uaddr":"$upstream_addr",'
    '"ut":"$upstream_response_time","cache":"$upstream_cache_status","tls":"$ssl_protocol"}\';\n'
)
_SIZES = {f"{size}k": (size * 1024, size * 1024) for size in (1, 4, 20, 100)}
_FILES = {f"f{name}.css": size for name, (size, _) in _SIZES.items()}


def _kind(target: str = _FAR, headers: str = "", size: tuple[int, int] = (2, 2), *, new: bool = False) -> Kind:
    return Kind(1, target, headers, size=size, is_new=new)


def _of(
    server: str, kinds: dict[str, Kind], http: str = "", files: dict[str, int] | None = None, *, tls: bool = False
) -> Site:
    return Site(http, f"access_log off; {server}", kinds, files or {}, tls)


_SENT = {f"s{name}": _kind(f"/f{name}.css") for name in _SIZES}
_PULLED = {f"p{name}": _kind(size=size) for name, size in _SIZES.items()}
_BOTH = {"ok": _kind(), "browser": _kind(headers=_BROWSER)}
_BROWSED = {"browser": _kind(headers=_BROWSER, size=_SIZES["1k"])}
_OK = 'location / { return 200 "ok"; }'
_RULES = "".join(f"rewrite ^/old/page-{number:05}\\.html$ /new/{number} permanent;\n" for number in range(100))
_TARGETS = {
    "short": _kind("/far/miss.htm"),
    "long": _kind(f"/far/{'m' * 40}"),
    "shared": _kind(f"/old/page-{'~' * 30}"),
}
_NO_RULES = {"first": "Qword-@", "either": "(?:qa|xb|yc)@", "dots": "/\\.", "branches": "\\.(css|js|png)$"}
"""Patterns that are not anchored: one letter or several with which a match may start, and which no target has; places
where one may start, without and with branches.
"""
_PLACES = "/a/b/c/miss.htm", "/a.b.c.d/x.y.html"
_TABLES = 'location / { return 200 "$v0$v1$v2$v3$v4$v5$v6$v7"; }'
_PASS = f"location / {{ proxy_pass http://app; {KEPT} }}"
_ZIPPED = f"gzip on; gzip_types *; {_PASS}"
_PULLED_ZIPPED = {name: _kind(headers="Accept-Encoding: gzip\r\n", size=size) for name, size in _SIZES.items()}
_PIECES, _FLUSH = 100 // 4, 10_000
"""The pieces of a response of 100 kB, and what `gzip` counts of one for the bytes by which the response grows."""
_LISTING = 145 + 40 * 124
"""The bytes of the listing of the folder with 40 files."""
_FORWARDED = (
    "proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; "
    "proxy_set_header X-Forwarded-Proto $scheme;"
)
_LOG = 'location / {{ access_log a.log {}; return 200 "ok"; }}'
_CACHE = f"proxy_cache c; proxy_cache_valid 200 1h; {_PASS}"
_CACHES = f"{POOL} proxy_cache_path cache keys_zone=c:1m inactive=1h use_temp_path=off;"

SITES: dict[str, Site] = {
    "base": _of(_OK, {**_BOTH, "new": _kind(new=True),
                "long": _TARGETS["long"]}),
    "clients": _of(_OK, {name: _kind(headers=headers.replace("User-Agent", "Other-Name"))
                         for name, headers in _CLIENTS.items()}),
    "names": _of(_OK, {"agent": _kind(headers=f"User-Agent: {_NAMELESS}\r\n"),
                       "other": _kind(headers=f"Other-Name: {_NAMELESS}\r\n"),
                       "long": _kind(headers=f"Other-Name: {_NAMELESS}{'x' * _LONGER}\r\n")}),
    "moved": _of("location / { return 301 /new; }", {"ok": _kind()}),
    "expires": _of(f"expires 1y; {_OK}", {"ok": _kind()}),
    "combined": _of(_LOG.format("combined"), _BOTH),
    "buffered": _of(_LOG.format("combined buffer=64k"), _BOTH),
    "profile": _of(_LOG.format("profile"), _BOTH),
    "json": _of(_LOG.format("j"), _BOTH, _JSON),
    "id": _of(_LOG.format("j"), _BOTH, _JSON.replace('"tls"', '"id":"$request_id","tls"')),
    "file": _of("location / { }", _SENT, files=_FILES),
    "try": _of("location / { try_files $uri =404; }", _SENT, files=_FILES),
    "kept": _of(_PASS, {**_PULLED, **_BROWSED}, POOL),
    "set headers": _of(_PASS.replace(KEPT, KEPT + _FORWARDED), {"p1k": _PULLED["p1k"]}, POOL),
    "fresh": _of(
        "location / { proxy_pass http://127.0.0.1:@BACK@; proxy_set_header Host $host; }", {"p1k": _PULLED["p1k"]}
    ),
    "fastcgi": _of(f"location / {{ {PARAMS} fastcgi_pass 127.0.0.1:@BACK@; }}", {**_PULLED, **_BROWSED}, POOL),
    "few params": _of("fastcgi_param QUERY_STRING $query_string; fastcgi_param DOCUMENT_ROOT $document_root; location "
                      "/ { fastcgi_pass 127.0.0.1:@BACK@; }", {"p1k": _PULLED["p1k"]}, POOL),
    "cache": _of(_CACHE, {"p1k": _kind("/one", size=_SIZES["1k"]), "miss": _kind("/m@U@", size=_SIZES["1k"])}, _CACHES),
    "tls": _of(f"{_OK} location /f {{ }}",
               {"ok": _kind(), **_SENT, "new": _kind(new=True)}, files=_FILES, tls=True),
    "tls kept": _of(_PASS, _PULLED, POOL, tls=True),
    "auth": _of("location / { auth_request /auth; } location = /auth { return 204; }", _SENT, files=_FILES),
    "auth passed": _of("location / { auth_request /check; } location = /check { internal; proxy_pass_request_body off; "
                       f"proxy_pass http://app; {KEPT} }}", {"s1k": _SENT["s1k"]}, POOL, _FILES),
    "listing": _of("location / { autoindex on; }", {"d40": _kind("/d/")},
                   files={f"d/file-number-{number:03}.css": 100 for number in range(40)}),
    "zipped": _of(_ZIPPED, _PULLED_ZIPPED, POOL),
    "pieces": _of(f"proxy_buffering off; {_ZIPPED}", _PULLED_ZIPPED, POOL),
    "tls pieces": _of(f"proxy_buffering off; {_PASS}", _PULLED, POOL, tls=True),
    "limit": _of("limit_req zone=r burst=10000 nodelay; limit_conn c 100; location / { }", _SENT,
                 "limit_req_zone $binary_remote_addr zone=r:1m rate=9000r/s; limit_conn_zone $binary_remote_addr "
                 "zone=c:1m;", _FILES),
    "added": _of("".join(f'add_header X-{number} "max-age=31536000; includeSubDomains" always;\n'
                         for number in range(6)) + _OK, _BOTH),
    "ssi": _of("ssi on; ssi_types text/css; location / { }", _SENT, files=_FILES),
    "rules": _of(_RULES + _OK, _TARGETS),
    **{name: _of("".join(f'rewrite "{pattern.replace("@", f"{number:05}")}" /new/{number} permanent;\n'
                         for number in range(100)) + _OK,
                 {"long": _TARGETS["long"], **{f"to{number}": _kind(target) for number, target in enumerate(_PLACES)}})
       for name, pattern in _NO_RULES.items()},
    "ifs": _of("if ($host = other.example) { return 403; }\n" * 10 + _OK, {"ok": _kind()}),
    "sets": _of("".join(f"set $b{number} x$host;\n" for number in range(10)) + _OK, {"ok": _kind()}),
    "geo": _of(_TABLES, {"ok": _kind()},
               "".join(f"geo $v{number} {{ default 0; 10.0.0.0/8 1; 127.0.0.9 2; }}\n" for number in range(8))),
    "map": _of(_TABLES, _BOTH,
               "".join(f"map $http_user_agent $v{number} {{ default 0; a 1; b 2; }}\n" for number in range(8))),
    "password": _of("location / { auth_basic x; auth_basic_user_file users; }",
                    {"s1k": _kind("/f1k.css", headers=SIGNED)}, files=_FILES),
    "body": _of(_PASS, {"p1k": Kind(1, _FAR, "", "POST", _SIZES["1k"], body=200)}, POOL),
    "sub": _of(f"sub_filter zzzzzzzz y; sub_filter_once off; sub_filter_types *; {_PASS}", _PULLED, POOL),
}  # fmt: skip


_BYTES = {name: size for name, (size, _) in _SIZES.items()}
_AGENT = len(_BROWSER.partition("\r\n")[0]) - len("User-Agent: ")
_VARIABLES = PRINTED_FORMAT.count("$")
_HEADERS = 240
"""The approximate bytes of the headers of a response."""


def derived(of: Mapping[str, float]) -> dict[str, float]:
    """Return terms from what requests took, by site and kind, such as `base/ok`."""

    def slope(site: str, small: str, large: str, less: str = "") -> float:
        """Return the cost of a byte, from responses of two sizes."""
        first, last = (of[f"{site}{size}"] - (of[f"{less}{size}"] if less else 0) for size in (small, large))
        return (last - first) / (_BYTES[large] - _BYTES[small])

    headers, longer = len(_BROWSER), (of["base/browser"] - of["base/ok"]) / len(_BROWSER)
    scanned_byte = (of["names/agent"] - of["names/other"]) / (6 * len(_NAMELESS))  # nginx seeks six names in it
    named_byte = (of["names/long"] - of["names/other"]) / _LONGER
    agents = {
        name: len(headers.partition("User-Agent: ")[2].partition("\r\n")[0]) for name, headers in _CLIENTS.items()
    }
    clients = {
        len(headers) - agents[name]: of[f"clients/{name}"] - of["base/ok"] - named_byte * agents[name]
        for name, headers in _CLIENTS.items()
    }
    first = mean(cost / size for size, cost in clients.items() if size <= terms.FIRST_HEADERS)
    rest = {size - terms.FIRST_HEADERS: cost - first * terms.FIRST_HEADERS for size, cost in clients.items()}
    further = mean(cost / size for size, cost in rest.items() if size > 0)
    tls_byte, passed_byte = slope("tls/s", "1k", "4k", "file/s"), slope("kept/p", "1k", "100k")
    passed = [of[f"kept/p{size}"] - of["base/ok"] - passed_byte * _BYTES[size] for size in ("1k", "4k", "20k")]
    passed_header = (of["kept/browser"] - of["kept/p1k"]) / headers - longer
    params = (of["fastcgi/p1k"] - of["few params/p1k"]) / (PARAMS.count("fastcgi_param") - 2)
    line, long = of["combined/browser"] - of["base/browser"], of["profile/browser"] - of["base/browser"]
    variable = (long - line) / (_VARIABLES - 9)  # the variables of both formats
    short = (of["rules/short"] - of["base/ok"]) / 100
    sought = ((of["first/long"] - of["base/long"]) / 100 - short) / 45
    place = ((of["dots/to0"] - of["base/ok"]) / 100 - short - 2 * 15 * sought) / 4
    set_header = (of["set headers/p1k"] - of["kept/p1k"]) / _FORWARDED.count("proxy_set_header")
    return {
        "base": of["base/ok"],
        "header_byte": first,
        "further_header_byte": further,
        "scanned_byte": scanned_byte,
        "connection": of["base/new"] - of["base/ok"],
        "handshake": of["tls/new"] - of["tls/ok"] - (of["base/new"] - of["base/ok"]),
        "tls": of["tls/s1k"] - of["file/s1k"] - tls_byte * (_BYTES["1k"] + _HEADERS),
        "tls_byte": tls_byte,
        "tls_further_byte": slope("tls/s", "4k", "100k", "file/s"),
        "tls_passed_byte": slope("tls kept/p", "4k", "100k", "kept/p"),
        "file": of["file/s1k"] - of["base/ok"],
        "try_files": of["try/s1k"] - of["file/s1k"],
        "passed": sum(passed) / len(passed),
        "passed_byte": passed_byte,
        "passed_header_byte": passed_header,
        "set_header": set_header,
        "fresh": of["fresh/p1k"] - of["kept/p1k"],
        "fastcgi": of["few params/p1k"] - 2 * params - of["base/ok"] - passed_byte * _BYTES["1k"],
        "fastcgi_header_byte": (of["fastcgi/browser"] - of["fastcgi/p1k"]) / headers - longer,
        "fastcgi_param": params,
        "cached": of["cache/p1k"] - of["base/ok"],
        "missed": of["cache/miss"] - of["kept/p1k"],
        "log": line - 9 * variable,
        "log_buffered": of["buffered/browser"] - of["base/browser"] - 9 * variable,
        "log_variable": variable,
        "request_id": of["id/ok"] - of["json/ok"] - variable,
        "limit": (of["limit/s1k"] - of["file/s1k"]) / 2,
        "expires": of["expires/ok"] - of["base/ok"],
        "moved": of["moved/ok"] - of["base/ok"],
        "added_header": (of["added/ok"] - of["base/ok"]) / 6,
        "auth_request": of["auth/s1k"] - of["file/s1k"],
        "auth_passed": of["auth passed/s1k"] - of["auth/s1k"],
        "listing_byte": (of["listing/d40"] - of["base/ok"]) / _LISTING,
        "gzip_piece": (of["pieces/100k"] - of["zipped/100k"]) / _PIECES - _FLUSH,
        "tls_piece": (of["tls pieces/p100k"] - of["tls kept/p100k"]) / _PIECES,
        "ssi_byte": slope("ssi/s", "20k", "100k", "file/s"),
        "substituted": of["sub/p1k"] - of["kept/p1k"] - slope("sub/p", "4k", "100k", "kept/p") * _BYTES["1k"],
        "substituted_byte": slope("sub/p", "4k", "100k", "kept/p"),
        "condition": (of["ifs/ok"] - of["base/ok"]) / 10,
        "set": (of["sets/ok"] - of["base/ok"]) / 10,
        "lookup": (of["geo/ok"] - of["base/ok"]) / 8,
        "lookup_byte": ((of["map/browser"] - of["base/browser"]) - (of["geo/ok"] - of["base/ok"])) / 8 / _AGENT,
        "password": of["password/s1k"] - of["file/s1k"],
        "body": of["body/p1k"] - of["kept/p1k"] - len("Content-Length: 200\r\nT") * (first + passed_header),
        "sought": sought,
        "searched": ((of["either/long"] - of["base/long"]) / 100 - short) / 45,
        "place": place,
        "way": ((of["branches/to1"] - of["base/ok"]) / 100 - short - 17 * sought - 5 * place) / 5 / 3,
        "short": short,
        "long": (of["rules/long"] - of["base/long"]) / 100,
        "shared": (of["rules/shared"] - of["rules/long"]) / 100 / 9,  # 10 bytes, of which the first is tried anyway
    }


def counted(binary: nginx.Binary) -> dict[str, float]:
    """Return what requests took, by site and kind; none of a site if nginx lacks a module for it."""
    found: dict[str, float] = defaultdict(lambda: nan)
    for name, site in SITES.items():
        with tempfile.TemporaryDirectory() as made, suppress(InputError):
            found |= {f"{name}/{kind}": each for kind, each in count(site, binary, 0, Path(made)).kinds.items()}
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, and print each term beside that of the table."""
    parser = argparse.ArgumentParser(prog="benchmarks.terms", description="Count the terms of profile on an nginx.")
    parser.add_argument("--nginx", metavar="PATH")
    parser.add_argument("--raw", action="store_true", help="also print what each request takes")
    options = parser.parse_args(arguments)
    binary = nginx.find(options.nginx)
    of = counted(binary)
    if options.raw:
        print(*(f"{name:20} {each:12,.0f}" for name, each in of.items()), sep="\n")
    table = terms.of(f"nginx {Version.of(binary.version)}{f' {terms.SIZE}' if binary.is_small else ''}")
    print(f"{'':20} {'counted':>12} {table.name:>18}")
    for name, each in derived(of).items():
        print(f"{name:20} {each:12,.2f} {getattr(table, name).instructions:18,.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
