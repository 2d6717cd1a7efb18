"""Pairs in which the limit of bodies decides, which nginx checks as it has looked for a location."""

from __future__ import annotations

from tests.verify.pairs.form import Forms

_LIMIT, _ROOT = "client_max_body_size 5;", "root {T}/r;"
_TO_FILE = "rewrite ^/q$ f.txt last;"  # a URI without a slash, which is in no location


def sized(name: str, old: str, new: str, *targets: str) -> Forms:
    """A pair whose requests have bodies that are larger than the limit."""
    return Forms(name, old, new, targets or ("/", "/f.txt", "/nx"), size=10)


BODIES_ALIKE = (
    sized("an empty location", f"{_ROOT} location / {{ }}", _ROOT),
    sized("an empty location below a limit", f"{_LIMIT} {_ROOT} location / {{ }}", f"{_LIMIT} {_ROOT}"),
    sized("the limit of a location for all", f"{_ROOT} location / {{ {_LIMIT} }}", f"{_ROOT} {_LIMIT}"),
    sized("a limit that no request comes to", f"{_ROOT} client_max_body_size 3; location / {{ {_LIMIT} }}",
          f"{_ROOT} location / {{ {_LIMIT} }}"),
    sized("the page of an error of such a location", f"{_ROOT} location / {{ {_LIMIT} error_page 413 /a/f.txt; }}",
          f"{_ROOT} {_LIMIT} error_page 413 /a/f.txt;"),
)  # fmt: skip
BODIES_UNLIKE = (
    sized("the limit of some requests", f"{_ROOT} {_LIMIT} location /a {{ }}", f"{_ROOT} location /a {{ {_LIMIT} }}",
          "/f.txt"),
    sized("the limit of a server for a URI in no location", f"{_ROOT} {_TO_FILE} {_LIMIT} location / {{ }}",
          f"{_ROOT} {_TO_FILE} location / {{ {_LIMIT} }}", "/q"),
    sized("a limit behind a script that answers", f"if ($arg_a) {{ return 403; }} {_LIMIT} {_ROOT}",
          f"{_ROOT} location / {{ {_LIMIT} if ($arg_a) {{ return 403; }} }}", "/?a=1"),
)  # fmt: skip
