"""The directives by which nginx writes files, sends logs, or makes sockets.

The class is that of nginx's source: what opens files to write (`ngx_conf_open_file`, NGX_FILE_CREATE_OR_OPEN), makes
folders (`ngx_conf_set_path_slot`, `ngx_add_path`, `ngx_create_full_path`), sockets (`ngx_open_listening_sockets`),
profiles (`ProfilerStart`), or changes the files it serves (ngx_http_dav_module, `ngx_http_upstream_store`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, Token
from nginxopt.facts import group

_UNIX = "unix:"
_PROTOCOLS = ("proxy", "fastcgi", "uwsgi", "scgi")
TEMPORARY = tuple(f"{name}_temp_path" for name in ("client_body", *_PROTOCOLS))
"""The directives of folders for temporary files. nginx has a default for each, which it makes."""

_WRITTEN = group("written")
SERVED = frozenset(["dav_methods", "create_full_put_path", *(f"{name}_store" for name in _PROTOCOLS)])
"""Directives by which nginx changes the files that it serves."""


def written(directive: Directive) -> Token | None:
    """Return the argument that names a file, a folder, a socket, or a server of logs, that nginx writes to."""
    if not directive.args:
        return None
    name, word = str(directive.name), directive.args[0]
    if name == "error_log":
        return None if word == "stderr" or word.startswith("memory:") else word
    if name == "access_log":
        return None if word == "off" else word
    if name == "listen":
        return word if word.startswith(_UNIX) else None
    return word if name in _WRITTEN else None


def defaults(context: tuple[str, ...], present: set[str], folder: str) -> Iterator[str]:
    """Yield directives, with files in a folder, for those that a level lacks and for which nginx has a default."""
    if context == ():
        own = {"pid": "nginx.pid", "lock_file": "nginx.lock", "error_log": "error.log"}
    elif context == ("http",):
        own = {"access_log": "access.log", **{name: name for name in TEMPORARY}}
    else:
        return
    yield from (f"{name} {folder}/{file};" for name, file in own.items() if name not in present)
