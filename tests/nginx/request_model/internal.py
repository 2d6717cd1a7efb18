"""Internal redirects: error_page, try_files, index, X-Accel-Redirect (statements 49 to 57)."""

from tests.nginx.request_model.experiment import Experiment

_STATE = 'return 200 "$request_method|$uri|$args|$status";'

INTERNAL = (
    Experiment(
        "49",
        "an internal redirect sets $uri and $args, keeps $request_uri and what was set, and runs the server's script",
        (
            'set $e49 "${e49}x"; location /a { try_files /nx /t?y=1; } location /b { error_page 404 /t; return 404; }'
            " location /c { set $e49_c c; error_page 404 /t; return 404; }"
            ' location /t { return 200 "$e49|$e49_c|$uri|$document_uri|$args|$request_uri"; }',
        ),
        {
            "/a?q": "200 xx||/t|/t|y=1|/a?q",
            "/b?q": "404 xx||/t|/t||/b?q",
            "/c?q": "404 xx|c|/t|/t||/c?q",
            "/t?q": "200 x||/t|/t|q|/t?q",
        },
    ),
    Experiment(
        "50",
        "a URI page loses method and arguments, a named one keeps them, all else is a redirect",
        (
            "location /a { error_page 404 /t; return 404; } location /b { error_page 404 @n; return 404; }"
            " location /c { error_page 404 http://x/y?$args; return 404; } location /d { error_page 404 =301"
            " http://x/y;"
            " return 404; } location /e { error_page 404 =200 http://x/y; return 404; }"
            " location /g { error_page 404 /t?z=1; return 404; } location /h { error_page 404 /t?z=$arg_q; return"
            " 404; }"
            " location /i { error_page 404 $arg_u; return 404; } location /j { error_page 404 t; return 404; }"
            f" location /t {{ {_STATE} }} location @n {{ {_STATE} }}",
        ),
        {
            "/a?q": "404 GET|/t||404",
            "POST /a?q": "404 GET|/t||404",
            "HEAD /a": "404",
            "/b?q": "404 GET|/b|q|404",
            "POST /b?q": "404 POST|/b|q|404",
            "/c?q": "302 -> http://x/y?q",
            "/d": "301 -> http://x/y",
            "/e": "302 -> http://x/y",
            "/g?q": "404 GET|/t|z=1|404",
            "/h?q=5": "404 GET|/t|z=5|404",
            "/i?u=/t": "404 GET|/t||404",
            "/i?u=foo": "302 -> foo",
            "/i": "302 ->",
            "/j": "302 -> t",
        },
    ),
    Experiment(
        "50 code",
        "=code sets the code, = takes that of the target, none keeps it over 200; an error of the target wins",
        (
            "location /a { error_page 404 =201 /t; return 404; } location /b { error_page 404 = /t; return 404; }"
            " location /c { error_page 404 = /forbidden; return 404; } location /d { error_page 404 /forbidden;"
            " return 404; }"
            " location /e { error_page 404 =500 /t; return 404; } location /g { error_page 404 /moved; return 404; }"
            " location /h { error_page 404 =200 /moved; return 404; } location /i { error_page 404 =204 /t; return"
            " 404; }"
            " location /j { error_page 404 =410 /f.txt; return 404; } location /k { error_page 404 /proxied; return"
            " 404; }"
            " location /l { error_page 404 = /proxied; return 404; } location /m { error_page 404 =302 /t; return"
            " 404; }"
            f" location /t {{ {_STATE} }} location /forbidden {{ return 403; }} location /moved {{ return 301 /z; }}"
            " location /proxied { proxy_pass http://{http0}; } location /f.txt {}",
        ),
        {
            "/a": "201 GET|/t||201",
            "/b": "200 GET|/t||200",
            "/c": "403",
            "/d": "403",
            "/e": "500 GET|/t||500",
            "/g": "301 -> http://h:{P}/z",
            "/h": "301 -> http://h:{P}/z",
            "/i": "204",
            "/j": "410 [r/f.txt]",
            "/k": "404 http0 GET /proxied",
            "/l": "200 http0 GET /proxied",
            "/m": "302 GET|/t||302",
        },
    ),
    Experiment(
        "51",
        "one error page a request without recursive_error_pages; the first of equal codes; a level with any has its"
        " own",
        (
            "error_page 404 /n1; error_page 410 =200 /x.html; location = /x.html {} location = /f.txt {}"
            " location /n1 { error_page 403 /x.html; return 403; }"
            " location /r { recursive_error_pages on; error_page 404 /n2; return 404; }"
            " location /n2 { recursive_error_pages on; error_page 403 =200 /x.html; return 403; }"
            " location /o { error_page 404 =201 /f.txt; error_page 404 =202 /x.html; return 404; }"
            " location /h { error_page 500 /x.html; return 410; } location /g { return 410; }",
        ),
        {
            "/zz": "403",
            "/r": "200 [r/x.html]",
            "/o": "201 [r/f.txt]",
            "/h": "410",
            "/g": "200 [r/x.html]",
        },
    ),
    Experiment(
        "52",
        "an upstream that is not there is 502, which has an error page always",
        (
            "error_page 502 =200 /x.html; location = /x.html {} location / { proxy_pass http://{dead}; }"
            " location /e { error_page 404 /x.html; proxy_pass http://{dead}; }",
        ),
        {"/": "200 [r/x.html]", "/e": "502"},
        given=("/", "/e"),
    ),
    Experiment(
        "52 intercept",
        "a code of an upstream from 300 on has an error page only with proxy_intercept_errors",
        (
            "error_page 404 =200 /x.html; error_page 301 =200 /f.txt; location = /x.html {} location = /f.txt {}"
            " location / { proxy_pass http://{http0}; } location /i { proxy_pass http://{http0};"
            " proxy_intercept_errors on; }",
        ),
        {
            "/1 | X-Answer: 404": "404 http0 GET /1",
            "/i | X-Answer: 404": "200 [r/x.html]",
            "/i | X-Answer: 301": "200 [r/f.txt]",
            "/i | X-Answer: 403": "403 http0 GET /i",
            "/i": "200 http0 GET /i",
        },
        given=("/1 | X-Answer: 404", "/i | X-Answer: 404", "/i | X-Answer: 301", "/i | X-Answer: 403"),
    ),
    Experiment(
        "57",
        "X-Accel-Redirect is followed whatever the status, decoded, with its own arguments, with GET unless HEAD",
        (
            f"location /p {{ proxy_pass http://{{http0}}; }} location /t {{ {_STATE} }} location = /in {{ internal;"
            f" {_STATE} }}"
            f" location @n {{ {_STATE} }} location /r {{ return 301 /zz; }} location /f.txt {{}}"
            " location /ig { proxy_pass http://{http0}; proxy_ignore_headers X-Accel-Redirect; }",
        ),
        {
            "/p?q | X-With: X-Accel-Redirect: /t": "200 GET|/t||200",
            "/p?q | X-With: X-Accel-Redirect: /t?z=1": "200 GET|/t|z=1|200",
            "/p | X-With: X-Accel-Redirect: /in": "200 GET|/in||200",
            "/p | X-With: X-Accel-Redirect: /t%20x%3Fy?q": "200 GET|/t x?y|q|200",
            "/p | X-With: X-Accel-Redirect: /f.txt | X-Answer: 500": "200 [r/f.txt]",
            "POST /p | X-With: X-Accel-Redirect: /t": "200 GET|/t||200",
            "POST /p?q | X-With: X-Accel-Redirect: @n": "200 POST|/p|q|200",
            "/p | X-With: X-Accel-Redirect: /r": "301 -> http://h:{P}/zz",
            "/p | X-With: X-Accel-Redirect: /t/../x": "404",
            "/ig | X-With: X-Accel-Redirect: /t": "200 http0 GET /ig",
        },
        given=tuple(
            f"{method}/p{args} | X-With: X-Accel-Redirect: {target}"
            for method, args, target in (
                ("", "?q", "/t"),
                ("", "?q", "/t?z=1"),
                ("", "", "/in"),
                ("", "", "/t%20x%3Fy?q"),
                ("", "", "/f.txt | X-Answer: 500"),
                ("POST ", "", "/t"),
                ("POST ", "?q", "@n"),
                ("", "", "/r"),
                ("", "", "/t/../x"),
            )
        ),
    ),
    Experiment(
        "53",
        "`x/` is a folder, all else is what is none; a hit sets $uri and stays in the location",
        (
            "location / { try_files $uri $uri.html $uri/ =404; } location /g { try_files /f.txt =404; }"
            " location /h { try_files /d/ =404; } location /i { try_files /d =404; } location /j { try_files f.txt"
            " =404; }"
            " location /k { try_files /d/index.html =404; return 200 no; }"
            " location /m { try_files $arg_u =404; }"
            " location /n/ { proxy_pass http://{http0}; try_files /f.txt =404; }"
            " location /o/ { proxy_pass http://{http0}/U/; try_files /f.txt =404; }"
            ' location /p { try_files "" =404; }',
        ),
        {
            "/f.txt": "200 [r/f.txt]",
            "/x": "200 [r/x.html]",
            "/d": "200 [r/d.html]",
            "/b": "301 -> http://h:{P}/b/",
            "/b/": "200 [r/b/index.html]",
            "/e": "301 -> http://h:{P}/e/",
            "/e/": "403",
            "/nx": "404",
            "/g": "200 [r/f.txt]",
            "/h": "301 -> http://h:{P}/d/",
            "/i": "404",
            "/j": "200 [rf.txt]",
            "/k": "200 no",
            "/m?u=/f.txt": "200 [r/f.txt]",
            "/m?u=/e": "404",
            "/n/a?q": "200 http0 GET /n/a?q",
            "/o/abcd?q": "200 http0 GET /U/txt?q",
        },
    ),
    Experiment(
        "54",
        "the last is a named location, a code, or an internal redirect, whose arguments are its own",
        (
            "location /1 { try_files $uri /t; } location /2 { try_files $uri /t?$args; } location /3 { try_files"
            " $uri =418; }"
            " location /4 { try_files $uri @n; } location /5 { try_files $uri @unknown; } location /6 { try_files"
            " $uri t; }"
            " location /7 { try_files $uri /%74; } location /8 { try_files /nx $arg_u; } location /9 { try_files /nx"
            " =301; }"
            " location /e { error_page 403 =200 /x.html; try_files /nx =403; } location = /x.html {}"
            f' location /q {{ try_files /nx "/t?x=$arg_q&y"; }} location /t {{ {_STATE} }} location @n {{ {_STATE} }}',
        ),
        {
            "/1?a": "200 GET|/t||200",
            "POST /1": "200 POST|/t||200",
            "/2?a": "200 GET|/t|a|200",
            "/3": "418",
            "/4?a": "200 GET|/4|a|200",
            "POST /4": "200 POST|/4||200",
            "/5": "500",
            "/6": "404",
            "/7": "404",
            "/8?u=/t": "200 GET|/t||200",
            "/8?u=t": "404",
            "/9": "301",
            "/e": "200 [r/x.html]",
            "/q?q=1": "200 GET|/t|x=1&y|200",
        },
    ),
    Experiment(
        "55",
        "with an alias the name of the location is cut from values with variables, not from constants",
        (
            "location /a/ { alias {T}/al/; try_files $uri /a/fb.html; } location /b/ { alias {T}/al/; try_files $uri"
            " =404; }"
            " location /c/ { alias {T}/al/; try_files $uri $uri/ =404; } location /d1/ { alias {T}/al/; try_files"
            " /d1/f.txt"
            " =404; } location /e1/ { alias {T}/al/; try_files f.txt =404; } location ~ ^/r/(.*)$ { alias {T}/al/$1;"
            ' try_files "" =404; } location ~ ^/s/(.*)$ { alias {T}/al; try_files /$1 =404; }'
            " location ~ ^/u/(.*)$ { alias {T}/al/$1; try_files $uri =404; } location / { return 200"
            ' "root:$uri|$args"; }'
            " location /g/ { alias {T}/al/; try_files $uri /g/$arg_u; }",
        ),
        {
            "/a/f.txt": "200 [al/f.txt]",
            "/a/nx": "200 [al/fb.html]",
            "/b/f.txt": "200 [al/f.txt]",
            "/b/nx": "404",
            "/c/sub/": "200 [al/sub/index.html]",
            "/c/sub": "301 -> http://h:{P}/c/sub/",
            "/c/": "200 [al/index.html]",
            "/d1/x": "404",
            "/e1/x": "200 [al/f.txt]",
            "/r/f.txt": "200 [al/f.txt]",
            "/r/nx": "404",
            "/s/f.txt": "200 [al/f.txt]",
            "/u/f.txt": "404",
            "/g/nx?u=f.txt": "200 [rf.txt]",
        },
        unknown={"/r/f.txt": "the URI is empty"},
    ),
    Experiment(
        "56",
        "an index that exists is looked up anew; one with a slash in front is not tested",
        (
            "location /b/ {} location /e/ {} location /i1/ { root {T}/r; index nx /t; } location /p/ { index"
            " index.php; }"
            f" location ~ \\.php$ {{ {_STATE} }} location /d/ {{ index nx g.txt index.html; }} location = /z/"
            " { index only.$arg_e; } location /al/ { alias {T}/al/; } location /al2 { alias {T}/al/; }"
            " location /au/ { autoindex on; alias {T}/r/e/; } location /nodir/ { autoindex on; }"
            f" location /dir/ {{ index /t?x; }} location /t {{ {_STATE} }}",
        ),
        {
            "/b/?q": "200 [r/b/index.html]",
            "POST /b/": "405",
            "PUT /b/": "405",
            "/e/": "403",
            "/d/": "200 [r/d/g.txt]",
            "/p/?a=b": "200 GET|/p/index.php|a=b|200",
            "POST /p/": "200 POST|/p/index.php||200",
            "/i1/": "404",
            "/z/?e=txt": "200 [r/z/only.txt]",
            "/z/?e=no": "403",
            "/al/?q": "200 [al/index.html]",
            "/al/sub/": "200 [al/sub/index.html]",
            "/al2/": "200 [al/index.html]",
            "/al2": "301 -> http://h:{P}/al2/",
            "/al2/f.txt": "200 [al/f.txt]",
            "/nodir/": "404",
            "/au/": "200",
            "POST /au/": "403",
        },
    ),
)
