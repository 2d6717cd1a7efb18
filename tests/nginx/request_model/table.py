"""The rows of the table of experiments, T1 to T40."""

from tests.nginx.request_model.experiment import Experiment

TABLE = (
    Experiment(
        "T1",
        "a name with a dot in front that follows the name without it is ignored whole",
        ("server_name d; return 200 d;", "server_name x.com; return 200 x;", "server_name .x.com; return 200 dot;"),
        {"/ | Host: a.x.com": "200 d", "/ | Host: x.com": "200 x"},
    ),
    Experiment(
        "T2",
        "a server alone at its address is looked up only if its last regular expression has captures",
        (r'server_name "~^(?<t2_sub>.+)\.a$" ~b$; return 200 [$t2_sub];',),
        {"/ | Host: q.a": "200 []"},
    ),
    Experiment(
        "T2b",
        "a server alone at its address whose last name has captures is looked up",
        (r'server_name ~b$ "~^(?<t2_own>.+)\.a$"; return 200 [$t2_own];',),
        {"/ | Host: q.a": "200 [q]", "/ | Host: q.x": "200 []"},
    ),
    Experiment(
        "T3",
        "a request without Host goes to the server without a name, not to the default server",
        ("server_name d; return 200 d;", "return 200 second;"),
        {"/ HTTP/1.0 | -Host": "200 second", "/ HTTP/1.0": "200 d"},
    ),
    Experiment(
        "T4",
        "a server_name with a final dot never matches",
        ("server_name d; return 200 d;", "server_name t.com.; return 200 t;"),
        {"/ | Host: t.com.": "200 d", "/ | Host: t.com": "200 d"},
    ),
    Experiment(
        "T5",
        "slashes are merged as the default server says",
        ("server_name d;", "server_name m; merge_slashes off; return 200 $uri;"),
        {"//a | Host: m": "200 /a"},
    ),
    Experiment(
        "T6",
        "the host of an absolute URI is before Host",
        ("server_name d; return 200 d,$host;", "server_name a; return 200 $host,$http_host;"),
        {"http://A:77/ | Host: d": "200 a,d"},
    ),
    Experiment("T7", "a port in Host that is no number", ("return 200 $host;",), {"/ | Host: a:x": ("200 a", "400")}),
    Experiment(
        "T8",
        "a decoded slash and decoded dots are structure",
        ('return 200 "$uri|$args";',),
        {"/a%2f..%2fb": "200 /b|", "/a/%2e%2E/c": "200 /c|", "/a%2F%2fb": "200 /a/b|"},
    ),
    Experiment(
        "T9",
        "a raw `#` ends the path, a decoded one is plain",
        ('return 200 "$uri|$args";',),
        {"/a%23b#c?x": "200 /a#b|", "/a%3Fb?c": "200 /a?b|c", "/a%25b": "200 /a%b|"},
    ),
    Experiment(
        "T10",
        "after a bad URI a named error page is 500",
        ("error_page 400 @n; location @n { return 200 n; }",),
        {"/%": "500", "/a | -Host": "400 n"},
    ),
    Experiment(
        "T11",
        "`^~` guards its own level only, not from regular expressions outside",
        ("location /a/ { location ^~ /a/c { return 200 in; } } location ~ x { return 200 re; }",),
        {"/a/c/x": "200 re", "/a/c/y": "200 in"},
    ),
    Experiment(
        "T12",
        "prefix and exact locations in a regex location are dead",
        ("location ~ /a { location /a/b { return 200 in; } location = /a/c { return 200 exact; } }",),
        {"/a/b": "404", "/a/c": "404"},
    ),
    Experiment(
        "T13",
        "an exact location of a proxy that ends with a slash answers without it with a redirect",
        ("location = /e/ { proxy_pass http://{http0}; } location ~ e { return 200 re; }",),
        {"POST /e?q": "301 -> http://h:{P}/e/?q", "/e/": "200 http0 GET /e/"},
    ),
    Experiment(
        "T14",
        "a longer plain prefix beats a shorter `^~`",
        ("location ^~ /a {} location /a/b { return 200 p; } location ~ b { return 200 re; }",),
        {"/a/b": "200 re", "/a/c": "404"},
    ),
    Experiment("T15", "return is before access", ("location / { deny all; return 200 x; }",), {"/": "200 x"}),
    Experiment(
        "T16",
        "limit_except takes its location's script away for other methods",
        ("location / { limit_except GET { allow all; } return 200 x; }",),
        {"POST /f.txt": "405", "/f.txt": "200 x", "HEAD /f.txt": "200"},
    ),
    Experiment(
        "T17",
        "a subrequest knows no access phase",
        ("location /f { auth_request /s; } location /s { deny all; return 204; }",),
        {"/f.txt": "200 [r/f.txt]"},
    ),
    Experiment(
        "T18",
        "any rewrite that matches opens what is internal",
        ("rewrite ^/i$ /i; location /i { internal; return 200 i; }",),
        {"/i": "200 i", "/i2": "404"},
    ),
    Experiment(
        "T19",
        "after a break with a new URI an alias is 500",
        ("rewrite ^/x(.*) /al$1 break; location /al/ { alias {T}/al/; }",),
        {"/x/f.txt": "500", "/al/f.txt": "200 [al/f.txt]"},
    ),
    Experiment(
        "T20",
        "after a break with a new URI the URI of proxy_pass does not count",
        ("rewrite ^/x(.*) /p$1 break; location /p/ { proxy_pass http://{http0}/V/; }",),
        {"/x/1": "200 http0 GET /p/1", "/p/1": "200 http0 GET /V/1"},
    ),
    Experiment(
        "T21",
        "`set` escapes $1 only before a rewrite of the script has matched",
        (
            "location ~ ^/w/(.*)$ { set $t21_x $1; rewrite ^/w/(.*)$ /v/$1; set $t21_y $1; return 200"
            ' "$t21_x,$t21_y"; }',
        ),
        {"/w/a%20b": "200 a%20b,a b"},
    ),
    Experiment(
        "T22",
        "in a redirect %3F of the client becomes a separator",
        ("rewrite ^/r/(.*)$ /t/$1 redirect;",),
        {"/r/a%3Fb%20c": "302 -> http://h:{P}/t/a?b%20c"},
    ),
    Experiment(
        "T23",
        "$uri in a return splits the response",
        ("location / { return 301 https://h$uri; }",),
        {"/a%0d%0aX:1": "301 -> https://h/a X=1"},
        shows=(b"X",),
    ),
    Experiment(
        "T24",
        "a text that is empty is an answer without an error page",
        ('error_page 404 =200 /x.html; location /a { return 404 $arg_e; } location /b { return 404 ""; }',),
        {"/a": "404", "/b": "200 [r/x.html]"},
    ),
    Experiment(
        "T25",
        "444, 408 and 499 close without an answer",
        (
            "location /a { return 408; } location /b { return 444; } location /c { return 499; } error_page 408"
            " /x.html;",
        ),
        {"/a": "closed", "/b": "closed", "/c": "closed"},
    ),
    Experiment(
        "T26",
        "a true `if` drops try_files",
        ("location / { try_files /f.txt =404; if ($arg_b) { set $t26 1; } }",),
        {"/zz?b=1": "404", "/zz": "200 [r/f.txt]"},
    ),
    Experiment(
        "T27",
        "an `if` that does not match clears $1",
        ('location ~ ^/a(.*)$ { if ($arg_x ~ y) { set $t27 1; } return 200 "[$1]"; }',),
        {"/ab": "200 []", "/ab?x=y": "200 []"},
    ),
    Experiment(
        "T28",
        "a return of the server answers the URI of an error page too",
        ("error_page 503 /maint; location = /maint {} return 503;",),
        {"/": "503"},
    ),
    Experiment(
        "T29",
        "a named error page is served though the server returns",
        ("error_page 503 @m; return 503; location @m { rewrite ^ /maint break; }",),
        {"/": "503 [r/maint]"},
    ),
    Experiment(
        "T30",
        "an error page of this server with =302 has no Location",
        ("location /a { error_page 404 =302 /y; return 404; } location /y { return 200 Y; }",),
        {"/a": "302 Y"},
    ),
    Experiment(
        "T31",
        "try_files keeps the method and drops the arguments",
        ('location /a { try_files /nx /t; } location /t { return 200 "$request_method $uri?$args"; }',),
        {"POST /a?q": "200 POST /t?"},
    ),
    Experiment(
        "T32",
        "try_files with =200 answers nothing",
        ("try_files /nx =200;",),
        {"/ | Connection: close": "closed"},
    ),
    Experiment(
        "T33",
        "with an alias the name of the location is cut from values with variables",
        ("location /b/ { alias {T}/al/; try_files $uri /b/fb.html?x=$args; }",),
        {"/b/nx": "404", "/b/f.txt": "200 [al/f.txt]"},
    ),
    Experiment(
        "T34",
        "a proxy with a URI gets what try_files set, cut",
        ("location /o1 { try_files /f.txt =404; proxy_pass http://{http0}/V; }",),
        {"/o1/x": "200 http0 GET /Vtxt"},
    ),
    Experiment(
        "T36",
        "a proxy with variables and a URI gets it as it is",
        ("location /v/ { set $t36 {http0}; proxy_pass http://$t36/; }",),
        {"/v/a?q": "200 http0 GET /"},
    ),
    Experiment(
        "T37",
        "after `set $args` a proxy does not get the URI of the client",
        ("location /a { set $args z; proxy_pass http://{http0}; }",),
        {"/a%2f?q": "200 http0 GET /a/?z"},
    ),
    Experiment(
        "T38",
        "lines of one header are joined since 1.23.0",
        ('return 200 "[$http_x_a]";',),
        {"/ | X-A: 0 | X-A: 1": ("200 [0]", "200 [0, 1]")},
    ),
    Experiment(
        "T39",
        "an index is looked up by its own URI",
        ('location = / { index x.html; } location / { return 200 "r$uri"; }',),
        {"/": "200 r/x.html"},
    ),
    Experiment(
        "T40",
        "an error page that redirects is a redirect",
        ("location /a { error_page 404 /t; return 404; } location /t { return 301 /z; }",),
        {"/a | Host: H:9": "301 -> http://h:{P}/z"},
    ),
)

LONG_PREFIX = Experiment(
    "T35",
    "a proxy whose location is longer than what try_files set; 1.22.1 reads past the end of it",
    ("location /longlong { try_files /f.txt =404; proxy_pass http://{http0}/V; }",),
    {"/longlong": "200 http0 GET /V"},
)
