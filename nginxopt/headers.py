"""Headers to upstreams: where a fix puts a `proxy_set_header` so that all the others are sent as before.

A level that has a `proxy_set_header` inherits none (ngx_http_proxy_merge_loc_conf), and it may not stand in an `if` or
`limit_except`. What nginx sends by itself stays, as each of its own headers gives way to one of the same name only
(ngx_http_proxy_init_headers).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from typing import TypeVar

from nginxopt.config import Directive
from nginxopt.diagnostic import Change
from nginxopt.inherit import Level
from nginxopt.layout import after, written
from nginxopt.model import Model
from nginxopt.upstreams import Pass

Group = TypeVar("Group", bound=Hashable)

NOT_IN_IF = "proxy_set_header and proxy_http_version may not stand in this block: move the proxy_pass to a location"
"""What to do about a pass in an `if` or `limit_except`."""


def takes_directives(one: Pass) -> bool:
    """Return whether any directive of its module may stand where a pass stands."""
    return one.level.kind not in ("if", "limit_except")


def with_header(one: Pass, lines: Sequence[str], owners: Container[Level]) -> tuple[Change, ...] | None:
    """Return the change that adds `proxy_set_header` lines for a pass; None if it cannot be made.

    An inherited set of headers gets them where it stands if its level is one of `owners`; else the location gets a copy
    of the set.
    """
    headers = one.level.setting("proxy_set_header")
    if not headers.known or not takes_directives(one):
        return None
    if headers.level is None:
        return (after(one.directive, lines),)
    if headers.level is one.level or headers.level in owners:
        anchor = _anchor(headers.level, headers.directives[-1])
        return (after(anchor, lines),) if anchor else None
    copies = [written(directive) for directive in headers.directives]
    return (after(one.directive, [*copies, *lines]),)


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


def _anchor(level: Level, directive: Directive) -> Directive | None:
    """Return what stands for a directive in the file of its level: itself, or the include that it comes from."""
    anchor = None
    for one in level.directives:  # what a file says follows its include
        if one.source is level.source:
            anchor = one
        if one is directive:
            return anchor
    return None
