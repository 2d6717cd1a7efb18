"""The phases, access and limit_except (statements 23 to 29)."""

from tests.nginx.request_model.experiment import Experiment

_FILE = "try_files /f.txt =404;"
_BASIC = "auth_basic r; auth_basic_user_file {T}/users;"
_AUTHORIZED = " | Authorization: Basic dTpw"
USERS = "u:{PLAIN}p\n"
"""The file of users."""

PHASES = (
    Experiment(
        "24",
        "a server's return is before `internal` and the missing slash, a location's after them",
        (
            "if ($arg_s) { return 200 server; } location /i { internal; return 200 i; }"
            " location /p/ { return 200 script; proxy_pass http://{http0}; }",
        ),
        {
            "/i?s=1": "200 server",
            "/i": "404",
            "/p?s=1": "200 server",
            "/p": "301 -> http://h:{P}/p/",
            "/p/": "200 script",
        },
    ),
    Experiment(
        "24 body",
        "a body that is too large is 413 before the missing slash, and before the script of a location",
        (
            "location /p/ { client_max_body_size 1; proxy_pass http://{http0}; } location /r { client_max_body_size 1;"
            " return 200 r; } location /i { internal; client_max_body_size 1; }",
        ),
        {
            b"POST /r HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n123456789": "413",
            b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n123456789": "413",
            b"POST /i HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n123456789": "404",
            b"POST /r HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n1": "200 r",
        },
    ),
    Experiment(
        "24 limit",
        "limit_req is before deny",
        ("location / { limit_req zone=e24; deny all; }",),
        {"/a": "403", "/b": "503"},
        http="limit_req_zone $server_port zone=e24:1m rate=1r/m;",
        given=("/a", "/b"),
    ),
    Experiment(
        "25",
        "the first allow or deny that matches; any at a level replaces those outside",
        (
            f"deny all; location /a {{ allow 127.0.0.1; deny all; {_FILE} }} location /b {{ deny all; allow all;"
            f" {_FILE} }}"
            f" location /c {{ allow 1.1.1.1; {_FILE} }} location /d {{ {_FILE} }} location /e {{ deny 127.0.0.0/9;"
            f" {_FILE} }}"
            f" location /g {{ allow 127.0.0.0/30; deny all; {_FILE} }}",
        ),
        {
            "/a": "200 [r/f.txt]",
            "/b": "403",
            "/c": "200 [r/f.txt]",
            "/d": "403",
            "/e": "403",
            "/g": "200 [r/f.txt]",
        },
    ),
    Experiment(
        "23 realip",
        "the address that a trusted proxy names is read before the script of the server, and again in a location",
        (
            "set_real_ip_from 127.0.0.1; location / { allow 9.9.9.9; deny all; try_files /f.txt =404; }"
            " location /v { return 200 $remote_addr; }",
            "server_name l; location / { set_real_ip_from 127.0.0.1; allow 9.9.9.9; deny all; try_files /f.txt =404; }",
        ),
        {
            "/ | X-Real-IP: 9.9.9.9": "200 [r/f.txt]",
            "/ | X-Real-IP: 8.8.8.8": "403",
            "/": "403",
            "/v | X-Real-IP: 9.9.9.9": "200 9.9.9.9",
            "/v": "200 127.0.0.1",
            "/ | Host: l | X-Real-IP: 9.9.9.9": "200 [r/f.txt]",
            "/ | Host: l": "403",
        },
    ),
    Experiment(
        "25 satisfy",
        "all: deny answers before a password; any: the first that is content, else 401 if one said so, else 403",
        (
            f"location /all {{ {_BASIC} deny all; {_FILE} }} location /any {{ satisfy any; {_BASIC} deny all;"
            f" {_FILE} }}"
            f" location /either {{ satisfy any; {_BASIC} allow 127.0.0.1; deny all; {_FILE} }}"
            f" location /one {{ satisfy any; {_BASIC} {_FILE} }} location /open {{ auth_basic r; {_FILE} }}"
            f" location /lost {{ auth_basic r; auth_basic_user_file {{T}}/nowhere; {_FILE} }}"
            f" location /dir {{ auth_basic r; auth_basic_user_file {{T}}/r; {_FILE} }}"
            f" location /none {{ satisfy any; deny all; {_FILE} }}"
            f" location /other {{ satisfy any; allow 1.2.3.4; {_FILE} }}",
        ),
        {
            "/all": "403",
            "/all" + _AUTHORIZED: "403",
            "/open": "200 [r/f.txt]",
            "/lost": "401",
            "/lost" + _AUTHORIZED: "403",
            "/lost | Authorization: Bearer dTpw": "401",
            "/lost | Authorization: basic   dTpw=": "403",
            "/lost | Authorization: Basic dXA=": "401",
            "/lost | Authorization: Basic OnA=": "401",
            "/lost | Authorization: Basic d": "401",
            "/dir" + _AUTHORIZED: "500",
            "/any": "401",
            "/any" + _AUTHORIZED: "200 [r/f.txt]",
            "/either": "200 [r/f.txt]",
            "/one": "401",
            "/one" + _AUTHORIZED: "200 [r/f.txt]",
            "/none": "403",
            "/other": "200 [r/f.txt]",
        },
        unknown={
            "/any" + _AUTHORIZED: "password",
            "/one" + _AUTHORIZED: "password",
        },
    ),
    Experiment(
        "26",
        "auth_request: 2xx passes, 401 and 403 are kept, all else is 500",
        (
            f"location /yes {{ auth_request /s/204; {_FILE} }} location /who {{ auth_request /s/401; {_FILE} }}"
            f" location /no {{ auth_request /s/403; {_FILE} }} location /moved {{ auth_request /s/302; {_FILE} }}"
            f" location /lost {{ auth_request /s/404; {_FILE} }} location /named {{ auth_request @s; {_FILE} }}"
            " location /s/204 { return 204; } location /s/401 { return 401; } location /s/403 { return 403; }"
            " location /s/302 { return 302 /x; } location /s/404 { return 404; } location @s { return 204; }",
        ),
        {
            "/yes": "200 [r/f.txt]",
            "/who": "401",
            "/no": "403",
            "/moved": "500",
            "/lost": "500",
            "/named": "500",
        },
    ),
    Experiment(
        "26 method",
        "a subrequest has the method GET, but its $request_method is that of the request",
        (
            "location /a { auth_request /s; try_files /f.txt =404; error_page 405 =200 /x.html; }"
            " location /s { if ($request_method = POST) { return 403; } return 204; }"
            " location /b { auth_request /g; proxy_pass http://{http0}; } location = /g { limit_except GET { deny"
            " all; }"
            " return 204; } location = /x.html {}",
        ),
        {"/a": "200 [r/f.txt]", "POST /a": "403", "PUT /a": "200 [r/x.html]", "POST /b": "200 http0 POST /b"},
    ),
    Experiment(
        "26 headers",
        "a subrequest computes no headers, so that variables do not keep its values",
        (
            'add_header X "$e26" always; location / { auth_request /s; try_files /f.txt =404; } location /s { return'
            " 404; }"
            " location /t { auth_request /u; try_files /f.txt =404; } location /u { if ($e26) { return 204; } }",
        ),
        {"/a": "500 X=a", "/s": "404 X=s", "/ta": "200 [r/f.txt] X=u"},
        http="map $uri $e26 { ~^/(.) $1; }",
        shows=(b"X",),
    ),
    Experiment(
        "27",
        "internal redirects and named jumps check access again, by the new location",
        (
            f"location /open {{ try_files /nx /closed; }} location /closed {{ deny all; }}"
            f" location /page {{ error_page 404 /closed; return 404; }} location /named {{ try_files /nx @n; }}"
            f" location @n {{ deny all; {_FILE} }} location /d/ {{ index x.html; }} location /d/x.html {{ deny all; }}"
            f" location = /q {{ index f.txt; alias {{T}}/r/a/; }}",
        ),
        {"/open": "403", "/page": "403", "/named": "403", "/d/": "403"},
    ),
    Experiment(
        "28",
        "limit_except takes effect before the script: what is in force there has no script and no try_files",
        (
            "location /r { limit_except GET { deny all; } return 200 x; } location /t { limit_except GET { allow all; }"
            f" {_FILE} }} location /p {{ limit_except GET {{ allow all; }} proxy_pass http://{{http0}}; rewrite ^"
            f" /zz break; }}"
            " location /o { limit_except POST { allow all; } return 200 o; }"
            " location /e { error_page 403 =200 /x.html; limit_except GET { deny all; } return 200 e; } location ="
            " /x.html {}",
        ),
        {
            "/r": "200 x",
            "HEAD /r": "200",
            "POST /r": "403",
            "FOO /r": "403",
            "/t": "200 [r/f.txt]",
            "POST /t": "404",
            "/p/1": "200 http0 GET /zz",
            "POST /p/1": "200 http0 POST /p/1",
            "/o": "404",
            "POST /o": "200 o",
            "HEAD /o": "404",
            "POST /e": "200 [r/x.html]",
        },
    ),
    Experiment(
        "29",
        "a handler excludes index and static files, the last written wins; without one all decline",
        (
            "location /g { empty_gif; proxy_pass http://{http0}; } location /h { proxy_pass http://{http0};"
            " fastcgi_pass"
            " {fastcgi0}; fastcgi_param A b; } location /d/ { proxy_pass http://{http0}; index index.html; }"
            " location /e/ {}",
        ),
        {
            "/g": "200 http0 GET /g",
            "/h": "200 fastcgi0 A=b",
            "/d/": "200 http0 GET /d/",
            "/e/": "403",
            "/nodir/": "404",
            "/nx": "404",
        },
    ),
)
