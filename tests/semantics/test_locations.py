"""The names of locations, and the location that nginx selects for a URI."""

from __future__ import annotations

from nginxopt.request import from_curl, read_url
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics import Level
from nginxopt.semantics.site import Build
from tests.lintcheck import TARGET, read
from tests.rows import every_row

LOCATIONS = """
    location = /e { } location / { } location /a/ { location /a/b/ { } location ~ n$ { } } location ^~ /s/ { }
    location ~ \\.p$ { location ~ q { } } location ~* \\.G$ { } location @n { }
    location ~ /r/ { location = /r/x { } location /r/y { } }
"""


def chosen(text: str, uri: str) -> Level:
    """The level of which the settings are in force for a URI."""
    model = SiteModel(read(text, "server"), Build(TARGET))
    request = model.gate().form(from_curl(read_url(f"http://a.test{uri}")))
    level = model.trace(request, World())["outcome"]["level"]
    assert level is not None
    return model.site.levels[level]


@every_row(
    ("uri", "name"),
    [("/e", "=/e"), ("/x", "/"), ("/a/x", "/a/"), ("/a/b/x", "/a/b/"), ("/a/n", "~n$"), ("/a/b/x.p", r"~\.p$"),
     ("/s/x.p", "^~/s/"), ("/q.p", "~q"), ("/x.g", r"~*\.G$"), ("/a", "/"), ("/r/x", "~/r/"), ("/r/y", "~/r/")],
)  # fmt: skip
def test_locations_are_chosen_as_nginx_does(uri: str, name: str) -> None:
    """Exact, longest prefix, regular expressions, those within: the order of `ngx_http_core_find_location`.

    Only patterns are looked for inside of a pattern.
    """
    location = chosen(LOCATIONS, uri)
    assert location.modifier + location.path == name


def test_a_location_that_may_add_a_slash_answers_without_it() -> None:
    """A location that passes on takes its name without the slash, too; others do not."""
    text = "location / { } location %s { proxy_pass http://127.0.0.1:9; }"
    assert chosen(text % "/a/", "/a").path == "/a/"
    assert chosen(text % "= /a/", "/a").path == "/a/"
    assert chosen(text % "/a/b", "/a").path == "/"
