"""The rewrite module (statements 38 to 48)."""

from tests.nginx.request_model.experiment import Experiment

_STATE = 'return 200 "$uri?$args";'

REWRITE = (
    Experiment(
        "38",
        "`if` is false for nothing and `0` only; = and != compare bytes; a variable that is missing is empty",
        (
            "location /v { if ($arg_v) { return 200 true; } return 200 false; }"
            ' location /empty { if ($arg_v = "") { return 200 empty; } return 200 other; }'
            " location /same { if ($arg_a = $arg_b) { return 200 same; } return 200 other; }"
            " location /not { if ($arg_v != A) { return 200 not; } return 200 equal; }"
            " location /re { if ($arg_v ~ A) { return 200 match; } return 200 none; }"
            " location /case { if ($arg_v ~* A) { return 200 match; } return 200 none; }"
            " location /nore { if ($arg_v !~ A) { return 200 none; } return 200 match; }"
            " location /nocase { if ($arg_v !~* A) { return 200 none; } return 200 match; }",
        ),
        {
            "/v": "200 false",
            "/v?v=": "200 false",
            "/v?v=0": "200 false",
            "/v?v=00": "200 true",
            "/v?v=false": "200 true",
            "/v?v=%20": "200 true",
            "/v?v=1&v=0": "200 true",
            "/v?V=1": "200 true",
            "/empty": "200 empty",
            "/empty?v": "200 empty",
            "/empty?v=0": "200 other",
            "/same": "200 same",
            "/same?a=1": "200 other",
            "/not?v=a": "200 not",
            "/not?v=A": "200 equal",
            "/re?v=a": "200 none",
            "/re?v=bAb": "200 match",
            "/case?v=a": "200 match",
            "/nore?v=a": "200 none",
            "/nore?v=A": "200 match",
            "/nocase?v=a": "200 match",
        },
    ),
    Experiment(
        "39",
        "-f is a regular file, -d a folder, -e either; with ! the contrary",
        (
            "set $e39 ''; if (-f {T}/r/$arg_p) { set $e39 f; } if (-d {T}/r/$arg_p) { set $e39 ${e39}d; }"
            " if (-e {T}/r/$arg_p) { set $e39 ${e39}e; } if (-x {T}/r/$arg_p) { set $e39 ${e39}x; }"
            " if (!-f {T}/r/$arg_p) { set $e39 ${e39}F; } if (!-d {T}/r/$arg_p) { set $e39 ${e39}D; }"
            ' if (!-e {T}/r/$arg_p) { set $e39 ${e39}E; } return 200 "$e39";',
        ),
        {"/?p=f.txt": "200 feD", "/?p=d": "200 dexF", "/?p=nx": "200 FDE"},
    ),
    Experiment(
        "39 device",
        "-e knows neither devices nor sockets",
        ("if (-e /dev/null) { return 200 yes; } return 200 no;",),
        {"/": "200 no"},
    ),
    Experiment(
        "39 server",
        "$document_root in a server's `if` is that of the server",
        (
            "if (-f $document_root$uri) { return 200 file; } location /f.txt { root {T}/al; }"
            ' location / { return 200 "none $document_root"; }',
        ),
        {"/f.txt": "200 file", "/a.html": "200 file", "/fb.html": "200 none {T}/r"},
    ),
    Experiment(
        "40",
        "a return below 300 or with a text is sent; else the error page answers, which keeps the Location of a"
        " redirect",
        (
            "error_page 404 =201 /x.html; error_page 301 =200 /f.txt; error_page 444 408 /x.html;"
            " location /a { return 404; } location /b { return 404 text; } location /c { return 301 /zz; }"
            ' location /d { return 301; } location /e { return 302 ""; } location /g { return 302 foo; }'
            " location /h { return 204 body; } location /i { return 304; } location /j { return 201; }"
            " location /k { return 300 x; } location /l { return 307 /q; } location /m { return 308 /q; }"
            " location /n { return 444 text; } location /o { return 418; } location /p { return 206 part; }"
            " location = /x.html {} location = /f.txt {}",
        ),
        {
            "/a": "201 [r/x.html]",
            "/b": "404 text",
            "/c": "200 -> http://h:{P}/zz [r/f.txt]",
            "/d": "200 ->  [r/f.txt]",
            "/e": "302 ->",
            "/g": "302 -> foo",
            "/h": "204",
            "/i": "304",
            "/j": "201",
            "/k": "300 x",
            "/l": "307 -> http://h:{P}/q",
            "/m": "308 -> http://h:{P}/q",
            "/n": "444 text",
            "/o": "418",
            "/p": "206 part",
        },
    ),
    Experiment(
        "40 url",
        "a return of a URL alone is a redirect with 302",
        (
            "location /a { return http://a/b; } location /b { return $scheme://a/b; } location /c { return"
            " https://a/$uri; }",
        ),
        {"/a": "302 -> http://a/b", "/b": "302 -> http://a/b", "/c": "302 -> https://a//c"},
    ),
    Experiment(
        "40 special",
        "494 to 497 are sent as 400, and codes that are none as they are; 0 and 600 are codes",
        (
            "location /494 { return 494; } location /495 { return 495; } location /496 { return 496; }"
            " location /497 { return 497; } location /498 { return 498; } location /600 { return 600; }"
            " location /700 { return 700 x; } location /499 { return 499 t; } location /506 { return 506; }"
            " location /413 { return 413; } location /430 { return 430; }",
        ),
        {
            "/494": "400",
            "/495": "400",
            "/496": "400",
            "/497": "400",
            "/498": "498",
            "/499": "499 t",
            "/506": "506",
            "/600": "600",
            "/700": "700 x",
            "/413": "413",
            "/430": "430",
        },
    ),
    Experiment(
        "41",
        "$uri in a return or a rewrite is not escaped, $request_uri is as it came",
        (
            "location /a { return 301 https://h$uri; } location /b { rewrite ^ https://h$uri permanent; }"
            " location /c { rewrite ^([^?]*)$ https://h$1 permanent; } location /d { return 301"
            " https://h$request_uri; }",
        ),
        {
            "/a%0d%0aX:1": "301 -> https://h/a X=1",
            "/b%0d%0aX:1": "301 -> https://h/b X=1",
            "/c%0d%0aX:1": "301 -> https://h/c%0D%0AX:1",
            "/d%0d%0aX:1": "301 -> https://h/d%0d%0aX:1",
            "/a%20%3f": "301 -> https://h/a ?",
        },
        shows=(b"X",),
    ),
    Experiment(
        "42",
        "$1 is escaped in a redirect, behind `?` and in `set` before a match, if the client's path was encoded",
        (
            'location ~ ^/s/(.*)$ { set $e42 $1; return 200 "$e42"; } location ~ ^/t/(.*)$ { return 200 "$1"; }'
            " location /r/ { rewrite ^/r/(.*)$ /z/$1 permanent; } location /q/ { rewrite ^/q/(.*)$ /z?p=$1 last; }"
            " location /l/ { rewrite ^/l/(.*)$ /z/$1 last; } location /n/ { rewrite ^/n/(?<e42_n>.*)$ /z/$e42_n"
            " permanent; }"
            ' location /z { return 200 "$uri|$args"; } location ~ ^/p/(.*)$ { proxy_pass http://{http0}/$1; }'
            " location ~ ^/f/(.*)$ { try_files /$1 =404; }",
        ),
        {
            "/s/a b".replace(" ", "%20"): "200 a%20b",
            "/s/a;b": "200 a;b",
            "/s/%61;b": "200 a%3Bb",
            "/s/a+;b": "200 a%2B%3Bb",
            "/t/a%20b": "200 a b",
            "/r/a%20b": "301 -> http://h:{P}/z/a%20b",
            "/r/a%26b": "301 -> http://h:{P}/z/a&b",
            "/r/a+b": "301 -> http://h:{P}/z/a+b",
            "/q/a%20b;": "200 /z|p=a%20b%3B",
            "/q/a;b": "200 /z|p=a;b",
            "/l/a%20b": "200 /z/a b|",
            "/n/a%20b": "301 -> http://h:{P}/z/a b",
            "/p/a%20b": "200 http0 GET /a b",
            "/f/a%20b.txt": "200 [r/a b.txt]",
        },
    ),
    Experiment(
        "42 is_args",
        "$1 after a rewrite with `?` is not escaped: a fix of 1.31.0 that the build of Debian has too",
        ('location / { rewrite ^/w/(.*)$ /w/z?x=1; set $e42_y $1; return 200 "$e42_y"; }',),
        {"/w/a%20b": "200 a b"},
    ),
    Experiment(
        "43",
        "in a redirect %26 to %7E are decoded up to the `?`; an internal target stays as it is",
        (
            "location /e1 { rewrite ^/e1(.*)$ /z$1 permanent; } location /e2 { rewrite ^/e2 /z%41%20%2f%3f%41?%41"
            " permanent; }"
            f" location /e3 {{ rewrite ^ /z%20//a/../b#c last; }} location /z {{ {_STATE} }}",
        ),
        {
            "/e1%41%3f%23%2541": "301 -> http://h:{P}/zA?%23%2541",
            "/e2": "301 -> http://h:{P}/zA%20/?%41?%41",
            "/e3": "200 /z%20//a/../b#c?",
        },
    ),
    Experiment(
        "44",
        "arguments are kept; a `?` at the end drops them; others stand before the old ones",
        (
            "location /k { rewrite ^ /t last; } location /d { rewrite ^ /t? last; } location /a { rewrite ^ /t?x=1"
            " last; }"
            " location /b { rewrite ^ /t?x=1? last; } location /ka { rewrite ^ /t permanent; }"
            " location /da { rewrite ^ /t? permanent; } location /aa { rewrite ^ /t?x=1 permanent; }"
            f" location /ba {{ rewrite ^ /t?x=1? permanent; }} location /t {{ {_STATE} }}",
        ),
        {
            "/k?o": "200 /t?o",
            "/d?o": "200 /t?",
            "/a?o": "200 /t?x=1&o",
            "/a": "200 /t?x=1",
            "/b?o": "200 /t?x=1",
            "/ka?o": "301 -> http://h:{P}/t?o",
            "/da?o": "301 -> http://h:{P}/t",
            "/aa?o": "301 -> http://h:{P}/t?x=1&o",
            "/ba?o": "301 -> http://h:{P}/t?x=1",
        },
    ),
    Experiment(
        "45",
        "what fails clears $1 but for a regex location; names stay, and all survive internal redirects",
        (
            'location ~ ^/b(.*)$ { rewrite ^/zz(.*)$ /q; return 200 "[$1]"; } location ~ ^/c(.*)$ { rewrite ^/c /d;'
            ' return 200 "[$1]$uri"; } location ~ ^/d(?<e45>.*)$ { if ($arg_x ~ y) { set $e45_q 1; } return 200'
            ' "[$e45]"; }'
            ' location ~ ^/e(.*)$ { try_files /nx /f$1; } location ~ ^/zz { } location /f { return 200 "$uri[$1]"; }'
            ' location ~ ^/g(.*) { if ($arg_x != y) { set $e45_q 1; } return 200 "[$1]"; }'
            ' location ~ ^/i(.)(.) { if ($uri ~ ^/(i)) { set $e45_q 1; } return 200 "[$1$2]"; }',
        ),
        {
            "/bx": "200 []",
            "/cx": "200 []/d",
            "/dx": "200 [x]",
            "/ex": "200 /fx[x]",
            "/gx": "200 [x]",
            "/ixy": "200 [i]",
        },
    ),
    Experiment(
        "46",
        "ten changes of the URI, of whatever kind; those of the server are free; that 500 has no error page",
        (
            r"error_page 500 =200 /x.html; location /x.html {} location /l { rewrite ^/l(.*)$ /l$1x last; }"
            r" location ~ ^/n(\d)$ { set $e46 $1; if ($e46 = 9) { return 200 done; } rewrite ^/n8$ /n9 last;"
            r" rewrite ^/n7$ /n8 last; rewrite ^/n6$ /n7 last; rewrite ^/n5$ /n6 last; rewrite ^/n4$ /n5 last;"
            r" rewrite ^/n3$ /n4 last; rewrite ^/n2$ /n3 last; rewrite ^/n1$ /n2 last; rewrite ^/n0$ /n1 last; }"
            " location /t { try_files /nx /n0; } location /e { error_page 404 /t; return 404; }"
            " location /w { error_page 404 /e2; return 404; } location /e2 { try_files /nx /t; }",
        ),
        {"/l": "500", "/n0": "200 done", "/t": "200 done", "/e": "500", "/w": "500"},
    ),
    Experiment(
        "46 server",
        "a rewrite of the server is no change of the URI that counts",
        (
            "rewrite ^/a$ /b; rewrite ^/b$ /c last; rewrite ^/c$ /d; location /c { rewrite ^ /d last; }"
            " location /d { return 200 d; }",
        ),
        {"/a": "200 d", "/b": "200 d"},
    ),
    Experiment(
        "47",
        "a break after a new URI, in the server too, takes the URI of proxy_pass and the alias away",
        (
            "rewrite ^/s/(.*) /p/$1 break; location /p/ { proxy_pass http://{http0}/U/; } location /b/ { break;"
            " proxy_pass http://{http0}/U/; } location /q/ { rewrite ^/q/(.*) /q/$1 break; proxy_pass"
            " http://{http0}/U/; }"
            " location /al/ { alias {T}/al/; rewrite ^/al/x(.*) /al/$1 break; } location /n/ { rewrite ^ /n/z;"
            " break; proxy_pass http://{http0}/U/; }",
        ),
        {
            "/s/1": "200 http0 GET /p/1",
            "/p/1": "200 http0 GET /U/1",
            "/b/1": "200 http0 GET /U/1",
            "/q/1": "200 http0 GET /q/1",
            "/n/1": "200 http0 GET /n/z",
            "/al/f.txt": "200 [al/f.txt]",
            "/al/xf.txt": "500",
        },
    ),
    Experiment(
        "47 last",
        "`break` ends the script, `last` looks for a location again, and one without a flag goes on",
        (
            "location /a { rewrite ^ /b last; return 200 a; } location /b { rewrite ^ /c break; rewrite ^ /x last;"
            " return 200 b; } location /c { return 200 c; } location /d { rewrite ^ /c; rewrite ^/c$ /e; return 200"
            " $uri; }"
            " location /g { rewrite ^ /c; }",
        ),
        {"/a": "404", "/d": "200 /e", "/g": "200 c"},
    ),
    Experiment(
        "48",
        "a true `if` drops try_files and inherits the rest, its handler too; the last true one counts",
        (
            "location / { try_files /f.txt =404; if ($arg_b) { set $e48 1; } } location /al/ { alias {T}/al/;"
            " if ($arg_b) { set $e48 1; } } location /rt { if ($arg_b) { return 200 r; } proxy_pass http://{http0}; }"
            " location /u/ { proxy_pass http://{http0}/U/; if ($arg_b) { set $e48 1; } }"
            " location /hd { add_header A a; if ($arg_b) { set $e48 1; } if ($arg_c) { add_header C c; } return 200"
            " ok; }"
            " location /br { if ($arg_b) { break; } return 200 after; } location /dn { if ($arg_b) { break; } deny"
            " all; }"
            " location /er { error_page 404 =200 /x.html; if ($arg_b) { break; } } location = /x.html {}"
            " location /eg { empty_gif; if ($arg_b) { set $e48 1; } }"
            " location /pp { proxy_pass http://{http0}; if ($arg_b) { proxy_pass http://{http1}; } }",
        ),
        {
            "/zz": "200 [r/f.txt]",
            "/zz?b=1": "404",
            "/al/f.txt?b=1": "200 [al/f.txt]",
            "/rt?b=1": "200 r",
            "/rt": "200 http0 GET /rt",
            "/u/1?b=1": "200 http0 GET /U/1?b=1",
            "/hd": "200 ok A=a",
            "/hd?b=1": "200 ok A=a",
            "/hd?b=1&c=1": "200 ok C=c",
            "/hd?c=1": "200 ok C=c",
            "/br?b=1": "404",
            "/br": "200 after",
            "/dn?b=1": "403",
            "/er?b=1": "200 [r/x.html]",
            "/pp": "200 http0 GET /pp",
            "/pp?b=1": "200 http1 GET /pp?b=1",
        },
        shows=(b"A", b"C"),
    ),
    Experiment(
        "48 error_page",
        "the error pages of an `if` are in force once it was true",
        (
            "location / { error_page 404 =200 /x.html; if ($arg_b) { return 404; } return 404; }"
            " location /c { if ($arg_b) { error_page 404 =201 /x.html; return 404; } error_page 404 =200 /f.txt;"
            " return 404; }"
            " location = /x.html {} location = /f.txt {}",
        ),
        {"/?b=1": "200 [r/x.html]", "/c?b=1": "201 [r/x.html]", "/c": "200 [r/f.txt]"},
    ),
)
