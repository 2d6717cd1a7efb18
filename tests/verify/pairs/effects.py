"""Pairs that only the header fields, parameters and bodies of requests and responses tell apart, and an address."""

from __future__ import annotations

from tests.verify.pairs.pair import Pair

_PASS = "location / {{ proxy_pass http://127.0.0.1:{{U}}; {} }}"
_FASTCGI = "location / {{ fastcgi_pass 127.0.0.1:{{U}}; {} }}"

_TYPES = ("a/b", "c/d")


def _proxied(name: str, old: str, new: str) -> Pair:
    return Pair(name, _PASS.format(old), _PASS.format(new))


def _fastcgi(name: str, old: str, new: str) -> Pair:
    return Pair(name, _FASTCGI.format(old), _FASTCGI.format(new))


SHOWN = (
    _proxied("a header of a request", "proxy_set_header X-A a;", "proxy_set_header X-A b;"),
    _proxied("a header less", "proxy_set_header X-A a; proxy_set_header X-B b;", "proxy_set_header X-A a;"),
    _proxied("a header with a variable", "proxy_set_header X-A $uri;", "proxy_set_header X-A $uri-;"),
    _proxied("the name of a host", "proxy_set_header Host $host;", ""),
    _proxied("a header twice", "proxy_set_header X-A a; proxy_set_header X-A b;", "proxy_set_header X-A a;"),
    _proxied("a header of a response", "add_header X-A a;", "add_header X-A b;"),
    _proxied("a header Expires without a date", "add_header Expires 0;", ""),
    _proxied("a header of a response less", "add_header X-A $uri; add_header X-B b;", "add_header X-B b;"),
    _proxied("a time of an upstream's response", "expires 1d;", "expires 2d;"),
    _proxied("a time that only one side states", "expires 1d;", "expires off;"),
    _proxied("a time in the past", "expires -1;", "expires epoch;"),
    _proxied("a date beside the time of a cache", "expires 1d;", "add_header Cache-Control max-age=86400;"),
    Pair("a date of a file", "root {T}/r; expires 1d;", "root {T}/r; add_header Cache-Control max-age=86400;"),
    Pair("a date in the past", "return 200 a; expires -1;", "return 200 a; add_header Cache-Control no-cache;"),
    _proxied("a type that a condition uses", *(f"default_type {a}; if ($arg_x) {{ return 200 a; }}" for a in _TYPES)),
    _proxied("a type that the script uses", *(f"default_type {a}; set $x a; return 200 $x;" for a in _TYPES)),
    _proxied("a size of bodies", "client_max_body_size 10;", "client_max_body_size 20;"),
    _proxied("no limit of bodies", "", "client_max_body_size 0;"),
    _fastcgi("a parameter", "fastcgi_param A a;", "fastcgi_param A b;"),
    _fastcgi("a parameter with variables", "fastcgi_param A $document_root$uri;", "fastcgi_param A $document_root;"),
    _proxied("a version of HTTP", "proxy_http_version 1.1;", ""),
    _proxied("a body", "proxy_set_body a;", "proxy_set_body b;"),
    _proxied("a body of a request without one", "proxy_set_body a;", ""),
    _fastcgi("a header that is no parameter", "fastcgi_param A a; fastcgi_param HTTP_X '';", "fastcgi_param A a;"),
    _fastcgi(
        "the rest of a path",
        "fastcgi_split_path_info ^(.+a)(/.*)$; fastcgi_param A $fastcgi_path_info;",
        "fastcgi_split_path_info ^(.+a)(.*)$; fastcgi_param A $fastcgi_script_name;",
    ),
    _fastcgi("an empty parameter", "fastcgi_param A ''; fastcgi_param B b;", "fastcgi_param B b;"),
    _fastcgi("the length of a body that is no parameter", "fastcgi_param CONTENT_LENGTH $content_length;", ""),
    Pair(
        "a folder behind a condition on the URI",
        'root {T}/r; if ($request_uri != "/f.txt") { return 301 /x; }',
        'root {T}/s; if ($request_uri != "/f.txt") { return 301 /x; }',
    ),
    Pair(
        "a method that nginx answers itself beside one that it does not",
        "if ($http_host = h) { return 204; } if ($request_method ~ ^(TRACE|TRACK)$) { return 403; }",
        "if ($http_host = h) { return 204; } if ($request_method ~ ^(TRACE|TRACK)$) { return 301 /; }",
    ),
    Pair(
        "a parameter of uwsgi",
        "location / { uwsgi_pass 127.0.0.1:{U}; uwsgi_param A a; }",
        "location / { uwsgi_pass 127.0.0.1:{U}; uwsgi_param A b; }",
    ),
    Pair(
        "a variable of a script",
        "set $a a; location / { proxy_pass http://127.0.0.1:{U}; proxy_set_header X $a; }",
        "set $a b; location / { proxy_pass http://127.0.0.1:{U}; proxy_set_header X $a; }",
    ),
    Pair(
        "a map with the name of the arguments, which another name does not have",
        "map $uri $args { default q; } server { listen 127.0.0.1:{P};"
        " location / { proxy_set_header X $args; proxy_pass http://127.0.0.1:{U}; } }",
        "map $uri $args { default q; } server { listen 127.0.0.1:{P};"
        " location / { proxy_set_header X $query_string; proxy_pass http://127.0.0.1:{U}; } }",
    ),
    Pair(
        "a row of a map",
        "map $uri $a { default d; /x/y 1; } server { listen 127.0.0.1:{P}; server_name h;"
        " location / { proxy_pass http://127.0.0.1:{U}; proxy_set_header X $a; } }",
        "map $uri $a { default d; /x/y 2; } server { listen 127.0.0.1:{P}; server_name h;"
        " location / { proxy_pass http://127.0.0.1:{U}; proxy_set_header X $a; } }",
    ),
    Pair(
        "an error page of an upstream that does not answer",
        "location / { proxy_pass http://127.0.0.1:{U}; error_page 502 /e; } location = /e { return 200 e; }",
        "location / { proxy_pass http://127.0.0.1:{U}; error_page 502 =503 /e; } location = /e { return 200 e; }",
    ),
    Pair(
        "a fallback for an upstream that does not answer",
        "error_page 502 = @b; location / { fastcgi_pass 127.0.0.1:{U}; } location @b { return 204; }",
        "error_page 504 = @b; location / { fastcgi_pass 127.0.0.1:{U}; } location @b { return 204; }",
    ),
    _proxied("a header that is not passed on", 'proxy_set_header Authorization "";', ""),
    _proxied("a tag of responses", "add_header ETag x;", "add_header ETag y;"),
    Pair("a tag that is taken away", 'root {T}/r; add_header ETag "";', "root {T}/r;"),
    Pair("an index that may be there alone", "root {T}/r; index index.html index.htm;", "root {T}/r;"),
    Pair("a type", "default_type text/plain;", "default_type text/csv;"),
    Pair("a realm", "auth_basic a; auth_basic_user_file {T}/none;", "auth_basic b; auth_basic_user_file {T}/none;"),
    Pair("a type of an extension", "root {T}/r; types { a/b txt; a/d x; }", "root {T}/r; types { a/c txt; a/d x; }"),
    Pair("a file that is missing, whatever the method", "root {T}/r; location / { try_files $uri $uri/ =404; }",
         "root {T}/r; location / { }"),
    Pair("a name of hosts without those in it", "map $host $m { hostnames; .a.test 1; } server { listen {P};"
         " return 200 [$m]; }", "map $host $m { hostnames; *.a.test 1; } server { listen {P}; return 200 [$m]; }"),
    Pair("an address", "server { listen 127.0.0.1:{P}; }", "server { listen 127.0.0.1:{U}; }"),
    Pair(
        "an address less",
        "server { listen {P}; return 200; } server { listen {U}; return 204; }",
        "server { listen {P}; return 200; }",
    ),
    Pair("a limit of bodies in a location", "", "location = /up { client_max_body_size 5; }"),
    Pair("a rule of access for others", "root {T}/r; allow 127.0.0.1; deny all;", "root {T}/r; allow 127.0.0.1;"),
    Pair("a network that is denied", "root {T}/r; deny 127.0.0.3;", "root {T}/r; deny 127.0.0.4;"),
    Pair(
        "a row of a geo",
        "geo $a { default 0; 127.0.0.8/30 1; } server { listen 127.0.0.1:{P}; return 200 $a; }",
        "geo $a { default 0; 127.0.0.8/30 2; } server { listen 127.0.0.1:{P}; return 200 $a; }",
    ),
    Pair(
        "a redirect of one of several names",
        "server { listen {P}; server_name h i; if ($host != h) { return 301 http://h/; } return 204; }",
        "server { listen {P}; server_name h i; if ($host != h) { return 301 http://i/; } return 204; }",
    ),
    Pair("a page for files that fail", "root {T}/r; error_page 500 /x.html;", "root {T}/r;"),
    Pair(
        "another page for files that fail",
        "root {T}/r; error_page 500 =503 /x.html;",
        "root {T}/r; error_page 500 /x.html;",
    ),
    _proxied("a header with a value of its own", "add_header X-A $request_id;", "add_header X-A a;"),
    _fastcgi("the port of the client", "fastcgi_param A $remote_port; fastcgi_param B b;", "fastcgi_param B b;"),
    _proxied("arguments", "proxy_set_header X-A $arg_a$arg_b;", "proxy_set_header X-A $arg_b$arg_a;"),
    _proxied("a header that nginx does not pass on", "proxy_set_header Upgrade $http_upgrade;", ""),
    Pair("the version of nginx", "server_tokens off; root {T}/r;", "root {T}/r;"),
    Pair("the version of nginx in an early error", "server_tokens off; location / { server_tokens on; root {T}/r; }",
         "root {T}/r;"),
    Pair("the tag of a file", "etag off; root {T}/r;", "root {T}/r;"),
    Pair("a charset", "charset utf-8; return 200 a;", "return 200 a;"),
    Pair("several slashes", "merge_slashes off; return 200 $uri;", "return 200 $uri;"),
    Pair("a header with an underscore", "underscores_in_headers on; return 200 [$http_a_b];",
         "return 200 [$http_a_b];"),
    Pair("the largest line of a request", "large_client_header_buffers 4 2k; return 200;", "return 200;"),
    Pair("an error page for a request that is none", "error_page 400 =200 /a; location /a { return 200 a; }",
         "location /a { return 200 a; }"),
    Pair("a listing", "location / { root {T}/r; autoindex on; }", "location / { root {T}/r; }"),
    Pair("a file with two slashes in its path", "location / { root {T}/r; try_files /a/$uri =404; expires max; }",
         "location / { root {T}/r; try_files /a/$uri =404; }"),
    Pair(
        "behind a maintenance",
        "map $remote_addr $off { default 1; 127.0.0.9 0; } server { listen {P}; if ($off) { return 503; }"
        " location / { return 200 a; } }",
        "map $remote_addr $off { default 1; 127.0.0.9 0; } server { listen {P}; if ($off) { return 503; }"
        " location / { return 200 b; } }",
    ),
    Pair(
        "behind conditions on headers",
        'if ($http_x_a != b) { return 403; } if ($cookie_c = "") { return 401; } location /a { return 200 a; }',
        'if ($http_x_a != b) { return 403; } if ($cookie_c = "") { return 401; } location /a { return 200 b; }',
    ),
    _proxied("a header of the upstream", "proxy_hide_header X-A;", ""),
    _proxied("another header of the upstream", "proxy_hide_header X-A;", "proxy_hide_header X-B;"),
    _proxied("a cookie of the upstream", "proxy_hide_header Set-Cookie; add_header X-C c;", "add_header X-C c;"),
    _fastcgi("a header of FastCGI", "fastcgi_hide_header X-A;", "fastcgi_hide_header X-A; fastcgi_pass_header X-A;"),
    _fastcgi("a folder without links", "fastcgi_param A $realpath_root/a;", "fastcgi_param A /nowhere/a;"),
    Pair("a text of what each connection has", "return 200 '$hostname $request_id';", "return 200 a;"),
    Pair("a type of what each connection has", "return 200 'a$pid';", "default_type text/csv; return 200 'a$pid';"),
    Pair("a header beside SSI", "ssi on; add_header X-A a; return 200 '<!--# -->';",
         "ssi on; add_header X-A b; return 200 '<!--# -->';"),
    Pair("a text without commands of SSI", "ssi on; return 200 a;", "ssi on; return 200 b;"),
    Pair("a file that a script leads to", "root {T}/r; location /a { try_files /nx @a; } location @a { rewrite ^ /b; }",
         "root {T}/r; location /a { try_files /nx @a; } location @a { rewrite ^ /c; }"),
    Pair(
        "a type of an error",
        "location / { proxy_pass http://127.0.0.1:{U}; error_page 502 @a; } location @a { return 502 a; }",
        "location / { proxy_pass http://127.0.0.1:{U}; error_page 502 @a; }"
        " location @a { default_type text/csv; return 502 a; }",
    ),
)  # fmt: skip
"""What nginx shows."""

LED = (
    _fastcgi("a folder that exists", "root /a; fastcgi_param A $realpath_root;",
             "root /b; fastcgi_param A $realpath_root;"),
    _proxied("a folder", "} location /p/ { internal; alias /a/;", "} location /p/ { internal; alias /b/;"),
    _proxied("a named location", "} location @p { return 200 a;", "} location @p { return 200 b;"),
    _fastcgi("a type", "} location /p/ { internal; return 200 a;",
             "} location /p/ { internal; default_type text/csv; return 200 a;"),
    _proxied("a server", "} location ~ /p/(?<url>.*) { internal; expires 1h; add_header X-A $url; return 200;",
             "} location ~ /p/(?<url>.*) { internal; expires 2h; add_header X-A $url; return 200;"),
    _fastcgi("a header", "} location /p/ { internal; add_header A a; proxy_pass http://127.0.0.1:{U};",
             "} location /p/ { internal; add_header A b; proxy_pass http://127.0.0.1:{U};"),
)  # fmt: skip
"""What nginx shows if an upstream leads it to a location that no client reaches, or if a folder exists."""

SUPPOSED = (
    Pair("parameters alone", "fastcgi_param A $remote_port;", "fastcgi_param A b; fastcgi_param B b;"),
    Pair("parameters of uWSGI", "uwsgi_param A a;", "uwsgi_param A b;"),
    Pair("a header alone", "proxy_set_header Host $http_host;", "proxy_set_header Host b;"),
    Pair("hidden headers alone", "proxy_hide_header X-A; root /a;", "root /a;"),
    Pair(
        "beside a file that was not read", "include nx; proxy_set_header X-A a;", "include nx; proxy_set_header X-A b;"
    ),
    Pair(
        "behind a variable of another file",
        "server { listen 80; if ($closed) { return 403; } return 200 a; }",
        "server { listen 80; if ($closed) { return 403; } return 200 b; }",
    ),
    Pair(
        "in a condition on it",
        "include nx; server { listen 80; if ($closed) { return 403; } }",
        "include nx; server { listen 80; if ($closed) { return 404; } }",
    ),
    Pair("beside a location whose upstream leads nginx", "location /p/ { internal; alias /a/; }",
         "location /p/ { internal; alias /b/; }"),
    Pair("in a part of a server", "if ($closed) { return 403; } return 200 a;", "return 200 a;"),
)  # fmt: skip
"""Parts of a configuration, which nginx shows if what includes them is as a premise says."""

UNSUPPOSED = (
    Pair("a size of buffers", "proxy_buffer_size 8k; proxy_set_header X-A a;", "proxy_set_header X-A a;"),
    Pair("an optional header", "proxy_set_header X-A ''; proxy_set_header X-B b;", "proxy_set_header X-B b;"),
    Pair("two in another order", "uwsgi_param A a; uwsgi_param B b;", "uwsgi_param B b; uwsgi_param A a;"),
    Pair(
        "a variable of one side",
        "map $uri $closed { default 1; } server { listen 80; if ($closed) { return 403; } return 200; }",
        "server { listen 80; if ($closed) { return 403; } return 200; }",
    ),
)
"""Parts that nginx does not show."""

HIDDEN = (
    _proxied(
        "a location that upstreams do not lead to",
        "proxy_ignore_headers X-Accel-Redirect; } location @p { return 200;",
        "proxy_ignore_headers X-Accel-Redirect; } location @p { return 204;",
    ),
    _proxied("a time of day", "expires @15h;", "expires @16h;"),
    _proxied("a time by the status", "expires $x; set $x 1d;", "expires $x; set $x 2d;"),
    _proxied("a header that is hidden anyway", "proxy_hide_header X-Pad; proxy_hide_header x-accel-expires;", ""),
    _proxied("a header that is hidden, and passed on", "proxy_hide_header X-A; proxy_pass_header x-a;", ""),
    _proxied("a hidden header twice", "proxy_hide_header X-A; proxy_hide_header X-a;", "proxy_hide_header x-a;"),
    _proxied("a header without a value", "proxy_set_header X-A '';", ""),
    _proxied("the header Connection", "proxy_set_header Connection close;", ""),
    _proxied("the header Host", "proxy_set_header Host $proxy_host;", ""),
    _proxied(
        "a header of the response of the upstream", "add_header X-A $upstream_addr;", "add_header X-A $proxy_host;"
    ),
    _fastcgi("a folder that may be a link", "fastcgi_param A $realpath_root;", "fastcgi_param A $document_root;"),
    Pair("a page for what never fails", "error_page 500 /x.html; return 200 a;", "return 200 a;"),
    Pair(
        "another page for what never fails, beside a header that is not known",
        "root {T}/r; add_header X-A $connections_active always; location / { error_page 402 /a; }",
        "root {T}/r; add_header X-A $connections_active always; location / { error_page 402 /c; }",
    ),
    _fastcgi("an optional parameter without a value", "fastcgi_param A '' if_not_empty;", ""),
    Pair(
        "a value of a variable that nobody reads",
        "location / { set $a a; proxy_set_header X x; proxy_pass http://127.0.0.1:{U}; }",
        "location / { set $a b; proxy_set_header X x; proxy_pass http://127.0.0.1:{U}; }",
    ),
)
"""What no request without arguments shows, as a whole."""
