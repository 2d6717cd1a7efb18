"""Writes a table as text: maps for the http block, and statements for a server that use them.

A row without a pattern becomes a key of two maps. One returns the key as written; the statements compare this with the
request, because maps ignore case. The other returns the target. The maps are not volatile, so within a request they
keep their values for the path of the client, and no row answers internal redirects (`index`, `error_page`,
`try_files`). Patterns follow the maps, in the order of the table.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from nginxopt import _native
from nginxopt.errors import DefectError
from nginxopt.records import record
from nginxopt.rewrite.mapfile import DEFAULT_SIZES, MAP_SIZES, VARIABLE_SIZES, Sizes, sizes_text
from nginxopt.rewrite.tables import premises
from nginxopt.rewrite.tables.findings import CheckedTable
from nginxopt.rewrite.tables.table import Row
from nginxopt.rewrite.tables.words import quoted, without_variables
from nginxopt.semantics.maphash import suitable
from nginxopt.text import encode
from nginxopt.text.display import count
from nginxopt.version import Version

NONE = b"-"
"""The default of a map of keys. No path of a client equals it."""


class Subject(NamedTuple):
    """What the keys of a map consist of besides the path: whether they include the site and the arguments."""

    has_site: bool
    has_query: bool

    def text(self, scheme: bytes) -> bytes:
        """Return the string with variables that the map looks up; `scheme` names that of the scheme.

        A newline separates arguments, which never contain one.
        """
        path = b"$%s://$host$uri" % scheme if self.has_site else b"$uri"
        return path + (b"\n$args" if self.has_query else b"")


class Answering(NamedTuple):
    """The common properties of rows that one statement answers. `adds`: it appends the arguments to the target."""

    subject: Subject
    status: int
    has_target: bool
    adds: bool


@record(eq=True)
class TableEmission:
    """The text of a table.

    Attributes:
        checked: The table.
        stem: The prefix of all variables.
        maps: The maps.
        server: The statements.
        sizes: The hash table sizes that the maps need, if nginx's defaults are too small.
    """

    checked: CheckedTable
    stem: str
    maps: bytes = field(repr=False)
    server: bytes = field(repr=False)
    sizes: Sizes

    @property
    def hash_conf(self) -> bytes:
        """The text of a file that sets the sizes."""
        return sizes_text(self.sizes)

    @property
    def http(self) -> bytes:
        """The sizes and the maps."""
        return self.hash_conf + self.maps


def emit(checked: CheckedTable, name: str | None = None) -> TableEmission:
    """Write the rows of a table that answer requests. Linear in the size of the text."""
    table = checked.table
    stem = name or f"nxo_{zlib.crc32(table.source.data, zlib.crc32(table.kind.encode())) & 0xFFFFFF:06x}"
    writer = _Writer(stem.encode(), _classes(checked.rows), is_forwarded=premises.is_forwarded(table))
    patterns = [row for _, row in checked.rows if row.pattern is not None]
    maps = b"".join(writer.maps())
    server = b"".join([*writer.statements(), *writer.patterns(patterns)])
    head, tail = _headers(checked)
    found = _sizes(writer)
    return TableEmission(checked, stem, head + writer.helpers() + maps, tail + server, found)


OLDEST = Version(1, 11, 0)
"""The oldest nginx that runs the text, because of text around variables in map values (CHANGES 1.11.0)."""

WITH_308 = Version(1, 13, 0)
"""The oldest nginx for which status 308 is a redirect (CHANGES 1.13.0)."""


def oldest(checked: CheckedTable) -> Version:
    """Return the oldest nginx that runs the text."""
    return WITH_308 if any(row.status == 308 for _, row in checked.rows) else OLDEST


def _classes(rows: Sequence[tuple[int, Row]]) -> dict[Answering, list[dict[bytes, Row]]]:
    """Group the keys by the statement that answers them; keys of a group that differ only in case get separate maps.

    Keys with more conditions on a request come first.
    """
    classes: dict[Answering, list[dict[bytes, Row]]] = {}
    seen: dict[Answering, dict[bytes, int]] = {}
    for _, row in rows:
        for path in row.paths:
            subject = Subject(bool(row.site), row.query is not None)
            answering = Answering(subject, row.status, bool(row.target), _adds_arguments(row))
            tiers = classes.setdefault(answering, [])
            key = row.site + path + (b"" if row.query is None else b"\n" + row.query)
            spellings = seen.setdefault(answering, {})
            tier = spellings.get(lower := key.lower(), 0)
            spellings[lower] = tier + 1
            if tier == len(tiers):
                tiers.append({})
            tiers[tier][key] = row
    return dict(sorted(classes.items(), key=lambda item: (not item[0].subject.has_query, not item[0].subject.has_site)))


def _adds_arguments(row: Row) -> bool:
    """Return whether the statement appends `?` and the arguments to the target; otherwise the map value does."""
    if row.arguments == "append":
        return row.status != 200
    return row.arguments == "insert" and not (b"?" in row.target or b"#" in row.target)


class _Writer:
    """Writes the maps and statements, and records which helper variables (such as `_dollar`) they use."""

    def __init__(
        self, stem: bytes, classes: Mapping[Answering, Sequence[Mapping[bytes, Row]]], *, is_forwarded: bool
    ) -> None:
        self._stem = stem
        self._proto = stem + b"_proto"
        self._scheme = self._proto if is_forwarded else b"scheme"
        self._dollar = stem + b"_dollar"
        self._more = stem + b"_more"
        self._first = stem + b"_first"
        self._used: set[bytes] = set()
        self.tiers = [
            (answering, stem + b"_%d" % number, tier)
            for number, (answering, tier) in enumerate(
                ((answering, tier) for answering, tiers in classes.items() for tier in tiers), 1
            )
        ]

    @property
    def variables(self) -> list[str]:
        """The names of all variables that the text defines."""
        names = [name + suffix for _, name, _ in self.tiers for suffix in (b"_key", b"_to")]
        return [name.decode() for name in (*names, *self._used)]

    def maps(self) -> Iterator[bytes]:
        """Yield the maps of keys and of targets."""
        for answering, name, rows in self.tiers:
            subject = self._subject(answering.subject)
            yield b'map %s $%s_key {\n    default "%s";\n' % (subject, name, NONE)
            for key in rows:
                yield b"    %s %s;\n" % (quoted(key), quoted(self._constant(key)))
            yield b"}\n\n"
            if answering.has_target:
                yield b'map %s $%s_to {\n    default "";\n' % (subject, name)
                for key, row in rows.items():
                    yield b"    %s %s;\n" % (quoted(key), quoted(self._target(answering, row)))
                yield b"}\n\n"

    def statements(self) -> Iterator[bytes]:
        """Yield the statements that use the maps."""
        for answering, name, _ in self.tiers:
            subject = self._subject(answering.subject)
            to = b"$%s_to" % name + (b"$is_args$args" if answering.adds else b"")
            if answering.status == 200:
                answer = b"rewrite ^ $%s_to last;" % name
            elif answering.has_target:
                answer = b"return %d %s;" % (answering.status, quoted(to) if answering.adds else to)
            else:
                answer = b"return %d;" % answering.status
            yield b"if ($%s_key = %s) {\n    %s\n}\n" % (name, subject, answer)

    def _subject(self, subject: Subject) -> bytes:
        if subject.has_site and self._scheme == self._proto:
            self._used.add(self._proto)
        return quoted(subject.text(self._scheme)) if subject != (False, False) else b"$uri"

    def patterns(self, rows: Sequence[Row]) -> Iterator[bytes]:
        """Yield the statements for patterns, in order. Consecutive rewrites share an `if`."""
        is_open = False
        for row in rows:
            assert row.pattern is not None
            self._used.add(self._first)
            if row.pattern.has_captures:
                if not is_open:
                    yield b"if ($%s = $uri) {\n" % self._first
                yield b"    %s\n" % self._rewrite(row)
            else:
                if is_open:
                    yield b"}\n"
                yield b"if ($%s ~ %s) {\n    %s\n}\n" % (self._first, quoted(row.pattern.regex), self._return(row))
            is_open = row.pattern.has_captures
        if is_open:
            yield b"}\n"

    def helpers(self) -> bytes:
        """Return the definitions of the helper variables used so far."""
        written = {
            self._dollar: b'geo $%s {\n    default "$";\n}\n\n' % self._dollar,
            self._more: b'map $args $%s {\n    default "&";\n    "" "";\n}\n\n' % self._more,
            self._proto: b"map $http_x_forwarded_proto $%s {\n    default $scheme;\n" % self._proto
            + b'    "http" "http";\n    "https" "https";\n}\n\n',
            self._first: b"map $uri $%s {\n    default $uri;\n}\n\n" % self._first,
        }
        return b"".join(text for name, text in written.items() if name in self._used)

    def _constant(self, text: bytes) -> bytes:
        if b"$" in text:
            self._used.add(self._dollar)
        return without_variables(text, self._dollar)

    def _target(self, answering: Answering, row: Row) -> bytes:
        """Return the target of a row, with its arguments if the statement does not add them."""
        if answering.adds or row.arguments != "insert" or row.status == 200:
            return self._constant(row.target)
        head, mark, fragment = row.target.partition(b"#")
        _, mark_of_query, query = head.partition(b"?")
        added = b"$args" if mark_of_query else b"$is_args$args"
        if query:
            self._used.add(self._more)
            added = b"${" + self._more + b"}$args"
        return self._constant(head) + added + self._constant(mark + fragment)

    def _return(self, row: Row) -> bytes:
        if not row.target:
            return b"return %d;" % row.status
        arguments = b"$is_args$args" if _adds_arguments(row) else b""
        answering = Answering(Subject(False, False), row.status, True, bool(arguments))
        return b"return %d %s;" % (row.status, quoted(self._target(answering, row) + arguments))

    def _rewrite(self, row: Row) -> bytes:
        assert row.pattern is not None
        pieces = [b"$%d" % piece if isinstance(piece, int) else self._constant(piece) for piece in row.pattern.pieces]
        end = b"?" if row.arguments == "drop" else b""
        flag = b"permanent" if row.status == 301 else b"redirect"
        return b"rewrite %s %s %s;" % (quoted(row.pattern.regex), quoted(b"".join(pieces) + end), flag)


def _sizes(writer: _Writer) -> Sizes:
    """Return the hash table sizes that the maps and their variables need, without those that equal the default."""
    of_maps = suitable([list(rows) for _, _, rows in writer.tiers], *(DEFAULT_SIZES[name] for name in MAP_SIZES))
    if of_maps is None:
        raise DefectError("no hash table size fits the keys")
    names = sorted(name.encode() for name in writer.variables)
    of_variables = _native.variable_sizes(names, DEFAULT_SIZES[VARIABLE_SIZES[0]], DEFAULT_SIZES[VARIABLE_SIZES[1]])
    found = dict(zip((*MAP_SIZES, *VARIABLE_SIZES), (*of_maps, *(of_variables or ())), strict=False))
    return {name: size for name, size in found.items() if size != DEFAULT_SIZES[name]}


def _headers(checked: CheckedTable) -> tuple[bytes, bytes]:
    """Return the comments above the maps and above the statements."""
    table = checked.table
    path = table.source.path.replace("\n", " ")
    origin = path if path != "-" else "standard input"
    rows = count(len(checked.rows), "row")
    http = [
        f"# {rows} of {origin}, read as {table.kind}, as maps, made by nginxopt rewrite-to-map.\n",
        f"#\n# Include this file once in the http block. It needs nginx {oldest(checked)} or later.\n",
        *(f"# Premise {premise}.\n" for premise in premises.of(table)),
    ]
    server = [f"# {rows} of {origin}. Include this file first in a server; its maps are in http.conf.\n"]
    return encode("".join(http)), encode("".join(server))
