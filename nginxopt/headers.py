"""Headers to upstreams: where a fix puts a `proxy_set_header` so that all the others are sent as before.

A level that has a `proxy_set_header` inherits none (ngx_http_proxy_merge_loc_conf), and it may not stand in an `if` or
`limit_except`. What nginx sends by itself stays, as each of its own headers gives way to one of the same name only
(ngx_http_proxy_init_headers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nginxopt.config import Directive
from nginxopt.diagnostic import Change
from nginxopt.inherit import Level
from nginxopt.layout import after, written
from nginxopt.model import Model
from nginxopt.upstreams import Pass

NOT_IN_IF = "proxy_set_header and proxy_http_version may not stand in this block: move the proxy_pass to a location"
"""What to do about a pass in an `if` or `limit_except`."""


def takes_directives(one: Pass) -> bool:
    """Return whether any directive of its module may stand where a pass stands."""
    return one.level.kind not in ("if", "limit_except")


def with_header(
    model: Model, one: Pass, lines: Sequence[str], belongs: Callable[[Pass], bool]
) -> tuple[Change, ...] | None:
    """Return the change that adds `proxy_set_header` lines for a pass; None if it cannot be made.

    An inherited set of headers gets them where it stands if all that is passed with it `belongs`; else the location
    gets a copy of the set.
    """
    headers = one.level.setting("proxy_set_header")
    if not headers.known or not takes_directives(one):
        return None
    if headers.level is None:
        return (after(one.directive, lines),)
    if headers.level is one.level or all(belongs(other) for other in sharing(model, headers.level)):
        anchor = _anchor(model, headers.level, headers.directives[-1])
        return (after(anchor, lines),) if anchor else None
    copies = [written(directive) for directive in headers.directives]
    return (after(one.directive, [*copies, *lines]),)


def sharing(model: Model, level: Level) -> list[Pass]:
    """Return what is passed with the headers of that level."""
    return [
        one for one in model.passes if one.protocol == "proxy" and one.level.setting("proxy_set_header").level is level
    ]


def _anchor(model: Model, level: Level, directive: Directive) -> Directive | None:
    """Return what stands for a directive in the file of its level: itself, or the include that it comes from."""
    if directive.source is level.source:
        return directive
    for include in level.own("include"):
        sources = [file.source for file in model.config.included(include)]
        if include.source is level.source and directive.source in sources:
            return include
    return None
