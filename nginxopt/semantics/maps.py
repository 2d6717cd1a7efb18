"""Maps with regular expressions, which a lookup tries in sequence if no plain key matches.

nginx looks a value up among the plain keys, and then tries each row that is a regular expression, in the order of the
text, until one matches (`ngx_http_map_find`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nginxopt.config import Config, Directive

MANY_REGEXES = 20
"""At about 480 instructions each, this many cost more than a request without any."""


@dataclass(frozen=True, slots=True)
class BulkRegexMap:
    """A map, and its rows that are regular expressions, those of included files among them.

    `directive` is None for the rows of a file by itself, which some map includes.
    """

    directive: Directive | None
    rows: tuple[Directive, ...]

    @property
    def variable(self) -> str | None:
        """The variable that the map defines, with its `$`, if that is known."""
        return None if self.directive is None or len(self.directive.args) < 2 else str(self.directive.args[-1])

    @property
    def place(self) -> Directive:
        """The directive of a finding: the map, or else the first of its rows."""
        return self.directive or self.rows[0]


def regex_maps(config: Config) -> Iterator[BulkRegexMap]:
    """Yield the maps of http with at least `MANY_REGEXES` regular expressions, in the order of the text."""
    rows: dict[Directive | None, tuple[Directive, ...]] = {}
    for scope in config.scope.tree():
        if not scope.context or (scope.context[-1] == "map" and "stream" not in scope.context):
            # Where the file of a map is read twice, it has its rows once.
            rows[scope.opener] = tuple(row for row in scope.directives if row.name.startswith("~"))
    return (BulkRegexMap(opener, regexes) for opener, regexes in rows.items() if len(regexes) >= MANY_REGEXES)
