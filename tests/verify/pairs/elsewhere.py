"""Pairs whose difference shows elsewhere than where it stands, and those in which another check of access decides."""

from __future__ import annotations

from tests.verify.pairs.form import Forms

_AUTHORISED = "location / { root {T}/r; auth_request /zu; add_header X $x always; }"
_REFERRED = (
    "location /r { valid_referers server_names; if ($invalid_referer) { return 403; } return 200; }"
    " location / { proxy_set_header Host z.test; proxy_set_header Referer http://z.test/; proxy_pass http://{L}/r; }"
)
_COOKIE = (
    "server { listen {L}; location ~ ^/%s { proxy_pass http://{L}; proxy_set_header Host c;"
    " proxy_cookie_path ~(/) $1; add_header X %s; } }"
    " server { listen {L}; server_name c; add_header Set-Cookie 'a=b; path=/'; return 200; }"
)
_ASKED = "location / {{ root {{T}}/r; satisfy any; auth_basic a; auth_basic_user_file {{T}}/r/f.txt; {}}}"
ACCESS_ALIKE = (
    Forms("a denial where a password is asked for", _ASKED.format("deny all; "), _ASKED.format(""), ("/f.txt",)),
    Forms("one behind an address that is allowed", _ASKED.format("allow 192.0.2.1; deny all; "),
          _ASKED.format("allow 192.0.2.1; "), ("/f.txt",)),
)  # fmt: skip
ACCESS_UNLIKE = (
    Forms("a denial before an address that is allowed", _ASKED.format("deny 127.0.0.1; allow all; "),
          _ASKED.format("allow all; "), ("/f.txt",)),
    Forms("a denial in a location without a password", _ASKED.format("deny all; location /f { auth_basic off; } "),
          _ASKED.format("location /f { auth_basic off; } "), ("/f.txt",)),
)  # fmt: skip
_READ_BEFORE = (
    "geo %s$g{N} { default 0; 10.0.0.1 1; } server { listen {L}; set $a $remote_addr;"
    " location /a/ { set_real_ip_from 127.0.0.1; add_header X $g{N}; root {T}/r; }"
    " location / { proxy_set_header X-Real-IP 10.0.0.1; proxy_pass http://{L}/a/f.txt; } }"
)
_LINK = "secure_link $arg_m,$arg_e; secure_link_md5 $uri;"
ELSEWHERE_UNLIKE = (
    Forms("names that a Referer may have", f"server_name z.test; {_REFERRED}", f"server_name y.test; {_REFERRED}"),
    Forms("a variable of a subrequest", f"{_AUTHORISED} location = /zu {{ set $x 1; return 204; }}",
          f"{_AUTHORISED} location = /zu {{ set $x 2; return 204; }}", ("/f.txt",)),
    Forms("a map that a subrequest looks up first", "map $uri $x{N} { default 1; /zu 2; } server { listen {L};"
          f" {_AUTHORISED.replace('$x', '$x{N}')} location = /zu {{ if ($x{{N}}) {{ set $k 1; }} return 204; }} }}",
          "map $uri $x{N} { default 1; /zu 2; } server { listen {L};"
          f" {_AUTHORISED.replace('$x', '$x{N}')} location = /zu {{ set $k 1; return 204; }} }}", ("/f.txt",)),
    Forms("a subrequest in the same location", f"location ~ ^/(?<x>.) {{ {_AUTHORISED[12:]}",
          f"location ~ ^/(.) {{ {_AUTHORISED[12:]}".replace("$x", "$1"), ("/f.txt",)),
    Forms("a setting with a pattern", _COOKIE % ("(?<x>a.)", "$x"), _COOKIE % ("(a.)", "$1"), ("/ab",)),
    Forms("the first name in capitals", "server_name A.test; return 200 $server_name;",
          "server_name A.test; return 200 A.test;"),
    Forms("a network of geo in one that says something else", "geo $g{N} { 127.0.0.0/8 a; 127.0.0.0/16 b;"
          " 127.0.0.0/24 a; } server { listen {L}; return 200 [$g{N}]; }",
          "geo $g{N} { 127.0.0.0/8 a; 127.0.0.0/16 b; } server { listen {L}; return 200 [$g{N}]; }"),
    Forms("the last of default and all addresses", "geo $g{N} { default a; 0.0.0.0/0 b; } server { listen {L};"
          " return 200 $g{N}; }", "geo $g{N} { 0.0.0.0/0 b; default a; } server { listen {L}; return 200 $g{N}; }"),
    Forms("a field that shows one before it", "root {T}/r; add_header B 1; add_header A $sent_http_b;",
          "root {T}/r; add_header A $sent_http_b; add_header B 1;", ("/f.txt",)),
    Forms("a field that shows one before it by a map", "map $sent_http_b $m{N} { 1 x; } server { listen {L};"
          " root {T}/r; add_header B 1; add_header A $m{N}; }", "map $sent_http_b $m{N} { 1 x; } server { listen {L};"
          " root {T}/r; add_header A $m{N}; add_header B 1; }", ("/f.txt",)),
    Forms("the time of a link that was not checked", f"{_LINK} set $a $secure_link; return 200 $secure_link_expires;",
          f"{_LINK} return 200 $secure_link_expires;", ("/?m=x&e=1",)),
    Forms("a field with the time of a link before the link", f"{_LINK} root {{T}}/r; add_header A [$secure_link];"
          " add_header B $secure_link_expires;", f"{_LINK} root {{T}}/r; add_header B $secure_link_expires;"
          " add_header A [$secure_link];", ("/f.txt?m=x&e=1",)),
    Forms("a host that another location passes on to, without a resolver",
          "location / { set $h localhost; proxy_pass http://$h:{U}; } location = /q { return 404;"
          " fastcgi_pass localhost:{U}; }",
          "location / { set $h localhost; proxy_pass http://$h:{U}; } location = /q { return 404; }"),
    Forms("a charset that is called off", "charset $arg_c; source_charset off; root {T}/r;",
          "charset $arg_c; root {T}/r;", ("/f.txt?c=utf-8",)),
    Forms("an address that was read before it changed", _READ_BEFORE % "$remote_addr ", _READ_BEFORE % ""),
    Forms("a script that sets the host of a pass", "location / { set $proxy_host a; proxy_pass http://127.0.0.1:{U}; }",
          "location / { set $proxy_host b; proxy_pass http://127.0.0.1:{U}; }", versions=("1.22",)),
    Forms("trailers of a response in no chunks", "root {T}/r; add_trailer X 1; chunked_transfer_encoding off;",
          "root {T}/r; add_trailer X 1;", ("/f.txt",)),
    Forms("a first buffer that is larger than the others", "client_header_buffer_size 1k;"
          " large_client_header_buffers 4 1k; return 200;", "client_header_buffer_size 4k;"
          " large_client_header_buffers 4 1k; return 200;", (f"/{'a' * 2000}",)),
)  # fmt: skip
"""What shows elsewhere than where it stands."""
