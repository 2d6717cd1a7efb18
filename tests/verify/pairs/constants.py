"""Variables that a server sets to a text, which `verify` takes for that text, and those that only look so."""

from __future__ import annotations

from tests.verify.pairs.form import Forms

_ROOTED = "root {{T}}/r; location / {{ {} }}"


def constant(name: str, variable: str, old: str, new: str, *targets: str) -> Forms:
    """A server that sets a variable, and one with its text."""
    return Forms(name, f"{variable} {old}", new, targets or ("/f.txt", "/a/f.txt", "/nx", "/%zz"))


CONSTANTS_ALIKE = (
    constant("a variable for a folder", "set $f {T}/r;", "root $f; location / { }", "root {T}/r; location / { }"),
    constant("a variable for a part of a folder", "set $F r;", "root {T}/${f}; location / { try_files $uri =404; }",
             "root {T}/r; location / { try_files $uri =404; }"),
    constant("a variable for the folder that a header shows", "set $f {T}/r;",
             "root $f; location / { add_header A $document_root$request_filename always; }",
             "root {T}/r; location / { add_header A $document_root$request_filename always; }"),
    constant("a variable for a header", "set $g x; set $f y;", _ROOTED.format("add_header A b${f}c always;"),
             _ROOTED.format("add_header A byc always;")),
    constant("a variable for the host", "set $f h:1;",
             "location / { proxy_set_header Host $f; proxy_pass http://127.0.0.1:{U}; }",
             "location / { proxy_set_header Host h:1; proxy_pass http://127.0.0.1:{U}; }"),
    constant("a variable for a folder with a page of early errors", "set $f {T}/r;",
             "root $f; error_page 400 404 /x.html; location / { }",
             "root {T}/r; error_page 400 404 /x.html; location / { }"),
)  # fmt: skip
CONSTANTS_UNLIKE = (
    constant("a folder whose slash nginx cuts off", "set $f {T}/r/;",
             "root $f; location / { add_header A $document_root; }",
             "root {T}/r/; location / { add_header A $document_root; }"),
    constant("a folder that nginx completes", "set $f r;",
             "root $f; location / { add_header A $document_root always; }",
             "root r; location / { add_header A $document_root always; }"),
    constant("a variable that a location sets, too", "set $f x;", _ROOTED.format("set $f y; add_header A $f;"),
             _ROOTED.format("add_header A x;")),
    constant("a variable that a condition sets, too", "set $f x;", "if ($arg_a) { set $f y; }"
             f" {_ROOTED.format('add_header A $f;')}", _ROOTED.format("add_header A x;"), "/f.txt?a=1"),
    constant("a variable that a subrequest sets", "set $f x;",
             "root {T}/r; auth_request /q; location = /q { auth_request off; proxy_pass http://127.0.0.1:{U}; }"
             " location / { auth_request_set $f $upstream_status; add_header A $f; }",
             "root {T}/r; auth_request /q; location = /q { auth_request off; proxy_pass http://127.0.0.1:{U}; }"
             " location / { auth_request_set $g $upstream_status; add_header A x; }", "/f.txt"),
    constant("a variable that is set twice", "set $f x; set $f y;", _ROOTED.format("add_header A $f;"),
             _ROOTED.format("add_header A x;")),
    constant("a variable with the name of a group", "set $f x;",
             "root {T}/r; location ~ ^/(?<f>f) { add_header A $f; }",
             "root {T}/r; location ~ ^/f { add_header A x; }", "/f.txt"),
    constant("a variable that is set behind a return", "if ($arg_a) { return 404; } set $f x;",
             "root {T}/r; error_page 404 @n; location @n { add_header A $f always; return 402; }",
             "if ($arg_a) { return 404; } root {T}/r; error_page 404 @n;"
             " location @n { add_header A x always; return 402; }", "/?a=1"),
    constant("a variable for a header of early errors", "set $f x;",
             "add_header A $f always; location / { return 200; }",
             "add_header A x always; location / { return 200; }", "/%zz"),
    constant("a variable for a folder that a header of early errors shows", "set $f {T}/r;",
             "root $f; add_header A $document_root always; location / { }",
             "root {T}/r; add_header A $document_root always; location / { }", "/%zz"),
    Forms("a variable of another server", "server { listen {L}; server_name z; set $f x; } server { listen {L};"
          " server_name h; add_header A a$f; location / { return 200; } }", "server { listen {L}; server_name z; }"
          " server { listen {L}; server_name h; add_header A ax; location / { return 200; } }", ("/",)),
)  # fmt: skip
"""Variables of a server with one text."""
