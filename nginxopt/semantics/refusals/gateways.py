"""Setters of proxy, fastcgi, uwsgi, scgi, grpc, memcached and tunnel: targets, caches, stores, rewriting of answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.semantics.refusals.logs import cache_of_files
from nginxopt.semantics.refusals.patterns import pattern_error
from nginxopt.semantics.refusals.reading import Setter, Stated, register
from nginxopt.semantics.refusals.urls import parse_url
from nginxopt.semantics.values import number, seconds, size
from nginxopt.text import encode
from nginxopt.version import Version

SETTERS: dict[str, Setter] = {}

_SCHEMES = {
    "ngx_http_proxy_pass": ("http://", "https://"),
    "ngx_http_grpc_pass": ("grpc://", "grpcs://"),
    "ngx_http_uwsgi_pass": ("uwsgi://", "suwsgi://"),
}
_URI_IS_WRONG = (
    '"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, '
    'or inside "if" statement, or inside "limit_except" block'
)
_FLAGS = ("secure", "nosecure", "httponly", "nohttponly", "samesite", "samesite=strict", "samesite=lax",
          "samesite=none", "nosamesite")  # fmt: skip
_CODES = lazy.pattern(r"[0-9]+")


@register(SETTERS, "ngx_http_proxy_pass")
def _proxy_pass(stated: Stated) -> Iterator[str]:
    url = str(stated.args[0])
    if "$" in url:
        return
    scheme = next((scheme for scheme in _SCHEMES["ngx_http_proxy_pass"] if url.lower().startswith(scheme)), None)
    if scheme is None:
        yield "invalid URL prefix"
        return
    target = parse_url(url[len(scheme) :], uri=True)
    if target.error is not None:
        yield f'{target.error} in upstream "{url[len(scheme) :]}"'
    elif target.uri and _has_no_prefix(stated):
        yield _URI_IS_WRONG


def _has_no_prefix(stated: Stated) -> bool:
    """Return whether the location has no path that a URI part could replace."""
    level = stated.level
    if level.kind in ("if", "limit_except"):
        return True
    return level.kind == "location" and _is_regex_or_named(level.args)


def _is_regex_or_named(args: Sequence[str]) -> bool:
    if len(args) == 2:
        return args[0] in ("~", "~*")
    return bool(args) and args[0][:1] in ("@", "~")


@register(
    SETTERS,
    "ngx_http_fastcgi_pass",
    "ngx_http_scgi_pass",
    "ngx_http_uwsgi_pass",
    "ngx_http_grpc_pass",
    "ngx_http_memcached_pass",
    "ngx_http_tunnel_pass",
    "ngx_stream_proxy_pass",
)
def _pass(stated: Stated) -> Iterator[str]:
    url = str(stated.args[0]) if stated.args else ""
    if "$" in url or not stated.args:
        return
    for scheme in _SCHEMES.get(stated.declaration.setter, ()):
        if url.lower().startswith(scheme):
            url = url[len(scheme) :]
            break
    error = parse_url(url).error
    if error is not None:
        yield f'{error} in upstream "{url}"'


@register(SETTERS, "ngx_stream_pass")
def _stream_pass(stated: Stated) -> Iterator[str]:
    address = str(stated.args[0])
    if "$" in address:
        return
    url = parse_url(address)
    if url.error is not None:
        yield f'{url.error} in "{address}" of the "pass" directive'
    elif not url.is_numeric:
        yield stated.says("has no addresses")
    elif url.port is None:
        yield stated.says("has no port")


@register(SETTERS, "ngx_http_proxy_store", "ngx_http_fastcgi_store", "ngx_http_scgi_store", "ngx_http_uwsgi_store")
def _store(stated: Stated) -> Iterator[str]:
    path = stated.args[0]
    if path == "off":
        return
    if not path and stated.reading.target >= _EMPTY_STORE:
        yield "empty path"
    elif any(other.args[:1] != ("off",) for other in _stated_before(stated, stated.name.replace("store", "cache"))):
        yield stated.says(f'is incompatible with "{stated.name.replace("store", "cache")}"')


@register(SETTERS, "ngx_http_proxy_cache", "ngx_http_fastcgi_cache", "ngx_http_scgi_cache", "ngx_http_uwsgi_cache")
def _cache(stated: Stated) -> Iterator[str]:
    zone = str(stated.args[0])
    if zone == "off":
        return
    store = stated.name.replace("cache", "store")
    if any(other.args[:1] != ("off",) for other in _stated_before(stated, store)):
        yield stated.says(f'is incompatible with "{store}"')
    elif "$" not in zone:
        yield from stated.reading.add_zone(zone, 0, stated.module)


def _stated_before(stated: Stated, name: str) -> Iterator[Directive]:
    end = stated.directive
    here = stated.level.own(name)
    if not here:
        return
    for directive in stated.level.directives:
        if directive is end:
            return
        if directive.name == name:
            yield directive


@register(SETTERS, "ngx_http_file_cache_valid_set_slot")
def _cache_valid(stated: Stated) -> Iterator[str]:
    *codes, time = stated.args
    if seconds(time) is None:
        yield f'invalid time value "{time}"'
        return
    wrong = next((code for code in codes if code != "any" and not 100 <= (number(code) or 0) <= 599), None)
    if wrong is not None:
        yield f'invalid status "{wrong}"'


@register(SETTERS, "ngx_http_proxy_redirect")
def _proxy_redirect(stated: Stated) -> Iterator[str]:
    args = stated.args
    before = list(_stated_before(stated, "proxy_redirect"))
    if any(other.args == ("off",) for other in before) or (args == ("off",) and before):
        yield stated.says("is duplicate")
        return
    if len(args) != 1 or args[0] == "off":
        return
    if args[0] != "default":
        yield f'invalid parameter "{args[0]}"'
        return
    passes = list(_stated_before(stated, "proxy_pass"))
    if any("$" in other.args[0] for other in passes if other.args):
        yield '"proxy_redirect default" cannot be used with "proxy_pass" directive with variables'
    elif not passes:
        yield '"proxy_redirect default" should be placed after the "proxy_pass" directive'


@register(SETTERS, "ngx_http_proxy_cookie_domain", "ngx_http_proxy_cookie_path", "ngx_http_proxy_cookie_flags")
def _proxy_cookie(stated: Stated) -> Iterator[str]:
    args = stated.args
    before = list(_stated_before(stated, stated.name))
    if any(other.args == ("off",) for other in before) or (args == ("off",) and before):
        yield stated.says("is duplicate")
    elif len(args) == 1 and args[0] != "off":
        yield f'invalid parameter "{args[0]}"'
    elif stated.name == "proxy_cookie_flags":
        wrong = next((word for word in args[1:] if "$" not in word and word.lower() not in _FLAGS), None)
        if wrong is not None:
            yield f'invalid parameter "{wrong}"'


@register(
    SETTERS,
    "ngx_http_ssl_certificate_cache",
    "ngx_stream_ssl_certificate_cache",
    "ngx_http_proxy_ssl_certificate_cache",
    "ngx_http_grpc_ssl_certificate_cache",
    "ngx_http_uwsgi_ssl_certificate_cache",
    "ngx_stream_proxy_ssl_certificate_cache",
)
def _certificate_cache(stated: Stated) -> Iterator[str]:
    if next(_stated_before(stated, stated.name), None) is not None:
        yield stated.says("is duplicate")
    else:
        yield from cache_of_files(stated, ("max", "inactive", "valid"), article="the ", least=1)


@register(SETTERS, "ngx_http_set_complex_value_size_slot", "ngx_stream_set_complex_value_size_slot")
def _rate(stated: Stated) -> Iterator[str]:
    if "$" not in stated.args[0] and size(stated.args[0]) is None:
        yield stated.says("invalid value")


_EMPTY_STORE = Version(1, 23, 0)


@register(SETTERS, "ngx_http_fastcgi_split_path_info")
def _split_path_info(stated: Stated) -> Iterator[str]:
    pattern = str(stated.args[0])
    if groups(pattern) not in (2, None):
        yield f'pattern "{pattern}" must have 2 captures'


def groups(pattern: str) -> int | None:
    """Return the number of groups of a pattern that capture; None if that takes more than counting."""
    if re.search(r"\\[QE]|\(\?[|#(^a-z-]*[x|#(]|\(\*|\[\^?\]|\[:", pattern) or pattern_error(encode(pattern)):
        return None
    bare = re.sub(r"\\.|\[\^?(?:\\.|[^\]\\])*\]", "", pattern, flags=re.DOTALL)
    return len(re.findall(r"\((?!\?)|\(\?P?<(?![=!])|\(\?'", bare))
