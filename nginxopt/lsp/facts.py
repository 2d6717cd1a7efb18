"""Describes directives: purpose, contexts, arguments, default value and releases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from nginxopt.facts import fact
from nginxopt.facts.table import PLACES, Declaration, declarations
from nginxopt.records import record
from nginxopt.semantics import Level, commands
from nginxopt.version import Version


def description(name: str) -> str:
    """Return a sentence that describes a directive; empty if there is none."""
    row = fact(name)
    return row.description if row else ""


@record(eq=True)
class Facts:
    """The facts about a directive in one place and release of nginx.

    Attributes:
        declaration: The declaration for that place; without one, that for another place or another release.
        places: The places where the release allows the directive.
        target: The release.
        is_known: Whether the release has the directive.
    """

    declaration: Declaration
    places: tuple[str, ...]
    target: Version
    is_known: bool

    @classmethod
    def of(cls, name: str, level: Level, target: Version) -> Self | None:
        """Return the facts about a directive at a level; None for one that is not nginx's own."""
        place = commands.place(level.kind, level.parent.kind if level.parent else "")
        return cls.at(name, place, target)

    @classmethod
    def at(cls, name: str, place: str | None, target: Version) -> Self | None:
        """Return the facts about a directive in a place, such as `http/server`."""
        every = declarations(name)
        if not every:
            return None
        known = [row for row in every if row.is_in(target)]
        here = [row for row in known if row.places & PLACES.get(place or "", 0)]
        return cls((here or known or list(every))[0], commands.allowed(name, target), target, bool(known))

    def lines(self) -> Iterator[str]:
        """Yield the lines of a Markdown text."""
        declaration = self.declaration
        yield f"**{declaration.name}** {arguments(declaration)}".rstrip()
        sentence = description(declaration.name)
        yield f"\n{sentence}\n" if sentence else ""
        if not self.is_known:
            yield f"- nginx {self.target} does not have it"
        if declaration.default:
            yield f"- Default: `{' or '.join(declaration.default.split('|'))}`"
        if self.places:
            yield f"- Allowed in {', '.join(self.places)}"
        releases = _releases(declaration.name)
        if releases:
            yield f"- nginx {releases}"
        if declaration.values == "obsolete":
            yield "- Obsolete: it does nothing"


def arguments(declaration: Declaration) -> str:
    """Return the arguments of a directive as Markdown: `on | off`, `time`, 2 or 3 arguments."""
    if declaration.arguments == "flag" or "|" in declaration.values:
        return f"`{' | '.join(declaration.values.split('|')) or 'on | off'}`"
    if declaration.arguments == "1" and declaration.values in ("size", "time", "number"):
        return f"*{declaration.values}*"
    return ""


def _releases(name: str) -> str:
    """Return the releases that have a directive, such as `1.9.5 and later`; empty if all releases of the table do."""
    rows = declarations(name)
    sinces, untils = [row.since for row in rows], [row.until for row in rows]
    since = None if None in sinces else min(filter(None, sinces))
    until = None if None in untils else max(filter(None, untils))
    if since and until:
        return f"{since} to before {until}"
    if since:
        return f"{since} and later"
    return f"before {until}" if until else ""
