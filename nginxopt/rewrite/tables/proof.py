"""Proves that the emitted text answers each row of a table as the table says, and answers no other request.

*Theorem.* Let each map of keys return the key itself for all spellings in upper and lower case. Let the rest of the
script be the patterns of the table, verbatim and in order, applied to the path of the client. If the maps answer every
request for a key according to the table, then the script answers every request according to the table. *Proof.* For a
request that differs from a key only in case, the map returns the key, which is not equal to the request. For any other
request it returns the default, which is not equal either. So no guard holds, and only the patterns may answer. These
are the patterns of the table.

`simulation` runs the text, and `meaning` interprets the table. Neither uses `emission`, which writes the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite.premises import RewritePremise
from nginxopt.rewrite.tables import premises
from nginxopt.rewrite.tables.emission import TableEmission
from nginxopt.rewrite.tables.findings import CheckedTable
from nginxopt.rewrite.tables.meaning import Meaning, RowAnswer, RowRequest, with_arguments
from nginxopt.rewrite.tables.simulation import (
    STATUS_OF_FLAG,
    If,
    Pieces,
    Return,
    Rewrite,
    SimulatedResponse,
    SimulatedServer,
    Unreadable,
    read_maps,
    read_script,
)
from nginxopt.rewrite.tables.table import Row
from nginxopt.semantics.maphash import Verdict, verdict

ARGUMENTS = (b"", b"v=1")
"""The arguments with which each key is requested, in addition to the arguments that its row requires."""
ASKED_PATTERNS = 1_000
"""The number of patterns that are tried on a sample path. The text of all patterns is compared."""
NO_PATH = b"-"
"""The default of a map of keys. No subject equals it: paths begin with a slash, and schemes with a letter."""
_SIZES = {"map_hash_max_size": 2048, "map_hash_bucket_size": 64}


@record(eq=True)
class TableProof:
    """The result of a proof.

    Attributes:
        holds: Whether nginx answers every request according to the table.
        rows: The number of rows.
        requests: The number of requests that were simulated.
        refutation: The part of the proof that does not hold.
        premises: The assumptions of the proof.
    """

    holds: bool
    rows: int = 0
    requests: int = 0
    refutation: str | None = None
    premises: tuple[RewritePremise, ...] = ()


class _Refuted(Exception):  # noqa: N818 - a verdict
    pass


def prove(emission: TableEmission) -> TableProof:
    """Decide whether the text of an emission answers each request according to the table. Linear in the text."""
    try:
        maps = read_maps(emission.http)
        script = read_script(emission.server)
        server = SimulatedServer(maps, script)
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


def _check_patterns(emission: TableEmission, server: SimulatedServer) -> int:
    """Check that the patterns are those of the table, in order, applied to the path of the client.

    Returns the number of simulated requests.
    """
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
    """Yield the rows with patterns, except those that an earlier pattern makes superfluous."""
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


def _patterns(server: SimulatedServer) -> Iterator[tuple[bytes, Return | Rewrite]]:
    """Yield the patterns of a script, each with its statement."""
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


def _check_first(condition: If, server: SimulatedServer) -> None:
    """Check that a condition tests the path of the client, which a map without keys stores."""
    table = server.maps.maps.get(condition.variable)
    if table is None or table.subject != ((b"uri",),) or table.values or table.default != ((b"uri",),):
        raise _Refuted("a pattern is not asked of the path of the client")
    if condition.operator == "=" and condition.operand != b"$uri":
        raise _Refuted("a condition does not compare with the path")


def _says(server: SimulatedServer, row: Row, statement: Return | Rewrite) -> bool:
    """Return whether a statement has the status and, word for word, the target of a row."""
    pattern = row.pattern
    assert pattern is not None
    if _status(statement) != row.status or pattern.has_captures != isinstance(statement, Rewrite):
        return False
    if isinstance(statement, Return):
        expected = [RowAnswer(0, row.status, with_arguments(row.target, row.arguments, args)) for args in ARGUMENTS]
        return all(map(_is_same, expected, _responses(server, statement, b"/")))
    dollar, value = next(iter(server.maps.constants.items()), (b"", b"$"))
    written = b"".join(
        b"$%d" % piece if isinstance(piece, int) else piece.replace(b"$", b"${" + dollar + b"}")
        for piece in pattern.pieces
    )
    return value == b"$" and statement.target == written + (b"?" if row.arguments == "drop" else b"")


def _does(server: SimulatedServer, row: Row, statement: Return | Rewrite) -> bool:
    """Return whether a statement answers the sample path of its pattern as the row says. True without a sample."""
    path = row.pattern.sample if row.pattern else None
    if path is None:
        return True
    alone = Meaning([(0, replace(row, paths=()))], in_order=True)
    expected = [alone.answer(RowRequest(b"", path, args)) for args in ARGUMENTS]
    return all(map(_is_same, expected, _responses(server, statement, path)))


def _status(statement: Return | Rewrite) -> int:
    return statement.status if isinstance(statement, Return) else STATUS_OF_FLAG[statement.flag]


def _responses(server: SimulatedServer, statement: Return | Rewrite, path: bytes) -> list[SimulatedResponse | None]:
    """Return the responses of a single statement to a path, with each of `ARGUMENTS`."""
    alone = SimulatedServer(server.maps, [If(b"uri", "=", b"$uri", (statement,))])
    return [alone.answer(b"", path, args) for args in ARGUMENTS]


def _is_guard(condition: If, server: SimulatedServer) -> bool:
    """Return whether a condition compares the value of a map of keys with the string that the map looks up."""
    table = server.maps.maps.get(condition.variable)
    return table is not None and bool(table.values) and condition.operator == "="


def _check_keys(emission: TableEmission, server: SimulatedServer) -> None:
    """Check that keys of maps are those of rows, that no path equals a default, and that nginx builds the maps."""
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
        if verdict(table.keys, *sizes.values()) != Verdict.FITS:
            raise _Refuted(f"nginx does not build the map {name.decode()} without a warning")


def _key(row: Row, path: bytes) -> bytes:
    return row.site + path + (b"" if row.query is None else b"\n" + row.query)


def _check_answers(emission: TableEmission, server: SimulatedServer) -> int:
    """Check that maps answer each path of a row according to the table; return the number of simulated requests.

    Maps must not answer requests that an earlier pattern answers. Nothing may answer requests of a skipped row.
    """
    table = emission.checked.table
    ways = (False, True) if premises.is_forwarded(table) else (False,)
    if len(ways) > 1:
        _check_scheme(server)
    meaning = Meaning(enumerate(table.rows), in_order=table.in_order)
    maps = SimulatedServer(server.maps, [condition for condition in server.script if _is_guard(condition, server)])
    requests = 0
    for asked in _requests(emission.checked):
        due, is_skipped = _due(meaning, asked, emission.checked)
        for is_forwarded in ways:
            requests += 1
            response = (server if is_skipped else maps).answer(*asked, is_forwarded=is_forwarded)
            if not _is_same(due, response):
                raise _Refuted(f"a request for {asked.path.decode(errors='replace')!r} is answered otherwise")
    return requests


def _check_scheme(server: SimulatedServer) -> None:
    """Check that what a proxy states is the scheme if it is one, and that of the connection otherwise."""
    tables = [table for table in server.maps.maps.values() if table.subject == ((b"http_x_forwarded_proto",),)]
    stated: dict[bytes, Pieces] = {b"http": (b"http",), b"https": (b"https",)}
    if any(table.values != stated or table.default != ((b"scheme",),) for table in tables):
        raise _Refuted("X-Forwarded-Proto gives another scheme")


def _due(meaning: Meaning, asked: RowRequest, checked: CheckedTable) -> tuple[RowAnswer | None, bool]:
    """Return the answer that maps must give to a request, and whether the request belongs to a skipped row.

    The answer is None if a pattern answers the request, or if the row is skipped.
    """
    try:
        answer = meaning.answer(asked)
    except ValueError:  # PCRE releases differ on whether an earlier pattern matches: such a row is skipped
        return None, False
    if answer is None or answer.row in checked.skipped:
        return None, answer is not None
    return (answer if asked.path in checked.table.rows[answer.row].paths else None), False


def _requests(checked: CheckedTable) -> Iterator[RowRequest]:
    """Yield enough requests to decide all requests for the paths of rows: each site of a path with all its arguments.

    An empty site stands for all that the table does not name, and `ARGUMENTS` for all arguments that it does not name.
    Skipped patterns are represented by their sample path.
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
            yield from (RowRequest(site, path, args) for args in sorted(queries[path]))


def _is_same(answer: RowAnswer | None, response: SimulatedResponse | None) -> bool:
    """Return whether a response equals the expected answer; if the target of that is not known, only by status."""
    if answer is None or response is None:
        return answer is None and response is None
    return answer.status == response.status and answer.location in (None, response.location)


def _check_premises(emission: TableEmission) -> None:
    for premise in premises.of(emission.checked.table):
        if str(premise).encode() not in emission.maps:
            raise _Refuted(f"the maps do not state the premise {premise.name}")
