"""Pairs of servers by hand, which generators do not make: equal or not, nginx must not tell apart what is equivalent.

Of each pair the names of directives tell what it is about.
"""

from __future__ import annotations

from tests.fuzz.sites.messages import request
from tests.fuzz.verify.case import Case, Edited

_PATHS = (
    "/", "/a", "/a/", "/a/b", "/a/f.txt", "/b", "/b/f.txt", "/c", "/f.txt", "/nx", "/x.html", "/d", "/d/",
    "/d//g.txt", "/e/", "/A", "/a.php", "/a%2fb", "/z/only.txt", "/a?x=1", "/?x=1&y=2", "/b?y=2", "/a/../b",
)  # fmt: skip
_PAIRS = (
    (
        "error_page 404 /e; location = /e { return 404; } error_page 403 /x.html;",
        "error_page 404 /e; location = /e { return 403; } error_page 403 /x.html;",
    ),
    (
        "recursive_error_pages on; error_page 404 /e; location = /e { return 403; } error_page 403 /x.html;",
        "error_page 404 /e; location = /e { return 403; } error_page 403 /x.html;",
    ),
    ("error_page 404 @n; location @n { return 200 n; }", "error_page 404 = @n; location @n { return 200 n; }"),
    ("error_page 404 /x.html; error_page 404 /f.txt;", "error_page 404 /x.html;"),
    ("error_page 404 /x.html; error_page 404 /f.txt;", "error_page 404 /f.txt; error_page 404 /x.html;"),
    ("error_page 404 403 /x.html;", "error_page 404 /x.html; error_page 403 /x.html;"),
    ("error_page 404 /x.html; location /a { error_page 403 /f.txt; }", "error_page 404 /x.html; location /a { }"),
    (
        "error_page 404 /i?a=1; location /i { return 200 $args; }",
        "error_page 404 /i; location /i { return 200 $args; }",
    ),
    (
        "error_page 404 /i$request_uri; location /i { return 200 $args; }",
        "error_page 404 /i; location /i { return 200 $args; }",
    ),
    ("error_page 404 http://b/x;", "error_page 404 =301 http://b/x;"),
    ("error_page 404 http://b/x;", "error_page 404 =302 http://b/x;"),
    ("location / { try_files $uri $uri/ =404; }", "location / { try_files $uri =404; }"),
    ("location / { try_files $uri $uri/ =404; }", "location / { }"),
    ("location / { try_files /f.txt /x.html =404; }", "location / { try_files /x.html /f.txt =404; }"),
    (
        "location / { try_files /nx @n; } location @n { return 200 $args; }",
        "location / { try_files /nx /i; } location /i { return 200 $args; }",
    ),
    ("try_files /nx /f.txt; location /a { }", "try_files /nx /f.txt; location /b { }"),
    ("location /a { try_files /nx =404; location /a/b { } }", "location /a { try_files /nx =404; }"),
    (
        "error_page 404 /i/; location /i/ { internal; return 200 i; }",
        "error_page 404 /i/; location /i/ { return 200 i; }",
    ),
    (
        "location /i { internal; location /i/ { return 200 i; } }",
        "location /i { internal; location /i/ { internal; return 200 i; } }",
    ),
    (
        "location /a { auth_basic x; auth_basic_user_file {T}/none; }",
        "location /a { auth_basic off; auth_basic_user_file {T}/none; }",
    ),
    (
        "location /a { auth_basic x; auth_basic_user_file {T}/none; }",
        "location /a { auth_basic y; auth_basic_user_file {T}/none; }",
    ),
    (
        "satisfy any; deny all; auth_basic x; auth_basic_user_file {T}/none;",
        "satisfy all; deny all; auth_basic x; auth_basic_user_file {T}/none;",
    ),
    (
        "satisfy any; allow 127.0.0.1; deny all; auth_basic x; auth_basic_user_file {T}/none;",
        "satisfy any; allow all; auth_basic x; auth_basic_user_file {T}/none;",
    ),
    ("satisfy any; deny 10.0.0.0/8;", "deny 10.0.0.0/8;"),
    ("allow 127.0.0.1; deny all; allow all;", "allow 127.0.0.1; deny all;"),
    ("deny 127.0.0.0/8;", "deny 127.0.0.1;"),
    ("deny all; location /a { allow all; }", "deny all; location /a { }"),
    (
        "deny 10.0.0.1; location /a { allow 127.0.0.1; }",
        "deny 10.0.0.1; location /a { deny 10.0.0.1; allow 127.0.0.1; }",
    ),
    ("location /a { limit_except GET { deny all; } }", "location /a { limit_except GET POST { deny all; } }"),
    ("location /a { limit_except GET { deny all; } }", "location /a { limit_except GET HEAD { deny all; } }"),
    ("location /a { limit_except GET POST { deny all; } }", "location /a { limit_except POST GET { deny all; } }"),
    (
        "location /a { limit_except GET { deny all; } }",
        "location /a { if ($request_method !~ ^(GET|HEAD)$) { return 403; } }",
    ),
    ("location /a { limit_except GET { allow all; } return 200 x; }", "location /a { return 200 x; }"),
    (
        "location /a { limit_except GET { proxy_pass http://{http0}; } }",
        "location /a { limit_except GET { proxy_pass http://{http1}; } }",
    ),
    (
        "location /a { proxy_pass http://{http0}; limit_except GET { allow all; } }",
        "location /a { proxy_pass http://{http0}; }",
    ),
    ("add_header X a; location /a { add_header Y ''; }", "add_header X a; location /a { }"),
    ("add_header X a; location /a { add_header X a; }", "add_header X a; location /a { }"),
    (
        "location /a { add_header X 1; if ($arg_x) { add_header Y 1; } }",
        "location /a { add_header X 1; if ($arg_x) { add_header X 1; add_header Y 1; } }",
    ),
    (
        "add_header X $uri; location /a { rewrite ^ /f.txt last; }",
        "add_header X $request_uri; location /a { rewrite ^ /f.txt last; }",
    ),
    ("expires 1h; location /a { expires off; }", "expires 1h; location /a { }"),
    ("expires 1h;", "add_header Cache-Control max-age=3600;"),
    ("expires 1h;", "expires 60m;"),
    ("location / { default_type text/html; return 200 a; }", "location / { return 200 a; }"),
    ("types { text/html html; }", "types { text/html htm; }"),
    ("charset utf-8; return 200 a;", "return 200 a;"),
    ("server_tokens off; return 200 a;", "return 200 a;"),
    ("etag off;", "etag on;"),
    ("if_modified_since off;", "if_modified_since exact;"),
    ("max_ranges 0;", ""),
    (
        "location /a { proxy_pass http://{http0}; }",
        "location /a { proxy_pass http://{http0}; chunked_transfer_encoding off; }",
    ),
    ("autoindex on;", "autoindex on; autoindex_format json;"),
    ("autoindex on;", "autoindex on; autoindex_exact_size off;"),
    ("index f.txt index.html;", "index index.html f.txt;"),
    ("index index.html;", "index index.html index.html;"),
    ("index index.html;", ""),
    ("location /d { port_in_redirect off; }", "location /d { }"),
    ("location /a/ { alias {T}/al/; }", "location /a/ { alias {T}/al; }"),
    ("location /al/ { root {T}; }", "location /al/ { alias {T}/al/; }"),
    ("location ~ ^/a/(.*)$ { alias {T}/al/$1; }", "location /a/ { alias {T}/al/; }"),
    ("root {T}/r/;", "root {T}/r;"),
    ("set $r {T}/r; root $r;", "root {T}/r;"),
    ("root {T}/r; location /a { root {T}/r; }", "root {T}/r;"),
    ("set $x 1; set $y $x; return 200 $y;", "set $y $x; set $x 1; return 200 $y;"),
    ("set $x 1; location / { return 200 $x; }", "location / { set $x 1; return 200 $x; }"),
    ("location ~ ^/(a) { if ($arg_x ~ z) { } return 200 $1; }", "location ~ ^/(a) { return 200 $1; }"),
    ("location ~ ^/(a) { rewrite ^/zzz /y; return 200 $1; }", "location ~ ^/(a) { return 200 $1; }"),
    ("location ~ ^/(?<n>a) { if ($arg_x ~ z) { } return 200 $n; }", "location ~ ^/(?<n>a) { return 200 $n; }"),
    (
        "location ~ ^/(a) { location ~ ^/(.)/(b) { return 200 $2; } return 200 $1; }",
        "location ~ ^/(a) { location ~ ^/./(b) { return 200 $1; } return 200 $1; }",
    ),
    ("location ~ ^/a { return 200 r; location /a/b { return 200 p; } }", "location ~ ^/a { return 200 r; }"),
    (
        "location /a { location = /a/b { return 200 x; } return 200 y; }",
        "location = /a/b { return 200 x; } location /a { return 200 y; }",
    ),
    (
        "location /a { location /a/b { return 200 x; } return 200 y; }",
        "location /a/b { return 200 x; } location /a { return 200 y; }",
    ),
    (
        "location /a { location ~ b { return 200 x; } return 200 y; } location ~ f { return 200 z; }",
        "location ~ ^/a.*b { return 200 x; } location /a { return 200 y; } location ~ f { return 200 z; }",
    ),
    (
        "location ^~ /a { location ~ b { return 200 x; } } location ~ f { return 200 z; }",
        "location /a { location ~ b { return 200 x; } } location ~ f { return 200 z; }",
    ),
    (
        "location = / { return 200 x; } location / { return 200 y; }",
        "location / { if ($uri = /) { return 200 x; } return 200 y; }",
    ),
    ("location = /index.html { return 200 i; } location / { }", "location = / { return 200 i; } location / { }"),
    (
        "rewrite ^/a/(.*) /b/$1 break; location /a { return 200 a; } location /b { return 200 b; }",
        "rewrite ^/a/(.*) /b/$1 last; location /a { return 200 a; } location /b { return 200 b; }",
    ),
    ("location /a { rewrite ^ /a/x last; }", "location /a { return 500; }"),
    (
        "location /a { rewrite ^ /b last; } location /b { rewrite ^ /a last; }",
        "location /a { return 500; } location /b { return 500; }",
    ),
    ("if ($arg_x = '') { return 403; }", "if ($arg_x !~ .) { return 403; }"),
    ("if ($arg_x) { return 403; }", "if ($arg_x != '') { return 403; }"),
    ("if ($arg_x) { return 403; }", "if ($arg_x !~ ^0?$) { return 403; }"),
    ("if ($arg_x) { return 403; }", "if ($arg_x !~ ^0?\\z) { return 403; }"),
    ("if ($uri ~* ^/A$) { return 403; }", "if ($uri ~ ^/a$) { return 403; }"),
    ("location = /a { return 301 /b; }", "rewrite ^/a$ /b permanent;"),
    ("if ($uri = /a) { return 301 /b$is_args$args; }", "rewrite ^/a\\z /b permanent;"),
    ("return 301 http://$host/x;", "return 301 $scheme://$host/x;"),
    ("return 301 x;", "return 301 /x;"),
    ("rewrite ^/a http://b/ permanent;", "rewrite ^/a http://b/;"),
    ("rewrite ^/a $scheme://b/ redirect;", "rewrite ^/a $scheme://b/;"),
    ("rewrite ^/a /b? permanent;", "rewrite ^/a /b?x=1 permanent;"),
    ("rewrite ^/a /b?x=1 permanent;", "rewrite ^/a /b?x=1&$args? permanent;"),
    ("location /a/ { proxy_pass http://{http0}/a/; }", "location /a/ { proxy_pass http://{http0}; }"),
    (
        "set $b {http0}; location /a { proxy_pass http://$b$request_uri; }",
        "set $b {http0}; location /a { proxy_pass http://$b; }",
    ),
    (
        "location /a/ { rewrite ^/a/(.*) /$1 break; proxy_pass http://{http0}; }",
        "location /a/ { proxy_pass http://{http0}/; }",
    ),
    ("location /a { set $args x=1; proxy_pass http://{http0}; }", "location /a { proxy_pass http://{http0}; }"),
    ("location /a { set $args $args; proxy_pass http://{http0}; }", "location /a { proxy_pass http://{http0}; }"),
    (
        "location /a { rewrite ^(.*)$ $1 break; proxy_pass http://{http0}; }",
        "location /a { proxy_pass http://{http0}; }",
    ),
    (
        "location /a/ { proxy_pass http://{http0}; }",
        "location /a/ { proxy_pass http://{http0}; } location = /a { return 301 /a/; }",
    ),
    (
        "location /a { if ($arg_x) { proxy_pass http://{http0}; } proxy_pass http://{http1}; }",
        "location /a { if ($arg_x) { } proxy_pass http://{http1}; }",
    ),
    (
        "location /a { if ($arg_x) { set $z 1; } proxy_pass http://{http1}; }",
        "location /a { proxy_pass http://{http1}; }",
    ),
    ("location / { if ($arg_x) { root {T}/r/d; } }", "location / { if ($arg_x) { set $q 1; } }"),
    (
        "location / { if ($arg_x) { root {T}/r/d; } if ($arg_y) { set $z 1; } }",
        "location / { if ($arg_x) { root {T}/r/d; } }",
    ),
    ("location / { try_files /f.txt =404; if ($arg_x) { set $q 1; } }", "location / { try_files /f.txt =404; }"),
    ("if ($arg_x) { set $q 1; } try_files /f.txt =404;", "try_files /f.txt =404;"),
    (
        "set $x $arg_x; rewrite ^/a /b?x=2; return 200 $x$arg_x;",
        "rewrite ^/a /b?x=2; set $x $arg_x; return 200 $x$arg_x;",
    ),
    ("return 301 $uri;", "return 301 $request_uri;"),
    ("return 200 $uri;", "return 200 $document_uri;"),
    ("if ($request_uri ~ ^/a) { return 403; }", "if ($uri ~ ^/a) { return 403; }"),
    ("location ~ ^/a$ { return 403; }", "if ($uri ~ ^/a$) { return 403; }"),
    ("location ^~ /a { return 200 a; }", "location ~ ^/a { return 200 a; }"),
    ("location ~* ^/a { return 200 a; }", "location ~ ^/[aA] { return 200 a; }"),
    ("location ~ ^/a.b { return 200 a; }", "location ~ (?s)^/a.b { return 200 a; }"),
    ("location ~ ^/a$ { return 200 a; }", "location = /a { return 200 a; }"),
    ("error_page 404 = @x; location @x { return 200 x; }", "error_page 404 = @y; location @y { return 200 x; }"),
    ("location /a { auth_request /i; } location /i { return 204; }", "location /a { } location /i { return 204; }"),
    (
        "location /a { auth_request /i; } location /i { return 403; }",
        "location /a { auth_request /i; } location /i { return 401; }",
    ),
    (
        "location /a { mirror /m; return 200 a; } location /m { internal; return 204; }",
        "location /a { return 200 a; } location /m { internal; return 204; }",
    ),
    (
        "location /a { proxy_pass http://{http0}; proxy_intercept_errors on; error_page 404 /x.html; }",
        "location /a { proxy_pass http://{http0}; error_page 404 /x.html; }",
    ),
    ("location /a { empty_gif; }", "location /a { stub_status; }"),
    ("location /a { post_action /m; return 200 a; }", "location /a { return 200 a; }"),
    (
        "add_header A 1; if ($arg_x) { return 403; } location / { add_header B 1; return 200 x; }",
        "add_header A 1; location / { if ($arg_x) { return 403; } add_header B 1; return 200 x; }",
    ),
    (
        "location / { if ($arg_x) { set $q 1; add_header A b; } add_header C $q; return 200 x; }",
        "location / { if ($arg_x) { set $q 1; add_header A b; } add_header C $q$q; return 200 x; }",
    ),
    ("location / { return 200 a; return 200 b; }", "location / { return 200 a; return 200 c; }"),
    ("location / { return 200 a; if ($arg_x) { return 403; } }", "location / { return 200 a; }"),
    (
        "location / { if ($uri) { return 200 a; } return 200 b; }",
        "location / { if ($uri) { return 200 a; } return 200 c; }",
    ),
    ("location / { break; set $q 1; add_header A $q; }", "location / { break; set $q 2; add_header A $q; }"),
    ("break; rewrite ^/a /b; location / { return 200 $uri; }", "break; location / { return 200 $uri; }"),
    ("break; set $q 1; location / { return 200 x$q; }", "break; set $q 2; location / { return 200 x$q; }"),
    (
        "if ($arg_x) { break; } set $q 1; location / { return 200 x$q; }",
        "if ($arg_x) { set $z 1; } set $q 1; location / { return 200 x$q; }",
    ),
    (
        "if ($arg_x) { return 403; } set $q 1; location / { return 200 x$q; }",
        "set $q 1; if ($arg_x) { return 403; } location / { return 200 x$q; }",
    ),
    (
        "set $q $uri; rewrite ^/a /b; location / { return 200 x$q; }",
        "rewrite ^/a /b; set $q $uri; location / { return 200 x$q; }",
    ),
    ("location / { rewrite ^/a /f.txt break; root {T}/r; }", "location / { rewrite ^/a /f.txt break; root {T}/r/d; }"),
    (
        "location / { if ($uri ~ ^/a) { rewrite ^ /f.txt break; } root {T}/r; }",
        "location / { if ($uri ~ ^/a) { rewrite ^ /f.txt break; } root {T}/r/d; }",
    ),
    (
        "location / { if ($uri ~ ^/a) { root {T}/r; rewrite ^ /f.txt break; } root {T}/r; }",
        "location / { if ($uri ~ ^/a) { root {T}/r; rewrite ^ /f.txt break; } root {T}/r/d; }",
    ),
    (
        "location / { if ($uri ~ ^/a) { rewrite ^ /z/only.txt last; } return 200 x; }",
        "location / { rewrite ^/a /z/only.txt last; return 200 x; }",
    ),
    ("location / { rewrite ^/a /f.txt; return 200 $uri; }", "location / { rewrite ^/a /f.txt last; return 200 $uri; }"),
    (
        "location /a { rewrite ^ /b/f.txt; } location /b { root {T}/r; }",
        "location /a { rewrite ^ /b/f.txt last; } location /b { root {T}/r; }",
    ),
    ("location / { rewrite ^/a /f.txt; break; }", "location / { rewrite ^/a /f.txt break; }"),
    (
        "location / { rewrite ^/a /f.txt; return 200 $uri; }",
        "location / { if ($uri ~ ^/a) { return 200 /f.txt; } return 200 $uri; }",
    ),
    (
        "location / { if ($arg_x) { add_header A 1; } if ($arg_y) { add_header B 1; } return 200 x; }",
        "location / { if ($arg_y) { add_header B 1; } if ($arg_x) { add_header A 1; } return 200 x; }",
    ),
    (
        "location / { if ($arg_x) { set $a 1; } if ($arg_y) { set $b 1; } return 200 $a$b; }",
        "location / { if ($arg_y) { set $b 1; } if ($arg_x) { set $a 1; } return 200 $a$b; }",
    ),
    (
        "location / { if ($arg_x) { rewrite ^ /q break; proxy_pass http://{http0}; } return 200 n; }",
        "location / { if ($arg_x) { rewrite ^ /q break; } return 200 n; }",
    ),
    ("location / { if ($arg_x) { proxy_pass http://{http0}; } return 200 n; }", "location / { return 200 n; }"),
    (
        "location / { if ($arg_x) { proxy_pass http://{http0}; } set $z 1; }",
        "location / { if ($arg_x) { proxy_pass http://{http0}; set $z 1; } }",
    ),
    (
        "location / { empty_gif; if ($arg_x) { proxy_pass http://{http0}; } }",
        "location / { if ($arg_x) { proxy_pass http://{http0}; } empty_gif; }",
    ),
    (
        "location / { if ($arg_x = a) { return 403; } if ($arg_x != a) { return 404; } }",
        "location / { if ($arg_x = a) { return 403; } return 404; }",
    ),
    (
        "location / { set $t 0; if ($arg_x) { set $t 1; } if ($t) { return 403; } return 200 x; }",
        "location / { if ($arg_x) { return 403; } return 200 x; }",
    ),
    (
        "location / { set $t 0; if ($arg_x = 1) { set $t 1; } if ($t = 1) { return 403; } return 200 x; }",
        "location / { if ($arg_x = 1) { return 403; } return 200 x; }",
    ),
    (
        "if ($uri ~ ^/(a)) { set $c $1; } location / { return 200 x$c$1; }",
        "if ($uri ~ ^/(a)) { set $c $1; } location / { return 200 x$c; }",
    ),
    ("rewrite ^/zz(.) /y$1; location / { return 200 x$1; }", "location / { return 200 x$1; }"),
    (
        "location ~ ^/(.)/(.*)$ { rewrite ^/a/(.*)$ /b/$1 break; return 200 $1$2; }",
        "location ~ ^/(.)/(.*)$ { return 200 $1$2; }",
    ),
    (
        "location / { if ($arg_x) { error_page 404 /f.txt; } return 404; }",
        "location / { if ($arg_x) { error_page 404 /f.txt; } error_page 404 /x.html; return 404; }",
    ),
    (
        "location / { error_page 404 /x.html; if ($arg_x) { error_page 404 /f.txt; } return 404; }",
        "location / { if ($arg_x) { error_page 404 /f.txt; } return 404; }",
    ),
    (
        "location / { if ($arg_x) { set $q 1; } try_files /f.txt =404; }",
        "location / { try_files /f.txt =404; if ($arg_x) { }  }",
    ),
    (
        "error_page 404 @n; location @n { rewrite ^ /f.txt break; }",
        "error_page 404 @n; location @n { rewrite ^ /f.txt last; }",
    ),
    ("error_page 404 @n; location @n { return 403; }", "error_page 404 = @n; location @n { return 403; }"),
    (
        "index index.html; location ~ html$ { return 200 h; }",
        "location ~ html$ { return 200 h; } location = /d/ { return 200 h; }",
    ),
    (
        "location / { root {T}/r; return 200 $document_root; }",
        "location / { root {T}/r/d; return 200 $document_root; }",
    ),
    (
        "root {T}/r; if (-f $document_root/f.txt) { return 403; } location / { root {T}/al; }",
        "root {T}/al; if (-f $document_root/f.txt) { return 403; } location / { root {T}/al; }",
    ),
    (
        "location / { if ($arg_x) { root {T}/al; } return 200 $request_filename; }",
        "location / { if ($arg_x) { root {T}/al; } root {T}/r/d; return 200 $request_filename; }",
    ),
    ("location /a { alias {T}/al; rewrite ^/a(.*) /a$1 break; }", "location /a { alias {T}/al; }"),
    ("if ($http_host = a) { return 403; } return 200 x;", "if ($host = a) { return 403; } return 200 x;"),
    ("return 301 $scheme://a/;", "return 301 http://a/;"),
    ("return 301 /x$is_args$args;", "return 301 /x?$args;"),
)


def cases() -> list[Case]:
    """Return the pairs, each with requests to it."""
    asked = [(0, request(path.encode(), host=b"a", method=method)) for path in _PATHS for method in (b"GET", b"POST")]
    return [
        Case(f"by hand {number}", _server(old), [Edited(_server(new), "by hand")], asked)
        for number, (old, new) in enumerate(_PAIRS)
    ]


def _server(text: str) -> str:
    return f"server {{ listen 127.0.0.1:{{P}}; {text} }}"
