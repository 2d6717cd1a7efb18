"""Edits beside a file that was not read, with contents of the file by which they can be seen.

Without the file, nothing shows them: each is an equivalence if the file is empty.
"""

from __future__ import annotations

from typing import NamedTuple


class Hidden(NamedTuple):
    """Two configurations that include `nx.conf`, contents of that file, and a request that nginx answers differently
    then: path, host, and to which of two ports.
    """

    name: str
    old: str
    new: str
    content: str
    path: str
    host: str = "h"
    port: int = 0


_A = "location /a/ { return 200 a; }"
_S = "server { listen 127.0.0.1:{P}; server_name %s; %s }"

HIDDEN = (
    *(
        Hidden(
            f"expires of {what} in the file",
            "include nx.conf; expires 1h; location / { return 200; }",
            "include nx.conf; location / { expires 1h; return 200; }",
            content,
            "/x",
        )
        for what, content in (
            ("a location", "location /x { return 200; }"),
            ("a rule", "if ($uri = /x) { return 200; }"),
        )
    ),
    Hidden(
        "^~ where no pattern was read",
        f"include nx.conf; {_A}",
        "include nx.conf; location ^~ /a/ { return 200 a; }",
        "location ~ x$ { return 200 hidden; }",
        "/a/x",
    ),
    Hidden(
        "a longer prefix that a ^~ stands around",
        "include nx.conf; location ^~ /a/ { return 200 a; } location /a/b/ { return 200 a; }",
        "include nx.conf; location ^~ /a/ { return 200 a; }",
        "location ~ x$ { return 200 hidden; }",
        "/a/b/x",
    ),
    Hidden(
        "a longer prefix with the same answer",
        f"include nx.conf; {_A} location /a/b/ {{ return 200 a; }}",
        f"include nx.conf; {_A}",
        "location /a/b { return 200 hidden; }",
        "/a/b/x",
    ),
    Hidden(
        "an exact name with the same answer",
        f"include nx.conf; {_A} location = /a/x {{ return 200 a; }}",
        f"include nx.conf; {_A}",
        "location ~ x$ { return 200 hidden; }",
        "/a/x",
    ),
    Hidden(
        "a prefix behind a pattern that takes all of it",
        "include nx.conf; location ~ ^/a/ { return 200 a; } location /a/ { return 200 b; }",
        "include nx.conf; location ~ ^/a/ { return 200 a; }",
        "location ^~ /a { return 200 hidden; }",
        "/a/x",
    ),
    Hidden(
        "a location that the server answers like",
        "client_max_body_size 1g; include nx.conf; return 200 x;",
        "client_max_body_size 1g; include nx.conf; location / { return 200 x; }",
        "location /b { return 200 hidden; }",
        "/b",
    ),
    Hidden(
        "a location with nothing in it",
        "root {T}/r; include nx.conf;",
        "root {T}/r; include nx.conf; location /x/ { }",
        "location / { return 200 hidden; }",
        "/x/",
    ),
    Hidden(
        "an empty location for all",
        "root {T}/r; include nx.conf;",
        "root {T}/r; include nx.conf; location / { }",
        "try_files /nx =418;",
        "/f.txt",
    ),
    Hidden(
        "a location out of the one around it",
        "include nx.conf; location /a/ { return 200 a; location /a/b/ { return 200 b; } }",
        f"include nx.conf; {_A} location /a/b/ {{ return 200 b; }}",
        "location /a/b { return 200 hidden; }",
        "/a/b/x",
    ),
    Hidden(
        "^~ of a location inside of another",
        "include nx.conf; location /a/ { return 200 a; location ^~ /a/b/ { return 200 b; } }",
        f"include nx.conf; {_A} location ^~ /a/b/ {{ return 200 b; }}",
        "location ~ x$ { return 200 hidden; }",
        "/a/b/x",
    ),
    Hidden(
        "a root that no request comes to",
        "location /a/ { return 404; root {T}/r; include nx.conf; }",
        "location /a/ { return 404; root {T}/s; include nx.conf; }",
        "location ~ f { }",
        "/a/f.txt",
    ),
    Hidden(
        "a header of a location that answers before",
        "location /a/ { return 404; add_header X 1; include nx.conf; }",
        "location /a/ { return 404; add_header X 2; include nx.conf; }",
        "location /a/b/ { return 200 x; }",
        "/a/b/",
    ),
    Hidden(
        "a page of a location that answers before",
        "location /a/ { return 204; error_page 404 =200 /x; include nx.conf; } location = /x { return 200 x; }",
        "location /a/ { return 204; error_page 404 =201 /x; include nx.conf; } location = /x { return 200 x; }",
        "location /a/b/ { return 404; }",
        "/a/b/",
    ),
    Hidden(
        "the first server by a wildcard",
        f"{_S % ('a', 'return 200 a;')} include nx*.conf;",
        f"include nx*.conf; {_S % ('a', 'return 200 a;')}",
        "server { listen 127.0.0.1:{P}; server_name b; return 200 hidden; }",
        "/",
        "other",
    ),
    Hidden(
        "^~ beside a wildcard",
        f"include nx*.conf; {_A}",
        "include nx*.conf; location ^~ /a/ { return 200 a; }",
        "location ~ x$ { return 200 hidden; }",
        "/a/x",
    ),
    Hidden(
        "a wildcard behind a return",
        "location / { include nx*.conf; return 200 x; }",
        "location / { return 200 x; include nx*.conf; }",
        "return 200 hidden;",
        "/",
    ),
    Hidden(
        "a wildcard in another location",
        "location /a { include nx*.conf; return 200 x; } location /b { return 200 x; }",
        "location /a { return 200 x; } location /b { include nx*.conf; return 200 x; }",
        "return 200 hidden;",
        "/a",
    ),
    Hidden(
        "servers at other addresses",
        f"{_S % ('a', 'return 200 a; include nx.conf;')} server {{ listen 127.0.0.1:{{U}}; return 200 b; }}",
        f"server {{ listen 127.0.0.1:{{U}}; return 200 b; }} {_S % ('a', 'return 200 a; include nx.conf;')}",
        "listen 127.0.0.1:{U};",
        "/",
        "other",
        1,
    ),
    Hidden(
        "a server of a name that another one answers like",
        f"{_S % ('a', 'return 200 a;')} {_S % ('b', 'return 200 a;')} include nx.conf;",
        f"{_S % ('a', 'return 200 a;')} include nx.conf;",
        _S % ("b", "return 200 hidden;"),
        "/",
        "b",
    ),
    Hidden(
        "default_server of the only server",
        f"include nx.conf; {_S.replace('{P}', '{P} default_server') % ('a', 'return 200 a;')}",
        f"include nx.conf; {_S % ('a', 'return 200 a;')}",
        "server { listen 127.0.0.1:{P}; return 200 hidden; }",
        "/",
        "other",
    ),
    Hidden(
        "the first name of a server",
        f"{_S % ('a b', 'include nx.conf; root {T}/r;')}",
        f"{_S % ('b a', 'include nx.conf; root {T}/r;')}",
        "return 200 $server_name;",
        "/",
        "a",
    ),
    Hidden(
        "a name before the file",
        "server { listen 127.0.0.1:{P}; server_name a; include nx.conf; root {T}/r; }",
        "server { listen 127.0.0.1:{P}; include nx.conf; server_name a; root {T}/r; }",
        "server_name b; return 200 $server_name;",
        "/",
        "a",
    ),
    Hidden(
        "an upstream that nothing uses",
        "upstream localhost { server 127.0.0.1:{U}; } " + _S % ("a", "location / { root {T}/r; include nx.conf; }"),
        _S % ("a", "location / { root {T}/r; include nx.conf; }"),
        "proxy_pass http://localhost;",
        "/",
    ),
    Hidden(
        "a map with the name of a header",
        "map $uri $http_x { default 1; } " + _S % ("a", "location / { root {T}/r; include nx.conf; }"),
        _S % ("a", "location / { root {T}/r; include nx.conf; }"),
        "return 200 [$http_x];",
        "/",
    ),
    Hidden(
        "another name of a map",
        "map $uri $p { default 1; } include nx.conf; " + _S % ("a", "return 200 $p;"),
        "map $uri $q { default 1; } include nx.conf; " + _S % ("a", "return 200 $q;"),
        "map $uri $q { default 2; }",
        "/",
    ),
    Hidden(
        "a value in place of a map",
        "map $uri $p { default 1; } include nx.conf; " + _S % ("a", "return 200 $p;"),
        "map $uri $p { default 1; } include nx.conf; " + _S % ("a", "return 200 1;"),
        "map $uri $p { default 2; }",
        "/",
    ),
    Hidden(
        "a value in place of a variable",
        "set $p 1; include nx.conf; location /a { return 200 $p; }",
        "set $p 1; include nx.conf; location /a { return 200 1; }",
        "set $p 2;",
        "/a",
    ),
    Hidden(
        "a default that is stated",
        "include nx.conf; location / { root {T}/r; }",
        "include nx.conf; location / { absolute_redirect on; root {T}/r; }",
        "absolute_redirect off;",
        "/d",
    ),
    Hidden(
        "an address that is let in anyway",
        "include nx.conf; location / { root {T}/r; allow all; }",
        "include nx.conf; location / { root {T}/r; }",
        "deny all;",
        "/f.txt",
    ),
    Hidden(
        "a setting of all locations in their server",
        "location / { charset utf-8; root {T}/r; } include nx.conf;",
        "charset utf-8; location / { root {T}/r; } include nx.conf;",
        "location /a/ { root {T}/r; }",
        "/a/f.txt",
    ),
    Hidden(
        "a file that is included again",
        "include nx.conf; include nx.conf; location / { return 200 $uri; }",
        "include nx.conf; location / { return 200 $uri; }",
        "rewrite ^/a(.*)$ /b$1; rewrite ^/b/c(.*)$ /a$1;",
        "/a/c/",
    ),
    Hidden(
        "a rule that leads to the same answer",
        "location /x { rewrite ^/x$ /b last; return 200 b; } location /b { return 200 b; } include nx.conf;",
        "location /x { return 200 b; } location /b { return 200 b; } include nx.conf;",
        "location = /b { return 200 hidden; }",
        "/x",
    ),
    Hidden(
        "another name of a named location",
        "error_page 404 @e; location @e { return 200 e; } include nx.conf;",
        "error_page 404 @f; location @f { return 200 e; } include nx.conf;",
        "location /n { error_page 404 =200 @f; return 404; }",
        "/n",
    ),
    Hidden(
        "the folder of a location that answers without files",
        "include nx.conf; location / { root /x; return 200 a; }",
        "include nx.conf; location / { root /y; return 200 a; }",
        "add_header X $document_root;",
        "/",
    ),
    Hidden(
        "the folder of such a location, beside a file that has headers",
        "location / { include nx.conf; root /x; return 200 a; }",
        "location / { include nx.conf; root /y; return 200 a; }",
        "add_header X $request_filename;",
        "/",
    ),
    Hidden(
        "the name of a server behind a file",
        "server { listen 127.0.0.1:{P}; include nx.conf; server_name h; return 200 $server_name; }",
        "server { listen 127.0.0.1:{P}; include nx.conf; server_name h; return 200 h; }",
        "server_name b;",
        "/",
    ),
)
"""What is no equivalence, as nginx shows."""
