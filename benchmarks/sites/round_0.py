"""The sites from which the first terms were fitted: what they showed is in the terms."""

from __future__ import annotations

from benchmarks.sites.clients import BROWSER, PLAIN
from benchmarks.sites.parts import KEPT, PARAMS, POOL, SECURITY, Kind, Site

SITES: dict[str, Site] = {
    "handbook": Site(
        "gzip on; gzip_comp_level 6; gzip_types text/css; gzip_min_length 500;",
        "".join(
            f"rewrite ^/manual/{number % 7}/chapter-{number}\\.html$ /book/{number} permanent;\n"
            for number in range(90)
        )
        + SECURITY
        + "location / { try_files $uri $uri/index.html =404; } location ~* \\.(css|png|woff2)$ { expires 7d; }",
        {
            "page": Kind(50, "/book/@N@.html"),
            "folder": Kind(10, "/intro", size=(0, 0)),
            "css": Kind(15, "/theme.css"),
            "picture": Kind(15, "/map.png"),
            "moved": Kind(8, "/manual/3/chapter-45.html"),
            "missing": Kind(8, "/book/none-@N@.html"),
            "head": Kind(4, "/book/3.html", method="HEAD"),
            "again": Kind(6, "/book/4.html", BROWSER + "If-None-Match: @ETAG@\r\n"),
        },
        {
            **{f"book/{number}.html": 6_000 + 3_000 * number for number in range(8)},
            "intro/index.html": 9_000,
            "theme.css": 24_000,
            "map.png": 55_000,
        },
    ),
    "shop": Site(
        "gzip on; gzip_comp_level 5; limit_req_zone $binary_remote_addr zone=z:1m rate=9000r/s;",
        f"limit_req zone=z burst=90000 nodelay; location / {{ try_files $uri /index.php?$args; }}"
        f"location ~ \\.php$ {{ {PARAMS} fastcgi_pass 127.0.0.1:@BACK@; }}"
        "location ~ /\\. { deny all; } location /assets/ { access_log off; expires 30d; }",
        {
            "front": Kind(40, "/product/@N@", size=(15_000, 45_000)),
            "script": Kind(20, "/cart.php?item=@N@", size=(3_000, 9_000)),
            "dot": Kind(8, "/.git/config", PLAIN),
            "image": Kind(20, "/logo.png"),
            "connection": Kind(12, "/product/@N@", size=(15_000, 45_000), is_new=True),
        },
        {"logo.png": 30_000, "cart.php": 10},
    ),
    "api": Site(
        POOL
        + "map $http_user_agent $robot { default 0;\n"
        + "".join(
            f'"~*{name}" 1;\n' for name in ("googlebot", "bingbot", "ahrefs", "semrush", "yandex", "baidu", "mj12")
        )
        + "}\n",
        f"if ($robot) {{ return 403; }} {SECURITY} location /v1/ {{ auth_request /auth; proxy_pass http://app; "
        f"{KEPT} }}"
        "location = /auth { internal; return 204; } location = /health { access_log off; return 200 ok; }"
        f"location /v2/ {{ proxy_pass http://app; {KEPT} }} location /old/ {{ return 410; }}",
        {
            "list": Kind(40, "/v2/items?page=@N@", PLAIN, size=(4_000, 30_000)),
            "item": Kind(30, "/v1/items/@N@", PLAIN, size=(500, 1_500)),
            "post": Kind(12, "/v2/items", PLAIN + "Content-Length: 0\r\n", "POST", (300, 400)),
            "old": Kind(8, "/old/items/@N@", PLAIN),
            "robot": Kind(6, "/v2/items?page=@N@", "User-Agent: Mozilla/5.0 (compatible; SemrushBot/7)\r\n"),
            "handshake": Kind(6, "/v2/items?page=@N@", PLAIN, size=(4_000, 30_000), is_new=True),
        },
        tls=True,
    ),
    "edge": Site(
        POOL + "proxy_cache_path cache keys_zone=c:1m inactive=1h;",
        f"location / {{ proxy_pass http://app; {KEPT} proxy_cache c; proxy_cache_valid 200 1h; add_header X-Cache "
        "$upstream_cache_status; } location /files/ { root files; }",
        {
            "hit": Kind(60, "/page/1", size=(18_000, 18_000)),
            "small": Kind(25, "/icon/1", size=(900, 900)),
            "miss": Kind(20, "/page/@U@?q=1", size=(18_000, 18_000)),
            "part": Kind(10, "/big.bin", PLAIN + "Range: bytes=0-9999\r\n"),
        },
        {"files/big.bin": 400_000},
        tls=True,
    ),
    "legacy": Site(
        "gzip on; gzip_comp_level 1; gzip_proxied any; gzip_types text/plain;",
        "".join(
            f"if ($host = old{number}.example) {{ return 301 https://site.example$request_uri; }}\n"
            for number in range(4)
        )
        + "".join(f"rewrite ^/catalog/item-{number:04}\\.asp$ /p/{number} permanent;\n" for number in range(300))
        + 'location / { proxy_pass http://127.0.0.1:@BACK@; proxy_set_header Accept-Encoding ""; '
        'sub_filter "http://old.example" "https://site.example"; sub_filter_once off; }'
        "location ~ ^/(print|mail)/ { return 410; }",
        {
            "page": Kind(60, "/p/@N@/details.html", size=(5_000, 30_000)),
            "near": Kind(20, "/catalog/item-9999.html", size=(5_000, 30_000)),
            "moved": Kind(20, "/catalog/item-0150.asp"),
            "gone": Kind(10, "/print/@N@"),
        },
    ),
    "spa": Site(
        POOL + "gzip on; gzip_comp_level 9; gzip_types application/javascript application/json;",
        f"location / {{ try_files $uri /index.html; }} location /api/ {{ proxy_pass http://app; {KEPT} }}"
        "location /static/ { ssi on; } location = /robots.txt { return 200 'User-agent: *'; }"
        f"error_page 500 502 /sorry.html; {SECURITY}",
        {
            "route": Kind(40, "/orders/@N@/edit"),
            "script": Kind(20, "/app.js"),
            "data": Kind(30, "/api/orders/@N@", size=(1_500, 40_000)),
            "plain": Kind(10, "/app.js", PLAIN),
            "robots": Kind(5, "/robots.txt", PLAIN),
            "new": Kind(8, "/orders/@N@/edit", is_new=True),
        },
        {"index.html": 4_500, "app.js": 160_000, "sorry.html": 1_000},
    ),
}
