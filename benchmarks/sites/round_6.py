"""Two sites that test the terms of `slice` and of open files: written after the terms, before anything was counted."""

from __future__ import annotations

from benchmarks.sites.clients import CURL, EDGE, FORM, GO, PHONE, SAFARI, SIGNED, SPIDER
from benchmarks.sites.parts import CODE, FORWARDED, KEPT, POOL, RULES, UWSGI, Kind, Site

_APT = "User-Agent: Debian APT-HTTP/1.3 (2.6.1) non-interactive\r\nAccept: text/*\r\nCache-Control: max-age=0\r\n"
_LIBRARY = SAFARI + "Referer: https://site.example/catalogue/\r\n"

SITES: dict[str, Site] = {
    "mirror": Site(
        POOL + "proxy_cache_path cache keys_zone=q:1m inactive=2h use_temp_path=off;\n"
        "limit_conn_zone $binary_remote_addr zone=each:1m;\n",
        "open_file_cache max=2000 inactive=5m; open_file_cache_min_uses 1; limit_conn each 50; index index.html;"
        "location /pool/ { root files; expires 1d; add_header X-Mirror a always; }"
        "location /images/ { slice 128k; proxy_cache q; proxy_cache_key $host$uri$slice_range; proxy_pass http://app; "
        f"proxy_set_header Range $slice_range; proxy_cache_valid 200 206 2h; {KEPT} }}"
        "location /internal/ { root files; auth_basic Staff; auth_basic_user_file users; }"
        "location = /status { stub_status; } location /dists/old/ { return 301 https://archive.example$request_uri; }",
        {
            "package": Kind(40, "/pool/tool.bin", _APT),
            "resumed": Kind(10, "/pool/tool.bin", _APT + "Range: bytes=180000-\r\n"),
            "part": Kind(10, "/pool/tool.bin", CURL + "Range: bytes=1000-1999\r\n"),
            "start": Kind(10, "/pool/", EDGE, size=(0, 0)),
            "image": Kind(15, "/images/netinst", CURL, size=(500_000, 500_000)),
            "fresh": Kind(6, "/images/@U@", GO, size=(300_000, 300_000)),
            "staff": Kind(8, "/internal/notes.html", SAFARI + SIGNED),
            "wrong": Kind(4, "/internal/notes.html", SAFARI + "Authorization: Basic dTpubw==\r\n"),
            "moved": Kind(5, "/dists/old/Release", _APT),
            "missing": Kind(8, "/pool/none-@N@.deb", _APT),
        },
        {"pool/tool.bin": 250_000, "pool/index.html": 9_000, "internal/notes.html": 4_000},
        text=RULES,
    ),
    "library": Site(
        POOL + "gzip on; gzip_comp_level 4; gzip_proxied any; gzip_types application/json text/css;\n"
        "map $http_accept_language $language { default en; ~^de de; ~^nl nl; }\n",
        f"location / {{ {UWSGI} uwsgi_param LANGUAGE $language; uwsgi_pass 127.0.0.1:@BACK@; }}"
        "location /covers/ { root files; valid_referers none blocked server_names *.partner.example; "
        "if ($invalid_referer) { return 403; } expires 30d; }"
        "location /desk/ { auth_basic Desk; auth_basic_user_file users; "
        f"proxy_pass http://app; {FORWARDED} proxy_set_header X-User $remote_user; }}"
        f"location /api/ {{ proxy_pass http://app; {FORWARDED} }} location /isbn/ {{ rewrite ^/isbn/([0-9-]+)$ "
        "/search?isbn=$1 permanent; }",
        {
            "page": Kind(30, "/catalogue/shelf-@N@", _LIBRARY, size=(9_000, 28_000)),
            "cover": Kind(30, "/covers/atlas.png", _LIBRARY),
            "partner": Kind(8, "/covers/atlas.png", EDGE + "Referer: https://www.partner.example/a/\r\n"),
            "stolen": Kind(8, "/covers/atlas.png", EDGE + "Referer: https://elsewhere.example/\r\n"),
            "direct": Kind(6, "/covers/atlas.png", PHONE.replace("https://site.example/latest", "-")),
            "desk": Kind(10, "/desk/loans?page=@N@", SAFARI + SIGNED, size=(4_000, 12_000)),
            "lend": Kind(6, "/desk/loans", SAFARI + SIGNED + FORM, "POST", (200, 400), body=700),
            "api": Kind(15, "/api/books/@N@", GO, size=(700, 6_000)),
            "isbn": Kind(6, "/isbn/978-0-13-@N@", SPIDER),
        },
        {"covers/atlas.png": 40_000},
        tls=True,
        text=CODE,
    ),
}
