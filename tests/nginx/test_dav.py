"""WebDAV: what it creates and deletes, on an nginx with files of its own."""

from __future__ import annotations

from functools import cache

import pytest

from nginxopt.config import load_text
from nginxopt.request import build as builds
from nginxopt.request import read_request
from nginxopt.request.model import SiteModel, World
from nginxopt.request.real import compare
from nginxopt.request.trace import Circumstances, trace
from nginxopt.system import nginx
from tests.nginx.modules import knows

pytestmark = pytest.mark.nginx

probe = cache(builds.probe)

SITE = """events {}
http {
    server {
        listen 80;
        root /w;
        location / { dav_methods PUT DELETE MKCOL; }
        location /put/ { dav_methods PUT; create_full_put_path on; }
        location /rel/ { dav_methods PUT; create_full_put_path on; absolute_redirect off; }
        location /deep/ { dav_methods DELETE; min_delete_depth 3; }
    }
}
"""
EXISTING = ("/w/a.txt", "/w/d/", "/w/full/b.txt", "/w/deep/x/c.txt")
_NOTHING = ("Content-Length: 0",)
DONE = {
    "PUT /d/n%20w?q": (201, "http://h/d/n%20w"),
    "PUT /a.txt": (204, None),
    "PUT /d": (409, None),
    "PUT /none/a": (500, None),
    "PUT /put/a/b": (201, "http://h/put/a/b"),
    "PUT /rel/a": (201, "/rel/a"),
    "MKCOL /n%20w/": (201, "http://h/n%20w/"),
    "MKCOL /d/": (405, None),
    "MKCOL /none/n/": (409, None),
    "DELETE /a.txt": (204, None),
    "DELETE /d/": (204, None),
    "DELETE /full/": (204, None),
    "DELETE /a.txt/": (409, None),
    "DELETE /none": (404, None),
    "DELETE /deep/x": (409, None),
    "DELETE /deep/x/c.txt": (204, None),
}


@pytest.mark.parametrize("asked", DONE)
def test_nginx_does_what_the_model_says(each_binary: nginx.Binary, asked: str) -> None:
    """The status and the `Location` are those of nginx, where these files exist and no others do."""
    if not knows(each_binary, "dav_methods"):
        pytest.skip("built without WebDAV")
    config = load_text(SITE.encode())
    world = World(EXISTING, listed=("/w",))
    model = SiteModel(config, probe(each_binary))
    method, target = asked.split()
    request = read_request(f"{method} http://h{target}", headers=_NOTHING)
    found = trace(model, request, Circumstances(world, model.gate(), "stated"))
    assert (found.outcome["status"], found.outcome["location"]) == DONE[asked]
    comparison = compare(config, found, world, each_binary)
    assert (comparison.differences, comparison.reason) == ((), None)
