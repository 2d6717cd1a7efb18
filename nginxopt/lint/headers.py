"""Headers to upstreams: where a fix puts a `proxy_set_header` so that all the others are sent as before.

A level that has a `proxy_set_header` inherits none (ngx_http_proxy_merge_loc_conf), and it may not stand in an `if` or
`limit_except`. What nginx sends by itself stays, as each of its own headers gives way to one of the same name only
(ngx_http_proxy_init_headers).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterator, Sequence
from typing import TypeVar

from nginxopt.config import Directive
from nginxopt.config.layout import after, replace, written
from nginxopt.lint.model import Model
from nginxopt.semantics import Level, Pass, Setting
from nginxopt.text import Change

Group = TypeVar("Group", bound=Hashable)

HTTP11 = "proxy_http_version 1.1;"
CLEARED = 'proxy_set_header Connection "";'

NOT_IN_IF = "proxy_set_header and proxy_http_version are not allowed in this block: move the proxy_pass to a location"
"""What to do about a pass in an `if` or `limit_except`."""


def takes_directives(one: Pass) -> bool:
    """Return whether any directive of its module may stand where a pass stands."""
    return one.level.kind not in ("if", "limit_except")


def heirs(model: Model, one: Pass, *names: str) -> Iterator[Pass]:
    """Yield the passes in blocks within that of a pass, over the same protocol, that inherit what stands there.

    `names` are the directives asked about, without the protocol: `http_version`, `set_header`.
    """
    inside = [level for level in one.level.walk() if level is not one.level]
    for other in (other for level in inside for other in model.passes_at.get(level, ())):
        if other.protocol == one.protocol and any(other.setting(name).level not in inside for name in names):
            yield other


def with_version(model: Model, one: Pass) -> tuple[Change, ...] | None:
    """Return the changes that pass over HTTP/1.1, for this pass alone; None if they cannot be made."""
    version = one.setting("http_version")
    if not version.known or not takes_directives(one) or any(heirs(model, one, "http_version")):
        return None
    if version.directive and version.level is one.level:
        return (replace(version.directive, version.directive.args[0], "1.1"),)
    return (after(one.directive, [HTTP11]),)


def with_header(
    one: Pass, lines: Sequence[str], owners: Container[Level], *, first: Sequence[str] = ()
) -> tuple[Change, ...] | None:
    """Return the changes that add `proxy_set_header` lines for a pass; None if they cannot be made.

    An inherited set of headers gets them where it stands if its level is one of `owners`; else the location gets a copy
    of the set. The lines `first` go right behind the pass.
    """
    headers = one.setting("set_header")
    if not headers.known or not takes_directives(one):
        return None
    if headers.level is None:
        return (after(one.directive, [*first, *lines]),)
    if _is_own(one, headers, owners):
        anchor = _anchor(headers.level, headers.directives[-1])
        return (*_behind(one, first), after(anchor, lines)) if anchor else None
    copies = [written(directive) for directive in headers.directives]
    return (after(one.directive, [*first, *copies, *lines]),)


def without_value(
    one: Pass, meant: Collection[Directive], owners: Container[Level], *, first: Sequence[str] = ()
) -> tuple[Change, ...] | None:
    """Return the changes that leave some `proxy_set_header` of a pass without a value; as `with_header`."""
    headers = one.setting("set_header")
    if not headers.known or not takes_directives(one):
        return None
    if _is_own(one, headers, owners):
        return (*_behind(one, first), *(replace(directive, directive.args[1], "") for directive in meant))
    lines = [
        f'proxy_set_header {directive.args[0]} "";' if directive in meant else written(directive)
        for directive in headers.directives
    ]
    return (after(one.directive, [*first, *lines]),)


def owners(model: Model, group: Callable[[Pass], Group]) -> dict[Group, set[Level]]:
    """Return for each group of passes the levels whose `proxy_set_header` hold for none but that group."""
    groups: dict[Level, set[Group]] = {}
    for one in model.passes:
        level = one.level.setting("proxy_set_header").level
        if one.protocol == "proxy" and level is not None:
            groups.setdefault(level, set()).add(group(one))
    found: dict[Group, set[Level]] = {}
    for level, named in groups.items():
        if len(named) == 1:
            found.setdefault(next(iter(named)), set()).add(level)
    return found


def _is_own(one: Pass, headers: Setting, owners: Container[Level]) -> bool:
    return headers.level is one.level or headers.level in owners


def _behind(one: Pass, lines: Sequence[str]) -> tuple[Change, ...]:
    return (after(one.directive, lines),) if lines else ()


def _anchor(level: Level, directive: Directive) -> Directive | None:
    """Return what stands for a directive in the file of its level: itself, or the include that it comes from."""
    anchor = None
    for one in level.directives:  # what a file says follows its include
        if one.source is level.source:
            anchor = one
        if one is directive:
            return anchor
    return None
