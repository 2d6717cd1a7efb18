"""What is written in two ways and is the same to nginx, and what only looks so, by the form that has to know it.

A text without `server {` is the body of a server. `{L}` is an address to listen at, `{U}` a server that tells what it
was asked, `{T}` a folder with files, `{N}` a number that is another one for each case.
"""

from __future__ import annotations

from tests.verify.pairs.bodies import BODIES_ALIKE, BODIES_UNLIKE
from tests.verify.pairs.constants import CONSTANTS_ALIKE, CONSTANTS_UNLIKE
from tests.verify.pairs.elsewhere import ACCESS_ALIKE, ACCESS_UNLIKE, ELSEWHERE_UNLIKE
from tests.verify.pairs.form import TARGETS, Forms


def in_location(name: str, old: str, new: str, *targets: str, versions: tuple[str, ...] = ("1.",)) -> Forms:
    """Two settings of a location that passes requests on."""
    text = "location / {{ {} proxy_pass http://127.0.0.1:{{U}}; }}"
    return Forms(name, text.format(old), text.format(new), targets or TARGETS, versions)


def in_map(name: str, old: str, new: str, *targets: str) -> Forms:
    """Two bodies of a map of an argument."""
    text = "map $arg_a $m{{N}} {{ {} }} server {{ listen {{L}}; location / {{ return 200 [$m{{N}}]; }} }}"
    return Forms(name, text.format(old), text.format(new), targets or ("/?a=a", "/?a=ABC", "/?a=b", "/"))


VALUES_ALIKE = (
    in_location("a flag in capitals", "proxy_intercept_errors on;", "proxy_intercept_errors ON;"),
    in_location("an enum in capitals", "if_modified_since before;", "if_modified_since BEFORE;"),
    in_location("a set turned round", "proxy_next_upstream http_500 timeout;", "proxy_next_upstream timeout http_500;"),
    in_location("methods that are always stored", "proxy_cache_methods POST;", "proxy_cache_methods GET HEAD POST;"),
    in_location("a set in two directives", "proxy_next_upstream http_500; proxy_next_upstream timeout;",
                "proxy_next_upstream timeout http_500;"),
    in_location("a size in bytes", "client_max_body_size 10k;", "client_max_body_size 10240;"),
    in_location("gigabytes of an offset", "client_max_body_size 1g;", "client_max_body_size 1024m;"),
    in_location("a time in minutes", "proxy_read_timeout 60;", "proxy_read_timeout 1m;"),
    in_location("a time in milliseconds", "proxy_read_timeout 1m;", "proxy_read_timeout 60000ms;"),
    in_location("a time in parts", 'proxy_read_timeout "1m 30";', "proxy_read_timeout 90s;"),
    in_location("expires with a plus", "expires 30d;", "expires +30d;"),
    in_location("expires in months", "expires 1M;", "expires 30d;"),
    in_location("braces", 'add_header X "$uri";', "add_header X ${uri};"),
    in_location("another name of the arguments", "add_header X $args;", "add_header X $query_string;"),
    in_location("another name of the URI", "proxy_set_header X $uri;", "proxy_set_header X $document_uri;"),
    in_location("a variable in capitals", "proxy_set_header X $http_host;", "proxy_set_header X $HTTP_HOST;"),
    in_location("the methods of limit_except", "limit_except GET { deny all; }", "limit_except get HEAD { deny all; }"),
    in_location("bits behind a mask", "deny 127.0.0.0/8;", "deny 127.9.9.9/8;"),
    Forms("a pattern without case", "location ~* ^/A { return 200 a; }", 'location ~ "(?i)^/A" { return 200 a; }'),
    Forms("a root with a slash", "location / { root {T}/r/; }", "location / { root {T}/r; }", ("/f.txt", "/a/f.txt")),
    in_map("keys in capitals", "ABC x; default d;", "abc x; default d;"),
    in_map("a pattern of a map without case", "~*^abc x; default d;", "~(?i)^abc x; default d;"),
    in_map("an empty default", "a x; default '';", "a x;"),
)  # fmt: skip
VALUES_UNLIKE = (
    Forms("a realm is no flag",
          "auth_basic off; location / { return 200 a; root {T}/r; } location /f.txt { root {T}/r; }",
          "auth_basic OFF; auth_basic_user_file {T}/r/f.txt; location / { return 200 a; root {T}/r; }"
          " location /f.txt { root {T}/r; }", ("/f.txt",)),
    in_location("months are no minutes", "expires 1M;", "expires 1m;"),
    in_location("no time at all", "expires 0;", "expires epoch;"),
    in_map("a pattern has a case", "~^ABC$ x; default d;", "ABC x; default d;", "/?a=abc"),
    in_map("a default in another spelling", "default d; a x;", r"\default d; a x;", "/?a=b"),
    Forms("a group has the name of the arguments",
          'location ~ "^/(?<args>[a-z]+)$" { add_header X "$args"; root {T}/r; }',
          'location ~ "^/(?<args>[a-z]+)$" { add_header X "$query_string"; root {T}/r; }', ("/maint?q=1",)),
    Forms("a pattern that ends before a newline", "location ~ ^/a$ { return 200 a; }",
          "location = /a { return 200 a; }",
          ("/a%0A",)),
)  # fmt: skip


def rooted(name: str, text: str, *targets: str) -> Forms:
    """A root that is another folder in the second text."""
    return Forms(name, text.replace("ROOT", "{T}/r"), text.replace("ROOT", "{T}/none"), targets or TARGETS)


_PASSED = "location / { root ROOT; %s proxy_pass http://127.0.0.1:{U}; }"
_SHOWN = "server { listen {L}; location / { root ROOT; add_header X $m{N}; proxy_pass http://127.0.0.1:{U}; } }"

FOLDERS_ALIKE = (
    rooted("a root beside a pass", _PASSED % "", "/", "/f.txt"),
    in_location("an index beside a pass", "index f.txt;", "index a.html;", "/", "/r/"),
    Forms("a location that inherits an alias", "location /a/ { location /a/f { } alias {T}/r/; }",
          "location /a/ { alias {T}/r/; }", ("/a/f", "/a/f.txt", "/a/")),
)  # fmt: skip
FOLDERS_UNLIKE = (
    rooted("a root that a header shows", _PASSED % "add_header X $document_root;"),
    rooted("a root of a condition", _PASSED % "if (-f $request_filename) { return 403; }", "/f.txt"),
    rooted("a root of files that are tried", _PASSED % "try_files $uri @a;", "/f.txt"),
    rooted("a root of a location inside", _PASSED % "location = /f.txt { }", "/f.txt"),
    rooted("a root of an error page", _PASSED % "deny all; error_page 403 /f.txt; location = /f.txt { allow all; }"),
    rooted("a root that a map shows", "map $request_filename $m{N} { default 0; ~/r/ 1; } " + _SHOWN),
    rooted("a root beside a pass under a condition",
           "location / { root ROOT; if ($arg_a) { proxy_pass http://127.0.0.1:{U}; } }", "/f.txt", "/f.txt?a=1"),
    Forms("an alias of the location that states it",
          "location /a/ { location /a/r/ { alias {T}/r/a/; } alias {T}/; }",
          "location /a/ { location /a/r/ { } alias {T}/; }", ("/a/r/x.html",)),
)  # fmt: skip

DEFAULTS_ALIKE = (
    in_location("buffering", "", "proxy_buffering on;"),
    in_location("a body of 1m", "", "client_max_body_size 1m;"),
    in_location("a default in other units", "", "proxy_read_timeout 60s;"),
    in_location("a set", "", "proxy_next_upstream error timeout;"),
    in_location("expires off", "", "expires off;"),
    in_location("the host of the upstream", "", "proxy_set_header Host $proxy_host;"),
    in_location("no header", "", 'add_header X "";'),
    in_location("the connection of old releases", "", "proxy_set_header Connection close;", versions=("1.22",)),
    in_location("the protocol of old releases", "", "proxy_http_version 1.0;", versions=("1.22",)),
    in_location("the protocol of new releases", "", "proxy_http_version 1.1;", versions=("1.31",)),
    Forms("no password", "location / { root {T}/r; }", "auth_basic off; location / { root {T}/r; }", ("/f.txt",)),
    Forms("the index", "location / { root {T}/r; }", "location / { index index.html; root {T}/r; }", ("/d/",)),
    Forms("a default of the server", "location / { root {T}/r; }", "etag on; location / { root {T}/r; }", ("/f.txt",)),
    Forms("a default below the same", "expires off; location / { root {T}/r; }",
          "location / { expires off; root {T}/r; }", ("/f.txt",)),
    Forms("all are let in", "location / { root {T}/r; }", "location / { allow all; root {T}/r; }", ("/f.txt",)),
)  # fmt: skip
DEFAULTS_UNLIKE = (
    Forms("a default under another value", "expires 1h; location / { root {T}/r; }",
          "expires 1h; location / { expires off; root {T}/r; }", ("/f.txt",)),
    Forms("a default header replaces a list", "proxy_set_header X 1; location / { proxy_pass http://127.0.0.1:{U}; }",
          "proxy_set_header X 1; location / { proxy_set_header Host $proxy_host; proxy_pass http://127.0.0.1:{U}; }"),
    Forms("a header without a value replaces a list", "add_header Y 1; location / { root {T}/r; }",
          'add_header Y 1; location / { add_header X ""; root {T}/r; }', ("/f.txt",)),
    Forms("all are let in, and need no password",
          "satisfy any; auth_basic x; auth_basic_user_file {T}/r/f.txt; location / { root {T}/r; }",
          "satisfy any; auth_basic x; auth_basic_user_file {T}/r/f.txt; location / { allow all; root {T}/r; }",
          ("/f.txt",)),
    in_location("no protocol of new releases", "", "proxy_http_version 1.1;", versions=("1.22",)),
)  # fmt: skip
ORDER_ALIKE = (
    in_location("headers of other names", "add_header A 1; add_header B 2;", "add_header B 2; add_header A 1;"),
    in_location("headers to an upstream", "proxy_set_header X 1; proxy_set_header A 2;",
                "proxy_set_header A 2; proxy_set_header X 1;"),
    in_location("hidden headers", "proxy_hide_header A; proxy_hide_header b;",
                "proxy_hide_header B; proxy_hide_header A;"),
    in_map("rows", "a x; ABC y; default d;", "default d; ABC y; a x;"),
    Forms("a network of geo that says what the one around it does",
          "geo $m{N} { default d; 127.0.0.0/8 x; } server { listen {L}; return 200 [$m{N}]; }",
          "geo $m{N} { default d; 127.0.0.0/8 x; 127.0.0.0/24 x; 10.0.0.0/8 d; } server { listen {L};"
          " return 200 [$m{N}]; }"),
    Forms("networks of geo", "geo $m{N} { default d; 127.0.0.0/8 x; 10.0.0.0/8 y; }"
          " server { listen {L}; return 200 [$m{N}]; }", "geo $m{N} { 10.0.0.0/8 y; 127.0.0.0/8 x; default d; }"
          " server { listen {L}; return 200 [$m{N}]; }"),
    Forms("pages of errors", "error_page 404 403 /e; location = /e { return 200 e; } location / { root {T}/none; }",
          "error_page 403 /e; error_page 404 /e; error_page 404 /x; location = /e { return 200 e; }"
          " location / { root {T}/none; }"),
    Forms("rules of access that do not overlap", "location / { allow 10.0.0.0/8; deny 127.0.0.0/8; root {T}/r; }",
          "location / { deny 127.0.0.0/8; allow 10.0.0.0/8; root {T}/r; }", ("/f.txt",)),
    Forms("rules behind all", "location / { deny all; root {T}/r; }",
          "location / { deny all; allow 127.0.0.1; root {T}/r; }",
          ("/f.txt",)),
    Forms("a prefix that stops patterns where there is none",
          "location /a { root {T}/r; } location / { return 200 x; }",
          "location ^~ /a { root {T}/r; } location / { return 200 x; }", ("/a/f.txt", "/b")),
    Forms("what a server of an upstream is without parameters",
          "upstream u{N} { server 127.0.0.1:{U}; } server { listen {L}; location / { proxy_pass http://u{N}; } }",
          "upstream u{N} { server 127.0.0.1:{U} max_fails=1 weight=1; }"
          " server { listen {L}; location / { proxy_pass http://u{N}; } }"),
)  # fmt: skip
ORDER_UNLIKE = (
    in_location("headers of one name", "add_header A 1; add_header a 2;", "add_header a 2; add_header A 1;"),
    Forms("a capture behind a map with a pattern",
          "map $uri $m{N} { ~^/(.) $1; } server { listen {L}; location ~ ^/a/(.*)$ {"
          ' add_header A $m{N}; add_header B "$1"; root {T}/r; } }',
          "map $uri $m{N} { ~^/(.) $1; } server { listen {L}; location ~ ^/a/(.*)$ {"
          ' add_header B "$1"; add_header A $m{N}; root {T}/r; } }', ("/a/f.txt",)),
    Forms("a page of an error replaces those around",
          "error_page 404 /e; location = /e { return 200 e; } location / { error_page 403 /e; root {T}/none; }",
          "error_page 404 /e; location = /e { return 200 e; } location / { error_page 403 404 /e; root {T}/none; }"),
    Forms("rules of access that overlap", "location / { allow 127.0.0.1; deny all; root {T}/r; }",
          "location / { deny all; allow 127.0.0.1; root {T}/r; }", ("/f.txt",)),
    Forms("a prefix that stops patterns", "location /a { root {T}/r; } location ~ t$ { return 200 x; }",
          "location ^~ /a { root {T}/r; } location ~ t$ { return 200 x; }", ("/a/f.txt",)),
    Forms("the first page of an error counts", "error_page 404 /e; error_page 404 /f; location = /e { return 200 e; }"
          " location = /f { return 200 f; } location / { root {T}/none; }", "error_page 404 /f; error_page 404 /e;"
          " location = /e { return 200 e; } location = /f { return 200 f; } location / { root {T}/none; }"),
    in_map("patterns", "~a x; ~ab y;", "~ab y; ~a x;", "/?a=ab"),
)  # fmt: skip
_ALL = "location /a {{ {0} root {{T}}/r; }} location / {{ {0} root {{T}}/r; }}"
_SERVER = "{0} location /a {{ root {{T}}/r; }} location / {{ root {{T}}/r; }}"


def hoisted(name: str, setting: str, *targets: str) -> Forms:
    """A setting of all locations, which is one of the server on the other side."""
    return Forms(name, _ALL.format(setting), _SERVER.format(setting), targets or ("/f.txt", "/a/f.txt", "/nx", "/%zz"))


INHERITED_FORMS = (
    hoisted("a header", "add_header X 1;"),
    hoisted("a type", "default_type a/b;"),
    hoisted("a page of an error of locations", "error_page 404 /f.txt;"),
    hoisted("rules of access", "deny all;"),
    hoisted("a time", "expires 1h;"),
    Forms("a folder", "location / { root {T}/r; } location /a { root {T}/r; }",
          "root {T}/r; location / { } location /a { }", ("/f.txt", "/a/f.txt")),
    Forms("rules of access do not count before a return", "return 200 x; location / { deny all; }",
          "deny all; return 200 x; location / { }"),
)  # fmt: skip
INHERITED_FORMS_UNLIKE = (
    hoisted("a header of early errors", "add_header X 1 always;", "/%zz"),
    hoisted("a page of early errors", "error_page 400 /f.txt;", "/%zz"),
    hoisted("the version of nginx in early errors", "server_tokens off;", "/%zz"),
    hoisted("the charset of early errors", "charset utf-8;", "/%zz"),
    Forms("the folder that a header of early errors shows",
          "add_header X $document_root always; location / { root {T}/r; }",
          "add_header X $document_root always; root {T}/r; location / { }", ("/%zz",)),
    Forms("the folder that a map for such a header is looked up by",
          "map $document_root $m{N} { default 1; ~/r$ 2; } server { listen {L}; add_header X $m{N} always;"
          " location / { root {T}/r; } }",
          "map $document_root $m{N} { default 1; ~/r$ 2; } server { listen {L}; add_header X $m{N} always;"
          " root {T}/r; location / { } }", ("/%zz",)),
    Forms("a location that had no header", "location /a { root {T}/r; } location / { add_header X 1; root {T}/r; }",
          "add_header X 1; location /a { root {T}/r; } location / { root {T}/r; }", ("/a/f.txt",)),
    Forms("requests that are in no location", "location /a { root {T}/r; }",
          "root {T}/r; location /a { }", ("/f.txt",)),
    Forms("what the server itself answers",
          "if ($arg_z) { return 301 /q; } location / { add_header X 1; root {T}/r; }",
          "if ($arg_z) { return 301 /q; } add_header X 1; location / { root {T}/r; }", ("/?z=1",)),
    Forms("a URI without a slash is in no location",
          "rewrite ^/q$ f.txt last; location / { deny all; root {T}/r; }"
          " root {T}/r;", "rewrite ^/q$ f.txt last; deny all; location / { root {T}/r; } root {T}/r;", ("/q",)),
)  # fmt: skip
_HOSTED = "proxy_set_header Host $host; proxy_redirect off;"
_UPSTREAM = "upstream {0}{{N}} {{ server 127.0.0.1:{{U}}; }} server {{ listen {{L}}; location / {{ {1} }} }}"


def upstreams(name: str, setting: str, *targets: str) -> Forms:
    """An upstream with two names."""
    texts = [_UPSTREAM.format(each, f"{setting} proxy_pass http://{each}{{N}};") for each in ("old", "new")]
    return Forms(name, texts[0], texts[1], targets or TARGETS)


NAMES_ALIKE = (
    upstreams("an upstream that nobody sees", _HOSTED),
    Forms("a map", "map $uri $a{N} { /a 1; } server { listen {L}; location / { add_header X $a{N}; root {T}/r; } }",
          "map $uri $b{N} { /a 1; } server { listen {L}; location / { add_header X $b{N}; root {T}/r; } }"),
    Forms("a named location", "location / { root {T}/none; error_page 404 @a; } location @a { return 200 a; }",
          "location / { root {T}/none; error_page 404 @b; } location @b { return 200 a; }"),
    Forms("a fallback", "location / { root {T}/r; try_files $uri @a; } location @a { return 200 a; }",
          "location / { root {T}/r; try_files $uri @b; } location @b { return 200 a; }", ("/f.txt", "/nx")),
    Forms("a zone that no limit uses", "limit_req_zone $uri zone=u{N}:1m rate=1r/s; server { listen {L}; root {T}/r; }",
          "limit_req_zone $arg_a zone=u{N}:1m rate=2r/s; server { listen {L}; root {T}/r; }", ("/f.txt",)),
    Forms("a zone", "limit_req_zone $uri zone=a{N}:1m rate=1000r/s; server { listen {L};"
          " location / { limit_req zone=a{N} burst=9; root {T}/r; } }",
          "limit_req_zone $uri zone=b{N}:1m rate=60000r/m; server { listen {L};"
          " location / { limit_req zone=b{N} burst=9; root {T}/r; } }", ("/f.txt",)),
)  # fmt: skip
NAMES_UNLIKE = (
    upstreams("the name is the host", "proxy_redirect off;"),
    upstreams("the name is in a header", f"{_HOSTED} proxy_set_header X $proxy_host;"),
    Forms("a variable names a location", "set $t @a; location / { root {T}/r; try_files $uri $t; }"
          " location @a { return 200 a; }", "set $t @a; location / { root {T}/r; try_files $uri $t; }"
          " location @b { return 200 a; }", ("/nx",)),
    Forms("a realm is no name of the configuration", "location / { auth_basic a; auth_basic_user_file {T}/r/f.txt;"
          " root {T}/r; }", "location / { auth_basic b; auth_basic_user_file {T}/r/f.txt; root {T}/r; }", ("/f.txt",)),
)  # fmt: skip
_AFTER_CODE = "js_set $j{N} main.f; server { listen {L}; set $x 1; location / { root {T}/r; %s } }"
_HASHED = "upstream u{N} { hash $document_root; server 127.0.0.1:{U}; server 127.0.0.1:1; } "

IN_DOUBT = (
    rooted("a root that chooses a server", _HASHED + _SHOWN.replace("127.0.0.1:{U}", "u{N}").replace("$m{N}", "a")),
    rooted("a root in a table elsewhere", "map $uri $m{N} { include /nowhere/rows; } " + _SHOWN),
    Forms("a certificate that a client has to have", "server { listen {L} ssl; ssl_certificate c;"
          " ssl_certificate_key k; ssl_client_certificate c; ssl_verify_client on; return 200; }",
          "server { listen {L} ssl; ssl_certificate c; ssl_certificate_key k; ssl_client_certificate c;"
          " ssl_verify_client optional_no_ca; return 200; }"),
    Forms("a log of subrequests looks up a map", "map $uri $m{N} { default 1; /zu 2; } log_format f{N} $m{N};"
          " server { listen {L}; log_subrequest on; access_log logs/a f{N}; location = /zu { return 204; }"
          " location / { root {T}/r; auth_request /zu; add_header X $m{N} always; } }",
          "map $uri $m{N} { default 1; /zu 2; } log_format f{N} $m{N};"
          " server { listen {L}; access_log logs/a f{N}; location = /zu { return 204; }"
          " location / { root {T}/r; auth_request /zu; add_header X $m{N} always; } }"),
    Forms("a program may set what a field behind it shows", _AFTER_CODE % "add_header B $j{N}; add_header A $x;",
          _AFTER_CODE % "add_header A $x; add_header B $j{N};"),
    Forms("a request that a client of HTTP/2 gets unasked", "http2_push /x.html; root {T}/r;", "root {T}/r;",
          versions=("1.22",)),
    Forms("a map that a rate looks up before another request does",
          "map $uri $m{N} { default 9; /x 8; } server { listen {L}; limit_rate $m{N}; post_action /x; root {T}/r;"
          " location = /x { proxy_set_header X $m{N}; proxy_pass http://127.0.0.1:{U}; } }",
          "map $uri $m{N} { default 9; /x 8; } server { listen {L}; post_action /x; root {T}/r;"
          " location = /x { proxy_set_header X $m{N}; proxy_pass http://127.0.0.1:{U}; } }"),
    in_location("the header Host in another spelling", "proxy_set_header HOST $proxy_host;", ""),
    Forms("rules that are added to those around", "location /a { modsecurity_rules a; location /a/ {"
          " modsecurity_rules b; root {T}/r; } }", "location /a { modsecurity_rules a; } location /a/ {"
          " modsecurity_rules b; root {T}/r; }"),
    hoisted("a request behind early errors", "post_action /f.txt;", "/%zz"),
    upstreams("redirects of the upstream to its name", "proxy_set_header Host $host;"),
    Forms("an upstream may name a location", "location / { error_page 404 @a; proxy_pass http://127.0.0.1:{U}; }"
          " location @a { return 200 a; }", "location / { error_page 404 @b; proxy_pass http://127.0.0.1:{U}; }"
          " location @b { return 200 a; }"),
    Forms("two counters for one",
          "limit_req_zone $uri zone=a{N}:1m rate=1r/s; limit_req_zone $uri zone=b{N}:1m rate=1r/s; server { listen {L};"
          " location / { limit_req zone=a{N}; root {T}/r; } location /a { limit_req zone=b{N}; } }",
          "limit_req_zone $uri zone=a{N}:1m rate=1r/s; server { listen {L};"
          " location / { limit_req zone=a{N}; root {T}/r; } location /a { limit_req zone=a{N}; } }"),
    Forms("a file may read the name of a map", "map $uri $a{N} { /a 1; } server { listen {L}; ssi on; root {T}/r;"
          " add_header X $a{N}; }", "map $uri $b{N} { /a 1; } server { listen {L}; ssi on; root {T}/r;"
          " add_header X $b{N}; }"),
    Forms("a zone with another rate", "limit_req_zone $uri zone=r{N}:1m rate=1r/s; server { listen {L}; root {T}/r;"
          " limit_req zone=r{N}; }", "limit_req_zone $uri zone=r{N}:1m rate=2r/s; server { listen {L}; root {T}/r;"
          " limit_req zone=r{N}; }"),
    Forms("a zone with the key of another map", "map $uri $k{N} { /a a; } limit_conn_zone $k{N} zone=k{N}:1m;"
          " server { listen {L}; root {T}/r; location / { limit_conn k{N} 1; } }",
          "map $uri $k{N} { /a b; } limit_conn_zone $k{N} zone=k{N}:1m;"
          " server { listen {L}; root {T}/r; location / { limit_conn k{N} 1; } }"),
    Forms("a page may show the names of upstreams", "upstream a{N} { zone z{N} 1m; server 127.0.0.1:{U}; }"
          f" server {{ listen {{L}}; location / {{ {_HOSTED} proxy_pass http://a{{N}}; }} location /p {{ api; }} }}",
          "upstream b{N} { zone z{N} 1m; server 127.0.0.1:{U}; }"
          f" server {{ listen {{L}}; location / {{ {_HOSTED} proxy_pass http://b{{N}}; }} location /p {{ api; }} }}"),
    Forms("the script of a server runs again for a fallback without a slash",
          'if ($uri = "") { return 403; } location / { root {T}/r; try_files /none $arg_to; }',
          "location / { root {T}/r; try_files /none $arg_to; }"),
    Forms("the index of a folder of which nginx is led to the name, without a slash",
          "if ($uri !~ ^/) { return 403; } location / { root {T}/r; try_files a/ =404; }",
          "location / { root {T}/r; try_files a/ =404; }"),
    Forms("a fallback without a slash is in no location",
          "location / { deny all; root {T}/r; } location /a { try_files $uri http://x; }",
          "deny all; location / { root {T}/r; } location /a { allow all; try_files $uri http://x; }"),
    Forms("a variable whose name begins as that of the URI",
          "set $uri_x f; location / { deny all; root {T}/r; } location /a { try_files /no $uri_x; }",
          "set $uri_x f; deny all; location / { root {T}/r; } location /a { allow all; try_files /no $uri_x; }"),
    Forms("another constant around a file that was not read",
          "set $f x; fastcgi_param X $f; location / { include fastcgi_params; fastcgi_pass 127.0.0.1:{U}; }",
          "set $f y; fastcgi_param X $f; location / { include fastcgi_params; fastcgi_pass 127.0.0.1:{U}; }"),
    Forms("a program may use an upstream", "upstream a{N} { server 127.0.0.1:{U}; } server { listen {L}; location / {"
          f" {_HOSTED} proxy_pass http://a{{N}}; }} location /l {{ content_by_lua_file l.lua; }} }}",
          "upstream b{N} { server 127.0.0.1:{U}; } server { listen {L}; location / {"
          f" {_HOSTED} proxy_pass http://b{{N}}; }} location /l {{ content_by_lua_file l.lua; }} }}"),
)  # fmt: skip


def around(name: str, server: str, old: str, new: str, *targets: str) -> Forms:
    """The same text of a server, with other text of http around it."""
    text = f"server {{ listen {{L}}; server_name h; {server} }}"
    return Forms(name, f"{old} {text}", f"{new} {text}", targets or TARGETS)


def _other(text: str) -> str:
    return f"server {{ listen {{L}}; server_name other; {text} }}"


def rewrites(name: str, *rules: str, targets: tuple[str, ...]) -> Forms:
    """Rules of a server in both orders."""
    old, new = (" ".join(f"rewrite {rule};" for rule in each) for each in (rules, rules[::-1]))
    answering = "location / { return 200 [$uri]; }"
    return Forms(name, f"{old} {answering}", f"{new} {answering}", targets)


REWRITES_ALIKE = (
    rewrites("redirects of other paths", "^/a$ /x redirect", "^/ab$ /y permanent", targets=("/a", "/ab", "/a%0A")),
    rewrites(
        "captures of other paths",
        "^/a/(.*)$ /x/$1 last",
        "^/b/(.)(.*)$ /y/$1 break",
        "^/c$ http://h/c",
        targets=("/a/f", "/b/f", "/b/fg", "/c", "/"),
    ),
    rewrites(
        "other paths around some that overlap",
        "^/a/f /x redirect",
        "^/b /y redirect",
        "^/c /z last",
        targets=("/a/f", "/b", "/c"),
    ),
)
REWRITES_UNLIKE = (
    rewrites("a path inside of another", "^/a /x redirect", "^/a/f /y redirect", targets=("/a/f",)),
    rewrites("a line end", r"^/a$ /x redirect", r"^/a\x0a$ /y redirect", targets=("/a%0A",)),
    rewrites("in any case", "(?i)^/A$ /x redirect", "^/a$ /y redirect", targets=("/a",)),
    rewrites("a rule that goes on", "^/a$ /b", "^/b$ /c redirect", targets=("/a",)),
    rewrites("anywhere in a path", "^/a$ /x redirect", "f|a /y redirect", targets=("/a",)),
    rewrites("one of several", "^/a|^/f /x redirect", "^/f$ /y redirect", targets=("/f",)),
    rewrites("repeated", "^/ab* /x redirect", "^/ac /y redirect", targets=("/ac",)),
)
"""Rewrites next to each other, in both orders."""


def hosted(name: str, old: str, new: str, *names: str) -> Forms:
    """Two bodies of a server with these names, the first of which nginx sends requests to, and not as the default."""
    before = "server { listen {L}; server_name default.x; return 403; }"
    text = f"{before} server {{ listen {{L}}; server_name {' '.join(names) or 'h'}; "
    return Forms(name, f"{text} {old} }}", f"{text} {new} }}")


def handshaken(name: str, old: str, new: str) -> Forms:
    """Two bodies of a server with TLS."""
    text = "server {{ listen {{L}} ssl; server_name {}; ssl_certificate a; ssl_certificate_key b; {} }}"
    before = text.format("default.x", "return 403;")
    return Forms(name, f"{before} {text.format('h', old)}", f"{before} {text.format('h', new)}")


def divided(name: str, test: str, *names: str, before: str = "") -> Forms:
    """A default server that tests the host, and two servers in place of the test."""
    start, to = "server { listen {L}; server_name", "return 301 https://h$request_uri;"
    old = f"{before} {start} {' '.join(names) or 'h b'}; {test} {{ {to} }} return 200 a; }}"
    return Forms(name, old, f"{before} {start} h; return 200 a; }} {start} b; {to} }}")


def chosen(name: str, old: str, new: str, rest: str = "") -> Forms:
    """A rule of a server, and a location in its place, where none refuses a large body."""
    server = f"client_max_body_size 0; {rest} %s location / {{ return 200 [$uri]; }}"
    return Forms(name, server % old, server % new, ("/a", "/a/f?a=1", "/x", "/b"))


_TO_HOST = "return 301 https://$host$request_uri;"

HOSTS_ALIKE = (
    hosted("the only name is the host", "return 301 https://h$request_uri;", _TO_HOST),
    hosted("a test of the host", "if ($host = h) { return 403; } return 200 a;", "return 403;"),
    Forms(
        "redirects of two servers in one",
        "server { listen {L}; server_name d; return 403; }"
        " server { listen {L}; server_name h; return 301 https://h$request_uri; }"
        " server { listen {L}; server_name b; return 301 https://b$request_uri; }",
        f"server {{ listen {{L}}; server_name d; return 403; }} server {{ listen {{L}}; server_name b h; {_TO_HOST} }}",
    ),
    divided("a test of a name that has a server of its own", "if ($host = b)"),
    divided("the same by a pattern", "if ($host ~* ^B$)"),
    divided("the same by a map", "if ($to{N})", before="map $host $to{N} { B 1; }"),
    Forms("a scheme that no request has", "if ($scheme = https) { return 403; } return 200 a;", "return 200 a;"),
    Forms("the port of an address", "if ($server_port = 1) { return 403; } return 200 a;", "return 200 a;"),
)
_FORBIDDEN, _LOCATION = "if ($uri ~ ^/a) { return 403; }", "location ^~ /a { return 403; }"

CHOSEN_ALIKE = (
    chosen("a test of the path is a location", _FORBIDDEN, _LOCATION),
    chosen("redirects are locations", "rewrite ^/a/ /x redirect;", "location ^~ /a/ { rewrite ^ /x redirect; }"),
    Forms(
        "a location that no request reaches",
        "error_page 404 /a; return 404; location / { return 200 a; }",
        "error_page 404 /a; return 404; location / { return 200 b; }",
    ),
)
IDLE_ALIKE = tuple(
    Forms(
        f"headers where {name}",
        f"{block} location /a {{ proxy_set_header X a; proxy_pass http://127.0.0.1:{{U}}; }}",
        f"proxy_set_header X a; {block} location /a {{ proxy_pass http://127.0.0.1:{{U}}; }}",
    )
    for name, block in (
        ("nothing is passed on", "location / { return 200 a; }"),
        ("files are sent", "location / { root {T}; }"),
        (
            "only a location inside passes on",
            "location /x { location /x/y { proxy_set_header A 1; proxy_pass http://127.0.0.1:{U}; } }",
        ),
    )
)
IDLE_UNLIKE = tuple(
    Forms(
        f"headers where {name}",
        f"{block} location /a {{ proxy_set_header X a; proxy_pass http://127.0.0.1:{{U}}; }}",
        f"proxy_set_header X a; {block} location /a {{ proxy_pass http://127.0.0.1:{{U}}; }}",
        ("/x", "/x/y?a=1"),
    )
    for name, block in (
        ("an if passes on", "location / { if ($request_uri) { proxy_pass http://127.0.0.1:{U}; } }"),
        (
            "an if is in a location that does",
            "location / { proxy_pass http://127.0.0.1:{U}; if ($arg_a) { expires 1d; } }",
        ),
        (
            "limit_except is in one",
            "location / { proxy_pass http://127.0.0.1:{U}; limit_except POST { allow all; } }",
        ),
        ("a location inside passes on", "location /x { root {T}; location /x/y { proxy_pass http://127.0.0.1:{U}; } }"),
    )
)
CHOSEN_UNLIKE = (
    chosen("a location chooses again", _FORBIDDEN, _LOCATION, "location /x { rewrite ^ /a last; }"),
    chosen(
        "a named location does",
        _FORBIDDEN,
        _LOCATION,
        "location /x { try_files /nx @n; } location @n { rewrite ^ /a last; }",
    ),
    chosen("the script ends before", _FORBIDDEN, _LOCATION, "if ($arg_a) { break; }"),
)
IN_DOUBT_OF_HOSTS = (
    divided("a test of the first name, which is the host without a header", "if ($host = b)", "b", "h"),
    divided("the same with a dot", "if ($host = b)", ".b", "b"),
    divided("a test of other names as well", "if ($host ~ ^b)"),
    hosted("the name of the machine", "if ($host = b) { return 403; } return 200 a;", "return 200 a;", "$hostname"),
    Forms(
        "a test of a name that may be that of the machine",
        "server { listen {L}; server_name d $hostname b; if ($host = b) { return 403; } return 200 a; }",
        "server { listen {L}; server_name d $hostname; return 200 a; }"
        " server { listen {L}; server_name b; return 403; }",
    ),
    Forms(
        "the name of the machine before another name",
        "server { listen {L}; return 403; } server { listen {L}; server_name $hostname; return 200 a; }"
        " server { listen {L}; server_name b; return 200 b; }",
        "server { listen {L}; return 403; } server { listen {L}; server_name b; return 200 b; }"
        " server { listen {L}; server_name $hostname; return 200 a; }",
    ),
    hosted("one of two names", "return 301 https://h$request_uri;", _TO_HOST, "h", "b"),
    hosted("beside a name that may be sent", "return 301 https://h$request_uri;", _TO_HOST, "h", "_"),
    hosted("beside a pattern", "return 301 https://h$request_uri;", _TO_HOST, "h", "~^.b$"),
    hosted("beside a wildcard", "return 301 https://h$request_uri;", _TO_HOST, "h", "*.b"),
    Forms("the default server", "return 301 https://h$request_uri;", _TO_HOST),
    handshaken("the name of a handshake chooses the server", "return 301 https://h$request_uri;", _TO_HOST),
    hosted("the header itself", "return 301 https://h$request_uri;", "return 301 https://$http_host$request_uri;"),
)
"""The host where a server has one name; and where it may be another one, which no request of the test shows."""

WRITTEN_ALIKE = (
    around(
        "a map that is not read", "location / { return 200 a; }", "map $uri $m{N} { /a 1; }", "map $uri $m{N} { /a 2; }"
    ),
    around(
        "an upstream that is not used",
        "location / { return 200 a; }",
        "upstream u{N} { server 127.0.0.1:{U}; }",
        "upstream u{N} { server 127.0.0.1:1; }",
    ),
)
WRITTEN_UNLIKE = (
    around("a map", "location / { return 200 [$m{N}]; }", "map $arg_a $m{N} { 1 x; }", "map $arg_a $m{N} { 1 y; }"),
    around(
        "a map that a map reads",
        "location / { return 200 [$m{N}]; }",
        "map $uri $a{N} { /a 1; } map $a{N} $m{N} { 1 x; }",
        "map $uri $a{N} { /a 2; } map $a{N} $m{N} { 1 x; }",
    ),
    around(
        "an upstream",
        "location / { proxy_pass http://u-{N}.b; }",
        "upstream u-{N}.b { server 127.0.0.1:{U}; }",
        "upstream u-{N}.b { server 127.0.0.1:1; }",
    ),
    around(
        "an upstream that a variable names",
        "location / { set $t u; proxy_pass http://${t}{N}; }",
        "upstream u{N} { server 127.0.0.1:{U}; }",
        "upstream u{N} { server 127.0.0.1:1; }",
    ),
    around(
        "an upstream that a map names",
        "location / { proxy_pass $m{N}; }",
        "upstream u{N} { server 127.0.0.1:{U}; } map $uri $m{N} { default http://u{N}; }",
        "upstream u{N} { server 127.0.0.1:1; } map $uri $m{N} { default http://u{N}; }",
    ),
    around(
        "a group elsewhere takes over a map",
        "location / { return 200 [$m{N}]; }",
        "map $uri $m{N} { default 1; } " + _other("location ~ ^/(.) { }"),
        "map $uri $m{N} { default 1; } " + _other("location ~ ^/(?<m{N}>.) { }"),
    ),
    around(
        "a server before takes the name",
        "location / { return 200 a; }",
        "server { listen {L}; server_name b; return 403; }",
        "server { listen {L}; server_name h; return 403; }",
    ),
)
"""Servers that are written alike, and what stands around them."""

ALIKE = (
    *CONSTANTS_ALIKE,
    *VALUES_ALIKE,
    *DEFAULTS_ALIKE,
    *FOLDERS_ALIKE,
    *ORDER_ALIKE,
    *INHERITED_FORMS,
    *NAMES_ALIKE,
    *WRITTEN_ALIKE,
    *REWRITES_ALIKE,
    *ACCESS_ALIKE,
    *HOSTS_ALIKE,
    *CHOSEN_ALIKE,
    *IDLE_ALIKE,
    *BODIES_ALIKE,
)
UNLIKE = (
    *VALUES_UNLIKE, *FOLDERS_UNLIKE, *DEFAULTS_UNLIKE, *ORDER_UNLIKE, *INHERITED_FORMS_UNLIKE, *NAMES_UNLIKE,
    *CONSTANTS_UNLIKE, *WRITTEN_UNLIKE, *REWRITES_UNLIKE, *CHOSEN_UNLIKE, *IDLE_UNLIKE, *ELSEWHERE_UNLIKE,
    *ACCESS_UNLIKE, *BODIES_UNLIKE,
)  # fmt: skip


def http(text: str, number: int, port: int, upstream: int, folder: str) -> str:
    """Return the text of a side as it stands in http."""
    if "server {" not in text:
        text = f"server {{ listen {{L}}; server_name h; {text} }}"
    filled = text.replace("{L}", f"127.0.0.1:{port}").replace("{U}", str(upstream)).replace("{N}", str(number))
    return filled.replace("{T}", folder)
