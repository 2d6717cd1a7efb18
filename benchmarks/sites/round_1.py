"""Sites that were written after the terms had been counted, and before anything of them was."""

from __future__ import annotations

from benchmarks.sites.clients import BROWSER, CURL, PHONE, PLAIN, ROBOT
from benchmarks.sites.parts import API, CODE, FORWARDED, PARAMS, POOL, Kind, Site

_MEMBER = PHONE + (
    "Cookie: _t=" + "k3JhUzNvVjBqQ2p5" * 14 + "; _forum_session=" + "Zm9ydW0tc2Vzc2lvbg" * 16 + "; theme=dark\r\n"
)

SITES: dict[str, Site] = {
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
            "category": Kind(4, "/category/support", ROBOT),
            "crawler": Kind(14, "/t/some-topic/@N@", ROBOT, size=(8_000, 60_000)),
            "probe": Kind(6, "/wp-login.php", CURL),
        },
        {"assets/app-4711.js": 90_000, "assets/sprite.png": 18_000},
        text=CODE,
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
