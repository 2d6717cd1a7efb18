"""Pairs in which `add_header_inherit` decides, which nginx has since 1.29.3."""

from __future__ import annotations

from tests.verify.pairs.pair import Pair

_DROPPED = "add_header X-A 1; add_header_inherit off;"

INHERITED_UNLIKE = (
    Pair(
        "a location around one that merges headers",
        f"{_DROPPED} location /a {{ add_header_inherit merge; return 200; }}",
        f"{_DROPPED} location / {{ location /a {{ add_header_inherit merge; return 200; }} }}",
    ),
    Pair(
        "a location around one that has the headers around it",
        f"{_DROPPED} location /a {{ add_header_inherit on; return 200; }}",
        f"{_DROPPED} location / {{ location /a {{ add_header_inherit on; return 200; }} }}",
    ),
    Pair(
        "merged headers",
        "add_header X-A 1; location /a { add_header_inherit merge; add_header X-B 1; return 200; }",
        "add_header X-A 2; location /a { add_header_inherit merge; add_header X-B 1; return 200; }",
    ),
    Pair(
        "headers dropped further out",
        "add_header X-A 1; location / { location /a { return 200; } }",
        "add_header X-A 1; location / { add_header_inherit off; location /a { return 200; } }",
    ),
)

INHERITED_ALIKE = (
    Pair(
        "a location around one that says nothing of headers",
        f"{_DROPPED} location / {{ }} location /a {{ return 200; }} location /b {{ add_header X-B 1; return 200; }}",
        f"{_DROPPED} location / {{ location /a {{ return 200; }} location /b {{ add_header X-B 1; return 200; }} }}",
    ),
    Pair(
        "a location around one, with headers that are merged",
        "add_header X-A 1; add_header_inherit merge; location / { } location /a { add_header X-B 1; return 200; }",
        "add_header X-A 1; add_header_inherit merge; location / { location /a { add_header X-B 1; return 200; } }",
    ),
)
