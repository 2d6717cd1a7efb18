"""Checks the values of directives that nginx reads as numbers, sizes, times or names.

Most directives use a setter of nginx's core (`ngx_conf_set_num_slot` and the like in ngx_conf_file.c), which their
declaration names (`nginxopt/config/directives.tsv`). This module lists some that have a setter of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from nginxopt.config.declarations import Declaration
from nginxopt.semantics.values import milliseconds, number, seconds, size

_OFFSETS = frozenset({
    "client_max_body_size", "directio_alignment", "fastcgi_cache_max_range_offset", "proxy_cache_max_range_offset",
    "scgi_cache_max_range_offset", "uwsgi_cache_max_range_offset", "worker_rlimit_core",
})  # fmt: skip
"""The directives with a size that may be in gigabytes, with `g` (`ngx_conf_set_off_slot`)."""

_IN_SECONDS = frozenset({"open_file_cache_valid", "ssl_session_timeout"})
"""The directives with a time in seconds (`ngx_conf_set_sec_slot`); others take milliseconds."""

_BOUNDS = {
    "gzip_comp_level": (1, 9),
    "limit_conn_status": (400, 599),
    "limit_req_status": (400, 599),
    "uwsgi_modifier1": (0, 255),
    "uwsgi_modifier2": (0, 255),
}
"""The smallest and the largest number that a directive accepts (`ngx_conf_check_num_bounds`)."""

_GATEWAYS = ("proxy", "fastcgi", "scgi", "uwsgi")

_Takes = Callable[[Sequence[str]], bool]


def _takes_rate(args: Sequence[str]) -> bool:
    """`ngx_http_set_complex_value_size_slot`"""
    return "$" in args[0] or size(args[0]) is not None


_OWN: Mapping[str, _Takes] = {
    "aio": lambda args: args[0] in ("on", "off") or args[0].partition("=")[0] == "threads",
    "directio": lambda args: args[0] == "off" or size(args[0], giga=True) is not None,
    "keepalive_timeout": lambda args: (
        milliseconds(args[0]) is not None and all(seconds(arg) is not None for arg in args[1:])
    ),
    "userid_expires": lambda args: args[0] in ("off", "max") or seconds(args[0]) is not None,
    "limit_rate": _takes_rate,
    "limit_rate_after": _takes_rate,
    **{f"{gateway}_limit_rate": _takes_rate for gateway in _GATEWAYS},
}
"""The directives whose module reads their one value, with the function that tells whether it is valid."""

_CACHE_VALID = frozenset(f"{gateway}_cache_valid" for gateway in _GATEWAYS)


def fault(declaration: Declaration, args: Sequence[str]) -> str | None:
    """Return nginx's message for a wrong value of a directive; None if nginx accepts them, or a module reads them.

    The number of `args` must be one that the declaration allows.
    """
    name = declaration.name
    match declaration.values:
        case "number":
            return _of_number(name, args[0])
        case "size":
            return None if size(args[0], giga=name in _OFFSETS) is not None else _invalid(name)
        case "time":
            time = seconds if name in _IN_SECONDS else milliseconds
            return None if time(args[0]) is not None else _invalid(name)
        case "number size":
            return None if number(args[0]) and size(args[1]) else _invalid(name)
        case names if "|" in names:
            known = names.lower().split("|")
            wrong = next((word for word in args if word.lower() not in known), None)
            return None if wrong is None else f'invalid value "{wrong}"'
        case "" if name in _CACHE_VALID:
            return _of_cache_valid(args)
        case "" if name in _OWN and not _OWN[name](args):
            return _invalid(name)
    return None


def _of_number(name: str, text: str) -> str | None:
    value = number(text)
    if value is None:
        return f'"{name}" directive invalid number'
    low, high = _BOUNDS.get(name, (value, value))
    return None if low <= value <= high else f"value must be between {low} and {high}"


def _of_cache_valid(args: Sequence[str]) -> str | None:
    """`ngx_http_file_cache_valid_set_slot`"""
    *codes, time = args
    if seconds(time) is None:
        return f'invalid time value "{time}"'
    wrong = next((code for code in codes if code != "any" and not 100 <= (number(code) or 0) <= 599), None)
    return None if wrong is None else f'invalid status "{wrong}"'


def _invalid(name: str) -> str:
    return f'"{name}" directive invalid value'
