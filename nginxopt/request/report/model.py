"""The results of a table as reports show them."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.request.expectations import Results, RowResult
from nginxopt.request.usage import Part
from nginxopt.semantics.site import DirectivePlace, Nodes
from nginxopt.text import shorten

COVERED: tuple[Part, ...] = ("rule", "location")
"""The kinds of directives of which the report lists those that no row reaches."""

_WIDTH = 100
"""The longest text of a directive that is shown, in characters."""


@record(eq=True)
class TestReport:
    """The results of a table.

    Attributes:
        path: The table, as reports name it.
        nodes: The directives of the configuration by number.
            None if the table was put to a server without one.
        by: Who answered, for people: `the model of nginx 1.22.1`, `nginx 1.22.1`.
        broken: What is wrong with each row that was not compared, as it is invalid.
    """

    __test__ = False  # not a test for pytest

    path: str
    results: Results
    nodes: Nodes | None
    by: str
    broken: tuple[InputError, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all rows were compared and passed."""
        return self.results.passed and not self.broken

    def place(self, result: RowResult) -> DirectivePlace | None:
        """Return the directive that answered a row; None if it is not known."""
        return None if self.nodes is None or result.answer.node is None else self.nodes.place(result.answer.node)

    def unreached(self, part: Part) -> Iterator[DirectivePlace]:
        """Yield the rules or locations that no row reaches, in the order of reading."""
        nodes = self.nodes
        return iter(()) if nodes is None else (nodes.place(use.node) for use in self.results.reached.unused(part))


def line_of(error: InputError) -> int:
    """Return the line of a broken row."""
    return 1 if error.source is None or error.span is None else error.source.position(error.span.start).line


def place_of(place: DirectivePlace) -> str:
    """Return a directive as reports name it: file, line and text."""
    return f"{place.path}:{place.line}: {shorten(place.text, _WIDTH)}"
