"""Determines which URIs may run the script of a server again in one request, so that its maps need not be volatile.

An internal redirect and a subrequest run the script again (`ngx_http_internal_redirect`, `ngx_http_subrequest`), and
share the values of variables with the request. A value that nginx keeps from the first URI is then right only if it
would be the same for the second. Named locations, and `last` and `break` in rewrites, do not run it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from nginxopt import lazy
from nginxopt.config import Bulk, Config, Directive
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.rewrite.surroundings import is_known, runs_no_code
from nginxopt.text import encode

_WORD = rb"""(?:"[^"]*"|'[^']*'|[^\s;"'][^\s;]*)"""
_REWRITE = lazy.pattern(rb"rewrite\s+(%s)\s+(%s)(?:\s+(\w+))?\s*;" % (_WORD, _WORD))
_REDIRECTS = (b"redirect", b"permanent")
_REDIRECTING = (b"http://", b"https://", b"$scheme")
_ERROR = lazy.pattern(r"[45]\d\d")
_FILES = ("$uri", "$uri/")
"""The files of `try_files` that do not change `$uri`, but for a slash at its end."""
_INDEX = b"index.html"
"""The default of `index`."""


@record(eq=True)
class Reruns:
    """The URIs for which a script of a server may run again; all are known.

    Attributes:
        uris: Those that stand in the configuration.
        names: The names of indexes. An index file runs the script with its name behind the URI, which ends in a slash.
        changes: Whether the URI may change before, apart from a redirect.
    """

    uris: list[bytes]
    names: list[bytes]
    changes: bool


@cache
def unknown() -> frozenset[str]:
    """Return the directives that may run a script again with any URI."""
    return group("pass") | group("again") | group("leads") - {"try_files"} | group("untried") - {"include"}


def of(config: Config) -> Reruns | None:
    """Return what may run the scripts of a configuration again; None if that is not known."""
    if not is_known(config):
        return None
    uris, names, changes = set[bytes](), {_INDEX}, False
    for _, target, flag in rewrites(config):
        is_redirect = target.strip(b"\"'").startswith(_REDIRECTING)
        if flag == (b"break" if is_redirect else b""):
            return None  # the next statement of the script may see another URI
        changes |= not is_redirect
    for directive, scope in config.walk():
        if scope.context[:1] in (("stream",), ("mail",), ("events",)):
            continue
        known = directive.name not in unknown() and runs_no_code(directive, scope)
        leads = _leads(directive) if known else None
        if leads is None:
            return None
        for uri in filter(None, leads):
            (uris if uri.startswith(b"/") else names).add(uri)
        changes |= directive.name == "try_files" and not set(directive.args[:-1]) <= set(_FILES)
    return Reruns(sorted(uris), sorted(names), changes)


def _leads(directive: Directive) -> list[bytes] | None:
    """Return the URIs or names of files to which a directive leads; None if they are not known."""
    found: tuple[str, ...] = ()
    match directive.name, directive.args:
        case "index", names:
            found = names
        case "try_files", [*_, last]:
            found = () if last.startswith(("=", "@")) else (last.partition("?")[0],)
            if not all(uri.startswith("/") for uri in found):
                return None
        case "error_page", [*codes, uri]:
            if not all(_ERROR.fullmatch(code) or code.startswith("=") for code in codes):
                return None  # a redirect may become a page
            found = (uri.partition("?")[0],) if uri.startswith(("/", "$")) else ()
    return None if any("$" in uri for uri in found) else list(map(encode, found))


def rewrites(config: Config) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the pattern, target and flag of each rewrite that has no flag of a redirect; the flag may be empty."""
    for scope in config.scope.tree():
        for node in scope.nodes:
            if node.name == "rewrite" and isinstance(node, Bulk | Directive):
                text = node.source.data[node.span.start : node.span.end]
                for match in _REWRITE.finditer(text):
                    if match[3] not in _REDIRECTS:
                        yield match[1], match[2], match[3] or b""
