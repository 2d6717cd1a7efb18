"""The inheritance of headers, which `add_header_inherit` controls since nginx 1.29.3 (`ngx_http_headers_merge`).

- `on`, the default: a block inherits the headers of the block around it if it adds none.
- `merge`: it inherits them in addition to those that it adds.
- `off`: it does not inherit headers.
"""

from nginxopt.version import Version

INHERITANCE = {"add_header": "add_header_inherit", "add_trailer": "add_trailer_inherit"}
"""The directives that add headers and trailers, each with the directive that controls its inheritance."""

MERGED_SINCE = Version(1, 29, 3)
"""The first release with these directives."""
