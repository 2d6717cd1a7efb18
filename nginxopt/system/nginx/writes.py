"""The directives by which nginx writes files, sends logs, or makes sockets.

The criterion is nginx's source. A directive belongs here if it opens files for writing (`ngx_conf_open_file`,
NGX_FILE_CREATE_OR_OPEN), makes folders (`ngx_conf_set_path_slot`, `ngx_add_path`, `ngx_create_full_path`), sockets
(`ngx_open_listening_sockets`) or profiles (`ProfilerStart`), or changes the files that nginx serves
(ngx_http_dav_module, `ngx_http_upstream_store`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, Token
from nginxopt.facts import group

_UNIX = "unix:"
_PROTOCOLS = ("proxy", "fastcgi", "uwsgi", "scgi")
TEMPORARY = tuple(f"{name}_temp_path" for name in ("client_body", *_PROTOCOLS))
"""The directives for folders of temporary files. nginx creates each, by default at a built-in path."""

_WRITTEN = group("written")
SERVED = frozenset(["dav_methods", "create_full_put_path", *(f"{name}_store" for name in _PROTOCOLS)])
"""Directives by which nginx changes the files that it serves."""


def written(directive: Directive) -> Token | None:
    """Return the argument that names a file, folder, socket or log server to which nginx writes."""
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
    """Yield directives that a level lacks and for which nginx has a default path, with paths in a folder instead."""
    if context == ():
        own = {"pid": "nginx.pid", "lock_file": "nginx.lock", "error_log": "error.log"}
    elif context == ("http",):
        own = {"access_log": "access.log", **{name: name for name in TEMPORARY}}
    else:
        return
    yield from (f"{name} {folder}/{file};" for name, file in own.items() if name not in present)
