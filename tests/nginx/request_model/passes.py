"""Texts that nginx computes twice, first for their length, where a map in them changes captures.

A map of the first pass changes what stands before it in the second one. Where a variable is computed anew in the second
pass as well, it sees the captures of the first.
"""

from tests.nginx.request_model.experiment import Experiment

_MAPS = (
    "map $1 $tw_{0} {{ volatile; x X; b B; / S; default D; }} map $uri $tw_m{0} {{ volatile; ~^/.(.) .; }}"
    " map $tw_n{0} $tw_g{0} {{ volatile; x X; b B; / S; default D; }}"
    " map $uri $tw_h{0} {{ volatile; ~^/.(?<tw_n{0}>.) .; }}"
)

PASSES = (
    Experiment(
        "passes: texts",
        "a text is computed twice: captures before a map are those of the map, variables before it have one value",
        (
            'location ~ ^/1..(.) { return 200 "$tw_1$tw_m1$1"; }'
            ' location ~ ^/2..(.) { return 200 "$1$tw_1$tw_m1$tw_1"; }'
            ' location ~ ^/3..(?<tw_n1>.) { return 200 "$tw_g1$tw_h1$tw_n1"; }'
            ' location ~ ^/4..(?<tw_n1>.) { return 200 "$tw_n1$tw_h1"; }'
            ' location ~ ^/5..(.) { return 302 "/$tw_1$tw_m1$1"; }'
            ' location ~ ^/6..(.) { add_header X "$1$tw_1$tw_m1"; return 200 ""; }'
            ' location ~ ^/7..(.) { root "/$1"; return 200 "$document_root$request_filename$tw_m1$1"; }',
        ),
        {
            "/1xyb": "200 B.x",
            "/1byx": "200 X.b",
            "/1yyb": "200 B.y",
            "/2xyb": "200 xB.B",
            "/2byx": "200 bX.X",
            "/2yyb": "200 yB.B",
            "/3xyb": "200 B.x",
            "/3byx": "200 X.b",
            "/3yyb": "200 B.y",
            "/4xyb": "200 x.",
            "/4byx": "200 b.",
            "/4yyb": "200 y.",
            "/5xyb": "302 -> http://h:{P}/B.x",
            "/5byx": "302 -> http://h:{P}/X.b",
            "/5yyb": "302 -> http://h:{P}/B.y",
            "/6xyb": "200 x=xB.",
            "/6byx": "200 x=bX.",
            "/6yyb": "200 x=yB.",
            "/7xyb": "200 /x/x/7xyb.x",
            "/7byx": "200 /b/b/7byx.b",
            "/7yyb": "200 /y/y/7yyb.y",
        },
        _MAPS.format(1),
        shows=(b"x",),
    ),
    Experiment(
        "passes: scripts",
        "`set`, `if` and `rewrite` compute volatile variables in both passes",
        (
            'location ~ ^/1..(.) { set $tw_r "$tw_2$tw_m2$1"; return 200 $tw_r; }'
            ' location ~ ^/2..(.) { set $tw_r "$1$tw_2$tw_m2$tw_2"; return 200 $tw_r; }'
            ' location ~ ^/3..(?<tw_n2>.) { set $tw_r "$tw_g2$tw_h2$tw_n2"; return 200 $tw_r; }'
            ' location ~ ^/4..(.) { if ($arg_a = "$tw_2$tw_m2$1") { return 200 same; } return 200 other; }'
            ' location /5 { rewrite ^/5..(.) "/a/$tw_2$tw_m2$1" redirect; }'
            ' location /6 { rewrite ^/6..(.) "/a/$tw_2$tw_m2$1?$tw_2" last; }'
            ' location /a/ { return 200 "$uri?$args"; }'
            ' location ~ ^/7..(.) { root "/$1"; set $tw_r "$document_root$tw_m2$1"; return 200 $tw_r; }',
        ),
        {
            "/1xyb": "200 X.x",
            "/1byx": "200 B.b",
            "/1yyb": "200 D.y",
            "/2xyb": "200 xX.X",
            "/2byx": "200 bB.B",
            "/2yyb": "200 yD.D",
            "/3xyb": "200 X.x",
            "/3byx": "200 B.b",
            "/3yyb": "200 D.y",
            "/4xyb": "200 other",
            "/4byx": "200 other",
            "/4yyb": "200 other",
            "/5xyb": "302 -> http://h:{P}/a/X.x",
            "/5byx": "302 -> http://h:{P}/a/B.b",
            "/5yyb": "302 -> http://h:{P}/a/D.y",
            "/6xyb": "200 /a/X.x?X",
            "/6byx": "200 /a/B.b?B",
            "/6yyb": "200 /a/D.y?D",
            "/7xyb": "200 /x.x",
            "/7byx": "200 /b.b",
            "/7yyb": "200 /y.y",
            "/4xyb?a=X.x": "200 same",
            "/4xyb?a=B.x": "200 other",
        },
        _MAPS.format(2),
    ),
    Experiment(
        "passes: again",
        "a volatile map of a capture that it changes is looked up again where nginx computes it anew",
        (
            'location ~ ^/1/(.*) { return 200 "[$tw_3][$tw_3]"; }'
            ' location ~ ^/2/(.*) { set $tw_s "[$tw_4][$tw_4]"; return 200 $tw_s; }'
            ' location ~ ^/3/(.*) { set $tw_s $tw_4; return 200 "[$tw_s][$1]"; }'
            ' location ~ ^/4/(.*) { if ($tw_4) { return 200 "[$1]"; } }',
        ),
        {
            "/1/abcd": "200 [bcd][bcd]",
            "/1/a": "200 [][]",
            "/1/": "200 [E][E]",
            "/2/abcd": "200 [x][x]",
            "/2/a": "200 [x][x]",
            "/2/": "200 [E][E]",
            "/3/abcd": "200 [x][a]",
            "/3/a": "200 [x][a]",
            "/3/": "200 [E][]",
            "/4/abcd": "200 [a]",
            "/4/a": "200 [a]",
            "/4/": "200 []",
        },
        'map $1 $tw_3 { volatile; "~^(.)(.*)$" $2; default E; } map $1 $tw_4 { volatile; "~^(.)(.*)$" x; default E; }',
    ),
    Experiment(
        "passes: files",
        "`try_files` computes volatile variables for the length only, `index` those without a value",
        (
            'location ~ ^/1..(.) { try_files "/nx$tw_5$tw_m5$1" "/t/$tw_5$tw_m5$1"; } location /t/ { return 200 $uri; }'
            ' location ~ ^/2..(.) { set $tw_q $tw_5; try_files /nx "/t/$1$tw_5$tw_m5$tw_5"; }'
            ' location ~ ^/3..(.*)/$ { index "/t/$tw_5$tw_m5$1"; }'
            ' location ~ ^/4..(.*)/$ { set $tw_q $tw_5; set $tw_q $tw_m5; index "/t/$tw_5$tw_m5$1"; }'
            ' location ~ ^/5..(.*)/$ { set $tw_q $tw_5; index "/t/$tw_5$tw_m5$1"; }',
        ),
        {
            "/1xyb/": "200 /t/X.x",
            "/1byx/": "200 /t/B.b",
            "/1yyb/": "200 /t/D.y",
            "/2xyb/": "200 /t/xX.X",
            "/2byx/": "200 /t/bB.B",
            "/2yyb/": "200 /t/yD.D",
            "/3xyb/": "200 /t/B.x",
            "/3byx/": "200 /t/X.b",
            "/3yyb/": "200 /t/B.y",
            "/4xyb/": "200 /t/B.x",
            "/4byx/": "200 /t/X.b",
            "/4yyb/": "200 /t/B.y",
            "/5xyb/": "200 /t/B.x",
            "/5byx/": "200 /t/X.b",
            "/5yyb/": "200 /t/B.y",
        },
        _MAPS.format(5),
    ),
    Experiment(
        "passes: root",
        "nginx computes the root of a file of `try_files` between the two passes of its name",
        (
            'location ~ ^/1..(.)/ { root "{T}/r/d/$1"; try_files "/../..$1$tw_m6" =404; }'
            ' location ~ ^/2..(.)/ { root "{T}/r/d/$1"; try_files "/../..$1" =404; }',
        ),
        {"/1xyb/": "404", "/2xyb/": "404"},
        _MAPS.format(6),
        unknown={"/1xyb/": "a map changes captures while the root is computed"},
    ),
)
