"""Six sites as different people have them, by clients of many kinds, written before anything of them was counted.

An application that serves its own pages, a town's site in several languages, a collector of events, pages that are
rendered ahead, a registry of packages, and software that is rented out.
"""

from __future__ import annotations

from benchmarks.sites.clients import (
    ANDROID,
    APP,
    BING,
    BROWSER,
    CURL,
    EDGE,
    FIREFOX,
    FORM,
    GO,
    IPAD,
    JAVA,
    LINUX,
    PHONE,
    PREVIEW,
    PYTHON,
    ROBOT,
    SAFARI,
    SESSION,
    SIGNED,
    SPIDER,
    WATCH,
)
from benchmarks.sites.parts import API, CODE, FORWARDED, KEPT, POOL, RULES, SECURITY, TEXT, UWSGI, Kind, Site

_JSON = "Content-Type: application/json\r\n"
_KEY = "X-Api-Key: " + "5f9d2c" * 6 + "\r\n"
_CORS = (
    "Origin: https://shop.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
    "content-type\r\nSec-Fetch-Mode: cors\r\n"
)
_SIGNED_IN = "Cookie: remember_token=" + "T3Jhbmdl" * 9 + "; _app_session=" + "b1946ac9" * 16 + "\r\n"
_LAYER = (
    "User-Agent: docker/28.3.2 go/go1.24.5 kernel/6.8.0-64-generic os/linux arch/amd64\r\nAccept-Encoding: gzip\r\n"
)
_NPM = "User-Agent: npm/10.9.3 node/v22.18.0 linux x64 workspaces/false\r\nAccept: application/json\r\n"
_LANGUAGES = (
    "map $http_accept_language $language { default en; ~*^de de; ~*^fr fr; ~*^it it; ~*^pl pl; }\n"
    "map $request_uri $expiry { default off; ~*\\.(?:css|js)$ 7d; ~*\\.(?:png|jpg)$ 30d; }\n"
)
_ZIP = "gzip on; gzip_vary on; gzip_proxied any; gzip_comp_level {}; gzip_types {};\n"
_USUAL = "text/css application/json application/javascript text/xml image/svg+xml text/plain"

SITES: dict[str, Site] = {
    "clinic": Site(
        "upstream app { server 127.0.0.1:@BACK@ fail_timeout=0; keepalive 16; }\n" + _ZIP.format(5, _USUAL),
        f"client_max_body_size 10m; keepalive_timeout 65; {SECURITY} error_page 500 502 503 504 /500.html;"
        "location = /500.html { internal; } location ^~ /assets/ { gzip_static on; expires max; "
        "add_header Cache-Control public; } location ^~ /packs/ { expires max; access_log access.log profile; }"
        "if ($request_method !~ ^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$) { return 405; }"
        f"location / {{ try_files $uri/index.html $uri @app; }} location @app {{ proxy_pass http://app; {FORWARDED} "
        "proxy_redirect off; } location = /up { return 204; } location ~ ^/(?:admin|jobs) { allow 127.0.0.1; "
        f"deny all; proxy_pass http://app; {FORWARDED} }}",
        {
            "home": Kind(15, "/", ANDROID + _SIGNED_IN, size=(24_000, 24_000)),
            "doctors": Kind(20, "/doctors?page=@N@", IPAD + _SIGNED_IN, size=(18_000, 40_000)),
            "slots": Kind(15, "/slots/@N@.json", LINUX + _SIGNED_IN, size=(900, 4_000)),
            "book": Kind(6, "/bookings", ANDROID + _SIGNED_IN + FORM, "POST", (80, 120), body=420),
            "cancel": Kind(2, "/bookings/@N@", ANDROID + _SIGNED_IN, "DELETE", (1, 1)),
            "style": Kind(12, "/assets/app-4be1.css", ANDROID),
            "script": Kind(10, "/packs/app-77ab.js", IPAD),
            "logo": Kind(8, "/assets/logo-19.png", BING),
            "notice": Kind(5, "/notice.html", LINUX),
            "robots": Kind(5, "/robots.txt", BING),
            "up": Kind(8, "/up", WATCH),
            "strange": Kind(2, "/", PYTHON, "PROPFIND", (0, 0)),
            "admin": Kind(5, "/admin/patients?q=@N@", LINUX + _SIGNED_IN, size=(30_000, 70_000)),
            "search": Kind(8, "/search?q=knee+@N@", EDGE, size=(9_000, 22_000), is_new=True),
        },
        {
            "assets/app-4be1.css": 58_000, "packs/app-77ab.js": 140_000, "assets/logo-19.png": 5_200,
            "notice.html": 6_400, "robots.txt": 120, "500.html": 900,
        },
        tls=True,
        text=RULES,
    ),
    "town": Site(
        _LANGUAGES + _ZIP.format(6, _USUAL),
        "index index.html; charset utf-8; expires $expiry; add_header X-Content-Type-Options nosniff;"
        "error_page 404 /en/404.html; error_page 403 /en/403.html;"
        "location = / { return 302 /$language/; } location ~ ^/(de|fr|it|pl|en)/ { ssi on; try_files $uri $uri/ =404; }"
        + "".join(f"location = /form-{number}.php {{ return 301 /en/forms/{number}.html; }}\n" for number in range(40))
        + "".join(f"rewrite ^/office/{number}/(.+)\\.htm$ /en/offices/{number}/$1.html permanent;\n"
                  for number in range(25))
        + "rewrite (?i)^/stadt/(.*)$ /de/$1 redirect; location /files/ { root files; limit_rate 0; autoindex off; }"
        "location ~* \\.(?:bak|sql|old|ini)$ { deny all; } location /maps/ { alias html/tiles/; expires 1d; "
        "log_not_found off; error_page 404 =204 /empty; } location = /empty { internal; return 204; }",
        {
            "choose": Kind(10, "/", EDGE), "german": Kind(6, "/", SAFARI + "DNT: 1\r\n"),
            "page": Kind(30, "/de/offices/4/hours.html", ANDROID),
            "folder": Kind(8, "/fr/news", IPAD), "index": Kind(15, "/it/news/", BROWSER),
            "style": Kind(15, "/css/town.css", LINUX), "photo": Kind(15, "/img/square.png", PHONE),
            "document": Kind(8, "/files/minutes-2026.bin", CURL),
            "part": Kind(5, "/files/minutes-2026.bin", PREVIEW),
            "form": Kind(6, "/form-33.php", ROBOT), "office": Kind(6, "/office/19/opening.htm", BING),
            "stadt": Kind(4, "/Stadt/news/", FIREFOX), "lost": Kind(6, "/de/none-@N@.html", SPIDER),
            "backup": Kind(5, "/wp-config.php.bak", PYTHON), "tile": Kind(12, "/maps/7/3.png", ANDROID),
            "sea": Kind(5, "/maps/7/none-@N@.png", ANDROID),
            "same": Kind(8, "/css/town.css", LINUX + "If-None-Match: @ETAG@\r\n"),
        },
        {
            "de/offices/4/hours.html": 14_000, "fr/news/index.html": 9_000, "it/news/index.html": 17_000,
            "css/town.css": 31_000, "img/square.png": 120_000, "files/minutes-2026.bin": 800_000,
            "en/404.html": 2_600, "en/403.html": 1_900, "tiles/7/3.png": 11_000,
        },
        text=TEXT,
    ),
    "collector": Site(
        POOL + "map $http_user_agent $is_robot { default 0; ~*(?:bot|crawl|spider|slurp|preview) 1; '' 1; }\n"
        "map $is_robot $logged { 0 1; default 0; }\nmap $http_origin $origin { default ''; ~^https://[a-z]+\\.example$ "
        "$http_origin; }\nlimit_req_zone $binary_remote_addr zone=hits:2m rate=9000r/s;\n"
        "split_clients $remote_addr$http_user_agent $variant { 10% b; * a; }\n",
        "add_header Access-Control-Allow-Origin $origin always; add_header Vary Origin; server_tokens off;"
        "location = /t.gif { empty_gif; expires epoch; etag off; }"
        "location = /collect { if ($request_method = OPTIONS) { add_header Access-Control-Allow-Methods POST; "
        "add_header Access-Control-Max-Age 86400; return 204; } limit_req zone=hits burst=9000 nodelay; "
        f"client_body_buffer_size 64k; proxy_pass http://app/hits; {KEPT} proxy_set_header X-Client $remote_addr; }}"
        "location = /v.js { add_header X-Variant $variant; try_files /v-$variant.js =404; gzip on; "
        "gzip_types application/javascript; gzip_comp_level 3; expires 10m; } location = /ping { return 200 'ok'; }"
        f"location /report/ {{ if ($http_x_api_key = '') {{ return 401; }} proxy_pass http://app; {FORWARDED} gzip on; "
        "gzip_types application/json; gzip_proxied any; } location / { return 404; }",
        {
            "pixel": Kind(30, "/t.gif?u=@N@&p=%2Flamps&r=0.31", ANDROID), "phone": Kind(15, "/t.gif?u=@N@", PHONE),
            "robot": Kind(8, "/t.gif?u=@N@", BING), "asks": Kind(8, "/collect", BROWSER + _CORS, "OPTIONS", (0, 0)),
            "event": Kind(30, "/collect", EDGE + _JSON + "Origin: https://shop.example\r\n", "POST", (2, 2), body=640),
            "batch": Kind(8, "/collect", APP + _JSON, "POST", (2, 2), body=9_500),
            "small": Kind(10, "/collect?v=2", IPAD + "Content-Type: text/plain\r\n", "POST", (2, 2), body=90),
            "script": Kind(15, "/v.js", LINUX), "again": Kind(6, "/v.js", LINUX + "If-None-Match: \"1-2\"\r\n"),
            "ping": Kind(8, "/ping", WATCH), "report": Kind(6, "/report/day.json?d=@N@", JAVA + _KEY,
                                                      size=(20_000, 60_000)),
            "keyless": Kind(4, "/report/day.json", PYTHON), "other": Kind(4, "/wp-login.php", PYTHON),
            "nameless": Kind(4, "/t.gif?u=@N@", ""), "opens": Kind(4, "/t.gif?u=@N@", SAFARI, is_new=True),
        },
        {"v-a.js": 21_000, "v-b.js": 24_000},
        tls=True,
        text=CODE,
    ),
    "rendered": Site(
        POOL + "proxy_cache_path cache levels=1:2 keys_zone=front:4m max_size=1g inactive=1h use_temp_path=off;\n"
        "map $sent_http_content_type $kept { default no-cache; ~image/ 'public, max-age=604800'; }\n"
        + _ZIP.format(6, _USUAL),
        "etag on; proxy_http_version 1.1; proxy_hide_header X-Powered-By; proxy_buffers 16 8k; "
        "location /_next/static/ { alias html/static/; expires 1y; add_header Cache-Control immutable; "
        "access_log access.log profile; } location /_next/image { proxy_cache front; proxy_cache_valid 200 1h; "
        "proxy_cache_key $scheme$host$request_uri$http_accept; proxy_cache_lock on; "
        f"proxy_pass http://app; {KEPT} add_header X-Cache $upstream_cache_status; add_header X-Kept $kept; }}"
        "location /blog/ { proxy_cache front; proxy_cache_valid 200 404 1m; proxy_cache_use_stale updating error; "
        "proxy_cache_background_update on; proxy_ignore_headers Cache-Control Expires Set-Cookie Vary; "
        f"proxy_pass http://app; {KEPT} }} location /api/auth/ {{ proxy_pass http://app; {FORWARDED} }}"
        f"location /api/stream {{ proxy_pass http://app; {FORWARDED} proxy_buffering off; gzip off; }}"
        f"location / {{ proxy_pass http://app; {FORWARDED} proxy_intercept_errors on; }}"
        "location = /sitemap.xml { root files; } location = /ads.txt { root files; access_log access.log profile; }",
        {
            "landing": Kind(15, "/", IPAD, size=(52_000, 52_000)),
            "account": Kind(10, "/account?tab=@N@", EDGE + SESSION, size=(20_000, 36_000)),
            "article": Kind(25, "/blog/ten-lamps", ANDROID, size=(41_000, 41_000)),
            "fresh": Kind(8, "/blog/@U@", BING, size=(16_000, 50_000)),
            "picture": Kind(25, "/_next/image?url=%2Flamp.png&w=640&q=75", PHONE, size=(24_000, 24_000)),
            "other": Kind(6, "/_next/image?url=%2F@U@.png&w=828&q=75", BROWSER, size=(18_000, 40_000)),
            "chunk": Kind(20, "/_next/static/main-5d.js", ANDROID), "style": Kind(10, "/_next/static/a.css", SAFARI),
            "session": Kind(12, "/api/auth/session", LINUX + SESSION, size=(2, 60)),
            "sign": Kind(4, "/api/auth/callback", LINUX + SESSION + FORM, "POST", (40, 200), body=260),
            "stream": Kind(4, "/api/stream?id=@N@", FIREFOX + SESSION, size=(9_000, 20_000)),
            "map": Kind(4, "/sitemap.xml", BING), "ads": Kind(4, "/ads.txt", ROBOT),
            "preview": Kind(4, "/blog/ten-lamps?fbclid=@U@", PREVIEW.replace("Range: bytes=0-524287\r\n", ""),
                            size=(41_000, 41_000)),
        },
        {"static/main-5d.js": 96_000, "static/a.css": 17_000, "sitemap.xml": 44_000, "ads.txt": 300},
        tls=True,
        text=TEXT,
    ),
    "registry": Site(
        POOL + "limit_conn_zone $server_name zone=pulls:1m;\n",
        "client_max_body_size 0; chunked_transfer_encoding on; server_tokens off; "
        "default_type application/octet-stream;"
        "add_header Docker-Distribution-Api-Version registry/2.0 always;"
        "location = /v2/ { auth_basic Registry; auth_basic_user_file users; return 200 '{}'; }"
        "location ~ ^/v2/.+/blobs/uploads/ { auth_basic Registry; auth_basic_user_file users; proxy_pass http://app; "
        f"{FORWARDED} proxy_request_buffering off; proxy_read_timeout 900; }}"
        f"location /v2/ {{ limit_conn pulls 500; proxy_pass http://app; {FORWARDED} proxy_read_timeout 900; }}"
        "location /npm/ { limit_except GET HEAD { deny all; } gzip on; gzip_types application/json; gzip_proxied any; "
        f"gzip_comp_level 2; proxy_pass http://app/; {KEPT} }} location /simple/ {{ autoindex on; }}"
        "location /packages/ { sendfile on; tcp_nopush on; expires 30d; add_header Accept-Ranges bytes; }"
        "location = /health { access_log access.log profile; default_type text/plain; return 200 healthy; }",
        {
            "base": Kind(15, "/v2/", _LAYER + SIGNED, size=(0, 0)), "unsigned": Kind(10, "/v2/", _LAYER, size=(0, 0)),
            "manifest": Kind(25, "/v2/lamp/manifests/1.@N@", _LAYER + SIGNED, size=(1_200, 3_000)),
            "blob": Kind(15, "/v2/lamp/blobs/sha256:@N@", _LAYER + SIGNED, size=(200_000, 400_000)),
            "start": Kind(5, "/v2/lamp/blobs/uploads/", _LAYER + SIGNED, "POST", (2, 2)),
            "push": Kind(5, "/v2/lamp/blobs/uploads/@N@", _LAYER + SIGNED, "PATCH", (2, 2), body=9_000),
            "exists": Kind(10, "/v2/lamp/blobs/sha256:@N@", _LAYER + SIGNED, "HEAD", (0, 0)),
            "metadata": Kind(20, "/npm/lamp-@N@", _NPM + "Accept-Encoding: gzip, deflate\r\n", size=(20_000, 90_000)),
            "publish": Kind(3, "/npm/lamp", _NPM + _JSON, "PUT", (0, 0), body=700),
            "index": Kind(10, "/simple/lamp/", PYTHON, size=(0, 0)), "wheel": Kind(15, "/packages/lamp-1.bin", PYTHON),
            "resume": Kind(5, "/packages/lamp-1.bin", CURL + "Range: bytes=100000-\r\n"),
            "gone": Kind(5, "/packages/none-@N@.bin", JAVA), "health": Kind(8, "/health", GO),
        },
        {
            "packages/lamp-1.bin": 300_000,
            **{f"simple/lamp/lamp-1.{number}-py3-none-any.bin": 40_000 for number in range(30)},
        },
        text=API,
    ),
    "rented": Site(
        "upstream django { server 127.0.0.1:@BACK@; }\n" + POOL
        + "map $http_host $tenant { hostnames; default none; site.example alpha; *.site.example beta; }\n"
        "map $arg_lang$cookie_lang $chosen { default en; ~^de de; ~^es es; }\n"
        "geo $inside { default 0; 127.0.0.0/8 1; 10.0.0.0/8 1; }\n"
        "limit_req_zone $binary_remote_addr zone=api:4m rate=9000r/s;\n" + _ZIP.format(1, _USUAL),
        "set $maintenance off; if (-f $document_root/maintenance) { set $maintenance on; } "
        "if ($maintenance = on) { return 503; } if ($tenant = none) { return 404; }"
        "add_header X-Tenant $tenant always; add_header Strict-Transport-Security max-age=31536000 always;"
        "location /static/ { alias html/static/; expires 30d; open_file_cache max=100; }"
        "location /media/ { valid_referers none blocked server_names *.site.example; if ($invalid_referer) "
        "{ return 403; } alias html/media/; }"
        f"location / {{ uwsgi_pass django; {UWSGI} uwsgi_param X_TENANT $tenant; uwsgi_param X_LANG $chosen; }}"
        f"location /api/ {{ limit_req zone=api burst=9000 nodelay; uwsgi_pass django; {UWSGI} gzip off; }}"
        "location ~ ^/(?<app>crm|books|mail)/ws/ { proxy_pass http://app; proxy_http_version 1.1; "
        "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; proxy_set_header X-App $app; }"
        "location /metrics { if ($inside = 0) { return 403; } return 200 'up 1'; }"
        "location = /old-login { return 308 /login; } location = /favicon.ico { log_not_found off; }",
        {
            "page": Kind(25, "/crm/contacts?page=@N@", EDGE + SESSION, size=(22_000, 60_000)),
            "german": Kind(10, "/books/@N@?lang=de", FIREFOX + SESSION, size=(8_000, 30_000)),
            "save": Kind(8, "/crm/contacts/@N@", EDGE + SESSION + FORM, "POST", (300, 900), body=1_400),
            "api": Kind(25, "/api/contacts/@N@", JAVA + _KEY, size=(500, 3_000)),
            "write": Kind(8, "/api/contacts", PYTHON + _KEY + _JSON, "POST", (300, 600), body=800),
            "style": Kind(15, "/static/app.css", IPAD), "script": Kind(10, "/static/app.js", LINUX),
            "avatar": Kind(12, "/media/avatar.png", ANDROID.replace("www.google.com", "site.example")),
            "stolen": Kind(4, "/media/avatar.png", ANDROID),
            "socket": Kind(8, "/mail/ws/poll?t=@U@", IPAD + SESSION, size=(50, 300)),
            "metrics": Kind(6, "/metrics", GO), "login": Kind(4, "/old-login", PHONE + FORM, "POST", (0, 0), body=80),
            "icon": Kind(6, "/favicon.ico", BING), "opens": Kind(4, "/login", LINUX, size=(6_000, 6_000), is_new=True),
        },
        {"static/app.css": 62_000, "static/app.js": 150_000, "media/avatar.png": 7_000},
        tls=True,
        text=CODE,
    ),
}  # fmt: skip
