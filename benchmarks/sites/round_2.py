"""Sites that were written after what the first ones had shown of headers and redirects, before any was counted."""

from __future__ import annotations

from benchmarks.sites.clients import BROWSER, CURL, FIREFOX, GO, PHONE
from benchmarks.sites.parts import CODE, PARAMS, POOL, RULES, Kind, Site

SITES: dict[str, Site] = {
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
            "ajax": Kind(25, "/customer/section/load/?sections=cart&_=17600@N@", FIREFOX, size=(300, 1_200)),
            "versioned": Kind(20, "/static/version1760012345/theme.css", FIREFOX),
            "media": Kind(20, "/media/olivia.jpg", BROWSER),
            "noimage": Kind(6, "/media/none-@N@.jpg", FIREFOX),
            "campaign": Kind(6, "/sale-24", BROWSER),
            "order": Kind(5, "/checkout/order/save", FIREFOX, "POST", (200, 500), body=1_400),
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
            "query": Kind(40, "/api/ds/query?panel=@N@", FIREFOX, size=(9_000, 9_000)),
            "board": Kind(15, "/api/dashboards/uid/@N@", BROWSER, size=(20_000, 60_000)),
            "pushed": Kind(30, "/push/metrics/job/@N@", GO, "POST", (2, 2), body=4_000),
            "home": Kind(8, "/", BROWSER),
            "view": Kind(10, "/d/some-board/@N@", BROWSER, size=(15_000, 25_000)),
            "bundle": Kind(10, "/public/app.js", FIREFOX),
            "unchanged": Kind(10, "/public/app.js", FIREFOX + "If-None-Match: @ETAG@\r\n"),
            "render": Kind(5, "/render/@N@", PHONE, size=(30_000, 30_000)),
            "scraper": Kind(20, "/api/health", GO, size=(60, 60)),
        },
        {"public/app.js": 140_000},
        tls=True,
        text=CODE,
    ),
}
