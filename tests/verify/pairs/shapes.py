"""Pairs of servers that are written in another shape: those that answer alike, and those that only look so."""

from __future__ import annotations

from tests.verify.pairs.pair import Pair

_UPSTREAM = (
    "upstream u {{ server 127.0.0.1:{{U}}{}; }} server {{ listen 127.0.0.1:{{P}}; server_name h;"
    " location / {{ {} proxy_pass {}://u; }} }}"
)
_ADDRESS = "server {{ listen 127.0.0.1:{{P}}; server_name h; location / {{ {} proxy_pass {}://127.0.0.1:{{U}}; }} }}"
_STATED = "proxy_set_header Host $host; proxy_redirect off;"
_HOST_NAMED = "upstream localhost { server localhost:{U}; } "
_CROSSED = "upstream u { server localhost:{U}; } upstream localhost { server 127.0.0.1:{U}; server 127.0.0.2:{U}; } "
_NOBODY = "server {{ listen 127.0.0.1:{{P}}; server_name {}; return 404; }} "
_NAMED = "server {{ listen 127.0.0.1:{{P}}; server_name {}; {} }} "
_TO_A = "return 301 https://a.test$request_uri;"


def _passed(locations: str) -> str:
    return f"server {{ listen 127.0.0.1:{{P}}; server_name h; {_STATED} {locations} }}"


def _servers(nobody: str, *named: tuple[str, str]) -> str:
    return _NOBODY.format(nobody) + "".join(_NAMED.format(*each) for each in named)


_LOOKED_UP = 'if ($k = $uri) {{ rewrite ^ "$t?$v" redirect; }} if ({}) {{ rewrite "^[^A-Z]*\\z" "{}" permanent; }} '
_MAPS = (
    "map $uri $k {{ volatile; /B /B; }} map $uri $t {{ VOLATILE default ''; /B /y; }} map $uri $v {{ VOLATILE /B z; }}"
    " map $uri $to {{ VOLATILE default ''; /a /x; \"/a\\n\" /x; }}"
    " {} server {{ listen 127.0.0.1:{{P}}; server_name h; {} {} }}"
)
_OWN = ("$to", "$to")


def _kept(name: str, around: str, http: str = "", form: tuple[str, str] = _OWN, maps: str = _MAPS) -> Pair:
    """Maps of targets that are volatile on one side only."""
    text = maps.format(http, _LOOKED_UP.format(*form), around)
    return Pair(name, text.replace("VOLATILE", "volatile;"), text.replace("VOLATILE ", ""))


_LINE = 'set $l $uri; if ($l ~ "\\n\\z") {{ set $l $cut; }} '
_CLASSES = (
    'map $uri $cut {{ volatile; "~(?s)^(?<r>.*)\\n\\z" $r; }} map $l $k {{ volatile; /a /a; /b /b; }}'
    " map $l $c {{ volatile; default 1; /b 2; }} map $l $t {{ VOLATILE default ''; /a /x; /b y; }}"
    " {} server {{ listen 127.0.0.1:{{P}}; server_name h; " + 'set $h ""; ' + _LINE + "if ($k = $l) {{ set $h $c; }} "
    'if ($h = 1) {{ rewrite ^ "$t" permanent; }} if ($h = 2) {{ rewrite ^ "https://$host/$t" redirect; }} {} }}'
)


def _classes(name: str, around: str, change: tuple[str, str] = ("", "")) -> Pair:
    """The same for targets behind numbers, which are looked up without the newline at the end of a URI."""
    text = _CLASSES.replace(*change).format("", around)
    return Pair(name, text.replace("VOLATILE", "volatile;"), text.replace("VOLATILE ", ""))


_SHOWN = "location /b {{ return 200 [$args|$is_args|$request_uri|$arg_x]; }}"
_FALLBACKS = {
    "a fallback": f"try_files /nx /b{{}}; {_SHOWN}",
    "a fallback to a pass": "try_files /nx /b{}; location /b {{ proxy_pass http://127.0.0.1:{{U}}; }}",
    "the page of an error": f"error_page 404 /b{{}}; location /a {{{{ return 404; }}}} {_SHOWN}",
}

LIKE = (
    _classes("targets behind numbers", "root {T}/r; error_page 404 /e;"),
    _kept("targets that nginx keeps", "root {T}/none;"),
    _kept("targets beside an index", "root {T}/r; index f.txt index.html;"),
    _kept("targets beside the fall-back of files", "root {T}/r; location / { try_files $uri $uri/ =404; }"),
    _kept("captures of others", "location ~ ^/(c) { return 200 $1; } if ($arg_x ~ (.)) { return 200 $1; }"),
    _kept("a target that is read once", "add_header X [$1];", form=("$to ~ (?s)^(?<rest>.+)", "$rest")),
    _kept("a target of words", "rewrite ^/c/(d|e)$ /f/$1 permanent;"),
    Pair(
        "words as keys",
        "rewrite ^/c/(d|e)\\z /f/$1 permanent;",
        "map $uri $to { volatile; /c/d /f/d; /c/e /f/e; } server { listen 127.0.0.1:{P}; server_name h; root {T}/none;"
        ' if ($to) { rewrite "^[^A-Z]*\\z" "$to" permanent; } }',
    ),
    Pair(
        "captures of a pattern without groups",
        "rewrite ^/a /x permanent; add_header X $1;",
        "rewrite ^(?:/a) /x permanent; add_header X $1;",
    ),
    Pair(
        "a group that the pattern does not have", r"rewrite ^/a\.b$ /x$1 permanent;", r"rewrite ^/a\.b$ /x permanent;"
    ),
    Pair(
        "redirects beside a server of other hosts",
        _servers("_", ("a.test", _TO_A), ("b.test", "return 301 https://b.test$request_uri;")),
        _servers("_", ("a.test b.test", "return 301 https://$host$request_uri;")),
    ),
    Pair(
        "a server for a host that was redirected",
        _servers('""', ("a.test b.test", f"if ($host = b.test) {{ {_TO_A} }} location / {{ return 204; }}")),
        _servers('""', ("a.test", "location / { return 204; }"), ("b.test", _TO_A)),
    ),
    Pair(
        "locations that no request reaches",
        _servers('""', ("a.test", "rewrite ^/a /b; return 404; location / { return 200 a; }")),
        _servers('""', ("a.test", "rewrite ^/a /b; return 404; location / { return 200 b; }")),
    ),
    Pair(
        "a group of a location",
        "location ~ ^/a/(?<f>.*)$ { return 200 [$f]; }",
        "location ~ ^/a/(.*)$ { return 200 [$1]; }",
    ),
    Pair(
        "other names of groups",
        "location ~ ^/(?<d>a|b)/(?P<f>.+)$ { alias {T}/r/$d/${f}x; }",
        "location ~ ^/(?'g'a|b)/(.+)$ { alias {T}/r/$g/$2x; }",
    ),
    Pair(
        "a group beside others",
        "location ~ ^/(?:a|b)/([(])(?<f>x) { return 200 $f; }",
        "location ~ ^/(?:a|b)/([(])(x) { return 200 $2; }",
    ),
    Pair("a group of a rewrite", "rewrite ^/a/(?<f>.*)$ /x/$f last;", "rewrite ^/a/(.*)$ /x/$1 last;"),
    Pair(
        "a group of a condition",
        "if ($uri ~ ^/a/(?<f>.*)$) { return 301 /b/$f; }",
        "if ($uri ~ ^/a/(.*)$) { return 301 /b/$1; }",
    ),
    Pair(
        "an alias of a folder",
        "root {T}/s; location /a/ { alias {T}/r/a/; }",
        "root {T}/s; location /a/ { root {T}/r; }",
    ),
    Pair(
        "an alias without a slash",
        "root {T}/s; location ^~ /a { alias {T}/r/a; }",
        "root {T}/s; location ^~ /a { root {T}/r; }",
    ),
    Pair(
        "an alias of a file",
        "root {T}/s; location = /a/f.txt { alias {T}/r/a/f.txt; }",
        "root {T}/s; location = /a/f.txt { root {T}/r; }",
    ),
    Pair(
        "an upstream with a socket",
        "upstream u { server unix:{T}/s; } server { listen 127.0.0.1:{P}; server_name h;"
        " location / { fastcgi_pass u; fastcgi_param A a; } }",
        "server { listen 127.0.0.1:{P}; server_name h; location / { fastcgi_pass unix:{T}/s; fastcgi_param A a; } }",
    ),
    Pair("an upstream", _UPSTREAM.format("", _STATED, "http"), _ADDRESS.format(_STATED, "http")),
    Pair(
        "an upstream with the name of its host",
        _HOST_NAMED + _passed("location / { proxy_pass http://localhost; }"),
        _passed("location / { proxy_pass http://localhost:{U}; }"),
    ),
    Pair(
        "an alias beside such an upstream",
        _HOST_NAMED + _passed("location / { proxy_pass http://localhost; } location /a/ { alias {T}/r/a/; }"),
        _HOST_NAMED + _passed("location / { proxy_pass http://localhost; } location /a/ { root {T}/r; }"),
    ),
    Pair(
        "an alias beside an upstream with the name of another one's host",
        _CROSSED + _passed("location / { proxy_pass http://u; } location /a/ { alias {T}/r/a/; }"),
        _CROSSED + _passed("location / { proxy_pass http://u; } location /a/ { root {T}/r; }"),
    ),
    Pair("an upstream with defaults", _UPSTREAM.format(" weight=1", _STATED, "http"), _ADDRESS.format(_STATED, "http")),
    *(
        Pair(f"arguments behind {name}", text.format("?$args"), text.format("$is_args$args"))
        for name, text in _FALLBACKS.items()
    ),
    Pair(
        "arguments by another name",
        _FALLBACKS["a fallback"].format("?${query_string}"),
        _FALLBACKS["a fallback"].format("?$args"),
    ),
)

UNLIKE = (
    Pair(
        "a group that the pattern has", "rewrite ^/a(?:b|(c))$ /x$1 permanent;", "rewrite ^/a(?:b|(c))$ /x permanent;"
    ),
    *(
        _kept(f"targets and {name}", around)
        for name, around in (
            ("an error page that is a key", "error_page 404 /a; location / { return 404; }"),
            ("an error page that is a key of a guard", "error_page 404 /b; location / { return 404; }"),
            ("an error page behind another spelling", "error_page 404 /e; location / { return 404; }"),
            ("an error page of a redirect", "error_page 301 /e; location / { return 404; }"),
            ("an error page that may be any", "error_page 404 /$arg_x; location / { return 404; }"),
            ("a fall-back that is a key", "location / { try_files $uri /a; }"),
            ("an index that is a key", "index B; location / { root {T}/r; }"),
            ("a response that leads on", "location / { proxy_pass http://127.0.0.1:{U}; }"),
            ("a subrequest", "auth_request /c; location = /c { return 204; }"),
            ("a header with a target", "add_header X $to;"),
            ("a variable with a target", "set $s $to;"),
            ("another condition", "if ($to = x) { return 404; }"),
            ("a rewrite without a flag", "rewrite ^/c(.*)$ $1;"),
            ("a URI that changes before an index", "location /c/ { rewrite ^ /d/ last; }"),
            ("captures that stay", "add_header X [$1];"),
        )
    ),
    *(
        _classes(f"numbers {name}", "error_page 404 /e; location / { return 404; }", change)
        for name, change in (
            ("that a key has", ("map $l $k {{", "map $l $k {{ /e /e;")),
            ("that stay", ('set $h ""; ', "")),
            ("that others set", ("if ($k = $l)", "if ($arg_x) {{ set $h 1; }} if ($k = $l)")),
            ("of any request", ("if ($h = 1)", 'if ($h = "")')),
            ("of another line", ("set $l $uri;", "set $l $uri$arg_x;")),
            (
                "of a line that is set later",
                (_LINE + "if ($k = $l) {{ set $h $c; }}", "if ($k = $l) {{ set $h $c; }}" + _LINE),
            ),
        )
    ),
    _kept("a log with a target", "", http="log_format l $to; access_log {T}/none/l l;"),
    _kept("a guard that is kept", "error_page 404 /B;", maps=_MAPS.replace("{{ volatile;", "{{")),
    _kept("a default that is a target", "", maps=_MAPS.replace("default ''; /a", "default /d; /a")),
    _kept("a target with a variable", "", maps=_MAPS.replace("/a /x", "/a $arg_x")),
    _kept("a pattern", "", maps=_MAPS.replace("/a /x", "~/a /x")),
    Pair(
        "a server that a strange host reaches",
        _servers('""', ("_", "return 200 a;")),
        _servers('""', ("_", "return 200 b;")),
    ),
    *(
        Pair(
            f"locations that {name} reaches",
            _servers('""', ("a.test", f"{text} return 404; location / {{ return 200 a; }}")),
            _servers('""', ("a.test", f"{text} return 404; location / {{ return 200 b; }}")),
        )
        for name, text in (
            ("a rewrite", "rewrite ^/a /b last;"),
            ("a break", "if ($arg_x) { break; }"),
            ("an error page", "error_page 404 /a; if ($uri = /a) { break; }"),
        )
    ),
    Pair(
        "a group that a header reads elsewhere",
        "add_header X $f; location ~ ^/a/(?<f>.*)$ { return 200 [$f]; }",
        "add_header X $1; location ~ ^/a/(.*)$ { return 200 [$1]; }",
    ),
    Pair(
        "a pattern that is tried later",
        "location ~ ^/(?<f>.*)$ { if ($uri ~ (x)) { set $a 1; } return 200 [$f]; }",
        "location ~ ^/(.*)$ { if ($uri ~ (x)) { set $a 1; } return 200 [$1]; }",
    ),
    Pair(
        "a rewrite that is tried later",
        "location ~ ^/(?<f>.*)$ { rewrite ^/zz /y; add_header X $f; }",
        "location ~ ^/(.*)$ { rewrite ^/zz /y; add_header X $1; }",
    ),
    Pair(
        "a location inside",
        "location ~ ^/(?<f>.*)$ { add_header X $f; location ~ (x) { } }",
        "location ~ ^/(.*)$ { add_header X $1; location ~ (x) { } }",
    ),
    Pair(
        "a map with patterns",
        "map $uri $m { ~^/(.) $1; } server { listen 127.0.0.1:{P}; server_name h;"
        " location ~ ^/a/(?<f>.*)$ { return 200 $m$f; } }",
        "map $uri $m { ~^/(.) $1; } server { listen 127.0.0.1:{P}; server_name h;"
        " location ~ ^/a/(.*)$ { return 200 $m$1; } }",
    ),
    Pair("a redirect, which escapes", "rewrite ^/a/(?<f>.*)$ /b/$f permanent;", "rewrite ^/a/(.*)$ /b/$1 permanent;"),
    Pair("arguments", "rewrite ^/a/(?<f>.*)$ /x?y=$f last;", "rewrite ^/a/(.*)$ /x?y=$1 last;"),
    Pair(
        "a reference to a group",
        "location ~ ^/(?<f>.)\\k<f> { return 200 $f; }",
        "location ~ ^/(.). { return 200 $1; }",
    ),
    Pair(
        "a file in an alias that was not read",
        "root {T}/s; location /a/ { include /nowhere/none.conf; alias {T}/r/a/; }",
        "root {T}/s; location /a/ { include /nowhere/none.conf; root {T}/r; }",
    ),
    Pair(
        "a group that a file may read",
        "include /nowhere/none.conf; location ~ ^/a/(?<f>.*)$ { return 200 [$f]; }",
        "include /nowhere/none.conf; location ~ ^/a/(.*)$ { return 200 [$1]; }",
    ),
    Pair("another folder", "location /a/ { alias {T}/s/; }", "location /a/ { root {T}/s; }"),
    Pair(
        "a root that a variable reads",
        "root {T}/s; location /a/ { alias {T}/r/a/; add_header X $document_root; }",
        "root {T}/s; location /a/ { root {T}/r; add_header X $document_root; }",
    ),
    Pair(
        "a URI that stays in its location",
        "root {T}/s; rewrite ^/x/(.*)$ /a/$1 break; location /a/ { alias {T}/r/a/; }",
        "root {T}/s; rewrite ^/x/(.*)$ /a/$1 break; location /a/ { root {T}/r; }",
    ),
    Pair(
        "a location inside an alias",
        "root {T}/s; location /a/ { alias {T}/r/a/; location ~ txt { rewrite ^ /a/x.html break; } }",
        "root {T}/s; location /a/ { root {T}/r; location ~ txt { rewrite ^ /a/x.html break; } }",
    ),
    Pair("the name of an upstream", _UPSTREAM.format("", "", "http"), _ADDRESS.format("", "http")),
    Pair(
        "redirects to the name of an upstream",
        _UPSTREAM.format("", "proxy_set_header Host $host;", "http"),
        _ADDRESS.format("proxy_set_header Host $host;", "http"),
    ),
    *(
        Pair(f"arguments, {name}", text.format("?$args"), text.format("$is_args$args"))
        for name, text in {
            "but of a client's URI": "try_files /nx /b$uri{}; location /b {{ return 200 [$args]; }}",
            "but SSI shows that there are none": "default_type text/html; location /a {{ try_files /nx /b{}; }} "
            'location /b {{ ssi on; return 200 \'<!--# echo var="args" default="none" -->\'; }}',
            "but a log does": "log_format args $args; server {{ listen 127.0.0.1:{{P}}; server_name h; "
            "location /a {{ try_files /nx /b{}; }} location /b {{ return 200 a; }} }}",
            "but of a file": "root {{T}}/r; try_files /f.txt{} =404;",
            "but behind others": "try_files /nx /b?x{}; location /b {{ return 200 [$args]; }}",
        }.items()
    ),
    Pair("an upstream that fails", _UPSTREAM.format(" down", _STATED, "http"), _ADDRESS.format(_STATED, "http")),
)
