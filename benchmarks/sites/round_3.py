"""Sites that were written after the terms of `gzip` for small responses, before any was counted."""

from __future__ import annotations

from benchmarks.sites.clients import CURL, EDGE, GO, ROBOT, SIGNED_IN
from benchmarks.sites.parts import FORWARDED, PARAMS, POOL, TESTS, Kind, Site

_APP = (
    "User-Agent: Moodle/4.5 CFNetwork/1494.0.7 Darwin/23.4.0\r\nAccept: application/json\r\nAccept-Encoding: gzip\r\n"
)

SITES: dict[str, Site] = {
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
            "course": Kind(30, "/course/@N@", SIGNED_IN, size=(30_000, 90_000)),
            "service": Kind(
                30, "/lib/ajax/service.php?sesskey=a1b2c3&info=core_@N@", SIGNED_IN, "POST", (200, 900), body=250
            ),
            "app": Kind(12, "/webservice/rest/server.php?wsfunction=core_@N@", _APP, size=(1_000, 9_000)),
            "style": Kind(15, "/theme/all.css", SIGNED_IN),
            "image": Kind(15, "/theme/logo.png", EDGE),
            "login": Kind(6, "/login/index.php", EDGE, size=(9_000, 12_000), is_new=True),
            "absent": Kind(5, "/theme/none-@N@.png", EDGE),
            "vendor": Kind(5, "/vendor/autoload.js", CURL),
        },
        {"theme/all.css": 70_000, "theme/logo.png": 12_000},
        text=TESTS,
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
            "api": Kind(30, "/api/v3/orders?cursor=@N@", SIGNED_IN, size=(2_000, 20_000)),
            "change": Kind(8, "/api/v3/orders/@N@", SIGNED_IN, "PATCH", (300, 600), body=200),
            "thumb": Kind(25, "/thumbs/@N@", EDGE, size=(7_000, 7_000)),
            "build": Kind(12, "/build/main.js", EDGE),
            "legacy": Kind(5, "/de/legacy/orders/@N@", ROBOT),
            "robots": Kind(5, "/robots.txt", ROBOT),
            "status": Kind(12, "/status", GO),
            "first": Kind(5, "/it/orders/@N@", EDGE, size=(12_000, 45_000), is_new=True),
        },
        {"build/main.js": 110_000},
        tls=True,
        text=TESTS,
    ),
}
