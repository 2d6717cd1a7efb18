"""What would save time under the traffic of a profile, as its reports show it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from nginxopt.errors import NginxoptError
    from nginxopt.lint.diagnostic import Diagnostic, SavedADay


@dataclass(frozen=True)
class Worthwhile:
    """A finding that saves time.

    Attributes:
        places: The files and lines of its cause, the first one first.
    """

    rule: str
    message: str
    places: tuple[tuple[str, int], ...]
    a_day: SavedADay

    def __str__(self) -> str:
        path, line = self.places[0]
        others = f" (+{len(self.places) - 1})" if len(self.places) > 1 else ""
        return f"{path}:{line}{others}: {self.rule}"


@dataclass(frozen=True)
class Worth:
    """The findings that save time, those that save the most first.

    Attributes:
        not_known: The reason why they are not known, or not all of them; None if they are.
    """

    findings: tuple[Worthwhile, ...] = ()
    not_known: str | None = None

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic], error: NginxoptError | None = None) -> Self:
        """Return those of the findings that save anything; an error is why others, or all, are not known."""
        found = [
            Worthwhile(
                one.rule,
                one.message,
                tuple((each.path, each.start.line) for each in (one, *one.places)),
                one.a_day,
            )
            for one in diagnostics
            if one.a_day is not None and one.a_day.most > 0
        ]
        not_known = None if error is None else error.render().partition("\n")[0]
        return cls(tuple(sorted(found, key=lambda one: -one.a_day.most)), not_known)


NOTHING = Worth()
