"""Edits of which it is not known whether they change an answer."""

from __future__ import annotations

from tests.verify.pairs.pair import Pair

UNKNOWN = (
    Pair(
        "a map with the name of the host of a pass",
        "map $uri $proxy_host { default a; } server { listen 127.0.0.1:{P};"
        " location / { proxy_pass http://127.0.0.1:{U}; } }",
        "map $uri $proxy_host { default b; } server { listen 127.0.0.1:{P};"
        " location / { proxy_pass http://127.0.0.1:{U}; } }",
    ),
    Pair(
        "types without rows, where nginx has some of its own",
        "location / { root {T}/r; }",
        "location / { root {T}/r; types { } }",
    ),
    Pair(
        "a name that FastCGI keeps from before the URI changed",
        "rewrite ^/f.txt$ /a; set $args $fastcgi_script_name; location /a { return 200 $args; }",
        "set $args $fastcgi_script_name; rewrite ^/f.txt$ /a; set $args $fastcgi_script_name;"
        " location /a { return 200 $args; }",
    ),
    Pair(
        "a group of the pattern of a name with another name",
        "server { listen 127.0.0.1:{P}; server_name ~^(?<n>.)h; location /a { return 200 $n; } }",
        "server { listen 127.0.0.1:{P}; server_name ~^(?<m>.)h; location /a { return 200 $m; } }",
    ),
    Pair(
        "HTTP/2 without TLS, where nothing else may be spoken",
        "server { listen 127.0.0.1:{P}; return 200 a; }",
        "server { listen 127.0.0.1:{P} http2; return 200 a; }",
    ),
    Pair(
        "an ETag that is weak in a trailer, as the response is compressed",
        "root {T}/r; add_trailer X $sent_http_etag;",
        "root {T}/r; add_trailer X $sent_http_etag; gzip on;",
    ),
    Pair(
        "a response that is cut, as a script read the range of a slice",
        "slice 1k; location / { proxy_set_header Range bytes=0-1023; proxy_pass http://127.0.0.1:{U};"
        " set $a $slice_range; }",
        "slice 1k; location / { proxy_set_header Range bytes=0-1023; proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "a Host for gRPC, where $proxy_host is empty, and no :authority beside it",
        "location / { grpc_pass 127.0.0.1:{U}; }",
        "location / { grpc_pass 127.0.0.1:{U}; grpc_set_header Host $proxy_host; }",
    ),
    Pair(
        "another server of an upstream",
        "upstream app { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
        "upstream app { server 127.0.0.1:1; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
    ),
    Pair(
        "an upstream with another name, which nothing shows",
        "upstream app { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P};"
        " location / { proxy_pass http://app; proxy_set_header Host $host; } }",
        "upstream api { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P};"
        " location / { proxy_pass http://api; proxy_set_header Host $host; } }",
    ),
    Pair(
        "an upstream for its address, by FastCGI",
        "upstream app { server localhost:{U}; } server { listen 127.0.0.1:{P}; location / { fastcgi_pass app; } }",
        "server { listen 127.0.0.1:{P}; location / { fastcgi_pass 127.0.0.1:{U}; } }",
    ),
    Pair(
        "the port of http",
        "location / { proxy_pass http://127.0.0.1; }",
        "location / { proxy_pass http://127.0.0.1:80; }",
    ),
    Pair(
        "a server of an upstream more",
        "upstream app { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
        "upstream app { server 127.0.0.2; server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P};"
        " location / { proxy_pass http://app; } }",
    ),
    Pair(
        "the name of a header in small letters",
        "location / { add_header X-A a; return 200 x; }",
        "location / { add_header x-a a; return 200 x; }",
    ),
    Pair(
        "a condition behind one that passes requests on, whose handler stays",
        "location / { if ($arg_a) { proxy_pass http://127.0.0.1:{U}; } if ($arg_b ~ x$) { set $c 1; } }",
        "location / { if ($arg_a) { proxy_pass http://127.0.0.1:{U}; } if ($arg_b ~ x) { set $c 1; } }",
    ),
    Pair(
        "a condition with break before one that passes requests on",
        "location / { if ($arg_a) { proxy_pass http://127.0.0.1:{U}; } if ($arg_b) { rewrite ^ /x break; } }",
        "location / { if ($arg_b) { rewrite ^ /x break; } if ($arg_a) { proxy_pass http://127.0.0.1:{U}; }"
        " if ($arg_b) { rewrite ^ /x break; } }",
    ),
    Pair(
        "an alias for a root, with a slash less in the path of a file",
        "root {T}/none; location = / { root {T}/r; try_files $uri/x.html =404; }",
        "root {T}/none; location = / { alias {T}/r; try_files $uri/x.html =404; }",
    ),
    Pair(
        "a row beside a missing include in a map",
        "map $host $x { include {T}/nx.map; a 1; } server { listen 127.0.0.1:{P}; return 200 $x; }",
        "map $host $x { include {T}/nx.map; a 2; } server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "a variable of a script",
        "js_set $x main.old; server { listen 127.0.0.1:{P}; return 200 $x; }",
        "js_set $x main.new; server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "a variable of a database",
        "geoip2 a.mmdb { $x source=$remote_addr city; } server { listen 127.0.0.1:{P}; return 200 $x; }",
        "geoip2 b.mmdb { $x source=$remote_addr city; } server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "a rule behind a missing include that may say where the server listens",
        "server { return 403; include {T}/nx.conf; }",
        "server { include {T}/nx.conf; return 403; }",
    ),
    Pair(
        "a server less, of those that may listen on what is missing",
        "server { include {T}/a.conf; } server { include {T}/nx.conf; }",
        "server { include {T}/nx.conf; }",
    ),
    Pair("a missing include", "include {T}/nx.conf; rewrite ^/a /b;", "rewrite ^/a /b; include {T}/nx.conf;"),
    Pair(
        "Lua before a rule",
        "rewrite_by_lua_file a.lua; location /a { return 200 a; }",
        "rewrite_by_lua_file a.lua; location /b { return 200 a; }",
    ),
    Pair("ranges", "max_ranges 0;", "max_ranges 1;"),
    Pair(
        "a condition for a map that keeps its value",
        "map $uri $x { /a 1; default 0; } server { listen 127.0.0.1:{P}; if ($x) { return 403; } }",
        r"server { listen 127.0.0.1:{P}; if ($uri ~* ^/a\z) { return 403; } }",
    ),
    Pair(
        "another timeout",
        "location / { proxy_pass http://127.0.0.1:{U}; }",
        "location / { proxy_pass http://127.0.0.1:{U}; proxy_read_timeout 5s; }",
    ),
    Pair(
        "an upstream",
        "upstream app { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { proxy_pass "
        "http://app; } }",
        "upstream app { server 127.0.0.1:{U}; server 127.0.0.2:{U}; } server { listen 127.0.0.1:{P}; location"
        " / { proxy_pass http://app; } }",
    ),
    Pair(
        "a password file",
        "location / { auth_basic a; auth_basic_user_file {T}/a; }",
        "location / { auth_basic a; auth_basic_user_file {T}/b; }",
    ),
    Pair(
        "a rate",
        "limit_req_zone $uri zone=z:1m rate=1r/s; server { listen 127.0.0.1:{P}; limit_req zone=z; }",
        "limit_req_zone $uri zone=z:1m rate=9r/s; server { listen 127.0.0.1:{P}; limit_req zone=z; }",
    ),
    Pair(
        "an upstream that a map names",
        "upstream app { server 127.0.0.1:{U}; } map $host $up { default app; } server { listen"
        " 127.0.0.1:{P}; location / { proxy_pass http://$up; } }",
        "upstream app { server 127.0.0.1:1; } map $host $up { default app; } server { listen"
        " 127.0.0.1:{P}; location / { proxy_pass http://$up; } }",
    ),
    Pair(
        "an upstream that a script names",
        "upstream app { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { set $up app;"
        " fastcgi_pass $up; } }",
        "upstream app { server 127.0.0.1:1; } server { listen 127.0.0.1:{P}; location / { set $up app;"
        " fastcgi_pass $up; } }",
    ),
    Pair(
        "an upstream that a client names",
        "upstream app { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { proxy_pass"
        " http://$host; } }",
        "upstream app { server 127.0.0.1:1; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://$host; } }",
    ),
    Pair(
        "an upstream in capital letters",
        "upstream APP { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
        "upstream APP { server 127.0.0.1:1; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
    ),
    Pair(
        "the key of an upstream",
        "upstream app { hash $m; server 127.0.0.1:{U}; server 127.0.0.2:{U}; } map $uri $m { /a 1; }"
        " server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
        "upstream app { hash $m; server 127.0.0.1:{U}; server 127.0.0.2:{U}; } map $uri $m { /a 2; }"
        " server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
    ),
    Pair(
        "a limit of connections for each worker, or for all",
        "upstream app { zone a 64k; server 127.0.0.1:{U} max_conns=1; } server { listen 127.0.0.1:{P};"
        " location / { proxy_pass http://app; } }",
        "upstream app { server 127.0.0.1:{U} max_conns=1; } server { listen 127.0.0.1:{P};"
        " location / { proxy_pass http://app; } }",
    ),
    Pair(
        "a variable of a script that is the key of an upstream",
        "upstream app { hash $k; server 127.0.0.1:{U}; server 127.0.0.2:{U}; } server { listen 127.0.0.1:{P};"
        " set $k a; proxy_next_upstream off; location / { proxy_pass http://app; } }",
        "upstream app { hash $k; server 127.0.0.1:{U}; server 127.0.0.2:{U}; } server { listen 127.0.0.1:{P};"
        " set $k b; proxy_next_upstream off; location / { proxy_pass http://app; } }",
    ),
    Pair(
        "a variable that the program of an upstream may read",
        "upstream app { server 127.0.0.1:{U}; balancer_by_lua_file x.lua; } server { listen 127.0.0.1:{P};"
        " set $k a; location / { proxy_pass http://app; } }",
        "upstream app { server 127.0.0.1:{U}; balancer_by_lua_file x.lua; } server { listen 127.0.0.1:{P};"
        " set $k b; location / { proxy_pass http://app; } }",
    ),
    Pair(
        "the key of an entry of memcached",
        "location / { set $memcached_key ''; memcached_pass 127.0.0.1:{U}; }",
        "location / { set $memcached_key a; memcached_pass 127.0.0.1:{U}; }",
    ),
    Pair(
        "the key of an entry of memcached, by a map",
        "map $uri $memcached_key { /b a; } server { listen 127.0.0.1:{P}; memcached_next_upstream off;"
        " location / { memcached_pass 127.0.0.1:{U}; } }",
        "map $uri $memcached_key { /a a; } server { listen 127.0.0.1:{P}; memcached_next_upstream off;"
        " location / { memcached_pass 127.0.0.1:{U}; } }",
    ),
    Pair(
        "whether the cookie of a user is renewed",
        "userid on; set $uid_reset 0; location / { return 200 a; }",
        "userid on; set $uid_reset 1; location / { return 200 a; }",
    ),
    Pair(
        "the same file by another way",
        "location = /a { root {T}; rewrite ^ /r/../s/f.txt break; }",
        "location = /a { root {T}; rewrite ^ /r/a/../../s/f.txt break; }",
    ),
    Pair(
        "a group with the name of the arguments",
        "location ~ ^/(?<args>.) { return 200 $args; }",
        "location ~ ^/(?<a>.) { return 200 $a; }",
    ),
    Pair(
        "a rate that a variable shows",
        "location /a { limit_rate 1k; add_header X $limit_rate; return 200 a; }",
        "location /a { limit_rate 2k; add_header X $limit_rate; return 200 a; }",
    ),
    Pair(
        "a buffer that decides whether a header can have the body",
        "client_body_buffer_size 1k; location / { proxy_set_header X $request_body; proxy_pass http://127.0.0.1:{U}; }",
        "client_body_buffer_size 8k; location / { proxy_set_header X $request_body; proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "the body that a script reads before it is there",
        "location / { proxy_set_header X $request_body; proxy_pass http://127.0.0.1:{U}; }",
        "location / { if ($request_body) { break; } proxy_set_header X $request_body;"
        " proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "a resolver that an upstream needs",
        "resolver 127.0.0.1; location / { proxy_pass http://$host; }",
        "location / { proxy_pass http://$host; }",
    ),
    Pair(
        "a resolver that a program may need",
        "resolver 127.0.0.1; location / { content_by_lua_file x.lua; }",
        "location / { content_by_lua_file x.lua; }",
    ),
    Pair(
        "a buffer that decides whether SSI gets a variable",
        "ssi on; subrequest_output_buffer_size 1k; location / { proxy_pass http://127.0.0.1:{U}; }",
        "ssi on; location / { proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "a compression that a trailer shows",
        "gzip on; add_trailer X $gzip_ratio; location / { proxy_pass http://127.0.0.1:{U}; }",
        "add_trailer X $gzip_ratio; location / { proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "a compressed file without the file itself",
        "location / { root {T}/r; brotli_static always; }",
        "location / { root {T}/r; }",
    ),
    Pair(
        "the authority of clients, whose certificates are asked for",
        "ssl_verify_client optional; ssl_client_certificate {T}/a.pem;"
        " location / { if ($ssl_client_verify != SUCCESS) { return 403; } }",
        "ssl_verify_client optional; ssl_client_certificate {T}/b.pem;"
        " location / { if ($ssl_client_verify != SUCCESS) { return 403; } }",
    ),
    Pair(
        "a compressed body that a filter reads once it is not",
        "location / { proxy_pass http://127.0.0.1:{U}; sub_filter a b; gunzip on; }",
        "location / { proxy_pass http://127.0.0.1:{U}; sub_filter a b; }",
    ),
    Pair(
        "referers that a map reads first where others are valid",
        "map $invalid_referer $m { 1 a; } server { listen 127.0.0.1:{P}; valid_referers none x.test;"
        " location /a { valid_referers a.test; if ($invalid_referer) { return 403; } return 200 a; } }",
        "map $invalid_referer $m { 1 a; } server { listen 127.0.0.1:{P}; valid_referers none x.test;"
        " if ($m) { set $x 1; }"
        " location /a { valid_referers a.test; if ($invalid_referer) { return 403; } return 200 a; } }",
    ),
    Pair(
        "an address that a script reads before a location takes another",
        "location / { set_real_ip_from 127.0.0.1; proxy_set_header X $remote_addr; proxy_pass http://127.0.0.1:{U}; }",
        "if ($remote_addr = 127.0.0.9) { set $x 1; }"
        " location / { set_real_ip_from 127.0.0.1; proxy_set_header X $remote_addr; proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "rewrites in a circle, of which nothing shows where nginx leaves it",
        "location / { rewrite ^/x /a/q; rewrite ^/a/ /x.html; }",
        "location / { rewrite ^/x /a/q last; rewrite ^/a/ /x.html; }",
    ),
)  # fmt: skip
"""What no request of the model shows."""
