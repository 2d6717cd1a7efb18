"""Lists of headers that a level inherits: what it loses when it states one of its own, and the finding that says so.

A level with an `add_header` or `proxy_set_header` inherits none (`ngx_http_headers_merge_conf`,
`ngx_http_proxy_merge_loc_conf`). From 1.29.3 on, `add_header_inherit merge` keeps those of the level around it, and
`off` drops them on purpose.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from nginxopt.config import Directive, layout
from nginxopt.lint.diagnostic import Finding, Fix, Related, Safety, Witness
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import INHERITANCE
from nginxopt.text import Span

MOST_NAMED = 3
"""How many headers a message names."""


def effective(level: Level, name: str) -> Mapping[str, Directive]:
    """Return the directives of a list in force at a level, by the name of the header in lower case."""
    own = {directive.args[0].lower(): directive for directive in level.own(name) if len(directive.args) > 1}
    outer = level.parent if level.inherits(name) else None
    inherit = _inherit(level, name)
    if outer is None or inherit == "off" or (own and inherit != "merge"):
        return own
    return {**effective(outer, name), **own}


def lost(level: Level, name: str) -> Mapping[str, Directive]:
    """Return the directives that a level would inherit if it stated none, without those of headers that it states.

    Empty if the level drops them on purpose, or if it is not known which directives it has.
    """
    if not level.own(name) or not level.setting(name).known or level.parent is None or not level.inherits(name):
        return {}
    if _inherit(level, name) in ("merge", "off"):
        return {}
    own = {directive.args[0].lower() for directive in level.own(name) if directive.args}
    inherited = effective(level.parent, name)
    return {header: directive for header, directive in inherited.items() if header not in own}


def once_a_line(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield one finding for each place: a file that several blocks include may lose other headers in each."""
    seen: set[tuple[str, Span]] = set()
    for found in findings:
        if (found.source.path, found.span) not in seen:
            seen.add((found.source.path, found.span))
            yield found


def _inherit(level: Level, name: str) -> str | None:
    """Return how a list is inherited, if a directive states it."""
    return level.setting(INHERITANCE[name]).value if name in INHERITANCE else None


def finding(level: Level, name: str, lost: Mapping[str, Directive], witness: Witness) -> Finding:
    """Return the finding that a list of a level drops these directives of the outer one; the fix repeats them."""
    own = level.own(name)
    places = [directive for directive in own if directive.source is level.source]
    lines = [layout.written(stated) for stated in lost.values()]
    fix = Fix("repeat the headers", (layout.after(places[-1], lines),), Safety.UNSAFE) if places else None
    first = next(iter(lost.values()))
    return Finding(
        own[0].source,
        own[0].args[0].span,
        f"this {name} drops the inherited {listed(lost)}",
        fix,
        "" if fix else "repeat the headers here",
        related=(Related(first.source, first.name.span, f"{first.args[0]} is set here"),),
        witness=witness,
    )


def listed(headers: Mapping[str, Directive]) -> str:
    """Return the names of headers as they are stated: `A, B and C`, or `A, B and 3 others`."""
    names = [str(directive.args[0]) for directive in headers.values()]
    if len(names) > MOST_NAMED:
        names = [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
