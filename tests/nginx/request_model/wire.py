"""The request line, the URI and the headers (statements 1 to 11)."""

from tests.nginx.request_model.experiment import Experiment

_STATE = 'return 200 "$uri|$args|$request_uri";'
_OPEN = "HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


def _line(method: str, target: bytes) -> bytes:
    """A request whose target is any bytes."""
    return method.encode() + b" " + target + b" " + _OPEN.encode()


WIRE = (
    Experiment(
        "1 methods",
        "a method has capital letters, `_` and `-`",
        ("location / { return 200 $request_method; }",),
        {
            "get /": "400",
            "A1 /": "400",
            "FOO /": "200 FOO",
            "A-B /": "200 A-B",
            "-_ /": "200 -_",
            "OPTIONS /": "200 OPTIONS",
            "CONNECT /": ("405", "400"),
            "TRACE /": "405",
            "HEAD /": "200",
        },
    ),
    Experiment(
        "1 versions",
        "versions of HTTP/1 are served, even unknown ones; 2.0 is 505; what has none gets a body alone",
        ('return 200 "$uri $server_protocol";',),
        {
            "/ HTTP/1.0": "200 / HTTP/1.0",
            "/ HTTP/1.2": "200 / HTTP/1.2",
            "/ HTTP/1.10 | Connection: close": "200 / HTTP/1.10",
            "/ HTTP/2.0": "505",
            "/ HTTP/0.9": "400",
            b"GET / http/1.1\r\nHost: h\r\n\r\n": "400",
            b"GET /\r\n": "/",
            b"POST /\r\n": "",
        },
    ),
    Experiment(
        "1 lines",
        "empty lines before a request, spaces between its words and line feeds alone pass",
        ("return 200 $uri;",),
        {
            b"\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n": "200 /a",
            b"GET  /a  HTTP/1.1\r\nHost: h\r\n\r\n": "200 /a",
            b"GET /a HTTP/1.1\nHost: h\n\n": "200 /a",
        },
    ),
    Experiment(
        "2",
        "a target is a path, or an absolute URI of any scheme with a host of few characters",
        ('return 200 "$uri|$args|$host";',),
        {
            "ftp://o/x": "200 /x||o",
            "HTTP://O.X/q?z": "200 /q|z|o.x",
            "http://o": "200 /||o",
            "http://o:/x": "200 /x||o",
            "http://[::1]:5/x": "200 /x||[::1]",
            "*": "400",
            "?x": "400",
            "x/y": "400",
            "http://h_x/": "400",
            "http://u@h/": "400",
            "http:///x": "400",
            "OPTIONS *": "400",
            "CONNECT h:1": ("400", "405"),
        },
        unknown={"CONNECT h:1": ("", "CONNECT")},
    ),
    Experiment(
        "3",
        "controls, DEL and spaces are 400 in path and arguments; bytes from 80 pass",
        (_STATE,),
        {
            _line("GET", b"/a\x01"): "400",
            _line("GET", b"/a\x7f"): "400",
            _line("GET", b"/a b"): "400",
            _line("GET", b"/a?b\x1f"): "400",
            _line("GET", b"/a?b\x7f"): "400",
            _line("GET", "/aé?é".encode()): "200 /aé|é|/aé?é",
        },
    ),
    Experiment(
        "4",
        "the path is decoded once and made normal; malformed escapes and ways above the root are 400",
        (_STATE,),
        {
            "/a%25%32%66": "200 /a%2f||/a%25%32%66",
            "/a%2Fb": "200 /a/b||/a%2Fb",
            "/a/./b": "200 /a/b||/a/./b",
            "/a/../b": "200 /b||/a/../b",
            "/a/.": "200 /a/||/a/.",
            "/a/..": "200 /||/a/..",
            "/a/b/..?x": "200 /a/|x|/a/b/..?x",
            "/a/.%2e/b": "200 /b||/a/.%2e/b",
            "//a///b": "200 /a/b||//a///b",
            "/a%2f%2fb": "200 /a/b||/a%2f%2fb",
            "/.../x": "200 /.../x||/.../x",
            "/..a/b": "200 /..a/b||/..a/b",
            "/a.%2f": "200 /a./||/a.%2f",
            "/a+b%2B;c\\": "200 /a+b+;c\\||/a+b%2B;c\\",
            "/a;b/..;/x": "200 /a;b/..;/x||/a;b/..;/x",
            "/a%0ab": "200 /a\nb||/a%0ab",
            "/..": "400",
            "/a/../..": "400",
            "/%2e%2e/x": "400",
            "/a%00": "400",
            "/%": "400",
            "/%2": "400",
            "/%zz": "400",
            "/a?%zz%00": "200 /a|%zz%00|/a?%zz%00",
        },
    ),
    Experiment(
        "5",
        "a raw # ends path and arguments, and stays in $request_uri; arguments are from the first ? on",
        (_STATE, "server_name p; location / { proxy_pass http://{http0}; }"),
        {
            "/a#b?c": "200 /a||/a#b?c",
            "/a?b#c": "200 /a|b|/a?b#c",
            "/a??b?c": "200 /a|?b?c|/a??b?c",
            "/a?": "200 /a||/a?",
            "/a/#..": "200 /a/||/a/#..",
            "/a?b#c | Host: p": "200 http0 GET /a?b#c",
            "http://h?z": "200 /|z|?z",
            "http://h/?z": "200 /|z|/?z",
        },
    ),
    Experiment(
        "6",
        "without merge_slashes empty segments stay, and .. takes one",
        (f"merge_slashes off; {_STATE}",),
        {
            "//x": "200 //x||//x",
            "/a//../b": "200 /a/b||/a//../b",
            "/a%2f%2fb": "200 /a//b||/a%2f%2fb",
            "/a//": "200 /a//||/a//",
            "/a//./b": "200 /a//b||/a//./b",
        },
    ),
    Experiment(
        "7",
        "merge_slashes is that of the default server, as is underscores_in_headers before Host",
        (
            "server_name d; merge_slashes off; underscores_in_headers on;",
            'server_name m; return 200 "$uri[$http_a_b]";',
        ),
        {
            "//a | Host: m": "200 //a[]",
            "http://m//a": "200 //a[]",
            b"GET / HTTP/1.1\r\nA_B: 1\r\nHost: m\r\n\r\n": "200 /[1]",
            b"GET / HTTP/1.1\r\nHost: m\r\nA_B: 1\r\n\r\n": "200 /[]",
        },
    ),
    Experiment(
        "8",
        "the type is that of the last extension of $uri as it is in the end, whatever its case",
        ("default_type d/t; location / { return 200; } location /q { rewrite ^ /q.html; return 200 q; }",),
        {
            "/a.html": "200 Content-Type=text/html",
            "/a.HTML": "200 Content-Type=text/html",
            "/a.txt.html": "200 Content-Type=text/html",
            "/a.ht%6dl": "200 Content-Type=text/html",
            "/.html": "200 Content-Type=d/t",
            "/a.txt/": "200 Content-Type=d/t",
            "/a": "200 Content-Type=d/t",
            "/q.txt": "200 q Content-Type=text/html",
        },
        shows=(b"Content-Type",),
    ),
    Experiment(
        "9",
        "headers that are 400: Host that is not there or there twice, lengths and Authorization twice, broken names",
        ("location / { return 200 ok; }",),
        {
            "/ | -Host": "400",
            "http://h/ | -Host": "400",
            "/ HTTP/1.0 | -Host": "200 ok",
            "/ | Host: h | Host: h": "400",
            "/ HTTP/1.0 | Host: h | Host: i": "400",
            "/ | Content-Length: 0 | Content-Length: 0": "400",
            "/ | Authorization: a | Authorization: b": "400",
            "/ | User-Agent: a | User-Agent: b": "200 ok",
            "/ | Content-Length: x": "400",
            "/ | X Y: 1": "400",
            b"GET / HTTP/1.1\r\nHost: h\r\nX\x01: 1\r\n\r\n": "400",
            b"GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n": "400",
            b"GET / HTTP/1.1\r\nHost: h\r\nfoo\r\n\r\n": "200 ok",
            "/ | X: a\tb": "200 ok",
            "/ HTTP/1.0 | Transfer-Encoding: chunked": "400",
            "/ | Transfer-Encoding: chunked | Content-Length: 3": "400",
            "/ | Transfer-Encoding: gzip": "501",
        },
    ),
    Experiment(
        "9 first",
        "these are before a return of the server",
        ("return 200 ok;",),
        {
            "/ | -Host": "400",
            "TRACE /": "405",
            "CONNECT h:1": ("400", "405"),
            "/ | Transfer-Encoding: gzip": "501",
            "/%": "400",
        },
        unknown={"CONNECT h:1": ("", "CONNECT")},
    ),
    Experiment(
        "10",
        "a request line above 8k is 414, a header above 8k or more than 1000 of them 400",
        ("location / { return 200 ok; }",),
        {
            "/" + 9000 * "a": "414",
            "/" + 8000 * "a": "200 ok",
            "/ | X: " + 9000 * "a": "400",
            "/ | " + " | ".join(f"X{number}: 1" for number in range(1001)): "400",
        },
    ),
    Experiment(
        "10 error_page",
        "414 and 494 are the codes for error_page",
        (
            "location = /x.html {} location / { return 200 ok; } error_page 414 =200 /x.html; error_page 494 =200"
            " /f.txt;"
            " location = /f.txt {}",
        ),
        {"/" + 9000 * "a": "200 [r/x.html]", "/ | X: " + 9000 * "a": "200 [r/f.txt]"},
    ),
    Experiment(
        "11",
        "such errors have the error pages of the server that is known by then: the default one until Host",
        ("server_name d; error_page 400 /x.html;", "server_name m; error_page 400 =200 /f.txt;"),
        {
            "/% | Host: m": "400 [r/x.html]",
            "/ | Host: m | Host: m": "200 [r/f.txt]",
            "/ | -Host": "400 [r/x.html]",
            "/ | Host: a/b": "400 [r/x.html]",
            "http://m/ | -Host": "200 [r/f.txt]",
        },
    ),
    Experiment(
        "11 read",
        "of a request line that is refused nothing is known but what stands in $request",
        (
            "error_page 400 =200 /t; location /t { return 200"
            ' "$request_method|$request_uri|$args|$server_protocol|$host"; }'
            " location / { return 200 none; }",
        ),
        {
            "/a%00?x": "200 GET|||HTTP/1.1|",
            "POST /..?x": "200 GET|||HTTP/1.1|",
            "?x": "200 GET||||",
            "/a | -Host": "200 GET|/a||HTTP/1.1|",
            "/a?x | Host: a/b": "200 GET|/a?x||HTTP/1.1|",
            "/a?x | Host: h | X Y: 1": "200 GET|/a?x||HTTP/1.1|h",
        },
    ),
    Experiment(
        "11 known",
        "what is known of a request that is refused: all before the refusal",
        (
            'add_header X "$request_method|$request_uri|$uri|$args|$server_protocol|$host" always; add_header Y'
            " $request always; return 200 ok;",
        ),
        {
            "/a%00?x": "400 X=GET||||HTTP/1.1|",
            "POST /..?x": "400 X=POST||||HTTP/1.1|",
            "POST ?x": "400 X=|||||",
            "get /a?x": "400 X=|||||",
            "/a?x HTTP/2.0": "505 X=|||||",
            "/" + 9000 * "a": "414 X=|||||",
            "/a?x | -Host": "400 X=GET|/a?x|/a|x|HTTP/1.1|",
            "POST /a?x | Host: a/b": "400 X=POST|/a?x|/a|x|HTTP/1.1|",
            "TRACE /a?x": "405 X=TRACE|/a?x|/a|x|HTTP/1.1|h",
            b"GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n": "400 X=|||||",
        },
        shows=(b"X",),
    ),
    Experiment(
        "11 named",
        "a named error page is 500 after a bad URI or a bad request line only",
        ('error_page 400 405 @n; location @n { return 200 "n$uri"; }',),
        {"/%": "500", b"GET\r\n\r\n": "500", "/a | -Host": "400 n/a", "TRACE /a": "405 n/a"},
    ),
)
