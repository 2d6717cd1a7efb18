"""Sites that were written before the terms of letters, maps, conditions, passwords and bodies had been counted."""

from __future__ import annotations

from benchmarks.sites.clients import CURL, EDGE, FORM, GO, PHONE, PLAIN, SAFARI, SESSION, SIGNED, SPIDER
from benchmarks.sites.parts import API, FORWARDED, KEPT, PARAMS, POOL, RULES, UWSGI, Kind, Site, text_of

_CRATE = text_of("rust/src/*.rs")
_NEWS = text_of("docs/*.md")
_SYNC = (
    "User-Agent: Mozilla/5.0 (Linux) mirall/3.16.7 (Nextcloud)\r\nAccept: */*\r\nX-Request-ID: 5b0e71a2-9d\r\n"
    "Authorization: Bearer " + "a8Zk3LmQ" * 9 + "\r\nAccept-Encoding: gzip, deflate\r\n"
)
_GIT = "User-Agent: git/2.47.3\r\nAccept: */*\r\nAccept-Encoding: deflate, gzip\r\nGit-Protocol: version=2\r\n"

SITES: dict[str, Site] = {
    "cloud": Site(
        "map $arg_v $immutable { '' ''; default ', immutable'; }\n"
        "gzip on; gzip_vary on; gzip_comp_level 4; gzip_min_length 256;\n"
        "gzip_proxied expired no-cache no-store private;\n"
        "gzip_types application/javascript application/json text/css image/svg+xml text/plain;\n",
        "client_max_body_size 512M; client_body_buffer_size 512k; fastcgi_hide_header X-Powered-By;"
        + "".join(f'add_header X-Cloud-{number} "noindex, nofollow" always;\n' for number in range(6))
        + "index index.php index.html /index.php$request_uri;"
        "location = / { if ($http_user_agent ~ ^DavClnt) { return 302 /remote.php/webdav/$is_args$args; } }"
        "location = /robots.txt { allow all; log_not_found off; access_log off; }"
        "location ^~ /.well-known { location = /.well-known/carddav { return 301 /remote.php/dav/; }"
        "location = /.well-known/caldav { return 301 /remote.php/dav/; } return 301 /index.php$request_uri; }"
        "location ~ ^/(?:build|tests|config|lib|3rdparty|templates|data)(?:$|/) { return 404; }"
        "location ~ ^/(?:\\.|autotest|occ|issue|indie|db_|console) { return 404; }"
        "location ~ \\.php(?:$|/) { rewrite ^/(?!index|remote|public|cron|core|status|ocs) /index.php$request_uri;"
        "fastcgi_split_path_info ^(.+?\\.php)(/.*)$; set $path_info $fastcgi_path_info; try_files $fastcgi_script_name "
        f"=404; {PARAMS} fastcgi_param PATH_INFO $path_info; fastcgi_param HTTPS on; "
        "fastcgi_param front_controller_active true; fastcgi_pass 127.0.0.1:@BACK@; "
        "fastcgi_intercept_errors on; fastcgi_request_buffering off; }"
        "location ~ \\.(?:css|js|mjs|svg|gif|png|jpg|ico|wasm|tflite)$ { try_files $uri /index.php$request_uri; "
        'add_header Cache-Control "public, max-age=15778463$immutable"; }'
        "location ~ \\.woff2?$ { try_files $uri /index.php$request_uri; expires 7d; }"
        "location /remote { return 301 /remote.php$request_uri; }"
        "location / { try_files $uri $uri/ /index.php$request_uri; }",
        {
            "propfind": Kind(30, "/remote.php/dav/files/anna/@N@", _SYNC, "PROPFIND", (1_500, 4_000), body=320),
            "upload": Kind(10, "/remote.php/dav/files/anna/notes-@N@.md", _SYNC, "PUT", (2, 2), body=3_000),
            "files": Kind(20, "/apps/files/?dir=/Photos-@N@", SAFARI + SESSION, size=(20_000, 45_000)),
            "poll": Kind(20, "/ocs/v2.php/apps/notifications/api/v2/@N@", _SYNC, size=(150, 400)),
            "script": Kind(12, "/dist/core.js?v=41", SAFARI),
            "icon": Kind(12, "/core/img/app.svg", SAFARI),
            "discover": Kind(6, "/.well-known/caldav", _SYNC),
            "hidden": Kind(5, "/data/nextcloud.log", CURL),
            "fresh": Kind(4, "/apps/files/?dir=/Photos-@N@", SAFARI, size=(20_000, 45_000), is_new=True),
        },
        {"remote.php": 10, "index.php": 10, "ocs/v2.php": 10, "dist/core.js": 85_000, "core/img/app.svg": 1_800},
        tls=True,
        text=_CRATE,
    ),
    "forge": Site(
        POOL + "gzip on; gzip_proxied any; gzip_comp_level 6; gzip_types text/plain application/json text/css;\n"
        "map $http_upgrade $connection_upgrade { default upgrade; '' ''; }\n"
        "map $http_user_agent $agent_class { default other; ~*^git/ git; ~*(ahrefs|semrush|mj12|dotbot)bot robot; }\n"
        "limit_req_zone $binary_remote_addr zone=robots:1m rate=9000r/s;\n",
        "client_max_body_size 0; set $forge main; if ($agent_class = robot) { set $forge robot; }"
        "if ($forge = robot) { return 429; }"
        f"location / {{ proxy_pass http://app; proxy_read_timeout 300; {FORWARDED} }}"
        "location ~* ^/([^/]+)/([^/]+)/(git-upload-pack|git-receive-pack|info/refs) { proxy_request_buffering off; "
        f"proxy_buffering off; gzip off; proxy_pass http://app; {FORWARDED} }}"
        "location ~ ^/[^/]+/[^/]+/(archive|raw)/ { limit_req zone=robots burst=9000 nodelay; proxy_pass http://app; "
        f"{FORWARDED} }}"
        "location /assets/ { root files; expires 30d; add_header Cache-Control public; }"
        "location = /api/healthz { access_log off; return 200; }"
        "rewrite ^/(.*)/-/issues/([0-9]+)$ /$1/issues/$2 permanent; rewrite ^/u/([a-z]+)/?$ /$1 permanent;",
        {
            "tree": Kind(30, "/team/project-@N@/src/branch/main", SAFARI + SESSION, size=(25_000, 60_000)),
            "refs": Kind(20, "/team/project-@N@/info/refs?service=git-upload-pack", _GIT, size=(300, 900)),
            "pack": Kind(15, "/team/project-@N@/git-upload-pack", _GIT, "POST", (6_000, 40_000), body=180),
            "comment": Kind(
                8, "/team/project-@N@/issues/7/comments", SAFARI + SESSION + FORM, "POST", (150, 300), body=600
            ),
            "hook": Kind(8, "/api/v1/repos/team/project-@N@/statuses", PLAIN, "POST", (400, 700), body=1_500),
            "raw": Kind(8, "/team/project-@N@/raw/branch/main/README", CURL, size=(2_000, 9_000)),
            "asset": Kind(12, "/assets/index.css", SAFARI),
            "issue": Kind(5, "/team/project-@N@/-/issues/12", SAFARI),
            "robot": Kind(12, "/team/project-@N@/commits", SPIDER),
        },
        {"assets/index.css": 65_000},
        text=RULES,
    ),
    "intranet": Site(
        POOL + "limit_conn_zone $binary_remote_addr zone=who:1m;\n"
        "geo $office { default 0; 10.0.0.0/8 1; 192.168.0.0/16 1; 172.16.0.0/12 1; }\n",
        "auth_basic Staff; auth_basic_user_file users; limit_conn who 200;"
        "location / { root files; index index.html; try_files $uri $uri/ =404; }"
        f"location /wiki/ {{ proxy_pass http://app; {FORWARDED} proxy_set_header X-User $remote_user; }}"
        "location /metrics/ { satisfy any; allow 127.0.0.1; deny all; proxy_pass http://app/; "
        f"proxy_set_header Host $host; {KEPT} }}"
        "location /status { auth_basic off; if ($office) { return 200 in; } return 200 out; }"
        f'location ~ "^/reports/(\\d{{4}})/(\\d{{2}})/" {{ proxy_pass http://app/r?y=$1&m=$2; {FORWARDED} }}'
        "location ~ /\\.(ht|git|svn) { deny all; }",
        {
            "home": Kind(20, "/", SAFARI + SIGNED, size=(0, 0)),
            "page": Kind(30, "/wiki/page-@N@", SAFARI + SIGNED, size=(8_000, 25_000)),
            "save": Kind(8, "/wiki/page-@N@/edit", SAFARI + SIGNED + FORM, "POST", (300, 300), body=2_000),
            "report": Kind(8, "/reports/2026/0@N@/sum", SAFARI + SIGNED, size=(3_000, 5_000)),
            "challenge": Kind(15, "/wiki/page-@N@", SAFARI),
            "scrape": Kind(25, "/metrics/app-@N@", GO, size=(12_000, 20_000)),
            "status": Kind(12, "/status", CURL),
            "dot": Kind(5, "/.git/config", CURL + SIGNED),
        },
        {"index.html": 5_000},
        text=_NEWS,
    ),
    "journal": Site(
        "gzip on; gzip_comp_level 6; gzip_types text/css application/javascript application/rss+xml image/svg+xml;\n"
        "map_hash_bucket_size 128; map $request_uri $moved { default ''; "
        + "".join(
            f"/20{number % 20:02}/{number % 12:02}/post-{number}.html /posts/{number}/; " for number in range(400)
        )
        + "}\n"
        "map $http_user_agent $bad_agent { default 0; ~*masscan 1; ~*zgrab 1; ~*nikto 1; ~*sqlmap 1; "
        "~*libwww-perl 1; }\n"
        "map $sent_http_content_type $lifetime { default off; text/html epoch; text/css max; ~image/ 30d; }\n"
        "geo $banned { default 0; 203.0.113.0/24 1; 198.51.100.0/24 1; }\n",
        "if ($banned) { return 444; } if ($bad_agent) { return 403; } if ($moved) { return 301 $moved; }"
        "if ($request_method !~ ^(GET|HEAD|POST)$) { return 405; } expires $lifetime;"
        + "".join(
            f'add_header X-Journal-{number} "max-age=63072000; includeSubDomains; preload" always;\n'
            for number in range(5)
        )
        + "error_page 404 /404.html; location / { try_files $uri $uri/ =404; }"
        "location ~* \\.(?:jpg|jpeg|gif|png|ico|webp|svg)$ { access_log off; add_header Cache-Control public; }"
        "location ~* \\.(?:css|js)$ { add_header Cache-Control public; }"
        "location ~* (?:\\.(?:bak|conf|dist|inc|ini|log|sh|sql|sw[op])|~)$ { deny all; }"
        "location = /feed { rewrite ^ /index.xml last; } rewrite ^/tag/(.*)/$ /tags/$1.html last; "
        "rewrite ^/category/([^/]+)/page/([0-9]+)/?$ /topics/$1/$2.html permanent;",
        {
            "post": Kind(40, "/posts/@N@/", SAFARI, size=(0, 0)),
            "tag": Kind(10, "/tag/nginx/", EDGE, size=(0, 0)),
            "feed": Kind(20, "/feed", GO, size=(0, 0)),
            "moved": Kind(10, "/2007/03/post-27.html", SPIDER),
            "style": Kind(15, "/style.css", SAFARI),
            "unchanged": Kind(10, "/style.css", SAFARI + "If-None-Match: @ETAG@\r\n"),
            "topic": Kind(5, "/category/web/page/3", EDGE),
            "gone": Kind(10, "/posts/none-@N@/", SPIDER),
            "scanner": Kind(6, "/wp-admin/", "User-Agent: Mozilla/5.0 zgrab/0.x\r\nAccept: */*\r\n"),
            "backup": Kind(4, "/site.sql", CURL),
        },
        {
            **{f"posts/{number}/index.html": 5_000 + 2_500 * number for number in range(8)},
            "tags/nginx.html": 7_000,
            "index.xml": 30_000,
            "style.css": 22_000,
            "404.html": 1_500,
        },
        tls=True,
        text=_NEWS,
    ),
    "club": Site(
        "gzip on; gzip_comp_level 2; gzip_types application/json text/css;\n"
        "split_clients $remote_addr$http_user_agent $variant { 20% b; * a; }\n"
        "map $http_accept_language $language { default en; ~*^nl nl; ~*^de de; ~*^fr fr; }\n"
        "limit_req_zone $binary_remote_addr zone=forms:1m rate=9000r/s;\n",
        "client_max_body_size 10m; add_header X-Variant $variant; add_header X-Frame-Options DENY;"
        f"location / {{ {UWSGI} uwsgi_param LANGUAGE $language; uwsgi_pass 127.0.0.1:@BACK@; uwsgi_read_timeout 60; }}"
        f"location ~ ^/(login|register|contact)/$ {{ limit_req zone=forms burst=9000 nodelay; {UWSGI} "
        "uwsgi_pass 127.0.0.1:@BACK@; }"
        "location /static/ { alias html/; expires 1y; access_log off; }"
        "location /media/ { root files; valid_referers none blocked server_names; "
        "if ($invalid_referer) { return 403; } }"
        "location = /favicon.ico { log_not_found off; empty_gif; }"
        "rewrite ^/news/([0-9]+)/([a-z-]+)$ /news/$2/ permanent;",
        {
            "page": Kind(40, "/news/summer-@N@/", SAFARI + SESSION, size=(12_000, 30_000)),
            "data": Kind(20, "/fixtures/@N@.json?season=2026", PHONE + SESSION, size=(900, 5_000)),
            "login": Kind(8, "/login/", SAFARI + SESSION + FORM, "POST", (200, 400), body=140),
            "photo": Kind(20, "/media/team.png", SAFARI + "Referer: https://site.example/news/\r\n"),
            "linked": Kind(8, "/media/team.png", EDGE + "Referer: https://elsewhere.example/\r\n"),
            "icon": Kind(8, "/favicon.ico", PHONE),
            "old": Kind(6, "/news/@N@/summer", SPIDER),
            "again": Kind(5, "/news/summer-@N@/", SAFARI, size=(12_000, 30_000), is_new=True),
        },
        {"media/team.png": 35_000},
        text=API,
    ),
    "tiles": Site(
        POOL + "proxy_cache_path cache keys_zone=m:1m inactive=1h use_temp_path=off;\n"
        "map $request_method $readable { default 0; GET 1; HEAD 1; }\n"
        "map $http_cookie $no_cache { default 0; ~*session= 1; }\n"
        "gzip on; gzip_comp_level 5; gzip_proxied any; gzip_types application/json;\n",
        "if ($readable = 0) { return 405; } server_tokens off; proxy_http_version 1.1; proxy_set_header Connection '';"
        "proxy_set_header Host $host; add_header Access-Control-Allow-Origin * always; add_header Vary Origin always;"
        "location ~ ^/(?<layer>[a-z]+)/(?<z>[0-9]+)/(?<x>[0-9]+)/(?<y>[0-9]+)\\.(?<form>png|pbf|webp)$ { "
        "proxy_cache m; proxy_cache_key $layer/$z/$x/$y.$form; proxy_cache_valid 200 1h; proxy_cache_bypass $no_cache; "
        "proxy_cache_lock on; add_header X-Cache $upstream_cache_status; proxy_pass http://app; }"
        "location /style/ { proxy_pass http://app; sub_filter_once off; sub_filter_types application/json; "
        "sub_filter http://tiles.internal https://site.example; proxy_set_header Accept-Encoding ''; }"
        "location /fonts/ { root files; expires max; } location = / { return 301 https://site.example/style/; }"
        "location ~ ^/v1/(.*)$ { return 308 /$1; }",
        {
            "tile": Kind(60, "/streets/12/2138/1432.png", SAFARI, size=(15_000, 15_000)),
            "other": Kind(15, "/streets/13/@N@/77.png", EDGE, size=(6_000, 6_000)),
            "part": Kind(10, "/fonts/all.bin", PHONE + "Range: bytes=4000-11999\r\n"),
            "style": Kind(12, "/style/v2/@N@", SAFARI, size=(6_000, 14_000)),
            "post": Kind(6, "/streets/12/2138/1432.png", CURL, "POST", body=40),
            "moved": Kind(6, "/v1/streets/12/1/@N@.png", CURL),
            "root": Kind(5, "/", SPIDER),
            "hello": Kind(6, "/streets/12/2138/1432.png", SAFARI, size=(15_000, 15_000), is_new=True),
        },
        {"fonts/all.bin": 90_000},
        tls=True,
        text=API,
    ),
}
