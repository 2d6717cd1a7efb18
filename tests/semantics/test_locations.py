"""The location that nginx selects for a URI."""

from __future__ import annotations

import pytest

from nginxopt.semantics import Locations, Uncertain, levels
from nginxopt.semantics.locations import modifier, path
from tests.lintcheck import TARGET, read

LOCATIONS = """
    location = /e { } location / { } location /a/ { location /a/b/ { } location ~ n$ { } } location ^~ /s/ { }
    location ~ \\.p$ { location ~ q { } } location ~* \\.G$ { } location @n { }
"""


@pytest.mark.parametrize(
    ("uri", "chosen"),
    [("/e", "=/e"), ("/x", "/"), ("/a/x", "/a/"), ("/a/b/x", "/a/b/"), ("/a/n", "~n$"), ("/a/b/x.p", r"~\.p$"),
     ("/s/x.p", "^~/s/"), ("/q.p", "~q"), ("/x.g", r"~*\.G$")],
)  # fmt: skip
def test_locations_are_chosen_as_nginx_does(uri: str, chosen: str) -> None:
    """Exact, longest prefix, regular expressions, those within: the order of `ngx_http_core_find_location`."""
    (server,) = (
        directive for directive in levels(read(LOCATIONS, "server"), TARGET).walk() if directive.kind == "server"
    )
    location = Locations(server).select(uri.encode())
    assert location is not None
    assert modifier(location) + path(location) == chosen


def test_a_location_that_may_add_a_slash_is_uncertain() -> None:
    """A location that passes on redirects to its slash, which depends on more than the location."""
    (server,) = (
        directive for directive in levels(read(LOCATIONS, "server"), TARGET).walk() if directive.kind == "server"
    )
    with pytest.raises(Uncertain):
        Locations(server).select(b"/a")
