"""Upstream headers: where a fix adds a `proxy_set_header` so that all other headers are sent as before.

A level with a `proxy_set_header` inherits none (ngx_http_proxy_merge_loc_conf), and the directive is not allowed in
`if` and `limit_except`. nginx's own headers remain unless one of the same name replaces them
(ngx_http_proxy_init_headers).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Hashable, Iterator, Sequence
from typing import TypeVar

from nginxopt.config import Directive
from nginxopt.config.layout import after, replace, written
from nginxopt.lint.queries.model import Model
from nginxopt.semantics import Level, Pass, Setting
from nginxopt.text import Change

Group = TypeVar("Group", bound=Hashable)

HTTP11 = "proxy_http_version 1.1;"
CLEARED = 'proxy_set_header Connection "";'

NOT_IN_IF = "proxy_set_header and proxy_http_version are not allowed in this block: move the proxy_pass to a location"
"""The advice for a pass in an `if` or `limit_except`."""

_INHERITED = "`{} {}` inside this location would inherit the new lines: move it to a separate location"
_UNKNOWN = "a missing include may say how requests are passed: add the lines by hand"


def takes_directives(pass_: Pass) -> bool:
    """Return whether all directives of its module are allowed in the block of a pass."""
    return pass_.level.kind not in ("if", "limit_except")


def heirs(model: Model, pass_: Pass, *names: str) -> Iterator[Pass]:
    """Yield the passes of the same protocol in inner blocks that inherit directives from the block of a pass.

    `names` are the directives in question, without the protocol: `http_version`, `set_header`.
    """
    inside = [level for level in pass_.level.walk() if level is not pass_.level]
    for other in (other for level in inside for other in model.passes_at.get(level, ())):
        if other.protocol == pass_.protocol and any(other.setting(name).level not in inside for name in names):
            yield other


def why_not(model: Model, pass_: Pass, *names: str) -> str:
    """Return why no lines can be added for a pass alone, given that they cannot; `names` as those of `heirs`."""
    if not takes_directives(pass_):
        return NOT_IN_IF
    heir = next(heirs(model, pass_, *names), None)
    return _INHERITED.format(heir.directive.name, heir.directive.args[0]) if heir else _UNKNOWN


def with_version(model: Model, pass_: Pass) -> tuple[Change, ...] | None:
    """Return the changes that make only this pass use HTTP/1.1; None if that is impossible."""
    version = pass_.setting("http_version")
    if not version.known or not takes_directives(pass_) or any(heirs(model, pass_, "http_version")):
        return None
    if version.directive and version.level is pass_.level:
        return (replace(version.directive, version.directive.args[0], "1.1"),)
    return (after(pass_.directive, [HTTP11]),)


def with_header(
    pass_: Pass, lines: Sequence[str], owners: Container[Level], *, first: Sequence[str] = ()
) -> tuple[Change, ...] | None:
    """Return the changes that add `proxy_set_header` lines for a pass; None if that is impossible.

    Inherited headers get the lines at their own level if that is one of `owners`; otherwise the location gets a copy of
    the headers. The lines `first` directly follow the pass.
    """
    headers = pass_.setting("set_header")
    if not headers.known or not takes_directives(pass_):
        return None
    if headers.level is None:
        return (after(pass_.directive, [*first, *lines]),)
    if _is_own(pass_, headers, owners):
        anchor = _anchor(headers.level, headers.directives[-1])
        return (*_behind(pass_, first), after(anchor, lines)) if anchor else None
    copies = [written(directive) for directive in headers.directives]
    return (after(pass_.directive, [*first, *copies, *lines]),)


def without_value(
    pass_: Pass, emptied: Collection[Directive], owners: Container[Level], *, first: Sequence[str] = ()
) -> tuple[Change, ...] | None:
    """Return the changes that empty the `proxy_set_header` directives `emptied` of a pass, like `with_header`."""
    headers = pass_.setting("set_header")
    if not headers.known or not takes_directives(pass_):
        return None
    if _is_own(pass_, headers, owners):
        return (*_behind(pass_, first), *(replace(directive, directive.args[1], "") for directive in emptied))
    lines = [
        f'proxy_set_header {directive.args[0]} "";' if directive in emptied else written(directive)
        for directive in headers.directives
    ]
    return (after(pass_.directive, [*first, *lines]),)


def owners(model: Model, group: Callable[[Pass], Group]) -> dict[Group, set[Level]]:
    """Return for each group of passes the levels whose `proxy_set_header` apply only to that group."""
    groups: dict[Level, set[Group]] = {}
    for pass_ in model.passes:
        level = pass_.level.setting("proxy_set_header").level
        if pass_.protocol == "proxy" and level is not None and level not in model.outside:
            groups.setdefault(level, set()).add(group(pass_))
    owned: dict[Group, set[Level]] = {}
    for level, named in groups.items():
        if len(named) == 1:
            owned.setdefault(next(iter(named)), set()).add(level)
    return owned


def _is_own(pass_: Pass, headers: Setting, owners: Container[Level]) -> bool:
    return headers.level is pass_.level or headers.level in owners


def _behind(pass_: Pass, lines: Sequence[str]) -> tuple[Change, ...]:
    return (after(pass_.directive, lines),) if lines else ()


def _anchor(level: Level, directive: Directive) -> Directive | None:
    """Return the directive, or the include that it comes from, in the file of its level."""
    anchor = None
    for sibling in level.directives:  # the directives of a file follow its include
        if sibling.source is level.source:
            anchor = sibling
        if sibling is directive:
            return anchor
    return None
