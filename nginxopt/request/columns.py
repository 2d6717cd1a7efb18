"""The columns of a table of redirects: `from`, `to` and `status`, under the names that people give them, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span, decode, encode, shorten
from nginxopt.text.delimited import BOM, Field, Record, is_comment, records

DELIMITERS = b",;\t|"

WITHOUT_TARGET = (403, 404, 410, 451)
"""The status codes of redirect tables that have no target."""

_NAMES = {
    "from": (
        "from", "source", "old", "origin", "old url", "old path", "original url", "source url", "source path",
        "from url", "from path", "url from", "redirect from", "request path", "request url", "address",
        "von", "quelle", "alt", "alte url", "alter pfad", "alte adresse", "ursprung",
        "de", "ancienne url", "ancien chemin", "ancienne adresse",
        "origen", "desde", "url antigua", "url origen", "url de origen",
        "da", "origine", "vecchio url", "vecchia url", "url di origine",
        "origem", "url antigo", "url de origem",
        "van", "bron", "oude url", "z", "źródło", "stary url", "stary adres", "откуда", "старый url", "старый адрес",
        "eski url", "kaynak", "転送元", "旧url", "源", "旧网址", "旧链接",
    ),
    "to": (
        "to", "target", "destination", "new", "new url", "new path", "target url", "target path", "to url", "to path",
        "url to", "redirect to", "redirect url", "destination url", "final url",
        "nach", "ziel", "neu", "neue url", "neuer pfad", "neue adresse", "ziel url", "zieladresse", "zu",
        "vers", "cible", "nouvelle url", "nouveau chemin", "nouvelle adresse", "url cible", "url de destination",
        "para", "destino", "hasta", "hacia", "url nueva", "url destino", "url de destino",
        "destinazione", "nuovo url", "nuova url", "url di destinazione", "novo url", "url novo",
        "naar", "doel", "nieuwe url", "na", "cel", "nowy url", "nowy adres", "куда", "новый url", "новый адрес",
        "yeni url", "hedef", "転送先", "新url", "目标", "新网址", "新链接",
    ),
    "status": (
        "status code", "http code", "http status", "http status code", "redirect type", "redirect code", "code",
        "statuscode", "weiterleitung", "code http", "code de statut", "código", "código http", "codice", "codice http",
        "kod", "код", "код ответа", "ステータスコード", "状态码",
        "type", "typ", "tipo", "status", "statut", "estado", "stato", "статус", "ステータス", "状态",
    ),
    "pattern": ("regex", "is regex", "regexp", "format", "matching", "match type"),
}  # fmt: skip
"""The names of columns. Of several that may have the status, the first in this order does; one named `status` may say
instead whether the row is in force, as in exports of WordPress."""
_COLUMNS = {name: column for column, names in _NAMES.items() for name in names}
_IN_FORCE = ("status",)
_PARTS = {
    "from": (
        "old", "source", "origin", "original", "alt", "alte", "alter", "altes", "ursprung", "ancien", "ancienne",
        "origine", "antigua", "antiguo", "origen", "vecchio", "vecchia", "antigo", "antiga", "origem", "oude", "stary",
        "старый",
    ),
    "to": (
        "new", "target", "destination", "final", "neu", "neue", "neuer", "neues", "nouveau", "nouvel", "nouvelle",
        "cible", "nueva", "nuevo", "destino", "nuovo", "nuova", "destinazione", "novo", "nova", "nieuwe", "nowy",
        "новый",
    ),
}  # fmt: skip
"""Words by which a longer name, such as `Ancien lien`, shows which column it is."""
_BEGINNINGS = {"from": "quell", "to": "ziel"}
"""How German compounds begin that show it."""

_WORDS = {
    "permanent": 301, "permanently": 301, "moved": 301, "moved permanently": 301, "permanent redirect": 308,
    "temporary": 302, "temp": 302, "found": 302, "moved temporarily": 302, "temporary redirect": 307,
    "seeother": 303, "see other": 303, "gone": 410, "deleted": 410, "not found": 404, "forbidden": 403,
}  # fmt: skip
"""Statuses in words: those of Apache, of RFC 9110, and what people write."""
_CODE = lazy.pattern(r"(?i)(?:https?(?:[ /][12](?:\.[01])?)?[ :]*)?([1-5]\d\d)(?:\.0)?(?:!|[ \-:,(].*)?\Z")
_PLAIN = ("", "0", "no", "false", "plain", "exact", "url", "off", "ignorecase", "none")
_OFF = ("disabled", "inactive", "off", "no", "false", "0", "draft", "trash")
_SEPARATOR = lazy.pattern(rb"(?i)sep=([,;\t|])\r?\n")
_NAMED_AROUND = lazy.pattern(r"\([^()]*\)|[:*]+\Z")
_WORD = lazy.pattern(r"[^\W\d_]+")
_IN_QUOTES = lazy.pattern(rb'"(?:[^"]|"")*"')
_BLANKS = b" \t"
_NO_DELIMITERS = bytes.maketrans(DELIMITERS, b"_" * len(DELIMITERS))
_FIRST_ROW = "from,to or from,to,status, separated by a comma, semicolon, tab or |"
_TITLES = 10
"""The number of lines that are searched for the names of the columns, as a title may come before these."""
_MOST_NAMES = 10
_LONGEST_NAME = 40
"""The maximum number of names in a note about columns that are not read, and of characters of a name."""
_SAMPLE = 200
"""The number of rows that are searched for the column of the status if no name shows it."""


@record(eq=True)
class Columns:
    """How a table is written.

    Attributes:
        delimiter: What separates fields.
        start: The offset of the first row, behind the names of the columns.
        of: The number of each column that the table has: `from`, `to`, `status`, `pattern`, `off`.
        width: The number of fields of a row at most.
        notes: What was assumed about the table, as sentences without a full stop.
    """

    delimiter: bytes
    start: int
    of: Mapping[str, int]
    width: int
    notes: tuple[str, ...] = ()


class Cells(NamedTuple):
    """The fields of a row; an empty one where the row has none."""

    origin: Field
    target: Field
    status: Field
    pattern: Field
    off: Field

    @property
    def is_in_force(self) -> bool:
        """Whether the row is not switched off in a column of its own."""
        return not self.off.value or _normal(self.off.value) not in _OFF

    @property
    def is_pattern(self) -> bool:
        """Whether a column says that the row is for more than one path."""
        return bool(self.pattern.value) and _normal(self.pattern.value).split(" ")[0] not in _PLAIN


def is_too_wide(row: Record, columns: Columns) -> bool:
    """Return whether a row has more fields than the table has columns, not counting empty ones at its end."""
    return any(field.value for field in row[columns.width :])


def cells_of(row: Record, columns: Columns) -> Cells:
    """Return the fields of a row."""
    nothing = Field(b"", row[-1].end, row[-1].end)
    names = ("from", "to", "status", "pattern", "off")
    return Cells(*(row[at] if (at := columns.of.get(name, len(row))) < len(row) else nothing for name in names))


@lru_cache(maxsize=256)
def status_of(text: str) -> int | None:
    """Return the status of a text such as `301`, `301 Moved Permanently`, `permanent`; None for any other text."""
    text = " ".join(text.lower().split())
    match = _CODE.match(text)
    return int(match[1]) if match else _WORDS.get(text)


def gone(target: str) -> int | None:
    """Return the status that stands in place of a target, such as `410`; None if the text is a target."""
    status = None if is_address(target.encode("utf-8", "surrogateescape")) else status_of(target)
    return status if status in WITHOUT_TARGET else None


def is_address(text: bytes) -> bool:
    """Return whether a text looks like a path or an http address."""
    return text[:8].lower().startswith((b"/", b"http://", b"https://"))


def is_header(line: bytes, delimiter: bytes) -> bool:
    """Return whether a line names the columns of a table."""
    return all(_from_and_to([_normal(cell) for cell in line.split(delimiter)]).values())


def _from_and_to(names: Sequence[str]) -> dict[str, list[int]]:
    """Return the numbers of the columns that are `from` and `to`: those of such a name, or one with such a word."""
    found = {}
    is_row = any(is_address(name.encode("utf-8", "surrogateescape")) for name in names)
    for column in ("from", "to"):
        numbers = [number for number, name in enumerate(names) if _COLUMNS.get(name) == column]
        by_word = [number for number, name in enumerate(names) if _shown_by(name) == column]
        found[column] = numbers or (by_word if len(by_word) == 1 and not is_row else [])
    return found


def _shown_by(name: str) -> str | None:
    """Return the column that the words of a longer name show; None if none does, or more than one."""
    words = [] if name in _COLUMNS else _WORD.findall(name)
    shown = [
        column
        for column, parts in _PARTS.items()
        if any(word in parts or word.startswith(_BEGINNINGS[column]) for word in words)
    ]
    return shown[0] if len(shown) == 1 else None


def is_row(line: bytes, delimiter: bytes) -> bool:
    """Return whether a line looks like a row: an address, then a target, an empty cell, or a status such as `410`."""
    cells = [cell.strip(b' \t\r"') for cell in line.split(delimiter)]
    at = next((number for number, cell in enumerate(cells) if is_address(cell)), len(cells))
    following = cells[at + 1 : at + 2]
    is_target = following and (not following[0] or gone(decode(following[0])) is not None)
    return bool(is_target) or any(map(is_address, cells[at + 1 :]))


def columns_of(source: Source) -> Columns:
    """Return how a table is written. Raises `InputError` if the text is not a table."""
    data = source.data
    start = len(BOM) if data.startswith(BOM) else 0
    stated = _SEPARATOR.match(data, start)
    if stated:
        start = stated.end()
    lines = list(_lines(data, start))
    if not lines:
        raise InputError("the table is empty", path=source.path, expected=_FIRST_ROW)
    named = _named(lines, stated[1] if stated else None)
    if named is not None:
        return _by_names(source, *named)
    first, line = lines[0]
    candidates = [stated[1]] if stated else [bytes([byte]) for byte in DELIMITERS if bytes([byte]) in line]
    fitting = [each for each in candidates if is_row(line, each)]
    if not fitting and len(lines) > 1:
        fitting = [each for each in candidates if is_row(lines[1][1], each)]
        first = lines[1][0]
    if len(fitting) == 1:
        return _by_content(source, fitting[0], first, decode(line) if first != lines[0][0] else None)
    span = Span(lines[0][0], lines[0][0] + len(line))
    if fitting:
        raise InputError("two characters may separate the fields", source=source, span=span, hint="use commas")
    raise InputError("this is not a row of a table of redirects", source=source, span=span, expected=_FIRST_ROW)


def _lines(data: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield the first lines with text, without comments, with their offsets; delimiters in quotes are masked."""
    found = 0
    while start < len(data) and found < _TITLES:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].removesuffix(b"\r")
        if line.strip(_BLANKS + b'",;|') and not is_comment(line):
            found += 1
            yield start, _IN_QUOTES.sub(lambda match: match[0].translate(_NO_DELIMITERS), line)
        start = end + 1


def _named(lines: Sequence[tuple[int, bytes]], stated: bytes | None) -> tuple[int, bytes] | None:
    """Return the offset of the line that names the columns, and its delimiter; None if there is none."""
    candidates = [stated] if stated else [bytes([byte]) for byte in DELIMITERS]
    for at, line in lines:
        for each in candidates:
            if is_header(line, each):
                return at, each
        if any(is_row(line, each) for each in candidates):
            return None
    return None


def _by_names(source: Source, at: int, delimiter: bytes) -> Columns:
    """Return the columns that a header names; others are not read."""
    reading = records(source, delimiter, at, broken=_ignore)
    header = next(reading)
    following = next(reading, None)
    names = [_normal(field.value) for field in header]
    of: dict[str, int] = {}
    for name, numbers in _from_and_to(names).items():
        if len(numbers) > 1:
            second = header[numbers[1]].span
            raise InputError(f"second column {name}", source=source, span=second, hint="remove one")
        of[name] = numbers[0]
    for number, name in enumerate(names):
        column = _COLUMNS.get(name)
        if column == "pattern":
            of.setdefault(column, number)
    order = {name: rank for rank, name in enumerate(_NAMES["status"])}
    values = [] if following is None else [status_of(decode(field.value)) for field in following]
    filled = {number for number, value in enumerate(values) if value is not None}
    statuses = sorted(
        (number for number, name in enumerate(names) if name in order),
        key=lambda at: (at not in filled, order[names[at]]),
    )
    if statuses:
        of["status"] = statuses[0]
        if any(names[at] in _IN_FORCE for at in statuses[1:]):
            of["off"] = next(at for at in statuses[1:] if names[at] in _IN_FORCE)
    left = [decode(field.value) for number, field in enumerate(header) if number not in of.values() and field.value]
    notes = not_read("column", left)
    end = source.data.find(b"\n", header[-1].end)
    return Columns(delimiter, len(source.data) if end < 0 else end + 1, of, len(header), notes)


def not_read(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the note about parts of a table that are not read; none if there are none."""
    shown = ", ".join(shorten(name, _LONGEST_NAME) for name in names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return (f"not read: the {what}{'s' if len(names) > 1 else ''} {shown}{more}",) if names else ()


def _by_content(source: Source, delimiter: bytes, start: int, header: str | None) -> Columns:
    """Return the columns of a table that does not name them, or in words that are not known."""
    rows = [row for row, _ in zip(records(source, delimiter, start, broken=_ignore), range(_SAMPLE), strict=False)]
    first = next((row for row in rows if any(is_address(field.value) for field in row)), None)
    if first is None:  # the only one that looks like a row is broken
        for _ in records(source, delimiter, start):
            pass
        raise InputError("the table has no rows", path=source.path, expected=_FIRST_ROW)
    named = _from_and_to([] if header is None else [_normal(cell) for cell in encode(header).split(delimiter)])
    taken = {*named["from"], *named["to"]}
    addresses = (number for number, field in enumerate(first) if number not in taken and is_address(field.value))
    origin = named["from"][0] if named["from"] else next(addresses, int(0 in taken))
    target = named["to"][0] if named["to"] else next(addresses, origin + 1)
    of = {"from": origin, "to": target}
    widths = Counter(map(len, rows))
    width = max(widths, key=lambda each: (widths[each], -each))
    codes = Counter(
        number
        for row in rows
        for number, field in enumerate(row)
        if number not in (origin, target) and status_of(decode(field.value)) is not None
    )
    if codes:
        of["status"] = max(codes, key=lambda number: (codes[number], -number))
    elif max(widths) == 3:
        of["status"] = 2
    notes = []
    if header is not None:
        taken_for = f"{header.strip()!r} is taken for the names of the columns: {origin + 1} from, {target + 1} to"
        notes.append(f"{taken_for}; if that is wrong, name them from and to")
    return Columns(delimiter, start, of, max(width, 3), tuple(notes))


def _ignore(_error: InputError, _line: Span) -> None:
    """Ignore a broken row: it is reported when the rows are read."""


def _normal(cell: bytes) -> str:
    """Return the name of a column as `_NAMES` has it."""
    text = decode(cell.strip(b' \t\r"')).lower().replace("_", " ").replace("-", " ")
    return " ".join(_NAMED_AROUND.sub("", text).split())
