"""Pairs of configurations: mistakes as people make them, edits that keep the meaning, and what is not known.

Each is what stands in `http`; a text without a server stands in one. `{P}` is the port that nginx listens at, `{U}`
that of an upstream, and `{T}` a folder with the files of `FILES`.
"""

from __future__ import annotations

from typing import NamedTuple

FILES = ("r/f.txt", "r/x.html", "r/d/index.html", "r/a/f.txt", "r/x.php", "s/f.txt", "s/x.html", "s/a/f.txt", "r/maint")


class Pair(NamedTuple):
    """Two configurations, by what was edited."""

    name: str
    old: str
    new: str


MISTAKES = (
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
)  # fmt: skip
"""What is different."""

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
)  # fmt: skip
"""What is equivalent."""

UNKNOWN = (
    Pair(
        "a name that FastCGI keeps from before the URI changed",
        "rewrite ^/f.txt$ /a; set $args $fastcgi_script_name; location /a { return 200 $args; }",
        "set $args $fastcgi_script_name; rewrite ^/f.txt$ /a; set $args $fastcgi_script_name;"
        " location /a { return 200 $args; }",
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
        "HTTP/2 without TLS, where nothing else may be spoken",
        "server { listen 127.0.0.1:{P}; return 200 a; }",
        "server { listen 127.0.0.1:{P} http2; return 200 a; }",
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
    Pair("a return for a refusal", "location / { deny all; }", "location / { return 403; }"),
    Pair(
        "an alias for a root, with a slash less in the path of a file",
        "root {T}/none; location = / { root {T}/r; try_files $uri/x.html =404; }",
        "root {T}/none; location = / { alias {T}/r; try_files $uri/x.html =404; }",
    ),
    Pair(
        "an empty if, in which try_files is not in force",
        "location /g { try_files $uri =404; root {T}/r; }",
        "location /g { try_files $uri =404; root {T}/r; if ($uri ~ ^/g/c) { } }",
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
        "another time-out",
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
    Pair("an address", "server { listen 127.0.0.1:{P}; }", "server { listen 127.0.0.1:{U}; }"),
)  # fmt: skip
"""What no request of the model shows."""


def whole(text: str, port: int = 8080, upstream: int = 9090, folder: str = "/srv") -> str:
    """Return a whole configuration."""
    root = "" if "root " in text else "root {T}/none; "
    http = text if "server {" in text else f"server {{ listen 127.0.0.1:{{P}}; server_name h; {root}{text} }}"
    filled = http.replace("{P}", str(port)).replace("{U}", str(upstream)).replace("{T}", folder)
    return f"events {{}}\nhttp {{\n{filled}\n}}\n"
