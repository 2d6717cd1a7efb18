"""Six sites as most people have them, written before anything of them was counted.

Files that are compressed, WordPress behind a cache of pages, a gateway that asks who may, a shop behind a CDN, an
application of one page, and a host of media. Handshakes of WebSockets are not among their requests.
"""

from __future__ import annotations

from benchmarks.sites.clients import (
    BROWSER,
    CURL,
    EDGE,
    FIREFOX,
    FORM,
    GO,
    PHONE,
    PLAIN,
    ROBOT,
    SAFARI,
    SESSION,
    SPIDER,
)
from benchmarks.sites.parts import (
    API,
    CODE,
    FORWARDED,
    KEPT,
    PARAMS,
    POOL,
    RULES,
    SECURITY,
    TESTS,
    TEXT,
    Kind,
    Site,
)

_JSON = "Content-Type: application/json\r\n"
_TOKEN = "Authorization: Bearer " + "eyJzdWIiOiI0MiIsImV4cCI6MTc5Nn0" * 5 + "\r\n"
_EDITOR = "Cookie: wordpress_logged_in_" + "9c1f7e42" * 4 + "=marta%7C1796000000%7C" + "Lq3Vw8Xe" * 5 + "\r\n"
_CDN = (
    "X-Forwarded-For: 198.51.100.23\r\nX-Forwarded-Proto: https\r\nCF-Ray: 9a1b2c3d4e5f6a7b-AMS\r\nCF-Visitor: {}\r\n"
)
_PODCAST = (
    "User-Agent: AntennaPod/3.7.0 (Android 14; Pixel 7)\r\nAccept: */*\r\nAccept-Encoding: identity\r\n"
    "Connection: Keep-Alive\r\n"
)
_ZIPPED = (
    "gzip on; gzip_vary on; gzip_proxied any; gzip_comp_level {}; gzip_min_length 256; gzip_types text/plain text/css "
    "application/json application/javascript text/xml application/xml image/svg+xml;\n"
)

SITES: dict[str, Site] = {
    "manual": Site(
        _ZIPPED.format(6) + "server_tokens off; etag on;\n",
        f"index index.html; error_page 404 /404.html; {SECURITY}"
        "location / { try_files $uri $uri/ =404; } location = /404.html { internal; }"
        "location ~* \\.(?:css|js|woff2|png|svg)$ { expires 30d; add_header Cache-Control public; "
        "access_log access.log profile; } location /download/ { autoindex on; gzip off; } "
        "location = /old.html { return 301 /new/; }"
        "location ~ /\\. { deny all; }",
        {
            "page": Kind(35, "/guide/install.html", FIREFOX),
            "home": Kind(12, "/", SAFARI),
            "style": Kind(12, "/theme.css", EDGE),
            "script": Kind(10, "/search.js", EDGE),
            "picture": Kind(15, "/img/diagram.png", BROWSER),
            "font": Kind(8, "/sans.woff2", SAFARI),
            "same": Kind(10, "/guide/install.html", FIREFOX + "If-None-Match: @ETAG@\r\n"),
            "robot": Kind(8, "/guide/install.html", ROBOT),
            "plain": Kind(5, "/guide/install.html", CURL),
            "missing": Kind(8, "/guide/none-@N@.html", SPIDER),
            "folder": Kind(4, "/guide", PHONE),
            "moved": Kind(4, "/old.html", ROBOT),
            "listing": Kind(5, "/download/", BROWSER, size=(0, 0)),
            "release": Kind(5, "/download/tool-3.bin", CURL),
            "hidden": Kind(4, "/.git/config", GO),
            "visit": Kind(4, "/", SAFARI, is_new=True),
        },
        {
            "index.html": 11_000, "guide/index.html": 7_000, "guide/install.html": 34_000, "404.html": 3_100,
            "theme.css": 22_000, "search.js": 61_000, "img/diagram.png": 48_000, "sans.woff2": 26_000,
            **{f"download/tool-{number}.bin": 50_000 + number for number in range(16)},
        },
        tls=True,
        text=TEXT,
    ),
    "wordpress": Site(
        "upstream php { server 127.0.0.1:@BACK@; }\n"
        "fastcgi_cache_path cache levels=1:2 keys_zone=pages:1m inactive=1h max_size=200m;\n"
        'fastcgi_cache_key "$scheme$request_method$host$uri";\n'
        "limit_req_zone $binary_remote_addr zone=login:1m rate=9000r/s;\n" + _ZIPPED.format(4),
        "index index.php index.html; client_max_body_size 64m; set $skip_cache 0;"
        "if ($request_method = POST) { set $skip_cache 1; }"
        'if ($request_uri ~* "/wp-admin/|/wp-json/|/xmlrpc.php|/feed/|sitemap") { set $skip_cache 1; }'
        'if ($http_cookie ~* "comment_author|wordpress_logged_in|wp-postpass") { set $skip_cache 1; }'
        "location / { try_files $uri $uri/ /index.php?$args; }"
        f"location ~ \\.php$ {{ try_files $uri =404; {PARAMS} fastcgi_pass php; fastcgi_cache pages; "
        "fastcgi_cache_valid 200 301 10m; fastcgi_cache_bypass $skip_cache; fastcgi_no_cache $skip_cache; "
        "add_header X-Cache $upstream_cache_status; fastcgi_read_timeout 120s; }"
        f"location = /wp-login.php {{ limit_req zone=login burst=9000 nodelay; {PARAMS} fastcgi_pass php; }}"
        "location = /xmlrpc.php { deny all; access_log access.log profile; } location = /robots.txt "
        "{ log_not_found off; } location ~* \\.(?:css|js|png|jpg|woff2|svg)$ { expires max; log_not_found off; }"
        "location ~* /uploads/.*\\.php$ { deny all; }",
        {
            "home": Kind(25, "/", SAFARI, size=(38_000, 38_000)),
            "post": Kind(25, "/2026/10/a-walk/", PHONE, size=(31_000, 31_000)),
            "tagged": Kind(10, "/2026/10/a-walk/?utm_source=mail&utm_id=@N@", EDGE, size=(31_000, 31_000)),
            "first": Kind(8, "/archive/@U@/", ROBOT, size=(12_000, 30_000)),
            "editor": Kind(8, "/wp-admin/edit.php?paged=@N@", EDGE + _EDITOR, size=(40_000, 90_000)),
            "save": Kind(4, "/wp-admin/admin-ajax.php", EDGE + _EDITOR + FORM, "POST", (60, 400), body=900),
            "login": Kind(6, "/wp-login.php", SPIDER + FORM, "POST", (5_000, 5_000), body=120),
            "json": Kind(6, "/wp-json/wp/v2/posts?page=@N@", GO, size=(8_000, 24_000)),
            "feed": Kind(5, "/feed/", ROBOT, size=(20_000, 20_000)),
            "style": Kind(12, "/wp-content/style.css", SAFARI),
            "photo": Kind(15, "/wp-content/uploads/lake.png", PHONE),
            "rpc": Kind(5, "/xmlrpc.php", CURL + FORM, "POST", (0, 0), body=300),
            "shell": Kind(4, "/wp-content/uploads/@N@.php", CURL),
            "lost": Kind(4, "/wp-content/none-@N@.css", SPIDER),
        },
        {
            "index.php": 10, "wp-login.php": 10, "wp-admin/edit.php": 10, "wp-admin/admin-ajax.php": 10,
            "xmlrpc.php": 10, "wp-content/style.css": 45_000, "wp-content/uploads/lake.png": 95_000,
        },
        tls=True,
        text=RULES,
    ),
    "ledger": Site(
        POOL + "limit_req_zone $binary_remote_addr zone=calls:1m rate=9000r/s;\n"
        "limit_conn_zone $server_name zone=all:1m;\n" + _ZIPPED.format(1),
        "server_tokens off; default_type application/json; error_page 404 = @none;"
        "location = /_who { internal; proxy_pass http://app/check; proxy_pass_request_body off; "
        f"proxy_set_header Content-Length ''; proxy_set_header X-Original-URI $request_uri; {KEPT} }}"
        "location = /_who_new { internal; proxy_pass http://127.0.0.1:@BACK@/check; proxy_pass_request_body off; "
        "proxy_set_header Content-Length ''; proxy_set_header Host $host; }"
        "location /v1/ { limit_req zone=calls burst=9000 nodelay; limit_conn all 200; auth_request /_who; "
        f"auth_request_set $who $upstream_http_content_type; proxy_pass http://app; {FORWARDED} "
        "proxy_set_header X-User $who; }"
        f"location /v1/files/ {{ auth_request /_who; client_max_body_size 20m; proxy_pass http://app; {FORWARDED} }}"
        f"location /v2/ {{ auth_request /_who_new; proxy_pass http://app; {FORWARDED} "
        "add_header X-Content-Type-Options nosniff always; }"
        f"location /auth/ {{ limit_req zone=calls burst=9000 nodelay; proxy_pass http://app; {FORWARDED} }}"
        "location = /openapi.json { auth_request /_who; root files; expires 5m; }"
        "location = /healthz { access_log access.log profile; return 200 '{\"status\":\"up\"}'; }"
        "location @none { return 404 '{\"error\":\"not found\"}'; }",
        {
            "item": Kind(30, "/v1/orders/@N@", GO + _TOKEN, size=(400, 2_000)),
            "list": Kind(20, "/v1/orders?page=@N@", FIREFOX + _TOKEN, size=(9_000, 40_000)),
            "make": Kind(12, "/v1/orders", PLAIN + _TOKEN + _JSON, "POST", (200, 500), body=1_100),
            "change": Kind(6, "/v1/orders/@N@", PLAIN + _TOKEN + _JSON, "PUT", (200, 500), body=600),
            "remove": Kind(3, "/v1/orders/@N@", PLAIN + _TOKEN, "DELETE", (2, 2)),
            "file": Kind(
                5, "/v1/files/@N@", PLAIN + _TOKEN + "Content-Type: image/png\r\n", "POST", (90, 90), body=9_000
            ),
            "newer": Kind(12, "/v2/search?q=lamp+@N@", PHONE + _TOKEN, size=(3_000, 9_000)),
            "sign": Kind(6, "/auth/token", PLAIN + FORM, "POST", (700, 900), body=160),
            "schema": Kind(4, "/openapi.json", GO + _TOKEN),
            "health": Kind(10, "/healthz", GO),
            "probe": Kind(5, "/admin/@N@", CURL),
        },
        {"openapi.json": 52_000},
        text=API,
    ),
    "boutique": Site(
        POOL + "proxy_cache_path cache levels=1:2 keys_zone=pages:1m inactive=1h use_temp_path=off;\n"
        "map_hash_bucket_size 128; map $uri $moved { default '';\n"
        + "".join(f"/catalog/item-{number}.php /p/{number}-item;\n" for number in range(600))
        + "}\nmap $http_user_agent $is_bad { default 0; ~*(?:semrush|mj12|dotbot|petal) 1; }\n"
        "set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;\n" + _ZIPPED.format(5),
        "if ($is_bad) { return 403; } if ($http_x_forwarded_proto = http) { return 301 https://$host$request_uri; }"
        "if ($moved) { return 301 $moved; }"
        + "".join(f"rewrite ^/brand-{number}/(.*)$ /brands/{number}/$1 permanent;\n" for number in range(30))
        + "rewrite ^/(.+)/$ /$1 permanent; rewrite ^/product\\.php$ /p/$arg_id? permanent;"
        f"location / {{ proxy_pass http://app; {FORWARDED} proxy_cache pages; proxy_cache_valid 200 5m; "
        "proxy_cache_key $scheme$host$request_uri; proxy_cache_bypass $cookie_cart; proxy_no_cache $cookie_cart; "
        "proxy_cache_lock on; proxy_cache_use_stale updating error timeout; "
        "add_header X-Cache $upstream_cache_status; }"
        f"location /cart {{ proxy_pass http://app; {FORWARDED} }} location /checkout {{ proxy_pass http://app; "
        f"{FORWARDED} proxy_buffers 8 16k; }} location /api/ {{ proxy_pass http://app; {FORWARDED} gzip off; }}"
        f"location /thumbs/ {{ proxy_cache pages; proxy_cache_key $uri; proxy_cache_valid 200 1h; {KEPT} "
        "proxy_pass http://app; expires 7d; } location ^~ /media/ { root files; expires 30d; etag off; "
        "add_header Access-Control-Allow-Origin *; }",
        {
            "front": Kind(20, "/", SAFARI + _CDN, size=(45_000, 45_000)),
            "section": Kind(20, "/c/lamps", PHONE + _CDN, size=(36_000, 36_000)),
            "product": Kind(12, "/p/@U@", EDGE + _CDN, size=(18_000, 42_000)),
            "buyer": Kind(8, "/p/12-lamp", EDGE + _CDN + "Cookie: cart=81; session=2f7c9\r\n", size=(20_000, 40_000)),
            "cart": Kind(8, "/cart?x=@N@", BROWSER + _CDN, size=(9_000, 14_000)),
            "order": Kind(4, "/checkout/pay", BROWSER + _CDN + FORM, "POST", (500, 3_000), body=700),
            "thumb": Kind(15, "/thumbs/lamp-3", SAFARI + _CDN, size=(9_000, 9_000)),
            "sized": Kind(6, "/thumbs/lamp-3?w=@N@00", SAFARI + _CDN, size=(9_000, 9_000)),
            "stock": Kind(8, "/api/stock/@N@", GO + _CDN, size=(200, 700)),
            "photo": Kind(15, "/media/lamp.png", PHONE + _CDN),
            "item": Kind(6, "/catalog/item-471.php", ROBOT + _CDN),
            "brand": Kind(5, "/brand-22/table-lamps", ROBOT + _CDN),
            "slash": Kind(5, "/c/lamps/", SPIDER + _CDN),
            "number": Kind(4, "/product.php?id=@N@", ROBOT + _CDN),
            "bad": Kind(5, "/c/lamps", "User-Agent: Mozilla/5.0 (compatible; SemrushBot/7~bl)\r\n" + _CDN),
        },
        {"media/lamp.png": 72_000},
        text=TESTS,
    ),
    "board": Site(
        POOL + "map $http_upgrade $connection_upgrade { default upgrade; '' close; }\n" + _ZIPPED.format(6),
        f"index index.html; {SECURITY} location / {{ try_files $uri /index.html; }}"
        "location = /index.html { add_header Cache-Control no-cache; }"
        "location /assets/ { expires max; add_header Cache-Control immutable; access_log access.log profile; }"
        "location ~* \\.map$ { return 404; }"
        f"location /api/ {{ proxy_pass http://app; {FORWARDED} proxy_read_timeout 60s; }}"
        "location /socket/ { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
        "proxy_set_header Connection $connection_upgrade; proxy_set_header Host $host; proxy_read_timeout 1h; }"
        f"location /events {{ proxy_pass http://app; {FORWARDED} proxy_buffering off; proxy_cache off; }}"
        f"location /export/ {{ proxy_pass http://app; {FORWARDED} proxy_buffering off; gzip off; }}",
        {
            "start": Kind(12, "/", SAFARI),
            "route": Kind(15, "/boards/@N@/cards", EDGE + SESSION),
            "script": Kind(15, "/assets/main-5f2c.js", EDGE),
            "style": Kind(10, "/assets/main-9a1b.css", SAFARI),
            "icon": Kind(6, "/favicon.png", PHONE),
            "cards": Kind(30, "/api/boards/@N@/cards", FIREFOX + SESSION, size=(4_000, 20_000)),
            "card": Kind(15, "/api/cards/@N@", EDGE + SESSION, size=(300, 900)),
            "edit": Kind(10, "/api/cards/@N@", EDGE + SESSION + _JSON, "PATCH", (300, 900), body=450),
            "poll": Kind(15, "/socket/?transport=polling&t=@U@", SAFARI + SESSION, size=(100, 400)),
            "events": Kind(8, "/events?board=@N@", FIREFOX + SESSION, size=(6_000, 16_000)),
            "export": Kind(3, "/export/@N@.csv", EDGE + SESSION, size=(60_000, 120_000)),
            "map": Kind(3, "/assets/main-5f2c.js.map", ROBOT),
            "same": Kind(8, "/index.html", SAFARI + "If-None-Match: @ETAG@\r\n"),
            "login": Kind(4, "/api/login", PHONE + _JSON, "POST", (200, 300), body=90, is_new=True),
        },
        {
            "index.html": 2_400, "assets/main-5f2c.js": 180_000, "assets/main-9a1b.css": 34_000, "favicon.png": 3_000,
        },
        tls=True,
        text=CODE,
    ),
    "podcasts": Site(
        POOL + "proxy_cache_path cache keys_zone=shows:1m inactive=1d use_temp_path=off;\n"
        "limit_conn_zone $binary_remote_addr zone=each:1m;\n" + _ZIPPED.format(3),
        "sendfile on; tcp_nopush on; output_buffers 2 64k; "
        "location /audio/ { limit_conn each 20; add_header Accept-Ranges bytes; expires 7d; }"
        "location /covers/ { expires 30d; try_files $uri /covers/none.png; }"
        "location /hls/ { expires 10s; add_header Access-Control-Allow-Origin *; }"
        f"location = /feed.xml {{ proxy_cache shows; proxy_cache_valid 200 5m; proxy_pass http://app; {KEPT} }}"
        f"location /far/ {{ slice 256k; proxy_cache shows; proxy_cache_key $uri$slice_range; {KEPT} "
        "proxy_set_header Range $slice_range; proxy_cache_valid 200 206 1d; proxy_pass http://app; }"
        "location /raw/ { autoindex on; autoindex_exact_size off; autoindex_localtime on; }"
        f"location /stats/ {{ proxy_pass http://app; {FORWARDED} }}"
        "location /private/ { auth_basic Patrons; auth_basic_user_file users; }",
        {
            "episode": Kind(15, "/audio/42.bin", _PODCAST),
            "begin": Kind(20, "/audio/42.bin", _PODCAST + "Range: bytes=0-\r\n"),
            "part": Kind(25, "/audio/42.bin", PHONE + "Range: bytes=131072-262143\r\n"),
            "tail": Kind(8, "/audio/42.bin", _PODCAST + "Range: bytes=-4096\r\n"),
            "beyond": Kind(3, "/audio/42.bin", _PODCAST + "Range: bytes=99999999-\r\n"),
            "again": Kind(5, "/audio/42.bin", PHONE + "If-None-Match: @ETAG@\r\n"),
            "look": Kind(5, "/audio/42.bin", CURL, "HEAD"),
            "cover": Kind(15, "/covers/42.png", PHONE),
            "none": Kind(4, "/covers/gone-@N@.png", PHONE),
            "list": Kind(12, "/hls/42/index.json", SAFARI),
            "segment": Kind(20, "/hls/42/0007.bin", SAFARI),
            "feed": Kind(15, "/feed.xml", SPIDER, size=(60_000, 60_000)),
            "far": Kind(6, "/far/interview", _PODCAST, size=(700_000, 700_000)),
            "raw": Kind(3, "/raw/", BROWSER, size=(0, 0)),
            "heard": Kind(8, "/stats/played", PHONE + _JSON, "POST", (2, 2), body=240),
            "gone": Kind(5, "/audio/none-@N@.bin", SPIDER),
        },
        {
            "audio/42.bin": 900_000, "covers/42.png": 38_000, "covers/none.png": 2_500, "hls/42/index.json": 3_200,
            "hls/42/0007.bin": 220_000, "private/43.bin": 9_000,
            **{f"raw/recording-{number:02}-uncut.bin": 20_000 for number in range(60)},
        },
        text=TEXT,
    ),
}  # fmt: skip
