"""Readers of a variable on the real nginx: Lua reads one by a name that the configuration does not show."""

from __future__ import annotations

import pytest

from nginxopt.lint import Safety
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import diagnose, fixed
from tests.nginx.modules import LUA, require_lua

pytestmark = pytest.mark.nginx


def test_lua_reads_the_variable_of_a_map(binary: nginx.Binary) -> None:
    """The fix changes a variable that Lua reads by name, so no premise makes it safe."""
    require_lua(binary)
    before = (
        "map $http_upgrade $c { default upgrade; '' close; }\nupstream app { server 127.0.0.1:1; keepalive 1; }\n"
        "server { listen unix:other.sock; location / { proxy_pass http://app; proxy_http_version 1.1;\n"
        "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $c; } }\n"
    )
    lua = "location / { content_by_lua_block { ngx.print('[' .. ngx.var.c .. ']') } }"
    text = f"{before}server {{ listen unix:lua.sock; {lua} }}\n"
    (finding,) = diagnose("websocket-map-close", text, context="http", target="1.22.1")
    assert finding.fix is not None
    assert finding.fix.safety == Safety.UNSAFE
    after = fixed("websocket-map-close", before, context="http", target="1.22.1").decode()
    shown = []
    for http in (before, after):
        instance = nginx.Instance(binary, main=LUA.encode(), http=http.encode(), servers=[lua.encode()])
        with instance, instance.client() as client:
            (response,) = client.ask([RequestBytes(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")])
        shown.append([value for value in (b"[close]", b"[]") if value in response])
    assert shown == [[b"[close]"], [b"[]"]]
