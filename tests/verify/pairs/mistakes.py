"""Mistakes as people make them."""

from __future__ import annotations

from tests.verify.pairs.pair import Pair

MISTAKES = (
    Pair(
        "an empty if, in which try_files is not in force",
        "location /g { try_files $uri =404; root {T}/r; }",
        "location /g { try_files $uri =404; root {T}/r; if ($uri ~ ^/g/c) { } }",
    ),
    Pair(
        "a row too few behind conditions on a map",
        "map $uri $m { volatile; ~^/a/ /x; ~^/b/ /y; ~^/c/ /z; } server { listen 127.0.0.1:{P}; server_name h;"
        " root {T}/none; set $k 1; if ($m = /x) { return 401; } if ($m = /y) { return 402; }"
        " if ($m = /z) { return 403; } location / { return 200 $uri; } }",
        "map $uri $m { volatile; ~^/a/ /x; ~^/b/ /y; ~^/c/d/ /z; } server { listen 127.0.0.1:{P}; server_name h;"
        " root {T}/none; set $k 2; if ($m = /z) { return 403; } if ($m = /y) { return 402; }"
        " if ($m = /x) { return 401; } location / { return 200 $uri; } }",
    ),
    Pair(
        "a lookup without the newline at the end, but not of all rules",
        "rewrite ^/a$ /x permanent; rewrite ^/b$ /y permanent; location / { return 200 $uri; }",
        "map $uri $text { volatile; '~(?s)^(?<rest>.*)\n\\z' $rest; }"
        " map $line $key { volatile; /a /a; /b /b; } map $line $to { volatile; /a /x; /b /y; }"
        " server { listen 127.0.0.1:{P}; server_name h; root {T}/none; set $hit ''; set $line $uri;"
        " if ($line ~ '^/a\n\\z') { set $line $text; rewrite '^a(?!)' /; }"
        " if ($key = $line) { set $hit 1; } if ($key = '') { set $hit ''; } if ($hit = 1) { rewrite ^ $to permanent; }"
        " location / { return 200 $uri; } }",
    ),
    Pair(
        "a group behind one segment less",
        "location /a/ { rewrite ^/a/b/([^/]+)/(.*)$ /$2/$1 permanent; }",
        "location /a/ { if ($uri ~ ^/a/b/[^/]+/) { rewrite ^/[^/]*/([^/]+)/(.*)$ /$2/$1 permanent; } }",
    ),
    Pair(
        "a rule of a kind with the target of another",
        "rewrite ^/a/b/(.*)$ /x/$1 permanent; rewrite ^/a/c/(.*)$ /y/$1 permanent; location / { return 200 $uri; }",
        "map $uri $p { volatile; ~^/a/b/(.*)$ '1 1 /x/'; ~^/a/c/(.*)$ '2 1 /x/'; } server { listen 127.0.0.1:{P};"
        " server_name h; root {T}/none; set $k ''; if ($p ~ '(?s)^[0-9]+ (?<k>[0-9]+) (?<t>.*)\\z') { }"
        " if ($k = 1) { rewrite ^/[^/]*/[^/]*/(.*)$ $t$1 permanent; } location / { return 200 $uri; } }",
    ),
    Pair("a lost ^", "rewrite ^/old$ /new permanent;", "rewrite /old$ /new permanent;"),
    Pair("a lost $", "rewrite ^/old$ /new permanent;", "rewrite ^/old /new permanent;"),
    Pair("another code", "rewrite ^/old$ /new permanent;", "rewrite ^/old$ /new redirect;"),
    Pair("arguments dropped", "rewrite ^/old$ /new permanent;", "rewrite ^/old$ /new? permanent;"),
    Pair("another target", "rewrite ^/old/(.*)$ /new/$1 permanent;", "rewrite ^/old/(.*)$ /new$1 permanent;"),
    Pair(
        "break for last",
        "location /a/ { rewrite ^/a/(.*)$ /b/$1 last; } location /b/ { return 200 b; }",
        "location /a/ { rewrite ^/a/(.*)$ /b/$1 break; } location /b/ { return 200 b; }",
    ),
    Pair(
        "rewrites in a circle, which nginx leaves elsewhere after ten internal redirects",
        "add_header X $uri always; location / { rewrite ^/x /a/q; rewrite ^/a/ /x.html; }",
        "add_header X $uri always; location / { rewrite ^/x /a/q last; rewrite ^/a/ /x.html; }",
    ),
    Pair(
        "rules swapped",
        "rewrite ^/a /b permanent; rewrite ^/ab$ /d permanent;",
        "rewrite ^/ab$ /d permanent; rewrite ^/a /b permanent;",
    ),
    Pair("a rule removed", "rewrite ^/a$ /b permanent; rewrite ^/c$ /d permanent;", "rewrite ^/a$ /b permanent;"),
    Pair("an exact location no longer exact", "location = /x { return 403; }", "location /x { return 403; }"),
    Pair("a location in another case", "location /Docs/ { return 200 d; }", "location /docs/ { return 200 d; }"),
    Pair("a location without its slash", "location /a/ { return 200 a; }", "location /a { return 200 a; }"),
    Pair(
        "a pass without the slash of its location",
        "location /a/ { proxy_pass http://127.0.0.1:{U}; }",
        "location /a { proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "proxy_pass with a URI",
        "location /a/ { proxy_pass http://127.0.0.1:{U}; }",
        "location /a/ { proxy_pass http://127.0.0.1:{U}/; }",
    ),
    Pair(
        "proxy_pass with a URI without its slash",
        "location /a/ { proxy_pass http://127.0.0.1:{U}/b/; }",
        "location /a/ { proxy_pass http://127.0.0.1:{U}/b; }",
    ),
    Pair(
        "proxy_pass with a URI behind a rewrite that ends the script",
        "set $u 127.0.0.1:{U}; location /a { rewrite ^/a(.*)$ /b$1 break; proxy_pass http://$u/; }",
        "set $u 127.0.0.1:{U}; location /a { rewrite ^/a(.*)$ /b$1 break; proxy_pass http://$u; }",
    ),
    Pair(
        "a header of a redirect to the name of a nested location",
        "location /a { location /a/ { add_header X-A 1; proxy_pass http://127.0.0.1:{U}; return 200 a; } }",
        "location /a { location /a/ { add_header X-A 2; proxy_pass http://127.0.0.1:{U}; return 200 a; } }",
    ),
    Pair(
        "another root, behind a break and what is dead",
        "root {T}/none; location /a { break; root {T}/r; return 503; }",
        "root {T}/none; location /a { break; root {T}/s; return 503; }",
    ),
    Pair(
        "another name of an upstream, in Host",
        "upstream app { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://app; } }",
        "upstream api { server 127.0.0.1:{U}; } server { listen 127.0.0.1:{P}; location / { proxy_pass http://api; } }",
    ),
    Pair(
        "a test of arguments that a condition may have set",
        "if ($http_x_a) { set $args x=1; } if ($arg_x = 1) { return 403; } return 200 a;",
        "if ($http_x_a) { set $args x=1; } return 200 a;",
    ),
    Pair(
        "arguments that are set to themselves, so that the URI is not passed on as it was sent",
        "location / { set $args $args; proxy_pass http://127.0.0.1:{U}; }",
        "location / { proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "a URI that is rewritten to itself, behind a rule that may not match",
        "rewrite ^/a /b; rewrite ^ $uri; location / { proxy_pass http://127.0.0.1:{U}; }",
        "rewrite ^/a /b; location / { proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "limit_except lost, where a script leads elsewhere",
        "location /a { limit_except GET { deny all; } rewrite ^ /b last; } location /b { return 200 b; }",
        "location /a { rewrite ^ /b last; } location /b { return 200 b; }",
    ),
    Pair("root for alias", "location /a/ { alias {T}/s/; }", "location /a/ { root {T}/s/; }"),
    Pair(
        "an alias that is stated again",
        "location /a/ { alias {T}/s/; location /a/a/ { } }",
        "location /a/ { alias {T}/s/; location /a/a/ { alias {T}/s/; } }",
    ),
    Pair(
        "an alias that is stated again in a regex location",
        "location /a/ { alias {T}/s/; location ~ t { } }",
        "location /a/ { alias {T}/s/; location ~ t { alias {T}/s/; } }",
    ),
    Pair(
        "an alias that is inherited",
        "location /a/ { alias {T}/s; location /a/b/ { } }",
        "location /a { alias {T}/s; location /a/b/ { } }",
    ),
    Pair("another root", "root {T}/r;", "root {T}/s;"),
    Pair(
        "a pattern that ignores case", "location ~ \\.php$ { return 200 p; }", "location ~* \\.php$ { return 200 p; }"
    ),
    Pair("a dot not escaped", "location ~ \\.php$ { return 200 p; }", "location ~ .php$ { return 200 p; }"),
    Pair(
        "^~ before a pattern",
        "location ~ \\.php$ { return 200 p; } location /x { return 200 x; }",
        "location ~ \\.php$ { return 200 p; } location ^~ /x { return 200 x; }",
    ),
    Pair(
        "patterns swapped",
        "location ~ ^/a { return 200 a; } location ~ b$ { return 200 b; }",
        "location ~ b$ { return 200 b; } location ~ ^/a { return 200 a; }",
    ),
    Pair(
        "headers lost by inheritance",
        "add_header X-A 1; location / { return 200 x; }",
        "add_header X-A 1; location / { add_header X-B 2; return 200 x; }",
    ),
    Pair(
        "a header of a condition that a later one drops",
        "location / { if ($arg_a) { add_header X-A 1; } return 200 x; }",
        "location / { if ($arg_a) { add_header X-A 1; } if ($arg_b) { set $c 1; } return 200 x; }",
    ),
    Pair("always lost", "add_header X-A 1 always; return 404;", "add_header X-A 1; return 404;"),
    Pair("access turned round", "root {T}/r; location / { deny all; }", "root {T}/r; location / { allow all; }"),
    Pair(
        "access rules swapped",
        "root {T}/r; location / { deny 127.0.0.1; allow all; }",
        "root {T}/r; location / { allow all; deny 127.0.0.1; }",
    ),
    Pair("internal lost", "location / { internal; return 200 x; }", "location / { return 200 x; }"),
    Pair(
        "limit_except lost",
        "location / { limit_except GET { deny all; } return 200 x; }",
        "location / { return 200 x; }",
    ),
    Pair(
        "try_files without its fallback",
        "root {T}/r; location / { try_files $uri /x.html; }",
        "root {T}/r; location / { try_files $uri =404; }",
    ),
    Pair(
        "a named location changed",
        "root {T}/r; location / { try_files $uri @app; } location @app { return 200 a; }",
        "root {T}/r; location / { try_files $uri @app; } location @app { return 200 b; }",
    ),
    Pair(
        "an error page lost",
        "root {T}/r; error_page 404 /x.html;",
        "root {T}/r;",
    ),
    Pair(
        "a condition turned round",
        "if ($request_method = POST) { return 405; }",
        "if ($request_method != POST) { return 405; }",
    ),
    Pair("another variable", "if ($arg_x = 1) { return 405; }", "if ($arg_y = 1) { return 405; }"),
    Pair(
        "a condition that ignores case",
        "if ($http_user_agent ~ bot) { return 403; }",
        "if ($http_user_agent ~* bot) { return 403; }",
    ),
    Pair("$uri for $request_uri", "return 301 https://h$request_uri;", "return 301 https://h$uri;"),
    Pair(
        "a row of a map more",
        "map $uri $x { /a 1; default 0; } server { listen 127.0.0.1:{P}; if ($x) { return 403; } return 200 x; }",
        "map $uri $x { /a 1; /b 1; default 0; } server { listen 127.0.0.1:{P}; if ($x) { return 403; } return 200 x; }",
    ),
    Pair(
        "a server_name moved",
        "server { listen 127.0.0.1:{P}; server_name a c; return 200 a; }"
        " server { listen 127.0.0.1:{P}; server_name b; return 200 b; }",
        "server { listen 127.0.0.1:{P}; server_name a; return 200 a; }"
        " server { listen 127.0.0.1:{P}; server_name b c; return 200 b; }",
    ),
    Pair(
        "a wildcard before a pattern",
        "server { listen 127.0.0.1:{P}; server_name _; return 200 a; }"
        " server { listen 127.0.0.1:{P}; server_name ~^www; return 200 b; }",
        "server { listen 127.0.0.1:{P}; server_name *.test; return 200 a; }"
        " server { listen 127.0.0.1:{P}; server_name ~^www; return 200 b; }",
    ),
    Pair(
        "patterns of names swapped",
        "server { listen 127.0.0.1:{P}; server_name ~^a; return 200 a; }"
        " server { listen 127.0.0.1:{P}; server_name ~b$; return 200 b; }",
        "server { listen 127.0.0.1:{P}; server_name ~b$; return 200 b; }"
        " server { listen 127.0.0.1:{P} default_server; server_name ~^a; return 200 a; }",
    ),
    Pair(
        "another default server",
        "server { listen 127.0.0.1:{P}; server_name a; return 200 a; }"
        " server { listen 127.0.0.1:{P}; server_name b; return 200 b; }",
        "server { listen 127.0.0.1:{P}; server_name b; return 200 b; }"
        " server { listen 127.0.0.1:{P}; server_name a; return 200 a; }",
    ),
    Pair(
        "redirects no longer absolute",
        "rewrite ^/x$ /y permanent;",
        "absolute_redirect off; rewrite ^/x$ /y permanent;",
    ),
    Pair(
        "a condition for a map, whose keys ignore case",
        "map $uri $x { /a 1; default 0; } server { listen 127.0.0.1:{P}; if ($x) { return 403; } }",
        "server { listen 127.0.0.1:{P}; if ($uri = /a) { return 403; } }",
    ),
    Pair(
        "a value in a map",
        "map $uri $x { /a 1; /b 2; /c 3; } server { listen 127.0.0.1:{P}; return 200 $x; }",
        "map $uri $x { /a 1; /b 4; /c 3; } server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "patterns of a map in another order",
        "map $uri $x { ~^/a 1; ~b$ 2; } server { listen 127.0.0.1:{P}; return 200 $x; }",
        "map $uri $x { ~b$ 2; ~^/a 1; } server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "a map of a prefix that is found too early",
        "map $uri $p { ~^(?<k>/a/b|/a) $k; } map $p $x { /a 1; /a/b 2; }"
        " server { listen 127.0.0.1:{P}; return 200 $x; }",
        "map $uri $p { ~^(?<k>/a|/a/b) $k; } map $p $x { /a 1; /a/b 2; }"
        " server { listen 127.0.0.1:{P}; return 200 $x; }",
    ),
    Pair(
        "a value that an outer map has kept",
        "map $uri $i { /a 1; default 2; } map $arg_x $o { 1 $i; default 0; }"
        " server { listen 127.0.0.1:{P}; set $y $o; rewrite ^ /a; return 200 $i; }",
        "map $uri $i { /a 1; default 2; } map $arg_x $o { 1 $i; default 0; }"
        " server { listen 127.0.0.1:{P}; set $y $i; rewrite ^ /a; return 200 $i; }",
    ),
    Pair(
        "a copy of a map, which is looked up by itself",
        'map $uri $m { ~^/(a|b) 1; } map $uri $n { default $m; } server { listen 127.0.0.1:{P};'
        ' set $x $n; rewrite "^a(?!)" /; set $y $m; return 200 "$1"; }',
        'map $uri $m { ~^/(a|b) 1; } map $uri $n { default $m; } map $uri $o { ~^/(a|b) 1; }'
        ' server { listen 127.0.0.1:{P}; set $x $n; rewrite "^a(?!)" /; set $y $o; return 200 "$1"; }',
    ),
    Pair(
        "the first name of a server, for a request without Host",
        "server { listen 127.0.0.1:{P}; server_name a; location / { return 301 https://$host$uri; } }",
        "server { listen 127.0.0.1:{P}; server_name b; location / { return 301 https://$host$uri; } }",
    ),
    Pair(
        "the first name of a server, in a map",
        'map $host/$uri $x { ~^a/ 1; default 2; } server { listen 127.0.0.1:{P}; server_name a _;'
        " location / { return 200 $x; } }",
        'map $host/$uri $x { ~^a/ 1; default 2; } server { listen 127.0.0.1:{P}; server_name b _;'
        " location / { return 200 $x; } }",
    ),
    Pair(
        "a pattern of a name that sets a variable is gone",
        'server { listen 127.0.0.1:{P}; server_name "~^(?<n>.+)[.]re$" x; location /a { return 200 "[$n]"; } }',
        'server { listen 127.0.0.1:{P}; server_name y x; location /a { return 200 "[$n]"; }'
        ' location = /never { if ($uri ~ "^/x(?<n>.)$") { } } }',
    ),
    Pair(
        "another pattern of a name sets a capture",
        "server { listen 127.0.0.1:{P}; server_name ~^(.)h; location /a { return 200 $1; } }",
        "server { listen 127.0.0.1:{P}; server_name ~^.(h); location /a { return 200 $1; } }",
    ),
    Pair(
        "a rewrite of the server that ends its script, before an alias",
        "rewrite ^/q /f.txt break; location / { break; alias {T}/r/; }",
        "rewrite ^/q /f.txt last; location / { break; alias {T}/r/; }",
    ),
    Pair(
        "a rewrite of the server that ends its script, before files that are tried",
        "rewrite ^/q /f.txt break; location / { break; alias {T}/r/; try_files $uri.html =403; }",
        "rewrite ^/q /f.txt last; location / { break; alias {T}/r/; try_files $uri.html =403; }",
    ),
    Pair(
        "a rewrite of the server that ends its script, before proxy_pass with a URI",
        "rewrite ^/q /a/f break; location /a/ { break; proxy_pass http://127.0.0.1:{U}/x/; }",
        "rewrite ^/q /a/f last; location /a/ { break; proxy_pass http://127.0.0.1:{U}/x/; }",
    ),
    Pair(
        "the name of the file behind a rewrite that ends the script",
        "rewrite ^/q /f.txt break; location / { break; alias {T}/r/; add_header X $request_filename; }",
        "rewrite ^/q /f.txt; location / { break; alias {T}/r/; add_header X $request_filename; }",
    ),
    Pair(
        "break in the script of the server, which runs again for an error page behind a rewrite",
        "break; location /a { rewrite ^ /x; return 403; error_page 403 /e/f.txt; } location /e/ { alias {T}/r/; }",
        "location /a { rewrite ^ /x; return 403; error_page 403 /e/f.txt; } location /e/ { alias {T}/r/; }",
    ),
    Pair(
        "a location that is chosen again, though it is guarded",
        "if ($uri = /q) { return 404; } rewrite ^/a$ /q last; location /q { return 403; } location / { root {T}/r; }",
        "if ($uri = /q) { return 404; } location /q { return 403; } location / { rewrite ^/a$ /q break; root {T}/r; }",
    ),
    Pair(
        "a location that is chosen again has the settings of another block",
        "root {T}/s; location /q { root {T}/r; rewrite ^/q /f.txt break; }",
        "root {T}/s; location /q { root {T}/r; rewrite ^/q /f.txt last; }",
    ),
    Pair(
        "break is gone behind a rewrite without a flag",
        "root {T}/s; location /q { root {T}/r; rewrite ^/q /f.txt; break; }",
        "root {T}/s; location /q { root {T}/r; rewrite ^/q /f.txt; }",
    ),
    Pair(
        "a rewrite of the server that ends its script, before a named location that leads to an alias",
        "rewrite ^/q /a/f break; location /a/ { try_files /b/x @n; } location @n { rewrite ^ /b/f.txt last; }"
        " location /b/ { alias {T}/r/; }",
        "rewrite ^/q /a/f last; location /a/ { try_files /b/x @n; } location @n { rewrite ^ /b/f.txt last; }"
        " location /b/ { alias {T}/r/; }",
    ),
    Pair(
        "a rewrite of the server that ends its script, before an error page that leads to an alias",
        "rewrite ^/q /a/f break; location /a/ { error_page 404 = @n; } location @n { rewrite ^ /b/f.txt last; }"
        " location /b/ { alias {T}/r/; }",
        "rewrite ^/q /a/f last; location /a/ { error_page 404 = @n; } location @n { rewrite ^ /b/f.txt last; }"
        " location /b/ { alias {T}/r/; }",
    ),
    Pair(
        "a rewrite of the server that ends its script, before one that may lead to an alias",
        "rewrite ^/q /a/f.txt break; location /a/ { if ($arg_y) { rewrite ^/a/(.*)$ /b/$1; } }"
        " location /b/ { alias {T}/r/; }",
        "rewrite ^/q /a/f.txt last; location /a/ { if ($arg_y) { rewrite ^/a/(.*)$ /b/$1; } }"
        " location /b/ { alias {T}/r/; }",
    ),
    Pair(
        "a rewrite of the server that ends its script, before a handler outside of an if",
        "rewrite ^/q /a/f break; location /a/ { if ($arg_x) { add_header X y; } proxy_pass http://127.0.0.1:{U}/x/; }",
        "rewrite ^/q /a/f last; location /a/ { if ($arg_x) { add_header X y; } proxy_pass http://127.0.0.1:{U}/x/; }",
    ),
    Pair(
        "internal in a location whose script leads elsewhere",
        "location /a { internal; rewrite ^ /b last; } location /b { return 200 b; }",
        "location /a { rewrite ^ /b last; } location /b { return 200 b; }",
    ),
    Pair(
        "internal in a location whose script leads to files",
        "location /x { internal; rewrite ^ /f.txt last; } location / { root {T}/r; }",
        "location /x { rewrite ^ /f.txt last; } location / { root {T}/r; }",
    ),
    Pair(
        "a header of a location that is internal, and whose script leads elsewhere",
        "location /a { internal; add_header X 1 always; rewrite ^ /b last; } location /b { return 200 b; }",
        "location /a { internal; rewrite ^ /b last; } location /b { return 200 b; }",
    ),
    Pair(
        "a rate that a script sets, which is a number then",
        "location /a { set $limit_rate 1k; return 200 $limit_rate; }",
        "location /a { set $limit_rate 1k; return 200 1k; }",
    ),
    Pair(
        "the root, in a header of a return",
        "location /a { root {T}/r; add_header X $request_filename; return 200 a; }",
        "location /a { root {T}/s; add_header X $request_filename; return 200 a; }",
    ),
    Pair(
        "the root, in a map that a header of a redirect reads",
        "map $document_root $m { ~/r$ r; default s; } server { listen 127.0.0.1:{P}; server_name h;"
        " location /a { root {T}/r; add_header X $m; return 302 /b; } }",
        "map $document_root $m { ~/r$ r; default s; } server { listen 127.0.0.1:{P}; server_name h;"
        " location /a { root {T}/s; add_header X $m; return 302 /b; } }",
    ),
    Pair(
        "the root, in the target of an error page",
        "root {T}/s; location /a { root {T}/r; error_page 403 http://h$document_root; return 403; }",
        "root {T}/s; location /a { error_page 403 http://h$document_root; return 403; }",
    ),
    Pair(
        "the name of a script, in a header of a return",
        "location /a/ { fastcgi_index b; add_header X $fastcgi_script_name; return 200 a; }",
        "location /a/ { fastcgi_index c; add_header X $fastcgi_script_name; return 200 a; }",
    ),
    Pair(
        "the name of a script, by which a location is chosen again",
        r"location /a/ { fastcgi_split_path_info ^(/a/b)(.*)$; rewrite ^ /b$fastcgi_script_name last; }"
        " location /b { return 200 $uri; }",
        r"location /a/ { fastcgi_split_path_info ^(/a)(.*)$; rewrite ^ /b$fastcgi_script_name last; }"
        " location /b { return 200 $uri; }",
    ),
    Pair(
        "referers that are read first where others are valid",
        "valid_referers none x.test;"
        " location /a { valid_referers a.test; if ($invalid_referer) { return 403; } return 200 a; }",
        "valid_referers none x.test; if ($invalid_referer) { set $x 1; }"
        " location /a { valid_referers a.test; if ($invalid_referer) { return 403; } return 200 a; }",
    ),
    Pair(
        "referers of a location that leads elsewhere",
        "location /a { valid_referers none x.test; if ($invalid_referer) { rewrite ^ /b last; } rewrite ^ /c last; }"
        " location /b { return 200 b; }",
        "location /a { valid_referers a.test; if ($invalid_referer) { rewrite ^ /b last; } rewrite ^ /c last; }"
        " location /b { return 200 b; }",
    ),
    Pair(
        "a referrer less",
        "location / { valid_referers none a.test .b.test; if ($invalid_referer) { return 403; } return 200 a; }",
        "location / { valid_referers none a.test b.test; if ($invalid_referer) { return 403; } return 200 a; }",
    ),
    Pair(
        "a referrer on another path",
        "location / { valid_referers none a.test/a; if ($invalid_referer) { return 403; } return 200 a; }",
        "location / { valid_referers none a.test/b; if ($invalid_referer) { return 403; } return 200 a; }",
    ),
    Pair(
        "referrers by a pattern",
        "location / { valid_referers none a.test ~b\\.[a-c]$; if ($invalid_referer) { return 403; } return 200 a; }",
        "location / { valid_referers none a.test ~b\\.[b-d]$; if ($invalid_referer) { return 403; } return 200 a; }",
    ),
    Pair(
        "blocked referrers",
        "location / { valid_referers blocked a.test; if ($invalid_referer) { return 403; } return 200 a; }",
        "location / { valid_referers none blocked a.test; if ($invalid_referer) { return 403; } return 200 a; }",
    ),
    Pair(
        "a location without try_files",
        "root {T}/r; try_files /f.txt =404;",
        "root {T}/r; try_files /f.txt =404; location / { }",
    ),
    Pair("the limit of bodies in a location", "root {T}/r;", "root {T}/r; location / { client_max_body_size 3; }"),
    Pair(
        "folders tried for a pattern of files",
        "root {T}/r; location ~ \\.php$ { try_files $uri =404; proxy_pass http://127.0.0.1:{U}; }",
        "root {T}/r; location ~ \\.php$ { try_files $uri $uri/ =404; proxy_pass http://127.0.0.1:{U}; }",
    ),
    Pair(
        "the host as it was sent, in a server without a name",
        "server { listen 127.0.0.1:{P}; return 200 $host; }",
        "server { listen 127.0.0.1:{P}; return 200 $http_host; }",
    ),
)  # fmt: skip
"""What is different."""
