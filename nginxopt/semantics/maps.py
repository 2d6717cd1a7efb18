"""Finds maps with many regular expressions, which cost time at each lookup.

nginx first looks up a value among the plain keys. If none matches, it tries the rows with regular expressions in the
order of the text (`ngx_http_map_find`).
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Config, Directive
from nginxopt.records import record

MANY_REGEXES = 20
"""At about 480 instructions each, this many expressions cost more than the rest of a request."""


@record(eq=True)
class BulkRegexMap:
    """A map and its rows with regular expressions, including those of included files.

    `directive` is None for a file of rows that was read without the map that includes it.
    """

    directive: Directive | None
    rows: tuple[Directive, ...]

    @property
    def variable(self) -> str | None:
        """The variable that the map defines, with its `$`; None if it is not known."""
        return None if self.directive is None or len(self.directive.args) < 2 else str(self.directive.args[-1])

    @property
    def place(self) -> Directive:
        """The directive to report: the map, or the first row if the map is not known."""
        return self.directive or self.rows[0]


def regex_maps(config: Config) -> Iterator[BulkRegexMap]:
    """Yield the maps of http with at least `MANY_REGEXES` regular expressions, in the order of the text."""
    rows: dict[Directive | None, tuple[Directive, ...]] = {}
    for scope in config.scope.tree():
        if not scope.context or (scope.context[-1] == "map" and "stream" not in scope.context):
            # If nginx reads the file of a map twice, the map still has its rows once.
            rows[scope.opener] = tuple(row for row in scope.directives if row.name.startswith("~"))
    return (BulkRegexMap(opener, regexes) for opener, regexes in rows.items() if len(regexes) >= MANY_REGEXES)
