"""Modules that a build of nginx may lack: a test that needs one is skipped, and says which."""

from __future__ import annotations

import os
from functools import cache

import pytest

from nginxopt.system import nginx
from tests.support import run_nginx

FOLDER = os.environ.get("NGINXOPT_MODULES", "/usr/lib/nginx/modules")
"""Where modules are: by default where Debian's packages (libnginx-mod-http-lua ...) install them."""


def loading(*names: str) -> str:
    """The lines that load modules."""
    return "".join(f"load_module {FOLDER}/{name}.so;\n" for name in names)


PERL = f"perl_modules {FOLDER}/perl;"
"""The directive that finds nginx.pm in a folder beside them; Perl itself knows where Debian installs it."""

LUA = loading("ndk_http_module", "ngx_http_lua_module")
"""The lines that load Lua."""


def require_lua(binary: nginx.Binary) -> None:
    """Skip the test if nginx cannot load the Lua module: it is not installed, or of another build."""
    if not _accepts(binary, nginx.configuration(main=LUA.encode())):
        pytest.skip(f"{binary} has no Lua module here")


def require_modules(binary: nginx.Binary, *names: str) -> None:
    """Skip the test if nginx cannot load modules: they are not installed, or of another build."""
    http = PERL.encode() if "ngx_http_perl_module" in names else b""
    if not _accepts(binary, nginx.configuration(main=loading(*names).encode(), http=http)):
        pytest.skip(f"{binary} has no {' '.join(names)} here")


def require_njs(binary: nginx.Binary) -> None:
    """Skip the test if nginx is built without njs."""
    if not _accepts(binary, nginx.configuration(http=b"js_engine njs;")):
        pytest.skip(f"{binary} has no njs")


def require_directive(binary: nginx.Binary, name: str) -> None:
    """Skip the test if nginx is built without the module of a directive."""
    if not knows(binary, name):
        pytest.skip(f"{binary} is built without the module of {name}")


def is_built_with(binary: nginx.Binary, option: str) -> bool:
    """Whether an option of nginx's `configure` stands in `nginx -V`."""
    with nginx.private_prefix() as prefix:
        return option.encode() in run_nginx(binary, prefix, "-V").stderr.split()


@cache
def _accepts(binary: nginx.Binary, text: bytes) -> bool:
    return binary.test(text).ok


@cache
def knows(binary: nginx.Binary, directive: str) -> bool:
    """Whether nginx has the module of a directive."""
    verdict = binary.test(nginx.configuration([f"{directive};".encode()]))
    return f'unknown directive "{directive}"' not in str(verdict)


def has_stream(binary: nginx.Binary) -> bool:
    """Whether this nginx knows the block."""
    return binary.test(b"events {}\nstream {}\n").ok


def has_http3(binary: nginx.Binary) -> bool:
    """Whether nginx speaks HTTP/3."""
    return is_built_with(binary, "--with-http_v3_module")
