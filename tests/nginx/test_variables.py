"""Who reads a variable, on the real nginx: Lua does by its name, which no word of the configuration shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.lint import Safety
from nginxopt.system import nginx
from nginxopt.system.http import Request
from tests.lintcheck import fixed, found

MODULES = [Path("/usr/lib/nginx/modules") / f"{name}.so" for name in ("ndk_http_module", "ngx_http_lua_module")]
LUA = "".join(f"load_module {module};\n" for module in MODULES).encode()


@pytest.mark.skipif(not all(module.exists() for module in MODULES), reason="install libnginx-mod-http-lua")
def test_lua_reads_the_variable_of_a_map(binary: nginx.Binary) -> None:
    """What Lua reads by name changes with the map: no premise makes that fix safe."""
    before = (
        "map $http_upgrade $c { default upgrade; '' close; }\nupstream app { server 127.0.0.1:1; keepalive 1; }\n"
        "server { listen unix:other.sock; location / { proxy_pass http://app; proxy_http_version 1.1;\n"
        "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $c; } }\n"
    )
    lua = "location / { content_by_lua_block { ngx.print('[' .. ngx.var.c .. ']') } }"
    text = f"{before}server {{ listen unix:lua.sock; {lua} }}\n"
    (finding,) = found("websocket-map-close", text, context="http", target="1.22.1")
    assert finding.fix is not None
    assert finding.fix.safety == Safety.UNSAFE
    after = fixed("websocket-map-close", before, context="http", target="1.22.1").decode()
    said = []
    for http in (before, after):
        instance = nginx.Instance(binary, main=LUA, http=http.encode(), servers=[lua.encode()])
        with instance, instance.client() as client:
            (answer,) = client.ask([Request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")])
        said.append([word for word in (b"[close]", b"[]") if word in answer])
    assert said == [[b"[close]"], [b"[]"]]
