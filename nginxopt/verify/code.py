"""What code may read although its name appears nowhere in the configuration: programs, templates in the content,
unknown modules.

A program may compute the names of variables (`ngx.var["ti" .. "er"]`), so it may read every one that is defined. Other
directives read only the variables in their arguments, even those of modules with filters: `sub_filter`, `xslt_param`,
`echo`.
"""

from __future__ import annotations

from enum import Flag, auto
from functools import cache

from nginxopt.semantics.directives import NAMES
from nginxopt.semantics.site.effects import is_off, listed
from nginxopt.semantics.site.unread import STRUCTURE


class Reads(Flag):
    """What code may read besides its arguments.

    - `VARIABLES`: any variable of the request, and so what defines it, and the settings that variables, headers and
      bodies show.
    - `UPSTREAMS`: the servers of any upstream.
    """

    NOTHING = 0
    VARIABLES = auto()
    UPSTREAMS = auto()
    EVERYTHING = VARIABLES | UPSTREAMS


_LUA = "_by_lua"
_LUA_SUFFIXES = ("", "_block", "_file")
_LUA_READS = {
    **dict.fromkeys(
        (
            *("server_rewrite", "set", "rewrite", "access", "precontent", "content", "header_filter", "body_filter"),
            *("log", "balancer", "proxy_ssl_certificate", "proxy_ssl_verify"),
        ),
        Reads.EVERYTHING,
    ),
    # Without a request: "API disabled in the context of ssl_certificate_by_lua*".
    **dict.fromkeys(("ssl_certificate", "ssl_client_hello", "ssl_session_fetch", "ssl_session_store"), Reads.UPSTREAMS),
    # What they leave behind for others counts as they are written; timers have no request either.
    **dict.fromkeys(("init", "init_worker", "exit_worker"), Reads.NOTHING),
}
"""What Lua reads in each phase: `ngx.var`, and `ngx.upstream` or `ngx.balancer`."""

_OTHERS = {
    # njs: `r.variables`, of the session of `js_periodic` as well
    **dict.fromkeys(
        ("js_access", "js_body_filter", "js_content", "js_filter", "js_header_filter", "js_periodic", "js_set"),
        Reads.VARIABLES,
    ),
    # Perl: `$r->variable()`
    **dict.fromkeys(("perl", "perl_set"), Reads.VARIABLES),
    # `<!--# echo var="name" -->` in files and in the answers of upstreams
    "ssi": Reads.VARIABLES,
    # programs and rules in other files, of modules whose interface is not open, or not here
    **dict.fromkeys(("app_protect_enable", "modsecurity", "proxy_wasm"), Reads.VARIABLES),
    # pages that show the upstreams of http
    **dict.fromkeys(("api", "status", "upstream_conf", "vhost_traffic_status_display"), Reads.UPSTREAMS),
}
"""The other directives that run code, or show what their arguments do not name."""

CODE = {
    **{f"{phase}{_LUA}{suffix}": reads for phase, reads in _LUA_READS.items() for suffix in _LUA_SUFFIXES},
    **_OTHERS,
}
"""The known directives that read more than their arguments name."""

_UNREAD_TABLES = frozenset(["map", "geo", "split_clients"])


def reads(name: str, args: tuple[str, ...] = ()) -> Reads:
    """Return what a directive may read besides its arguments: everything if it is unknown, or if it is an include that
    was not read."""
    if name in CODE:
        return Reads.NOTHING if is_off(name, args) else CODE[name]
    return Reads.NOTHING if name in _known() else Reads.EVERYTHING


def runs_code(name: str, args: tuple[str, ...] = ()) -> bool:
    """Return whether a directive certainly runs code, which may connect to other servers."""
    return name in CODE and not is_off(name, args)


def reads_as_definition(name: str) -> Reads:
    """Return what a directive that defines a variable of unknown value may read besides its arguments.

    A table is unknown if a part of it was not read.
    """
    return Reads.VARIABLES if name in _UNREAD_TABLES else reads(name)


@cache
def _known() -> frozenset[str]:
    """The directives that certainly read what their arguments name, and nothing else."""
    return (NAMES | listed() | STRUCTURE) - CODE.keys() - {"include"}
