"""Edits that keep the meaning."""

from __future__ import annotations

from tests.verify.pairs.pair import Pair

HARMLESS = (
    Pair(
        "locations in another order",
        "location /a { return 200 a; } location = /b { return 200 b; } location /a/b { return 200 ab; }",
        "location /a/b { return 200 ab; } location /a { return 200 a; } location = /b { return 200 b; }",
    ),
    Pair(
        "a pattern behind the prefixes",
        "location ~ \\.php$ { return 200 p; } location /x { root {T}/r; }",
        "location /x { root {T}/r; } location ~ \\.php$ { return 200 p; }",
    ),
    Pair(
        "disjoint rules swapped",
        "rewrite ^/a$ /b permanent; rewrite ^/c$ /d permanent;",
        "rewrite ^/c$ /d permanent; rewrite ^/a$ /b permanent;",
    ),
    Pair(
        "a dead rule removed",
        "rewrite ^/a /b permanent; rewrite ^/ab$ /d permanent;",
        "rewrite ^/a /b permanent;",
    ),
    Pair(
        "a group behind other segments",
        "location /a/ { rewrite ^/a/b/([^/]+)/(.*)$ /$2/$1 permanent; }",
        "location /a/ { if ($uri ~ ^/a/b/[^/]+/) { rewrite ^/[^/]*/[^/]*/([^/]+)/(.*)$ /$2/$1 permanent; } }",
    ),
    Pair(
        "conditions on a map in another order",
        "map $uri $m { volatile; ~^/a/ /x; ~^/b/ /y; ~^/c/ /z; } server { listen 127.0.0.1:{P}; server_name h;"
        " root {T}/none; set $k 1; if ($m = /x) { return 401; } if ($m = /y) { return 402; }"
        " if ($m = /z) { return 403; } location / { return 200 $uri; } }",
        "map $uri $m { volatile; ~^/a/ /x; ~^/b/ /y; ~^/c/ /z; } server { listen 127.0.0.1:{P}; server_name h;"
        " root {T}/none; set $k 2; if ($m = /z) { return 403; } if ($m = /y) { return 402; }"
        " if ($m = /x) { return 401; } location / { return 200 $uri; } }",
    ),
    Pair(
        "rules looked up without the newline at the end",
        "rewrite ^/a$ /x permanent; rewrite ^/b$ /y permanent; location / { return 200 $uri; }",
        "map $uri $text { volatile; '~(?s)^(?<rest>.*)\n\\z' $rest; }"
        " map $line $key { volatile; /a /a; /b /b; } map $line $to { volatile; /a /x; /b /y; }"
        " server { listen 127.0.0.1:{P}; server_name h; root {T}/none; set $hit ''; set $line $uri;"
        " if ($line ~ '\n\\z') { set $line $text; rewrite '^a(?!)' /; }"
        " if ($key = $line) { set $hit 1; } if ($key = '') { set $hit ''; } if ($hit = 1) { rewrite ^ $to permanent; }"
        " location / { return 200 $uri; } }",
    ),
    Pair(
        "rules of a kind",
        "rewrite ^/a/b/(.*)$ /x/$1 permanent; rewrite ^/a/c/(.*)$ /y/$1 permanent; location / { return 200 $uri; }",
        "map $uri $p { volatile; ~^/a/b/(.*)$ '1 1 /x/'; ~^/a/c/(.*)$ '2 1 /y/'; } server { listen 127.0.0.1:{P};"
        " server_name h; root {T}/none; set $k ''; if ($p ~ '(?s)^[0-9]+ (?<k>[0-9]+) (?<t>.*)\\z') { }"
        " if ($k = 1) { rewrite ^/[^/]*/[^/]*/(.*)$ $t$1 permanent; } location / { return 200 $uri; } }",
    ),
    Pair(
        "rules of a kind that go on",
        "rewrite ^/a/b$ /x last; rewrite ^/a/c$ /y last; location / { return 200 $uri; }",
        "map $uri $p { volatile; ~^/a/b$ '1 1 /x'; ~^/a/c$ '2 1 /y'; } server { listen 127.0.0.1:{P};"
        " server_name h; root {T}/none; set $k ''; if ($p ~ '(?s)^[0-9]+ (?<k>[0-9]+) (?<t>.*)\\z') { }"
        " if ($k = 1) { rewrite ^ $t last; } location / { return 200 $uri; } }",
    ),
    Pair(
        "the rule with the smaller number",
        "rewrite b$ /x permanent; rewrite ^/a /y permanent;",
        "map $uri $e { volatile; ~b$ 1; } map $uri $b { volatile; ~^/a 2; }"
        " map $e:$b $n { volatile; '~^([0-9]*)(?:1:\\1[2-9]|2:\\1[3-9])' $e; ~^[0-9]+:\\z $e; default $b; }"
        " server { listen 127.0.0.1:{P}; server_name h; root {T}/none;"
        " if ($n = 1) { rewrite ^ /x permanent; } if ($n = 2) { rewrite ^ /y permanent; } }",
    ),
    Pair("a constant condition", "set $x 1; if ($x) { return 301 /a; }", "return 301 /a;"),
    Pair(
        "a variable with another name",
        "set $v 1; location / { return 200 $v; }",
        "set $w 1; location / { return 200 $w; }",
    ),
    Pair(
        "a map with another name",
        "map $uri $x { /a 1; default 0; } server { listen 127.0.0.1:{P}; if ($x) { return 403; } }",
        "map $uri $y { /a 1; default 0; } server { listen 127.0.0.1:{P}; if ($y) { return 403; } }",
    ),
    Pair("another name of $uri", "location / { return 200 $uri; }", "location / { return 200 $document_uri; }"),
    Pair(
        "servers in another order",
        "server { listen 127.0.0.1:{P} default_server; server_name a; return 200 a; }"
        " server { listen 127.0.0.1:{P}; server_name b; return 200 b; }",
        "server { listen 127.0.0.1:{P}; server_name b; return 200 b; }"
        " server { listen 127.0.0.1:{P} default_server; server_name a; return 200 a; }",
    ),
    Pair(
        "a setting inherited",
        "server { listen 127.0.0.1:{P}; root {T}/r; }",
        "root {T}/r; server { listen 127.0.0.1:{P}; }",
    ),
    Pair("a log", "access_log off; return 200 a;", "return 200 a;"),
    Pair("a variable that nothing reads", "set $x 1; return 200 a;", "return 200 a;"),
    Pair(
        "last in a server",
        "rewrite ^/x/(.*)$ /y/$1 last; location /y/ { root {T}/r; }",
        "rewrite ^/x/(.*)$ /y/$1; location /y/ { root {T}/r; }",
    ),
    Pair(
        "a condition for a map",
        "map $host $x { a 1; default 0; } server { listen 127.0.0.1:{P}; if ($x) { return 403; } }",
        r"server { listen 127.0.0.1:{P}; if ($host ~* ^a\z) { return 403; } }",
    ),
    Pair(
        "keys of a map in another order",
        "map $request_uri $x { /a 1; ~^/ 9; /b 2; } server { listen 127.0.0.1:{P}; return 200 $x; }",
        "map $request_uri $x { /b 2; /a 1; ~^/ 9; } server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "a row that no value reaches",
        "map $uri $x { volatile; ~^/a 1; ~^/ab 2; /ac 3; } server { listen 127.0.0.1:{P}; return 200 $x; }",
        "map $uri $x { volatile; ~^/a 1; /ac 3; } server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "patterns of a map by their prefix",
        "map $request_uri $x { ~^/a/b 2; ~^/a 1; ~^/c 3; } server { listen 127.0.0.1:{P}; return 200 $x; }",
        "map $request_uri $p { ~^(?<k>/a/b|/a|/c) $k; } map $p $x { /a 1; /a/b 2; /c 3; }"
        " server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "rewrites as a map",
        r"rewrite ^/a\z /x permanent; rewrite ^/b\z /y permanent; rewrite ^/a\z /z permanent; return 404;",
        'map $uri $k { volatile; /a /a; /b /b; "" -; } map $uri $to { volatile; /a /x; /b /y; }'
        " server { listen 127.0.0.1:{P}; server_name h; root {T}/none;"
        " if ($k = $uri) { rewrite ^ $to permanent; } return 404; }",
    ),
    Pair(
        "a variable that a script has set before it reads it",
        "if ($uri ~ ^/a) { return 403; } location / { root {T}/r; }",
        "set $x $uri; if ($x ~ ^/a) { return 403; } location / { root {T}/r; }",
    ),
    Pair(
        "a rewrite of the server that ends its script, where the location's name counts for nothing",
        "rewrite ^/q /f.txt break; location / { root {T}/r; } location /a { proxy_pass http://127.0.0.1:{U}; }",
        "rewrite ^/q /f.txt last; location / { root {T}/r; } location /a { proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "break behind a rewrite without a flag",
        "location / { rewrite ^/q /f.txt break; alias {T}/r/; }",
        "location / { rewrite ^/q /f.txt; break; alias {T}/r/; }",
    ),
    Pair(
        "break in the script of the server, without error pages",
        "break; location /a { rewrite ^ /x; return 403; } location /e/ { alias {T}/r/; }",
        "location /a { rewrite ^ /x; return 403; } location /e/ { alias {T}/r/; }",
    ),
    Pair(
        "last at the end of the script of a location",
        "root {T}/s; location /a { root {T}/r; rewrite ^/a /f.txt last; }",
        "root {T}/s; location /a { root {T}/r; rewrite ^/a /f.txt; }",
    ),
    Pair(
        "the root of a location that has no file",
        "location /a { root {T}/r; add_header X $uri; return 200 a; }",
        "location /a { root {T}/s; add_header X $uri; return 200 a; }",
    ),
    Pair(
        "an address that is the same throughout a request",
        "set_real_ip_from 127.0.0.1; location / { proxy_set_header X $remote_addr; proxy_pass http://127.0.0.1:{U}; }",
        "set_real_ip_from 127.0.0.1; if ($remote_addr = 127.0.0.9) { set $x 1; }"
        " location / { proxy_set_header X $remote_addr; proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "the order of referrers",
        "location / { valid_referers none ~x b.test; if ($invalid_referer) { return 403; } return 200 a; }",
        "location / { valid_referers b.test none ~x; if ($invalid_referer) { return 403; } return 200 a; }",
    ),
    *(
        Pair(
            f"the type of files beside {handler}",
            f"default_type a/b; types {{ a/c txt; }} location / {{ {handler}; }}",
            f"default_type c/d; location / {{ {handler}; }}",
        )
        for handler in ("proxy_pass http://127.0.0.1:{U}", "fastcgi_pass 127.0.0.1:{U}", "uwsgi_pass 127.0.0.1:{U}")
    ),
    Pair("a location without settings", "root {T}/r;", "root {T}/r; location /a/ { }"),
    Pair(
        "the limit of bodies in a location for all requests",
        "root {T}/r; client_max_body_size 3; error_page 413 /f.txt;",
        "root {T}/r; client_max_body_size 3; error_page 413 /f.txt; location / { client_max_body_size 3; }",
    ),
)  # fmt: skip
"""What is equivalent."""
