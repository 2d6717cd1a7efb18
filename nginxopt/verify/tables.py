"""Maps whose rows are known, and which of the rows answers, as far as a configuration decides."""

from __future__ import annotations

from functools import cached_property

from nginxopt.records import record
from nginxopt.verify.definitions import SideDefinitions
from nginxopt.verify.patterns import escaped, group_names
from nginxopt.verify.side import Definition
from nginxopt.verify.substitution import captured
from nginxopt.verify.symbols import Capture, Derived, KnownBytes, Match, Symbol, join, pieces
from nginxopt.verify.words import Words


@record(eq=True)
class PatternRow:
    """A row with a pattern, in PCRE's syntax."""

    pattern: bytes
    value: bytes


class MapTable:
    """A map without host names.

    Attributes:
        source: What is looked up, as written.
        exact: The values of plain keys, which are in lower case.
        rows: The patterns in their order; they are not tried on the empty string (`ngx_http_map_find`).
        default: The value otherwise.
    """

    def __init__(self, source: bytes, exact: dict[bytes, bytes], rows: tuple[PatternRow, ...], default: bytes) -> None:
        self.source = source
        self.exact = exact
        self.rows = rows
        self.default = default

    @cached_property
    def keys(self) -> Words:
        """The plain keys."""
        return Words(self.exact)


def key_pattern(key: bytes) -> bytes:
    """Return a pattern that matches a key in any case of letters."""
    flag = b"(?i)" if key.upper() != key else b""
    return flag + b"^" + escaped(key) + rb"\z"


def table_of(form: Definition) -> MapTable | None:
    """Return the table of a map; None if its rows are not divided: host names, `geo`, `split_clients`."""
    if form["kind"] != "map":
        return None
    exact: dict[bytes, bytes] = {}
    rows: list[PatternRow] = []
    default = b""
    for stated in form["rows"]:
        words = [word.encode("latin-1") for word in stated["args"]]
        if words == [b"hostnames"]:
            return None
        if len(words) != 2:
            continue
        key, value = words
        if key == b"default":
            default = value
        elif key.startswith(b"~"):
            rows.append(PatternRow(b"(?i)" + key[2:] if key.startswith(b"~*") else key[1:], value))
        else:
            exact[key.removeprefix(b"\\").lower()] = value
    return MapTable(form["source"].encode("latin-1"), exact, tuple(rows), default)


class Tables:
    """The tables of both sides, by the names of what is looked up in them."""

    def __init__(self) -> None:
        self._defined: dict[str, tuple[SideDefinitions, str]] = {}
        self._known: dict[str, MapTable | None] = {}

    def key(self, definitions: SideDefinitions, name: str) -> str:
        """Return the term for a defined variable.

        It is the same for equal definitions that depend on the same variables. If one side defines a variable that the
        other side sets in a script, lookups that read it are different terms.
        """
        kept = "kept" if definitions.is_kept(name) else "new"
        key = f"defined {definitions.number(name)} {kept} {','.join(definitions.bases(name))}"
        self._defined.setdefault(key, (definitions, name))
        return key

    def table(self, symbol: Derived) -> MapTable | None:
        """Return the table that a value is looked up in; None if it is none, or not known."""
        if symbol.name not in self._defined:
            return None
        if symbol.name not in self._known:
            definitions, name = self._defined[symbol.name]
            used = set().union(*(definitions.used(each) for each in (name, *definitions.inner(name))))
            is_known = name not in used and not definitions.is_entangled(name)
            self._known[symbol.name] = table_of(definitions.form(name)) if is_known else None
        return self._known[symbol.name]

    def is_kept(self, symbol: Derived) -> bool:
        """Return whether the value may be that of an earlier lookup."""
        definitions, name = self._defined[symbol.name]
        return definitions.is_kept(name)

    def source(self, symbol: Derived, table: MapTable) -> Symbol:
        """Return what is looked up."""
        return self._evaluated(symbol, table.source, None)

    def value(self, symbol: Derived, text: bytes, match: Match | None) -> Symbol:
        """Return the value of a row, whose pattern matched."""
        return self._evaluated(symbol, text, match)

    def _evaluated(self, symbol: Derived, text: bytes, match: Match | None) -> Symbol:
        if b"$" not in text:
            return KnownBytes(text)
        definitions, name = self._defined[symbol.name]
        known = dict(zip(definitions.bases(name), symbol.sources, strict=True))
        groups = () if match is None or match.pattern is None else group_names(match.pattern)

        def base(name: str) -> Symbol:
            if match is not None and (name.isdigit() or name in groups):
                return captured(Capture(match, name, "map"))
            return known[name]

        parts: list[Symbol] = []
        for piece in pieces(text):
            if isinstance(piece, bytes):
                parts.append(KnownBytes(piece))
            elif definitions.defines(piece) and piece not in known and piece not in groups:
                key = self.key(definitions, piece)
                parts.append(Derived(key, tuple(map(base, definitions.bases(piece)))))
            else:
                parts.append(base(piece))
        return join(parts)
