"""Sites whose cost `benchmarks.blind` compares with profiles: those of earlier rounds, and what all are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

TEXT = b"\n".join(path.read_bytes() for path in sorted(Path(__file__).parents[1].glob("docs/guide/*.md")))
BROWSER = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0 "
    "Safari/537.36\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8\r\n"
    "Accept-Language: en-GB,en;q=0.9\r\nAccept-Encoding: gzip, deflate, br\r\nSec-Fetch-Dest: document\r\n"
    "Cookie: session=8f14e45fceea167a5a36dedd4bea2543; consent=1\r\nUpgrade-Insecure-Requests: 1\r\n"
)
PLAIN = "User-Agent: api-client/2.1\r\nAccept: application/json\r\n"


@dataclass(frozen=True)
class Kind:
    """Requests of a kind.

    Attributes:
        target: With `@N@` for a number, and `@U@` for one that no other request has.
        headers: Those besides `Host`.
        size: The bytes of the body that an upstream sends; smallest and largest.
        is_new: Whether each has a connection of its own.
        body: The bytes of the body that the client sends.
    """

    weight: int
    target: str
    headers: str = BROWSER
    method: str = "GET"
    size: tuple[int, int] = (2_000, 12_000)
    is_new: bool = False
    body: int = 0


@dataclass(frozen=True)
class Site:
    """A site: what its http block and server have, its files with their sizes, and its requests.

    `text` is what its files and upstreams have.
    """

    http: str
    server: str
    kinds: dict[str, Kind]
    files: dict[str, int] = field(default_factory=dict)
    tls: bool = False
    text: bytes = TEXT


SIGNED = "Authorization: Basic dTpw\r\n"
"""The header of the only user in the file `users`."""
USERS = b"u:$apr1$c4Vq8sXw$IVJK3gQvgIXMCl.TOYJ060\n"
POOL = "upstream app { server 127.0.0.1:@BACK@; keepalive 8; }\n"
KEPT = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;'
_SECURITY = "".join(
    f'add_header X-Policy-{number} "max-age=31536000; includeSubDomains" always;\n' for number in range(4)
)
PARAMS = "".join(
    f"fastcgi_param {name} {value};\n"
    for name, value in (
        ("SCRIPT_FILENAME", "$document_root$fastcgi_script_name"), ("QUERY_STRING", "$query_string"),
        ("REQUEST_METHOD", "$request_method"), ("CONTENT_TYPE", "$content_type"), ("CONTENT_LENGTH", "$content_length"),
        ("SCRIPT_NAME", "$fastcgi_script_name"), ("REQUEST_URI", "$request_uri"), ("DOCUMENT_URI", "$document_uri"),
        ("DOCUMENT_ROOT", "$document_root"), ("SERVER_PROTOCOL", "$server_protocol"), ("REQUEST_SCHEME", "$scheme"),
        ("GATEWAY_INTERFACE", "CGI/1.1"), ("SERVER_SOFTWARE", "nginx"), ("REMOTE_ADDR", "$remote_addr"),
        ("REMOTE_PORT", "$remote_port"), ("SERVER_ADDR", "$server_addr"), ("SERVER_NAME", "$server_name"),
    )
)  # fmt: skip

SITES: dict[str, Site] = {
    "handbook": Site(
        "gzip on; gzip_comp_level 6; gzip_types text/css; gzip_min_length 500;",
        "".join(
            f"rewrite ^/manual/{number % 7}/chapter-{number}\\.html$ /book/{number} permanent;\n"
            for number in range(90)
        )
        + _SECURITY
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
        f"if ($robot) {{ return 403; }} {_SECURITY} location /v1/ {{ auth_request /auth; proxy_pass http://app; "
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
        f"error_page 500 502 /sorry.html; {_SECURITY}",
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
API = b"\n".join(path.read_bytes() for path in sorted(Path(__file__).parents[1].glob("nginxopt/schemas/*.json")))
_CODE = b"\n".join(path.read_bytes() for path in sorted(Path(__file__).parents[1].glob("nginxopt/lint/queries/*.py")))
FORWARDED = (
    KEPT + "proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; "
    "proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host; "
)
PHONE = (
    "User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.5 Mobile/15E148 Safari/604.1\r\nAccept: */*\r\nAccept-Language: fr-FR,fr;q=0.9\r\n"
    "Accept-Encoding: gzip, deflate, br\r\nReferer: https://site.example/latest\r\nConnection: keep-alive\r\n"
)
_MEMBER = PHONE + (
    "Cookie: _t=" + "k3JhUzNvVjBqQ2p5" * 14 + "; _forum_session=" + "Zm9ydW0tc2Vzc2lvbg" * 16 + "; theme=dark\r\n"
)
CURL = "User-Agent: curl/8.14.1\r\nAccept: */*\r\n"
_ROBOT = (
    "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\r\nAccept-Encoding: gzip\r\n"
)

BLIND: dict[str, Site] = {
    "forum": Site(
        POOL + "gzip on; gzip_comp_level 5; gzip_proxied any; gzip_min_length 1000; gzip_vary on; gzip_types "
        "application/json text/css application/javascript;\n"
        "limit_req_zone $binary_remote_addr zone=login:1m rate=900r/s;\n"
        "map $http_user_agent $crawler { default 0; ~*(googlebot|bingbot|applebot) 1; ~*python-requests 1; '' 1; }\n"
        "map $uri $moved { default ''; "
        + "".join(f"/t/old-{number} /t/new-{number}; " for number in range(200))
        + r"~^/category/([a-z]+)/?$ /c/$1; }",
        "if ($moved) { return 301 $moved; } client_max_body_size 20m;"
        "add_header X-Content-Type-Options nosniff always; add_header Referrer-Policy same-origin always;"
        f"location / {{ proxy_pass http://app; {FORWARDED} }}"
        f"location = /session {{ limit_req zone=login burst=900 nodelay; proxy_pass http://app; {FORWARDED} }}"
        "location /assets/ { expires 1y; add_header Cache-Control public; try_files $uri =404; }"
        "location ~ ^/(uploads|images)/ { expires 7d; access_log off; try_files $uri @app; }"
        f"location @app {{ proxy_pass http://app; {FORWARDED} }}"
        "location ~* \\.(php|aspx?)$ { return 404; }",
        {
            "topic": Kind(40, "/t/some-topic/@N@", PHONE, size=(8_000, 60_000)),
            "member": Kind(25, "/t/some-topic/@N@.json?track_visit=true", _MEMBER, size=(4_000, 30_000)),
            "login": Kind(6, "/session", _MEMBER, "POST", (600, 900), body=180),
            "post": Kind(8, "/posts", _MEMBER, "POST", (1_500, 3_000), body=2_400),
            "script": Kind(14, "/assets/app-4711.js", PHONE),
            "sprite": Kind(12, "/assets/sprite.png", PHONE),
            "renamed": Kind(5, "/t/old-17", PHONE),
            "category": Kind(4, "/category/support", _ROBOT),
            "crawler": Kind(14, "/t/some-topic/@N@", _ROBOT, size=(8_000, 60_000)),
            "probe": Kind(6, "/wp-login.php", CURL),
        },
        {"assets/app-4711.js": 90_000, "assets/sprite.png": 18_000},
        text=_CODE,
    ),
    "magazine": Site(
        "gzip on; gzip_comp_level 6; gzip_types text/css application/javascript;\n"
        "open_file_cache max=1000 inactive=60s;\n"
        "fastcgi_cache_path cache keys_zone=c:1m inactive=1h use_temp_path=off;\n"
        "map $http_cookie $skip { default 0; ~*wordpress_logged_in 1; ~*comment_author 1; }\n",
        "".join(
            f"rewrite ^/{2000 + number % 20}/{1 + number % 12:02}/story-{number}/?$ /story-{number}/ permanent;\n"
            for number in range(60)
        )
        + "add_header Strict-Transport-Security max-age=31536000; index index.php;"
        "location / { try_files $uri $uri/ /index.php?$args; }"
        f"location ~ \\.php$ {{ try_files $uri =404; {PARAMS} fastcgi_pass 127.0.0.1:@BACK@; fastcgi_cache c; "
        'fastcgi_cache_key "$scheme$request_method$host$request_uri"; fastcgi_cache_valid 200 10m; '
        "fastcgi_cache_bypass $skip; fastcgi_no_cache $skip; add_header X-Cache $upstream_cache_status; }"
        "location ~* \\.(css|js|png|jpg|gif|ico|svg|woff2)$ { expires max; log_not_found off; }"
        "location = /xmlrpc.php { deny all; } location ~ /\\.(?!well-known) { deny all; }",
        {
            "cached": Kind(40, "/story-7/", size=(30_000, 30_000)),
            "fresh": Kind(10, "/search/@U@/?s=nginx", size=(12_000, 40_000)),
            "editor": Kind(
                10,
                "/wp-admin/edit.php?post=@N@",
                BROWSER.replace("consent=1", "wordpress_logged_in_1=ed%7C1"),
                size=(20_000, 60_000),
            ),
            "style": Kind(15, "/wp-content/style.css"),
            "photo": Kind(20, "/wp-content/photo.jpg"),
            "xmlrpc": Kind(8, "/xmlrpc.php", CURL, "POST", body=300),
            "old": Kind(6, "/2007/08/story-27/"),
            "missing": Kind(5, "/wp-content/gone.png"),
            "visitor": Kind(4, "/story-7/", size=(30_000, 30_000), is_new=True),
        },
        {"index.php": 10, "wp-admin/edit.php": 10, "wp-content/style.css": 35_000, "wp-content/photo.jpg": 120_000},
        tls=True,
    ),
    "gateway": Site(
        POOL + "map $http_upgrade $connection_upgrade { default upgrade; '' ''; }\n"
        "limit_conn_zone $binary_remote_addr zone=each:1m; gzip on; gzip_types application/json; gzip_proxied any;",
        "limit_conn each 100; server_tokens off;"
        + "".join(f"location /svc-{number}/ {{ proxy_pass http://app/; {FORWARDED} }}\n" for number in range(12))
        + f"location ~ ^/tenants/([a-z0-9-]+)/v(1|2)/ {{ proxy_pass http://app; {FORWARDED} "
        "proxy_set_header X-Tenant $1; proxy_set_header X-Request-Start $msec; proxy_read_timeout 60s; }"
        "location = /healthz { return 204; } location /docs/ { alias html/; index index.html; }"
        "location /legacy/ { return 308 /svc-1$request_uri; } location / { return 404; }"
        "error_page 404 /404.json; location = /404.json { internal; default_type application/json; }",
        {
            "service": Kind(
                40,
                "/svc-5/orders/@N@",
                PLAIN + "Authorization: Bearer " + "eyJhbGciOi" * 40 + "\r\n",
                size=(800, 6_000),
            ),
            "tenant": Kind(
                30,
                "/tenants/acme-@N@/v2/invoices?limit=50",
                PLAIN + "Accept-Encoding: gzip\r\n",
                size=(15_000, 70_000),
            ),
            "write": Kind(
                15,
                "/tenants/acme-@N@/v1/events",
                PLAIN + "Content-Type: application/json\r\n",
                "POST",
                (50, 90),
                body=900,
            ),
            "health": Kind(20, "/healthz", CURL),
            "docs": Kind(6, "/docs/", size=(0, 0)),
            "moved": Kind(4, "/legacy/orders/@N@", PLAIN),
            "unknown": Kind(6, "/actuator/env", CURL),
            "opened": Kind(6, "/svc-5/orders/@N@", PLAIN, size=(800, 6_000), is_new=True),
        },
        {"index.html": 14_000, "404.json": 120},
        tls=True,
        text=API,
    ),
}
"""Sites that were written after the terms had been counted, and before anything of them was."""
RULES = b"\n".join(path.read_bytes() for path in sorted(Path(__file__).parents[1].glob("docs/rules/*.md")))
_FIREFOX = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0\r\nAccept: */*\r\n"
    "Accept-Language: pl,en-US;q=0.7,en;q=0.3\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\n"
    "Referer: https://site.example/women/jackets.html\r\nCookie: PHPSESSID=0a1b2c3d4e5f60718293a4b5c6; store=pl; "
    "form_key=Xb3kQz9LmN2pRt7V\r\nSec-Fetch-Dest: empty\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Site: same-origin\r\n"
)
GO = "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n"

LATER: dict[str, Site] = {
    "catalogue": Site(
        "gzip on; gzip_comp_level 6; gzip_min_length 256;\n"
        "gzip_types text/css application/javascript application/json;\n"
        "map $host $store { default en; pl.example pl; de.example de; }\n"
        "limit_req_zone $binary_remote_addr zone=cart:1m rate=900r/s;\n",
        "index index.php; add_header X-Frame-Options SAMEORIGIN; set $root_of_static html;"
        + "".join(
            f"location = /sale-{number} {{ return 301 /women/sale.html?campaign={number}; }}\n" for number in range(25)
        )
        + "location / { try_files $uri $uri/ /index.php$is_args$args; }"
        "location /static/ { expires max; add_header Cache-Control public; location ~ ^/static/version\\d*/ { "
        "rewrite ^/static/version\\d*/(.*)$ /static/$1 last; } }"
        "location /media/ { try_files $uri $uri/ =404; expires 30d; }"
        f"location ~ ^/(index|get|health_check)\\.php$ {{ limit_req zone=cart burst=900 nodelay; {PARAMS} "
        "fastcgi_param STORE $store; fastcgi_pass 127.0.0.1:@BACK@; fastcgi_buffers 64 16k; }"
        "location ~* (\\.php$|\\.phtml$|\\.htaccess$|\\.git) { deny all; }",
        {
            "product": Kind(40, "/women/jackets/olivia-@N@.html", BROWSER, size=(25_000, 80_000)),
            "ajax": Kind(25, "/customer/section/load/?sections=cart&_=17600@N@", _FIREFOX, size=(300, 1_200)),
            "versioned": Kind(20, "/static/version1760012345/theme.css", _FIREFOX),
            "media": Kind(20, "/media/olivia.jpg", BROWSER),
            "noimage": Kind(6, "/media/none-@N@.jpg", _FIREFOX),
            "campaign": Kind(6, "/sale-24", BROWSER),
            "order": Kind(5, "/checkout/order/save", _FIREFOX, "POST", (200, 500), body=1_400),
            "attack": Kind(8, "/vendor/phpunit/eval-stdin.php", CURL),
        },
        {"index.php": 10, "static/theme.css": 60_000, "media/olivia.jpg": 45_000},
        text=RULES,
    ),
    "monitor": Site(
        POOL
        + "gzip on; gzip_comp_level 4; gzip_proxied any; gzip_types application/json application/javascript text/css;\n"
        "proxy_cache_path cache keys_zone=p:1m inactive=1h use_temp_path=off;\n"
        "limit_conn_zone $server_name zone=all:1m;\n",
        "limit_conn all 500; proxy_http_version 1.1; proxy_set_header Connection ''; proxy_set_header Host $host;"
        "location / { root files; try_files $uri $uri/ @grafana; } location @grafana { proxy_pass http://app; }"
        "location /api/ { proxy_pass http://app; proxy_hide_header X-Powered-By; add_header Cache-Control no-store; }"
        "location /api/ds/ { proxy_pass http://app; proxy_cache p; proxy_cache_valid 200 1m; "
        "proxy_cache_methods GET HEAD POST; proxy_ignore_headers Cache-Control; }"
        "location /push/ { client_max_body_size 10m; proxy_request_buffering off; proxy_pass http://app; }"
        "location /public/ { expires 1h; etag on; } location = / { return 302 /d/home; }"
        "location ~ ^/render/(?<panel>[0-9]+)$ { rewrite ^ /api/render/$panel break; proxy_pass http://app; }",
        {
            "query": Kind(40, "/api/ds/query?panel=@N@", _FIREFOX, size=(9_000, 9_000)),
            "board": Kind(15, "/api/dashboards/uid/@N@", BROWSER, size=(20_000, 60_000)),
            "pushed": Kind(30, "/push/metrics/job/@N@", GO, "POST", (2, 2), body=4_000),
            "home": Kind(8, "/", BROWSER),
            "view": Kind(10, "/d/some-board/@N@", BROWSER, size=(15_000, 25_000)),
            "bundle": Kind(10, "/public/app.js", _FIREFOX),
            "unchanged": Kind(10, "/public/app.js", _FIREFOX + "If-None-Match: @ETAG@\r\n"),
            "render": Kind(5, "/render/@N@", PHONE, size=(30_000, 30_000)),
            "scraper": Kind(20, "/api/health", GO, size=(60, 60)),
        },
        {"public/app.js": 140_000},
        tls=True,
        text=_CODE,
    ),
}
"""Sites that were written after what the first ones had shown of headers and redirects, before any was counted."""

_LICENCE = b"\n".join(path.read_bytes() for path in sorted(Path(__file__).parents[1].glob("tests/profile/*.py")))
EDGE = (
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 "
    'Safari/537.36 Edg/142.0.0.0\r\nsec-ch-ua-mobile: ?0\r\nsec-ch-ua-platform: "Windows"\r\nAccept: text/html,*/*\r\n'
    "Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: it-IT,it;q=0.9,en;q=0.8\r\nDNT: 1\r\n"
)
_SIGNED = EDGE + "Referer: https://site.example/courses\r\nCookie: MoodleSession=" + "k9m2p4r7t1v3x5z8" * 2 + "\r\n"
_APP = (
    "User-Agent: Moodle/4.5 CFNetwork/1494.0.7 Darwin/23.4.0\r\nAccept: application/json\r\nAccept-Encoding: gzip\r\n"
)

LAST: dict[str, Site] = {
    "school": Site(
        "gzip on; gzip_comp_level 3; gzip_types application/javascript text/css application/json;\n"
        "map $request_uri $cacheable { default ''; ~^/(theme|lib)/ 'public, max-age=86400'; }\n",
        "index index.php; client_max_body_size 100m; add_header Cache-Control $cacheable; add_header X-Robots-Tag none;"
        "location / { try_files $uri $uri/ =404; }"
        f"location ~ [^/]\\.php(/|$) {{ fastcgi_split_path_info ^(.+\\.php)(/.+)$; {PARAMS} "
        "fastcgi_param PATH_INFO $fastcgi_path_info; fastcgi_pass 127.0.0.1:@BACK@; }"
        "location /dataroot/ { internal; alias html/; }"
        "location ~ (/vendor/|/node_modules/|composer\\.json) { return 404; }"
        "location ~* \\.(?:svg|woff2?)$ { expires 30d; access_log off; }"
        "rewrite ^/course/([0-9]+)/?$ /course/view.php?id=$1 last;"
        "rewrite ^/user/([0-9]+)$ /user/profile.php?id=$1 last;",
        {
            "course": Kind(30, "/course/@N@", _SIGNED, size=(30_000, 90_000)),
            "service": Kind(
                30, "/lib/ajax/service.php?sesskey=a1b2c3&info=core_@N@", _SIGNED, "POST", (200, 900), body=250
            ),
            "app": Kind(12, "/webservice/rest/server.php?wsfunction=core_@N@", _APP, size=(1_000, 9_000)),
            "style": Kind(15, "/theme/all.css", _SIGNED),
            "image": Kind(15, "/theme/logo.png", EDGE),
            "login": Kind(6, "/login/index.php", EDGE, size=(9_000, 12_000), is_new=True),
            "absent": Kind(5, "/theme/none-@N@.png", EDGE),
            "vendor": Kind(5, "/vendor/autoload.js", CURL),
        },
        {"theme/all.css": 70_000, "theme/logo.png": 12_000},
        text=_LICENCE,
    ),
    "tenants": Site(
        POOL
        + "gzip on; gzip_comp_level 2; gzip_proxied any; gzip_types application/json text/css application/javascript;\n"
        "proxy_cache_path cache keys_zone=t:1m inactive=1h use_temp_path=off;\n"
        "limit_req_zone $binary_remote_addr zone=api:1m rate=900r/s;\n"
        "map $http_accept_language $lang { default en; ~*^de de; ~*^it it; }\n",
        "".join(f'add_header X-Secure-{number} "nosniff; mode=block" always;\n' for number in range(5))
        + f"location / {{ proxy_pass http://app; {FORWARDED} proxy_set_header X-Lang $lang; proxy_buffers 16 16k; }}"
        f"location /api/ {{ limit_req zone=api burst=900 nodelay; auth_request /check; "
        f"proxy_pass http://app; {FORWARDED} }}"
        f"location = /check {{ internal; return 204; }}"
        f"location /thumbs/ {{ proxy_pass http://app; proxy_cache t; proxy_cache_valid 200 1h; {FORWARDED} "
        "add_header X-Cached $upstream_cache_status; }"
        "location /build/ { root files; expires 1y; try_files $uri =404; }"
        "location = /robots.txt { return 200 'Disallow: /'; }"
        "location ~ ^/(en|de|it)/legacy/(.*)$ { return 301 /$1/$2; } location = /status { allow 127.0.0.1; deny all; "
        "return 200 up; }",
        {
            "page": Kind(30, "/it/orders/@N@", EDGE, size=(12_000, 45_000)),
            "api": Kind(30, "/api/v3/orders?cursor=@N@", _SIGNED, size=(2_000, 20_000)),
            "change": Kind(8, "/api/v3/orders/@N@", _SIGNED, "PATCH", (300, 600), body=200),
            "thumb": Kind(25, "/thumbs/@N@", EDGE, size=(7_000, 7_000)),
            "build": Kind(12, "/build/main.js", EDGE),
            "legacy": Kind(5, "/de/legacy/orders/@N@", _ROBOT),
            "robots": Kind(5, "/robots.txt", _ROBOT),
            "status": Kind(12, "/status", GO),
            "first": Kind(5, "/it/orders/@N@", EDGE, size=(12_000, 45_000), is_new=True),
        },
        {"build/main.js": 110_000},
        tls=True,
        text=_LICENCE,
    ),
}
"""Sites that were written after the terms of `gzip` for small responses, before any was counted."""
EARLIER = SITES | BLIND | LATER | LAST
