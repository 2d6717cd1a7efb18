"""Pairs that nginx answers differently, though each side seems to have the same values as the other.

A symbol of `verify` must not stand for two values: each pair is a way in which one did.
"""

from __future__ import annotations

from tests.verify.pairs.pair import Pair

UNLIKE = (
    Pair(
        "segments that cannot hold the empty string",
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ '^(?<k>/[^/]*/)(.*)$') { set $z 1; return "
        "404; } if ($k = '') { set $z 1; return 401; } if ($uri ~ ^/(?:0|a/b)/[0-9]+$) { return 403; } "
        "location / { return 200 ok; } }",
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ '^(?<k>/[^/]*/)(.*)$') { return 404; } if "
        "($k = '') { return 401; } if ($uri ~ ^/0/[0-9]+$) { return 403; } location / { return 200 ok; } }",
    ),
    Pair(
        "segments that cannot hold two segments",
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ '^(?<k>/[^/]*/)(.*)$') { set $z 1; return "
        "404; } if ($k = /a/b/) { set $z 1; return 401; } if ($uri ~ ^/(?:0|a/b)/[0-9]+$) { return 403; } "
        "location / { return 200 ok; } }",
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ '^(?<k>/[^/]*/)(.*)$') { return 404; } if "
        "($k = /a/b/) { return 401; } if ($uri ~ ^/0/[0-9]+$) { return 403; } location / { return 200 ok; } }",
    ),
    Pair(
        "segments that no key of a map fits",
        "map $k $m { volatile; /a/b/ x; default y; } server { listen 127.0.0.1:{P}; server_name h; if ($uri "
        "!~ '^(?<k>/[^/]*/)(.*)$') { set $z 1; return 404; } if ($m = x) { set $z 1; return 401; } if ($uri "
        "~ ^/(?:0|a/b)/[0-9]+$) { return 403; } location / { return 200 ok; } }",
        "map $k $m { volatile; /a/b/ x; default y; } server { listen 127.0.0.1:{P}; server_name h; if ($uri "
        "!~ '^(?<k>/[^/]*/)(.*)$') { return 404; } if ($m = x) { return 401; } if ($uri ~ ^/0/[0-9]+$) { "
        "return 403; } location / { return 200 ok; } }",
    ),
    Pair(
        "a comment between text in any case and its quantifier",
        "server { listen 127.0.0.1:{P}; server_name h; location /b { rewrite '^(?i:/a)(?#)*/b' /x permanent; "
        "return 402; } location / { return 200 ok; } }",
        "server { listen 127.0.0.1:{P}; server_name h; location /b { return 402; } location / { return 200 ok; } }",
    ),
    Pair(
        "a comment between an escape and its quantifier",
        "server { listen 127.0.0.1:{P}; server_name h; location /b { rewrite '^/\\x61(?#)*b' /x permanent; "
        "return 402; } location / { return 200 ok; } }",
        "server { listen 127.0.0.1:{P}; server_name h; location /b { return 402; } location / { return 200 ok; } }",
    ),
    Pair(
        "the end of no quotation between text and its quantifier",
        "server { listen 127.0.0.1:{P}; server_name h; location /b { rewrite '^/a\\E*b' /x permanent; return "
        "402; } location / { return 200 ok; } }",
        "server { listen 127.0.0.1:{P}; server_name h; location /b { return 402; } location / { return 200 ok; } }",
    ),
    Pair(
        "captures of a pattern in a map",
        "map $uri $m { volatile; ~^/./([0-9]+)$ x; default y; } map $1 $n { volatile; a p; b q; default z; } "
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(a|b)/[^0]) { set $z 1; return 404; } "
        "set $x $m; if ($n = z) { return 403; } location / { return 200 ok; } }",
        "map $uri $m { volatile; ~^/./([0-9]+)$ x; default y; } map $1 $n { volatile; a p; b q; default z; } "
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(a|b)/[^0]) { return 404; } set $x $m; "
        "if ($n = zz) { return 403; } location / { return 200 ok; } }",
    ),
    Pair(
        "captures of a map that looks up something else",
        "map $k $m { volatile; ~^/([0-9a-z]) x; default y; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/[0-9a-z]) { set $z 1; return 404; } set $k $uri; set $x $m; return 200 $1; }",
        "map $k $m { volatile; ~^/([0-9a-z]) x; default y; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/[0-9a-z]) { return 404; } set $k /fixed/q; set $x $m; return 200 $1; }",
    ),
    Pair(
        "a group of a map that looks up something else",
        "map $k $m { volatile; ~^/(?<g>[0-9a-z]) x; default y; } server { listen 127.0.0.1:{P}; server_name "
        "h; if ($uri !~ ^/[0-9a-z]) { set $z 1; return 404; } set $k $uri; set $x $m; return 200 $g; }",
        "map $k $m { volatile; ~^/(?<g>[0-9a-z]) x; default y; } server { listen 127.0.0.1:{P}; server_name "
        "h; if ($uri !~ ^/[0-9a-z]) { return 404; } set $k /fixed/q; set $x $m; return 200 $g; }",
    ),
    Pair(
        "captures of a map that was looked up before",
        "map $host $m { ~^(.)(.)$ x; default y; } server { listen 127.0.0.1:{P}; server_name hh; set $x $m; "
        "if ($uri !~ ^/(.)) { return 404; } set $y $m; return 200 $1; }",
        "map $host $m { ~^(.)(.)$ x; default y; } server { listen 127.0.0.1:{P}; server_name hh; if ($uri !~ "
        "^/(.)) { return 404; } set $y $m; return 200 $1; }",
    ),
    Pair(
        "a group of a map that was looked up before",
        "map $host $m { ~^(?<g>.)(.)$ x; default y; } server { listen 127.0.0.1:{P}; server_name hh; set $x "
        "$m; set $g foo; set $y $m; return 200 $g; }",
        "map $host $m { ~^(?<g>.)(.)$ x; default y; } server { listen 127.0.0.1:{P}; server_name hh; set $g "
        "foo; set $y $m; return 200 $g; }",
    ),
    Pair(
        "captures of a pattern that did not match, before a map",
        "map $args $m { volatile; ~^(x)$ 1; default 0; } server { listen 127.0.0.1:{P}; server_name ~^(.)h$; "
        "if ($uri ~ ^/nope\\z) { return 403; } set $x $m; return 200 '[$1]'; }",
        "map $args $m { volatile; ~^(x)$ 1; default 0; } server { listen 127.0.0.1:{P}; server_name ~^(.)h$; "
        "if ($uri = /nope) { return 403; } set $x $m; return 200 '[$1]'; }",
    ),
    Pair(
        "captures of a row that an inner map reads",
        "map $uri $a { volatile; ~^/./([0-9a]) $b; default z; } map $1 $b { volatile; p 1; q 2; default 3; } "
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(p|q)/[0-9a]$) { set $z 1; return 404; "
        "} if ($a = 3) { return 403; } location / { return 200 ok; } }",
        "map $uri $a { volatile; ~^/./([0-9a]) $b; default z; } map $1 $b { volatile; p 1; q 2; default 3; } "
        "server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(p|q)/[0-9a]$) { return 404; } if ($a = "
        "4) { return 403; } location / { return 200 ok; } }",
    ),
    Pair(
        "a group of a row that an inner map reads",
        "map $uri $a { volatile; ~^/./(?<g>[0-9a]) $b; default z; } map $g $b { volatile; p 1; q 2; default "
        "3; } server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(?<g>p|q)/[0-9a]$) { set $z 1; "
        "return 404; } if ($a = 3) { return 403; } location / { return 200 ok; } }",
        "map $uri $a { volatile; ~^/./(?<g>[0-9a]) $b; default z; } map $g $b { volatile; p 1; q 2; default "
        "3; } server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(?<g>p|q)/[0-9a]$) { return 404; } "
        "if ($a = 4) { return 403; } location / { return 200 ok; } }",
    ),
    Pair(
        "a map that is set, read by another",
        "map $uri $b { volatile; default x; } map $uri $a { volatile; default $b; } server { listen "
        "127.0.0.1:{P}; server_name h; set $b y; return 200 $a; }",
        "map $uri $b { volatile; default x; } map $uri $a { volatile; default $b; } server { listen "
        "127.0.0.1:{P}; server_name h; set $b z; return 200 $a; }",
    ),
    Pair(
        "a map that is set, read by another in a condition",
        "map $uri $b { volatile; ~^/[0-9a]+$ x; default y; } map $b $a { volatile; x 1; y 2; default 3; } "
        "server { listen 127.0.0.1:{P}; server_name h; set $b q; if ($uri !~ ^/[0-9a]+_[a-z]$) { set $z 1; "
        "return 404; } if ($a = 3) { return 403; } location / { return 200 ok; } }",
        "map $uri $b { volatile; ~^/[0-9a]+$ x; default y; } map $b $a { volatile; x 1; y 2; default 3; } "
        "server { listen 127.0.0.1:{P}; server_name h; set $b q; if ($uri !~ ^/[0-9a]+_[a-z]$) { return 404; "
        "} if ($a = 4) { return 403; } location / { return 200 ok; } }",
    ),
    Pair(
        "a condition that is passed twice",
        "server { listen 127.0.0.1:{P}; server_name h; set $k $arg_k; if ($uri) { set $k $k$k; } set $s $k; "
        "if ($uri) { set $k $k$k; } if ($s = $k) { return 403; } return 402; }",
        "server { listen 127.0.0.1:{P}; server_name h; set $k $arg_k; if ($uri) { set $k $k$k; } set $s $k; "
        "if ($uri) { set $k $k$k; } return 403; }",
    ),
    Pair(
        "a rewrite that is passed twice",
        "server { listen 127.0.0.1:{P}; server_name h; rewrite ^(/.*)_([^_]*)$ $1-$2; if ($uri !~ "
        "'^/[ab-]*_[ab-]*$') { set $z 1; return 401; } rewrite ^(/.*)_([^_]*)$ $1-$2; if ($uri !~ _) { "
        "return 402; } location / { return 200 ok; } }",
        "server { listen 127.0.0.1:{P}; server_name h; rewrite ^(/.*)_([^_]*)$ $1-$2; if ($uri !~ "
        "'^/[ab-]*_[ab-]*$') { return 401; } rewrite ^(/.*)_([^_]*)$ $1-$2; if ($uri !~ _) { return 403; } "
        "location / { return 200 ok; } }",
    ),
    Pair(
        "a rewrite to an empty URI",
        "server { listen 127.0.0.1:{P}; server_name h; if ($http_a ~ '[0-9]{5}') { rewrite '^/[x-z]{3}' "
        "$arg_y; } return 403; }",
        "server { listen 127.0.0.1:{P}; server_name h; return 403; }",
    ),
    Pair(
        "a rewrite to the empty row of a map",
        "map $uri $m { volatile; '~^/[x-z]{2}[0-9]?$' ''; default /q; } server { listen 127.0.0.1:{P}; "
        "server_name h; set $w 1; if ($m = '') { rewrite ^ $m; } return 403; }",
        "map $uri $m { volatile; '~^/[x-z]{2}[0-9]?$' ''; default /q; } server { listen 127.0.0.1:{P}; "
        "server_name h; return 403; }",
    ),
    Pair(
        "a map that sets a group of the same text",
        "map $uri $m { volatile; ~^/.(?<g>.) x; default y; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/(?<g>.)) { return 404; } return 200 $g$m; }",
        "map $uri $m { volatile; ~^/.(?<g>.) x; default y; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/(?<g>.)) { return 404; } set $t $g; return 200 $t$m; }",
    ),
    Pair(
        "a volatile map in a text that is no script's",
        "map $1 $a { volatile; x X; b B; default D; } map $uri $m { volatile; ~^/.(.) .; default .; } server { listen "
        '127.0.0.1:{P}; server_name h; location ~ ^/.x(b) { return 200 "$a$m"; } location / { return 404; } }',
        "map $1 $a { volatile; x X; b B; default D; } map $uri $m { volatile; ~^/.(.) .; default .; } server { listen "
        '127.0.0.1:{P}; server_name h; location ~ ^/.x(b) { set $r "$a$m"; return 200 $r; } location / { return 404; } '
        "}",
    ),
    Pair(
        "a map in the arguments of a rewrite that changes captures of its path",
        "map $1 $a { volatile; x X; b B; default D; } map $uri $m { volatile; ~^/.(.) .; default .; } server { listen "
        "127.0.0.1:{P}; server_name h; rewrite ^/.x(b) /y$a?$m; return 200 $uri; }",
        "map $1 $a { volatile; x X; b B; default D; } map $uri $m { volatile; ~^/.(.) .; default .; } server { listen "
        "127.0.0.1:{P}; server_name h; if ($uri ~ ^/.x(b)) { set $r $a; rewrite ^/.x(b) /y$r?$m; } return 200 $uri; }",
    ),
    Pair(
        "a map of captures that a script reads alone",
        "map $1 $m { volatile; '~^.(.*)$' x; default y; } server { listen 127.0.0.1:{P}; server_name h; location ~ "
        "^/(ab.) { set $r $m; return 200 '[$1]'; } location / { return 404; } }",
        "map $1 $m { volatile; '~^.(.*)$' x; default y; } server { listen 127.0.0.1:{P}; server_name h; location ~ "
        "^/(ab.) { if ($m = z) { set $r q; } return 200 '[$1]'; } location / { return 404; } }",
    ),
    Pair(
        "a text of set, in which a map is looked up twice",
        "map $1 $m { volatile; ~^(.)(.)$ x; ~^(.)$ y; default z; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/([p-r][0-9])$) { return 404; } return 200 $uri$m; }",
        "map $1 $m { volatile; ~^(.)(.)$ x; ~^(.)$ y; default z; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/([p-r][0-9])$) { return 404; } set $v $uri$m; return 200 $v; }",
    ),
    Pair(
        "a map that set looks up twice",
        "map $1 $m { volatile; ~^(.)(.)$ x; ~^(.)$ y; default z; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/(xy)$) { set $z 1; return 404; } set $v $m; if ($v = y) { return 402; } return 200 ok; }",
        "map $1 $m { volatile; ~^(.)(.)$ x; ~^(.)$ y; default z; } server { listen 127.0.0.1:{P}; server_name h; "
        "if ($uri !~ ^/(xy)$) { return 404; } set $v $m; if ($v = y) { return 403; } return 200 ok; }",
    ),
    Pair(
        "a capture beside a map that captures, in what another map looks up",
        "map $uri $n { volatile; ~^/.(.) a; default b; } map $n-$1 $m { volatile; a-y p; default z; } server { "
        "listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(x)y$) { set $z 1; return 404; } if ($m = p) { "
        "return 402; } return 200 ok; }",
        "map $uri $n { volatile; ~^/.(.) a; default b; } map $n-$1 $m { volatile; a-y p; default z; } server { "
        "listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(x)y$) { return 404; } if ($m = p) { "
        "return 403; } return 200 ok; }",
    ),
    Pair(
        "a row that reads what another map has captured in what is looked up",
        "map $uri $n { volatile; ~^/.(.) a; default b; } map $n $m { volatile; a $1; default z; } server { "
        "listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(x)y$) { set $z 1; return 404; } if ($m = y) { "
        "return 402; } return 200 ok; }",
        "map $uri $n { volatile; ~^/.(.) a; default b; } map $n $m { volatile; a $1; default z; } server { "
        "listen 127.0.0.1:{P}; server_name h; if ($uri !~ ^/(x)y$) { return 404; } if ($m = y) { "
        "return 403; } return 200 ok; }",
    ),
    Pair(
        "a map that is set on one side, read by another",
        "map $uri $m { volatile; ~^/([p-r]) $1; default a; } map $m $n { volatile; p x; ~^(?<g>q)$ $2; default y; } "
        "server { listen 127.0.0.1:{P}; server_name h; if ($n = x) { return 401; } location = /k { set $m p; "
        "return 200 $n; } }",
        "map $uri $m { volatile; ~^/([p-r]) $1; default a; } map $m $n { volatile; p x; ~^(?<g>q)$ $2; default y; } "
        "server { listen 127.0.0.1:{P}; server_name h; set $z 1; if ($n = x) { return 401; } location = /k { "
        "return 200 $n; } }",
    ),
    Pair(
        "a group of a map that both sides read in a condition",
        "map $uri $m { volatile; ~^/(?<g>.) 1; default 0; } server { listen 127.0.0.1:{P}; server_name h; set $g "
        "foo; if ($m) { set $q 1; } if ($g = foo) { return 402; } return 403; }",
        "map $uri $m { volatile; ~^/(?<g>.) 1; default 0; } server { listen 127.0.0.1:{P}; server_name h; set $g "
        "foo; if ($m) { set $q 1; } return 402; }",
    ),
    Pair(
        "a group of a map that both sides read in a block",
        "map $uri $m { volatile; ~^/(?<g>.) 1; default 0; } server { listen 127.0.0.1:{P}; server_name h; set $g "
        "foo; if ($uri) { set $q $m; } if ($g = foo) { return 402; } return 403; }",
        "map $uri $m { volatile; ~^/(?<g>.) 1; default 0; } server { listen 127.0.0.1:{P}; server_name h; set $g "
        "foo; if ($uri) { set $q $m; } return 402; }",
    ),
    Pair(
        "a group of a map that both sides read in a rewrite",
        "map $uri $m { volatile; ~^/(?<g>.) 1; default 0; } server { listen 127.0.0.1:{P}; server_name h; set $g "
        "foo; rewrite ^ /a$m; if ($g = foo) { return 402; } return 403; }",
        "map $uri $m { volatile; ~^/(?<g>.) 1; default 0; } server { listen 127.0.0.1:{P}; server_name h; set $g "
        "foo; rewrite ^ /a$m; return 402; }",
    ),
    Pair(
        "a group with the name of a map",
        "map $uri $m { volatile; ~^/(?<n>.) 1; default 0; } map $n $o { volatile; p 1; default 2; } map $uri $n {"
        " volatile; default p; } server { listen 127.0.0.1:{P}; server_name h; if ($m) { set $q 1; } if ($n = p) "
        "{ return 402; } return 403; }",
        "map $uri $m { volatile; ~^/(?<n>.) 1; default 0; } map $n $o { volatile; p 1; default 2; } map $uri $n {"
        " volatile; default p; } server { listen 127.0.0.1:{P}; server_name h; if ($m) { set $q 1; } return 402; "
        "}",
    ),
    Pair(
        "a group of a map that another map reads",
        "map $uri $m { volatile; ~^/(?<w>.) 1; default 0; } map $w $n { volatile; x 1; default 2; } server { "
        "listen 127.0.0.1:{P}; server_name h; set $w foo; if ($m) { set $q 1; } if ($n = 2) { return 402; } "
        "return 403; }",
        "map $uri $m { volatile; ~^/(?<w>.) 1; default 0; } map $w $n { volatile; x 1; default 2; } server { "
        "listen 127.0.0.1:{P}; server_name h; set $w foo; if ($m) { set $q 1; } return 402; }",
    ),
    Pair(
        "a group of a map that another map reads as a map",
        "map $uri $n { volatile; default p; } map $uri $m { volatile; ~^/(?<n>.) 1; default 0; } map $n $o { "
        "volatile; p 1; default 2; } server { listen 127.0.0.1:{P}; server_name h; set $t $m; if ($o = 1) { "
        "return 402; } return 403; }",
        "map $uri $n { volatile; default p; } map $uri $m { volatile; ~^/(?<n>.) 1; default 0; } map $n $o { "
        "volatile; p 1; default 2; } server { listen 127.0.0.1:{P}; server_name h; set $t $m; return 402; }",
    ),
    Pair(
        "a map that was set before a location was chosen again",
        "map $uri $n { volatile; default p; } server { listen 127.0.0.1:{P}; server_name h; location /a { set $n "
        "foo; rewrite ^ /b last; } location /b { if ($n = p) { return 402; } return 403; } }",
        "map $uri $n { volatile; default p; } server { listen 127.0.0.1:{P}; server_name h; location /a { set $n "
        "foo; rewrite ^ /b last; } location /b { return 402; } }",
    ),
    Pair(
        "a group with the name of an argument",
        "location /zz { return 404; } location / { return 200 a$arg_y; }",
        "location /zz { if ($uri ~ ^/y(?<arg_y>x)) { } return 404; } location / { return 200 a$arg_y; }",
    ),
    Pair(
        "a group with the name of the arguments",
        "location /zz { return 404; } location / { return 200 a$args; }",
        "location /zz { if ($uri ~ ^/y(?<args>x)) { } return 404; } location / { return 200 a$args; }",
    ),
    Pair(
        "a group with the name of a map that stands before it",
        "map $uri $n { volatile; default p; } server { listen 127.0.0.1:{P}; server_name h; location /zz { return 404; "
        "} location / { return 200 a$n; } }",
        "map $uri $n { volatile; default p; } server { listen 127.0.0.1:{P}; server_name h; location /zz { if ($uri "
        "~ ^/y(?<n>x)) { } return 404; } location / { return 200 a$n; } }",
    ),
    Pair(
        "a variable with another name, which a pattern sets",
        "if ($uri ~ /(?<k>x)) { } set $k 1; return 200 $k$k;",
        "if ($uri ~ /(?<k>x)) { } set $a 1; return 200 $a$k;",
    ),
    Pair(
        "the arguments instead of another variable",
        "set $args x; return 200 a$is_args;",
        "set $a x; return 200 a$is_args;",
    ),
    Pair(
        "a text that is longer after a map has captured",
        "map $uri $m { ~^/(?<g>.) ab; } server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ b$) { } "
        "return 200 $1$m; }",
        "map $uri $m { ~^/(?<g>.) ab; } server { listen 127.0.0.1:{P}; server_name h; if ($uri !~ b$) { } set $t $m; "
        "return 200 $1$t; }",
    ),
    Pair(
        "a map whose rows are missing, before and after a rewrite",
        "map $uri $m { volatile; include missing.conf; } server { listen 127.0.0.1:{P}; server_name h; set $x $m; "
        "rewrite ^ /b; return 200 $x; }",
        "map $uri $m { volatile; include missing.conf; } server { listen 127.0.0.1:{P}; server_name h; rewrite ^ /b; "
        "set $x $m; return 200 $x; }",
    ),
    Pair(
        "a variable of JavaScript, before and after a rewrite",
        "js_set $j f.x; server { listen 127.0.0.1:{P}; server_name h; set $x $j; rewrite ^ /b; return 200 $x; }",
        "js_set $j f.x; server { listen 127.0.0.1:{P}; server_name h; rewrite ^ /b; set $x $j; return 200 $x; }",
    ),
)
