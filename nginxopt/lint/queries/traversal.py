"""URIs that leave a folder: nginx appends the rest of a URI to an `alias` or to the URI of a `proxy_pass`.

`/files../x` has no segment `..`, so nginx does not resolve it; behind a slash it becomes one.
`ngx_http_map_uri_to_path` and `ngx_http_proxy_create_request` resolve nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from nginxopt import lazy
from nginxopt.config.layout import replace
from nginxopt.lint.diagnostic import Fix, Safety
from nginxopt.lint.queries.reaching import also
from nginxopt.semantics import Level
from nginxopt.text import encode

_OUTSIDE = b"../secret"
_BEHIND = lazy.pattern(r"\A[^$]*\$\{?\w+\}?/([^/$]+)")
"""The name behind the first variable of a path."""

_HAS_SLASH = lazy.pattern(r"[^(]*/\(")


def targets(location: Level, folder: str) -> Iterator[bytes]:
    """Yield URIs for which a location perhaps leads out of a folder, as written: `/srv/files/`, `/srv/$1`."""
    sign, path = location.modifier, encode(location.path)
    if sign in ("", "^~") and folder.endswith("/") and path.startswith(b"/") and not path.endswith(b"/"):
        yield path + _OUTSIDE
    elif sign in ("~", "~*") and "/$" in folder:
        yield from also(location, rb"[^/]\.\./secret")


def leaves(path: str, folder: str) -> bool:
    """Return whether a path is outside of a folder as written, of which the part before variables counts.

    A name that follows the first variable stays: `/home/$1/public_html$2` leads to `/home/../public_html`, no further.
    """
    inside = path.partition(folder.partition("$")[0].rpartition("/")[0] + "/")[2]
    outside = posixpath.normpath(inside)
    stays = _BEHIND.search(folder)
    return outside.startswith("../") and not (stays and outside.startswith(f"../{stays[1]}"))


def fix(location: Level) -> Fix | None:
    """Return how a prefix gets its slash; None for a pattern, and where nginx would refuse the new prefix."""
    if not _is_prefix(location) or location.opener is None or _is_refused(location, f"{location.path}/"):
        return None
    word = location.opener.args[-1]
    title = f"add the slash: location {location.path}/"
    return Fix(title, (replace(location.opener, word, f"{word}/"),), Safety.UNSAFE)


def advice(location: Level) -> str:
    """Return what to do if there is no fix."""
    if not _is_prefix(location):
        if _HAS_SLASH.match(location.path):  # `/(.*)(-v1)(.*)` with `$1$3`: what kept them apart is left out
            return "let a capture that follows another match no slash: [^/]*"
        return "put a slash before the capture in the pattern"
    return f"write {location.path}/, and change the locations that would be the same or outside of it"


def _is_prefix(location: Level) -> bool:
    return location.modifier in ("", "^~")


def _is_refused(location: Level, path: str) -> bool:
    """Return whether nginx refuses a prefix: another location has it, or one inside of this would be outside of it
    (ngx_http_join_exact_locations, ngx_http_core_location)."""
    beside = (other for other in (location.parent.levels if location.parent else ()) if other.kind == "location")
    inside = (inner for inner in location.levels if inner.kind == "location" and inner.modifier not in ("~", "~*"))
    return any(_is_prefix(other) and other.path == path for other in beside) or not all(
        inner.path.startswith(path) for inner in inside
    )
