"""The proof that the emitted text answers each row of a table as it says, and no other request.

*Theorem.* Let K be the keys of the maps. Let each map of keys give a key itself for all spellings of its letters, and
let the rest of the script be the patterns of the table, verbatim and in order, on the path of the client. If the maps
answer every request for a key as the table does, then the script answers every request as the table does.
*Proof.* A request for a key in another case gets that key, which it is not, and any other request gets the default,
which it is not: no guard holds. So only the patterns may answer, and those are the table's.

The text is read by `simulation`, and the table is asked by `meaning`; neither knows what wrote the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite.premises import Premise
from nginxopt.rewrite.tables import premises
from nginxopt.rewrite.tables.emission import TableEmission
from nginxopt.rewrite.tables.findings import CheckedTable
from nginxopt.rewrite.tables.meaning import Answer, Asked, Meaning, with_arguments
from nginxopt.rewrite.tables.simulation import (
    STATUS_OF_FLAG,
    If,
    Return,
    Rewrite,
    Server,
    SimulatedResponse,
    Unreadable,
    read_maps,
    read_script,
)
from nginxopt.rewrite.tables.table import Row
from nginxopt.semantics.maphash import verdict

ARGUMENTS = (b"", b"v=1")
"""The arguments that each key is asked with; one that names arguments is asked with its own."""
ASKED_PATTERNS = 1_000
"""How many patterns are tried on a path each, beside the comparison of the text of all."""
NO_PATH = b"-"
"""The default of a map of keys: every path of a client begins with a slash, and every scheme with a letter."""
_SIZES = {"map_hash_max_size": 2048, "map_hash_bucket_size": 64}


@record(eq=True)
class TableProof:
    """What was decided: whether it `holds`, for how many `rows`, by how many requests, and what does not hold."""

    holds: bool
    rows: int = 0
    requests: int = 0
    refutation: str | None = None
    premises: tuple[Premise, ...] = ()


class _Refuted(Exception):  # noqa: N818 - a verdict
    pass


def prove(emission: TableEmission) -> TableProof:
    """Decide whether the text of an emission answers each request according to the table. Linear in the text."""
    try:
        maps = read_maps(emission.http)
        script = read_script(emission.server)
        server = Server(maps, script)
        requests = _check_patterns(emission, server)
        _check_keys(emission, server)
        requests += _check_answers(emission, server)
        _check_premises(emission)
    except (Unreadable, InputError) as error:
        return TableProof(False, refutation=f"the text is not understood: {error}")
    except _Refuted as refuted:
        return TableProof(False, refutation=str(refuted))
    relied = premises.of(emission.checked.table)
    return TableProof(True, len(emission.checked.rows), requests, premises=relied)


def _check_patterns(emission: TableEmission, server: Server) -> int:
    """Refuse patterns that are not the table's, in its order, on the path of the client; return how many were asked."""
    rows = list(_rows_with_patterns(emission.checked))
    written = list(_patterns(server))
    if [regex for regex, _ in written] != [row.pattern.regex for row in rows if row.pattern is not None]:
        raise _Refuted("the patterns are not those of the table, in its order")
    for number, (row, (regex, statement)) in enumerate(zip(rows, written, strict=True)):
        if not _says(server, row, statement) or (number < ASKED_PATTERNS and not _does(server, row, statement)):
            raise _Refuted(f"the pattern {regex.decode(errors='replace')} has another target")
    guards = [_is_guard(condition, server) for condition in server.script]
    if guards != sorted(guards, reverse=True):
        raise _Refuted("a map is asked behind a pattern")
    return sum(len(ARGUMENTS) for row in rows[:ASKED_PATTERNS] if row.pattern and row.pattern.sample is not None)


def _rows_with_patterns(checked: CheckedTable) -> Iterator[Row]:
    """Yield the rows of the table whose patterns have to be tried: not those that an earlier one makes superfluous."""
    regexes: set[bytes] = set()
    prefixes: set[bytes] = set()
    for number, row in enumerate(checked.table.rows):
        pattern = row.pattern
        if pattern is None or row.site:  # a pattern of one site is skipped
            continue
        is_covered = pattern.regex in regexes or (pattern.below is not None and _is_below(pattern.below, prefixes))
        regexes.add(pattern.regex)
        if pattern.below is not None:
            prefixes.add(pattern.below)
        if not is_covered and number not in checked.skipped:
            yield row


def _is_below(path: bytes, prefixes: set[bytes]) -> bool:
    """Return whether a path begins with one of some prefixes, which end in a slash."""
    ends = [at + 1 for at, byte in enumerate(path) if byte == 0x2F]
    return any(path[:end] in prefixes for end in ends)


def _patterns(server: Server) -> Iterator[tuple[bytes, Return | Rewrite]]:
    """Yield the patterns of a script, each with what it does."""
    for condition in server.script:
        if condition.operator == "~":
            _check_first(condition, server)
            yield condition.operand, condition.body[0]
            if len(condition.body) != 1:
                raise _Refuted("a condition holds more than one statement")
        elif not _is_guard(condition, server):
            _check_first(condition, server)
            for statement in condition.body:
                if not isinstance(statement, Rewrite):
                    raise _Refuted("a condition on the path of the client holds a return")
                yield statement.pattern, statement


def _check_first(condition: If, server: Server) -> None:
    """Refuse a condition on anything but the path of the client, which a map without keys keeps."""
    table = server.maps.maps.get(condition.variable)
    if table is None or table.subject != ((b"uri",),) or table.values or table.default != ((b"uri",),):
        raise _Refuted("a pattern is not asked of the path of the client")
    if condition.operator == "=" and condition.operand != b"$uri":
        raise _Refuted("a condition does not compare with the path")


def _says(server: Server, row: Row, statement: Return | Rewrite) -> bool:
    """Return whether a statement has the status and, word for word, the target of a row."""
    pattern = row.pattern
    assert pattern is not None
    if _status(statement) != row.status or pattern.has_captures != isinstance(statement, Rewrite):
        return False
    if isinstance(statement, Return):
        expected = [Answer(0, row.status, with_arguments(row.target, row.arguments, args)) for args in ARGUMENTS]
        return all(map(_is_same, expected, _responses(server, statement, b"/")))
    dollar, value = next(iter(server.maps.constants.items()), (b"", b"$"))
    written = b"".join(
        b"$%d" % piece if isinstance(piece, int) else piece.replace(b"$", b"${" + dollar + b"}")
        for piece in pattern.pieces
    )
    return value == b"$" and statement.target == written + (b"?" if row.arguments == "drop" else b"")


def _does(server: Server, row: Row, statement: Return | Rewrite) -> bool:
    """Return whether a statement answers the sample of its pattern as a row says, if there is one."""
    path = row.pattern.sample if row.pattern else None
    if path is None:
        return True
    alone = Meaning([(0, replace(row, paths=()))], in_order=True)
    expected = [alone.answer(Asked(b"", path, args)) for args in ARGUMENTS]
    return all(map(_is_same, expected, _responses(server, statement, path)))


def _status(statement: Return | Rewrite) -> int:
    return statement.status if isinstance(statement, Return) else STATUS_OF_FLAG[statement.flag]


def _responses(server: Server, statement: Return | Rewrite, path: bytes) -> list[SimulatedResponse | None]:
    """Return what a statement by itself answers to a path that it is for."""
    alone = Server(server.maps, [If(b"uri", "=", b"$uri", (statement,))])
    return [alone.answer(b"", path, args) for args in ARGUMENTS]


def _is_guard(condition: If, server: Server) -> bool:
    """Return whether a condition compares a map of keys with what it looks up."""
    table = server.maps.maps.get(condition.variable)
    return table is not None and bool(table.values) and condition.operator == "="


def _check_keys(emission: TableEmission, server: Server) -> None:
    """Refuse maps whose keys are not the rows', whose defaults may equal a path, or that nginx cannot build well."""
    sizes = {name: server.maps.sizes.get(name, size) for name, size in _SIZES.items()}
    keys: list[bytes] = []
    for condition in server.script:
        if _is_guard(condition, server):
            table = server.maps.maps[condition.variable]
            keys += table.keys
            if table.subject != server.operand(condition):
                raise _Refuted("a guard compares with something else than its map looks up")
            if table.default != (NO_PATH,):
                raise _Refuted("the default of a map may be what a client asks for")
            if any(server.constant(table.values[key.lower()]) != key for key in table.keys):
                raise _Refuted("a map of keys gives something else than the key")
    known = {_key(row, path) for row in emission.checked.table.rows for path in row.paths}
    if len(keys) != len(set(keys)) or not known.issuperset(keys):
        raise _Refuted("the keys of the maps are not those of the rows")
    for name, table in server.maps.maps.items():
        if verdict(table.keys, *sizes.values()) != "fits":
            raise _Refuted(f"nginx does not build the map {name.decode()} without a warning")


def _key(row: Row, path: bytes) -> bytes:
    return row.site + path + (b"" if row.query is None else b"\n" + row.query)


def _check_answers(emission: TableEmission, server: Server) -> int:
    """Refuse maps that answer a path of a row otherwise than the table; return the number of requests.

    Maps must not answer what a pattern that comes before does. Nothing may answer what a row that is skipped does.
    """
    table = emission.checked.table
    meaning = Meaning(enumerate(table.rows), in_order=table.in_order)
    maps = Server(server.maps, [condition for condition in server.script if _is_guard(condition, server)])
    requests = 0
    for asked in _requests(emission.checked):
        requests += 1
        due, is_skipped = _due(meaning, asked, emission.checked)
        response = (server if is_skipped else maps).answer(*asked)
        if not _is_same(due, response):
            raise _Refuted(f"a request for {asked.path.decode(errors='replace')!r} is answered otherwise")
    return requests


def _due(meaning: Meaning, asked: Asked, checked: CheckedTable) -> tuple[Answer | None, bool]:
    """Return what the maps have to answer to a request, and whether it is one of a skipped row.

    They have to answer nothing if a pattern does, or if the row is skipped.
    """
    try:
        answer = meaning.answer(asked)
    except ValueError:  # PCRE releases differ on whether an earlier pattern matches: such a row is skipped
        return None, False
    if answer is None or answer.row in checked.skipped:
        return None, answer is not None
    return (answer if asked.path in checked.table.rows[answer.row].paths else None), False


def _requests(checked: CheckedTable) -> Iterator[Asked]:
    """Yield the requests that decide all for the paths of rows: each site of a path with all arguments of the path.

    No site stands for any that the table does not name, and `ARGUMENTS` for those that it does not. Of a pattern that
    is skipped the sample is asked for.
    """
    sites: dict[bytes, set[bytes]] = {}
    queries: dict[bytes, set[bytes]] = {}
    for number, row in enumerate(checked.table.rows):
        sample = row.pattern.sample if row.pattern is not None and number in checked.skipped else None
        for path in (*row.paths, *([] if sample is None else [sample])):
            sites.setdefault(path, {b""}).add(row.site)
            queries.setdefault(path, set(ARGUMENTS)).update(() if row.query is None else (row.query,))
    for path, of_path in sites.items():
        for site in sorted(of_path):
            yield from (Asked(site, path, args) for args in sorted(queries[path]))


def _is_same(answer: Answer | None, response: SimulatedResponse | None) -> bool:
    """Return whether a response is the one that is due; of one whose target is not known, the status counts."""
    if answer is None or response is None:
        return answer is None and response is None
    return answer.status == response.status and answer.location in (None, response.location)


def _check_premises(emission: TableEmission) -> None:
    for premise in premises.of(emission.checked.table):
        if str(premise).encode() not in emission.maps:
            raise _Refuted(f"the maps do not state the premise {premise.name}")
