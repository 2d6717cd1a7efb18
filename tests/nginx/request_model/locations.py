"""How a location is found (statements 30 to 37)."""

from tests.nginx.request_model.experiment import Experiment

LOCATIONS = (
    Experiment(
        "30",
        "an exact location at once; else the longest prefix, and the regular expressions unless it is ^~",
        (
            "location / { return 200 root; } location /a { return 200 prefix; } location = /a { return 200 exact; }"
            r" location ^~ /a/s { return 200 first; } location ~ \.t$ { return 200 regex; }"
            r" location ~* \.PNG$ { return 200 caseless; }",
        ),
        {
            "/a": "200 exact",
            "/a?x": "200 exact",
            "/ab": "200 prefix",
            "/a/s/q.t": "200 first",
            "/a/q.t": "200 regex",
            "/A": "200 root",
            "/q.png": "200 caseless",
            "/x.t/": "200 root",
            "/%61": "200 exact",
        },
    ),
    Experiment(
        "30 nested",
        "the search goes into the longest prefix; a regular expression there is before those beside it",
        (
            r"location /a/ { return 200 A; location /a/b/ { return 200 B; location ~ n$ { return 200 Bn; } }"
            r" location ^~ /a/c/ { return 200 C; } location ~ i$ { return 200 Ai; } }"
            r" location ~ (n|i|o)$ { return 200 out; } location ^~ /z/ { return 200 Z; location ~ i$ { return 200 Zi; }"
            r" location /z/y/ { return 200 Zy; } }",
        ),
        {
            "/a/x": "200 A",
            "/a/b/x": "200 B",
            "/a/b/n": "200 Bn",
            "/a/b/i": "200 Ai",
            "/a/c/i": "200 out",
            "/a/c/x": "200 C",
            "/a/c/o": "200 out",
            "/a/o": "200 out",
            "/z/i": "200 Zi",
            "/z/o": "200 Z",
            "/z/y/o": "200 Zy",
            "/z/y/i": "200 Zi",
        },
    ),
    Experiment(
        "30 exact",
        "an exact location in a prefix location ends the search; one beside a longer prefix does not count in it",
        (
            "location /a/ { return 200 p; location = /a/ { return 200 exact; } location ~ ^/a/$ { return 200 in; } }"
            " location ~ ^/a/$ { return 200 out; }",
        ),
        {"/a/": "200 exact", "/a/b": "200 p"},
    ),
    Experiment(
        "30 order",
        "of regular expressions the first that matches, in the order of reading",
        ("location ~ x { return 200 1; } location ~* X { return 200 2; } location ~ ^/x$ { return 200 3; }",),
        {"/x": "200 1", "/X": "200 2"},
    ),
    Experiment(
        "30 newline",
        "a dot does not match a line feed, and $ matches before a last one",
        ("location ~ ^/a.b$ { return 200 dot; } location / { return 200 no; }",),
        {"/a%0ab": "200 no", "/axb%0a": "200 dot", "/axb": "200 dot", "/axb%0a%0a": "200 no"},
    ),
    Experiment(
        "30 limit",
        "a regular expression of a location on which PCRE gives up is 500",
        ("location ~ ^/q(b+)+$ { return 200 q; }",),
        {"/qbb": "200 q", "/q" + 40 * "b" + "!": "500"},
        unknown={"/q" + 40 * "b" + "!": "PCRE"},
    ),
    Experiment(
        "31",
        "once a regex location has matched only regex locations in it count",
        (
            "location ~ ^/a { return 200 A; location ~ b { return 200 Ab; } location ~ c { return 200 Ac; } }"
            " location ~ b { return 200 B; } location ^~ /q { return 200 Q; }",
        ),
        {"/ax": "200 A", "/ab": "200 Ab", "/acb": "200 Ab", "/ac": "200 Ac", "/xb": "200 B", "/qb": "200 Q"},
    ),
    Experiment(
        "31 dead",
        "a regex location in a prefix location has no prefix locations that live",
        (
            "location /z { return 200 z; location ~ /z { return 200 regex; location /z/q { return 200 dead; }"
            " location ~ /z/r { return 200 live; } } }",
        ),
        {"/z/q": "200 regex", "/z/r": "200 live"},
    ),
    Experiment(
        "32",
        "a location of a proxy that ends with a slash answers without it by a redirect, before all but `internal`",
        (
            "location /a/ { proxy_pass http://{http0}; } location ~ ^/a { return 200 re; }"
            ' location "/s p/" { proxy_pass http://{http0}; } location /f/ { fastcgi_pass {fastcgi0}; }'
            " location /u/ { uwsgi_pass {uwsgi0}; } location /s/ { scgi_pass {scgi0}; }"
            " location /g/ { grpc_pass {http0}; } location /m/ { set $memcached_key 1; memcached_pass {http0}; }"
            " location /v/ { set $e32 {http0}; proxy_pass http://$e32; } location /d/ { deny all; proxy_pass"
            " http://{http0}; }"
            " location /r/ { return 200 rw; proxy_pass http://{http0}; } location / { return 200 root; }"
            " location ^~ /i/ { internal; proxy_pass http://{http0}; }"
            " location /l/ { limit_except GET { deny all; } proxy_pass http://{http0}; }",
        ),
        {
            "/a": "301 -> http://h:{P}/a/",
            "/a?q=1": "301 -> http://h:{P}/a/?q=1",
            "POST /a": "301 -> http://h:{P}/a/",
            "/%61": "301 -> http://h:{P}/a/",
            "/s%20p": "301 -> http://h:{P}/s%20p/",
            "/f": "301 -> http://h:{P}/f/",
            "/u": "301 -> http://h:{P}/u/",
            "/s": "301 -> http://h:{P}/s/",
            "/g": "301 -> http://h:{P}/g/",
            "/m": "301 -> http://h:{P}/m/",
            "/v": "301 -> http://h:{P}/v/",
            "/d": "301 -> http://h:{P}/d/",
            "/r": "301 -> http://h:{P}/r/",
            "/i": "404",
            "/l": "301 -> http://h:{P}/l/",
            "POST /l": "301 -> http://h:{P}/l/",
        },
    ),
    Experiment(
        "32 not",
        "not where the name is a location too, where proxy_pass is in an `if`, or without a handler of these",
        (
            "location /n/ { return 200 n; } location /i/ { if ($arg_x) { proxy_pass http://{http0}; } return 200 i; }"
            " location /m/ { proxy_pass http://{http0}; } location /m { return 200 m; } location = /k { return 200 k; }"
            " location /k/ { proxy_pass http://{http0}; } location /e/ { empty_gif; } location / { return 200 root; }",
        ),
        {"/n": "200 root", "/i": "200 root", "/m": "200 m", "/k": "200 k", "/e": "200 root"},
    ),
    Experiment(
        "32 nested",
        "a nested location does so too, and not in a regex location",
        (
            "location / { return 200 root; location /a/ { proxy_pass http://{http0}; } } location ~ ^/a$ { return"
            " 200 re; }"
            " location ~ /b { return 200 b; location /b/ { proxy_pass http://{http0}; } }",
        ),
        {"/a": "301 -> http://h:{P}/a/", "/b": "200 b", "/q": "200 root"},
    ),
    Experiment(
        "32 relative",
        "it is as absolute as other redirects",
        ("absolute_redirect off; location /a/ { proxy_pass http://{http0}; }",),
        {"/a": "301 -> /a/", "/a?b": "301 -> /a/?b"},
    ),
    Experiment(
        "33",
        "names are compared with the decoded URI",
        (
            'location "/x y" { return 200 space; } location /%20z { return 200 escape; } location /é { return 200 e; }'
            " location /Abc { return 200 Abc; } location / { return 200 root; }",
        ),
        {
            "/x%20y": "200 space",
            "/%20z": "200 root",
            "/%2520z": "200 escape",
            "/%c3%a9": "200 e",
            "/abc": "200 root",
            "/Abc": "200 Abc",
        },
    ),
    Experiment(
        "34",
        "a location without a slash in front takes a URI without one",
        ('location foo { return 200 "foo:$uri"; } location / { rewrite ^/go/(.*)$ $1 last; return 200 "root:$uri"; }',),
        {"/go/foobar": "200 foo:foobar", "/go/x": "404", "/x": "200 root:/x"},
    ),
    Experiment(
        "35",
        "internal is for clients only: a rewrite, an error page and try_files open it",
        (
            "location /i { internal; return 200 i; } location /r { rewrite ^ /i; } location /l { rewrite ^ /i last; }"
            " location /b { rewrite ^ /i break; return 200 b; } location /e { error_page 404 /i; return 404; }"
            " location /t { try_files /nx /i; } location / { internal; } error_page 404 =200 /f.txt;"
            " location = /f.txt {}",
        ),
        {
            "/i": "200 [r/f.txt]",
            "/r": "200 i",
            "/l": "200 i",
            "/b": "200 [r/f.txt]",
            "/e": "404 i",
            "/t": "200 i",
            "/zz": "200 [r/f.txt]",
        },
    ),
    Experiment(
        "35 nested",
        "internal is inherited by the locations in a location",
        (
            "location /a { internal; location /a/b { return 200 b; location ~ c { return 200 c; } } }"
            " location /d { location /d/e { internal; } return 200 d; } location /r { rewrite ^ /a/b last; }",
        ),
        {"/a/b": "404", "/a/b/c": "404", "/d": "200 d", "/d/e": "404", "/r": "200 b"},
    ),
    Experiment(
        "36",
        "a named location keeps URI, arguments, method and captures; an unknown one is 500",
        (
            'location ~ ^/a(.*)$ { error_page 404 = @n; return 404; } location @n { return 200 "$request_method'
            ' $uri?$args[$1]"; }'
            " location /b { error_page 404 = @unknown; return 404; } location /c { try_files /nx @nested; }"
            " location @nested { try_files /nx @last; } location @last { return 200 last; }"
            " location /k { error_page 404 @static; return 404; } location @static {}",
        ),
        {
            "POST /a/1?q": "200 POST /a/1?q[/1]",
            "/b": "500",
            "/c": "200 last",
            "/k": "404",
            "/@n": "404",
        },
    ),
    Experiment(
        "37",
        "without a location the settings of the server serve, and only then its try_files",
        ("try_files /f.txt =404; location /g {}", "server_name n; location = /x { return 200 x; }"),
        {
            "/zz": "200 [r/f.txt]",
            "/g": "404",
            "/x | Host: n": "200 x",
            "/f.txt | Host: n": "200 [r/f.txt]",
            "/d | Host: n": "301 -> http://n:{P}/d/",
            "/d/ | Host: n": "200 [r/d/index.html]",
        },
    ),
    Experiment(
        "positive lookaheads",
        "PCREs agree on a lookahead behind the start of a pattern, and the model on what they match",
        (
            "location ~ ^/(?=.*x)(?=.*y)([a-z]+)$ { return 200 [$1]; }"
            " location /u { if ($uri ~ /(?=q)(.)) { return 200 $1; } return 200 none; }"
            " location / { if ($uri ~ ^/a(?=b|c)(.)) { return 200 $1; }"
            " rewrite ^/(?!z)(?=..?$)(.*) /r/$1; return 200 $uri; }",
        ),
        {
            "/axyb": "200 [axyb]",
            "/ayb": "200 /ayb",
            "/ab": "200 b",
            "/az": "200 /r/az",
            "/zz": "200 /zz",
            "/u/q": "200 q",
        },
        unknown={"/u/q": "versions of PCRE differ on /(?=q)(.)"},
    ),
)
