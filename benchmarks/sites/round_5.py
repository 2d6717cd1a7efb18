"""Sites of other kinds than the earlier ones, written before anything of them was counted.

A site of redirects, a gateway with keys, media in parts, blogs behind a cache of FastCGI, documents that are compressed
beforehand, and a platform that passes requests to pools by name.
"""

from __future__ import annotations

from hashlib import md5

from benchmarks.sites.clients import BROWSER, CURL, EDGE, FORM, GO, PHONE, PLAIN, ROBOT, SAFARI, SESSION, SPIDER
from benchmarks.sites.parts import API, CODE, FORWARDED, KEPT, PARAMS, POOL, RULES, TESTS, UWSGI, Kind, Site, encoded

_KEYS = tuple(md5(f"key {number}".encode(), usedforsecurity=False).hexdigest() for number in range(80))
_KEYED = PLAIN + f"X-API-Key: {_KEYS[41]}\r\n"
_JSON = "Content-Type: application/json\r\n"
_LINK = encoded(md5(b"/download/tour.bin salt", usedforsecurity=False).digest())
_PLAYER = (
    "User-Agent: VLC/3.0.21 LibVLC/3.0.21\r\nAccept: */*\r\nAccept-Language: en\r\nIcy-MetaData: 1\r\n"
    "Referer: https://site.example/player/\r\n"
)
_AGENT = "User-Agent: AppleCoreMedia/1.0.0.22F76 (iPhone; U; CPU OS 18_5 like Mac OS X; en_us)\r\nAccept: */*\r\n"
_AUTHOR = "Cookie: wordpress_logged_in_" + "5f4dcc3b" * 4 + "=anna%7C1767225600%7C" + "Zt5Kq8Wm" * 5 + "\r\n"

SITES: dict[str, Site] = {
    "redirects": Site(
        "map_hash_bucket_size 256; map_hash_max_size 32768;\nmap $request_uri $moved { default '';\n"
        + "".join(
            f"/shop/section-{number % 40}/page-{number}.aspx /products/{number % 40}/item-{number};\n"
            for number in range(3_000)
        )
        + "}\nmap $arg_id $product { default '';\n"
        + "".join(f"{10_000 + 7 * number} /products/by-number/{number};\n" for number in range(900))
        + "}\nmap $uri $by_pattern { default '';\n"
        + "".join(
            f"~^/magazine/{2000 + number}/(?<issue>[0-9]+)/ /issues/{2000 + number}-$issue;\n" for number in range(24)
        )
        + "~*^/(?<kind>press|media|download)s?/(?<name>[^/]+)\\.html?$ /$kind/$name;\n~\\.(?:asp|cfm)$ /archive; }\n"
        "split_clients $remote_addr$http_user_agent $variant { 20% new; * old; }\n",
        "if ($moved) { return 301 https://www.site.example$moved; }"
        "if ($product) { return 301 https://www.site.example$product?from=id; }"
        "if ($by_pattern) { return 302 https://www.site.example$by_pattern; }"
        "location / { try_files $uri =404; add_header X-Variant $variant; }"
        "location /forum/ { return 410 'This forum has been closed.'; } location = /live { return 200 'up'; }"
        'location ~ "^/(?:[a-z]{2}-)?[a-z]{2}/?$" { return 302 https://www.site.example$request_uri; }',
        {
            "exact": Kind(40, "/shop/section-17/page-1777.aspx", SAFARI),
            "number": Kind(15, "/item.php?id=11400&ref=@N@", BROWSER),
            "issue": Kind(15, "/magazine/2019/0@N@/", EDGE),
            "press": Kind(8, "/press/result-@N@.html", SPIDER),
            "closed": Kind(12, "/forum/thread-@N@", ROBOT),
            "language": Kind(6, "/en-gb/", PHONE),
            "icon": Kind(6, "/favicon.png", SAFARI),
            "unknown": Kind(10, "/wp-content/none-@N@.js", CURL),
            "live": Kind(6, "/live", GO),
        },
        {"favicon.png": 4_000},
    ),
    "keys": Site(
        POOL
        + "map $http_x_api_key $customer { default '';\n"
        + "".join(f"{key} customer-{number};\n" for number, key in enumerate(_KEYS))
        + "}\nmap $request_method:$uri $scope { default read; ~^(?:POST|PUT|DELETE):/admin admin;\n"
        "~^(?:POST|PUT): write; }\n"
        "limit_req_zone $customer zone=each:1m rate=9000r/s; limit_conn_zone $customer zone=open:1m;\n"
        "gzip on; gzip_proxied any; gzip_min_length 1024; gzip_types application/json application/problem+json;\n",
        "server_tokens off; client_max_body_size 1m; default_type application/json; error_page 401 /401.json;"
        'location = /401.json { internal; return 401 \'{"title":"Sign in first","status":401}\'; }'
        "location = /_check { internal; proxy_pass http://app/check; proxy_pass_request_body off; "
        f"proxy_set_header Content-Length ''; proxy_set_header X-Scope $scope; {KEPT} }}"
        "location /orders/ { if ($customer = '') { return 401; } if ($request_method = OPTIONS) { return 204; } "
        "limit_req zone=each burst=9000 nodelay; limit_conn open 100; auth_request /_check; "
        "auth_request_set $account $upstream_http_content_type; "
        f"proxy_pass http://app; {FORWARDED} proxy_set_header X-Account $account; "
        "proxy_set_header X-Customer $customer; }"
        "location /catalog/ { limit_req zone=each burst=9000 nodelay; limit_except GET { deny all; } "
        f"add_header Access-Control-Allow-Origin $http_origin always; proxy_pass http://app; {FORWARDED} }}"
        f"location /hooks/ {{ proxy_request_buffering off; proxy_pass http://app; {FORWARDED} }}"
        "location = /ping { return 200 '{\"ok\":true}'; } location / { return 404 '{\"status\":404}'; }",
        {
            "order": Kind(35, "/orders/@N@?expand=lines", _KEYED, size=(900, 5_000)),
            "place": Kind(
                12, "/orders/", _KEYED + "Content-Type: application/json\r\n", "POST", (200, 300), body=1_200
            ),
            "unsigned": Kind(12, "/orders/@N@", PLAIN),
            "preflight": Kind(8, "/orders/@N@", _KEYED + "Origin: https://app.example\r\n", "OPTIONS"),
            "catalog": Kind(
                30,
                "/catalog/search?q=lamp&page=@N@",
                PLAIN + "Accept-Encoding: gzip\r\nOrigin: https://a.example\r\n",
                size=(9_000, 45_000),
            ),
            "refused": Kind(4, "/catalog/@N@", PLAIN, "DELETE"),
            "hook": Kind(10, "/hooks/payments", GO + _JSON, "POST", (2, 2), body=2_500),
            "ping": Kind(15, "/ping", GO),
            "probe": Kind(6, "/.env", CURL),
            "opened": Kind(5, "/catalog/search?q=lamp&page=@N@", PLAIN, size=(9_000, 45_000), is_new=True),
        },
        tls=True,
        text=API,
    ),
    "media": Site(
        POOL + "proxy_cache_path cache keys_zone=m:1m inactive=1h use_temp_path=off;\n"
        "gzip on; gzip_types application/json; gzip_min_length 200;\n",
        "tcp_nopush on; tcp_nodelay on; open_file_cache max=500 inactive=60s;"
        "location /stream/ { slice 64k; proxy_cache m; proxy_cache_key $uri$slice_range; "
        f"proxy_set_header Range $slice_range; proxy_cache_valid 200 206 1h; proxy_pass http://app; {KEPT} }}"
        "location /download/ { root files; secure_link $arg_md5; secure_link_md5 '$uri salt'; "
        "if ($secure_link = '') { return 403; } add_header Content-Disposition attachment; }"
        "location /live/ { root files; expires -1; add_header Access-Control-Allow-Origin *; "
        "add_header Access-Control-Expose-Headers Content-Length,Content-Range; }"
        "location ~* \\.(?:jpe?g|png|webp)$ { root files; expires 1y; access_log access.log profile; "
        "try_files $uri /none.png; }",
        {
            "playlist": Kind(20, "/live/show/index.json", _AGENT + "Accept-Encoding: gzip\r\n"),
            "segment": Kind(40, "/live/show/0001.bin", _AGENT),
            "start": Kind(10, "/live/film.bin", _PLAYER + "Range: bytes=0-\r\n"),
            "seek": Kind(12, "/live/film.bin", _PLAYER + "Range: bytes=250000-319999\r\n"),
            "parts": Kind(4, "/live/film.bin", CURL + "Range: bytes=0-499,90000-94999\r\n"),
            "beyond": Kind(4, "/live/film.bin", _PLAYER + "Range: bytes=900000-\r\n"),
            "sliced": Kind(12, "/stream/show/trailer", _PLAYER, size=(200_000, 200_000)),
            "signed": Kind(8, f"/download/tour.bin?md5={_LINK}", SAFARI),
            "forged": Kind(6, "/download/tour.bin?md5=AAAAAAAAAAAAAAAAAAAAAA", CURL),
            "poster": Kind(20, "/art/poster.png", PHONE),
            "lost": Kind(6, "/art/none-@N@.jpg", PHONE),
            "head": Kind(4, "/live/film.bin", CURL, "HEAD"),
        },
        {
            "live/show/index.json": 2_600,
            "live/show/0001.bin": 180_000,
            "live/film.bin": 400_000,
            "download/tour.bin": 90_000,
            "art/poster.png": 60_000,
            "none.png": 1_200,
        },
        tls=True,
        text=CODE,
    ),
    "blogs": Site(
        "upstream php { server 127.0.0.1:@BACK@; keepalive 8; }\n"
        "fastcgi_cache_path cache keys_zone=w:1m inactive=1h use_temp_path=off;\n"
        "fastcgi_cache_key $scheme$request_method$host$request_uri;\n"
        "gzip on; gzip_vary on; gzip_comp_level 5; gzip_types text/css application/javascript;\n",
        "index index.php; set $skip_cache 0; if ($request_method = POST) { set $skip_cache 1; }"
        "if ($query_string != '') { set $skip_cache 1; }"
        'if ($request_uri ~* "/wp-admin/|/xmlrpc.php|wp-.*.php|/feed/|index.php|sitemap(_index)?.xml") '
        "{ set $skip_cache 1; }"
        'if ($http_cookie ~* "comment_author|wordpress_[a-f0-9]+|wp-postpass|wordpress_no_cache|wordpress_logged_in") '
        "{ set $skip_cache 1; }"
        "if (!-e $request_filename) { rewrite /wp-admin$ $scheme://$host$uri/ permanent; "
        "rewrite ^(/[^/]+)?(/wp-.*) $2 last; rewrite ^(/[^/]+)?(/.*\\.php)$ $2 last; }"
        "location / { try_files $uri $uri/ /index.php?$args; }"
        f"location ~ \\.php$ {{ try_files $uri =404; {PARAMS} fastcgi_index index.php; fastcgi_keep_conn on; "
        "fastcgi_pass php; fastcgi_cache w; fastcgi_cache_valid 200 301 10m; fastcgi_cache_use_stale error timeout "
        "updating; fastcgi_cache_lock on; fastcgi_cache_bypass $skip_cache; fastcgi_no_cache $skip_cache; "
        "fastcgi_buffers 16 16k; fastcgi_buffer_size 32k; }"
        "location = /favicon.ico { access_log off; log_not_found off; }"
        "location ~* /(?:uploads|files)/.*\\.php$ { deny all; }"
        "location ~* \\.(?:js|css|png|jpg|jpeg|gif|ico)$ { expires max; }",
        {
            "front": Kind(40, "/anna/2026/holidays/", SAFARI, size=(26_000, 26_000)),
            "author": Kind(15, "/anna/wp-admin/edit.php?paged=@N@", EDGE + _AUTHOR, size=(30_000, 70_000)),
            "search": Kind(10, "/anna/?s=lake+@N@", SAFARI, size=(12_000, 24_000)),
            "ajax": Kind(12, "/anna/wp-admin/admin-ajax.php", EDGE + _AUTHOR + FORM, "POST", (100, 400), body=220),
            "style": Kind(12, "/anna/wp-content/main.css", SAFARI),
            "picture": Kind(15, "/wp-content/lake.png", PHONE),
            "panel": Kind(3, "/anna/wp-admin", EDGE),
            "feed": Kind(10, "/anna/feed/", ROBOT, size=(18_000, 18_000)),
            "attack": Kind(6, "/uploads/shell.php", CURL),
            "visitor": Kind(5, "/anna/2026/holidays/", PHONE, size=(26_000, 26_000), is_new=True),
        },
        {
            "index.php": 10,
            "wp-admin/edit.php": 10,
            "wp-admin/admin-ajax.php": 10,
            "wp-content/main.css": 42_000,
            "wp-content/lake.png": 85_000,
        },
        text=TESTS,
    ),
    "reference": Site(
        "gzip on; gzip_static on; gzip_vary on; gzip_comp_level 6; gzip_types text/css application/javascript;\n",
        "charset utf-8; index index.html; error_page 404 /not-found.html; etag off; "
        'add_header Link "</theme.css>; rel=preload" always; location / { try_files $uri $uri/ =404; }'
        "location /guide/ { ssi on; ssi_last_modified on; }"
        "location /v1/ { alias html/old/; sub_filter_once off; sub_filter 'href=\"/' 'href=\"/v1/'; "
        "sub_filter 'nginx' 'NGINX'; }"
        "location /packages/ { autoindex on; autoindex_exact_size off; gzip off; }"
        "location = /not-found.html { internal; } rewrite ^/latest/(.*)$ /guide/$1 redirect;"
        "rewrite ^/(?:manual|handbook)/(.+)\\.htm$ /guide/$1.html permanent;",
        {
            "ready": Kind(40, "/api/index.html", SAFARI),
            "unready": Kind(10, "/api/index.html", CURL),
            "guide": Kind(20, "/guide/start.html", EDGE),
            "older": Kind(10, "/v1/start.html", BROWSER),
            "listing": Kind(8, "/packages/", PHONE, size=(0, 0)),
            "package": Kind(8, "/packages/tool-1.bin", CURL),
            "folder": Kind(5, "/api", SPIDER),
            "latest": Kind(6, "/latest/start.html", SAFARI),
            "manual": Kind(6, "/manual/chapter-@N@.htm", SPIDER),
            "lost": Kind(8, "/api/none-@N@.html", ROBOT),
            "theme": Kind(12, "/theme.css", SAFARI),
        },
        {
            "api/index.html": 48_000,
            "api/index.html.gz": 9_000,
            "guide/start.html": 21_000,
            "old/start.html": 17_000,
            "not-found.html": 2_200,
            "theme.css": 26_000,
            "theme.css.gz": 6_100,
            **{f"packages/tool-{number}.bin": 30_000 + number for number in range(25)},
        },
        text=RULES,
    ),
    "platform": Site(
        POOL + "map $http_upgrade $connection_upgrade { default upgrade; '' close; }\n"
        "map $http_cookie $pool { default app; ~*canary=yes app; }\n"
        'log_format wide escape=json \'{"time":"$time_iso8601","host":"$host","uri":"$request_uri",'
        '"status":$status,"agent":"$http_user_agent","referer":"$http_referer","id":"$request_id",'
        '"upstream":"$upstream_addr","took":"$upstream_response_time","length":"$request_length",'
        '"sent":"$bytes_sent","client":"$remote_addr","method":"$request_method"}\';\n'
        "gzip on; gzip_comp_level 2; gzip_proxied any; gzip_types application/json application/javascript;\n",
        "large_client_header_buffers 8 32k; client_body_buffer_size 64k; "
        "location ~ ^/apps/(?<app_name>[a-z0-9-]+)/(?<rest>.*)$ { set $target $app_name; "
        "if ($app_name = status) { return 404; } access_log access.log profile; access_log wide.log wide; "
        "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; "
        "proxy_set_header Connection $connection_upgrade; proxy_set_header X-App $target; "
        "proxy_set_header X-Request-ID $request_id; proxy_set_header Host $host; "
        "proxy_cookie_path / /apps/$app_name/; proxy_pass http://$pool/$rest$is_args$args; }"
        f"location /python/ {{ {UWSGI} uwsgi_param SCRIPT_NAME /python; uwsgi_buffering off; "
        "uwsgi_pass 127.0.0.1:@BACK@; }"
        "location /fragments/ { set $memcached_key part:$uri; memcached_pass 127.0.0.1:@BACK@; "
        "default_type text/html; }"
        f"location /events/ {{ proxy_buffering off; gzip off; proxy_pass http://app; {FORWARDED} }}"
        "location /assets/ { root files; try_files $uri @app; } "
        "location @app { rewrite ^/assets/(.*)$ /build/$1 break; "
        f"proxy_pass http://app; {FORWARDED} }} location = / {{ return 302 /apps/home/; }}",
        {
            "app": Kind(35, "/apps/crm/contacts?page=@N@", SAFARI + SESSION, size=(9_000, 35_000)),
            "saved": Kind(8, "/apps/crm/contacts/@N@", EDGE + SESSION + FORM, "POST", (300, 600), body=1_800),
            "python": Kind(15, "/python/report/@N@", SAFARI + SESSION, size=(6_000, 20_000)),
            "fragment": Kind(20, "/fragments/menu-@N@", PHONE, size=(2_500, 2_500)),
            "events": Kind(8, "/events/feed?since=@N@", _AGENT, size=(4_000, 9_000)),
            "asset": Kind(12, "/assets/main.js", EDGE),
            "built": Kind(6, "/assets/extra-@N@.js", EDGE, size=(20_000, 40_000)),
            "cookies": Kind(8, "/apps/crm/contacts?page=@N@", SAFARI + SESSION * 8, size=(9_000, 35_000)),
            "home": Kind(5, "/", PHONE),
            "first": Kind(5, "/apps/crm/contacts?page=@N@", SAFARI, size=(9_000, 35_000), is_new=True),
        },
        {"assets/main.js": 75_000},
        tls=True,
        text=API,
    ),
}
