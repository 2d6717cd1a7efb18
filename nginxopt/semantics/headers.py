"""How headers are inherited, which has a directive of its own since nginx 1.29.3 (`ngx_http_headers_merge`).

With `off` a block has the headers that it adds, with `merge` those of the block around it as well, and with `on`, the
default, those of the block around it if it adds none.
"""

INHERITANCE = {"add_header": "add_header_inherit", "add_trailer": "add_trailer_inherit"}
"""The directives that add headers and trailers, each with the one that says how it is inherited."""
