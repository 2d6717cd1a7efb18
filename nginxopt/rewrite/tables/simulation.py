"""Simulates nginx with the emitted text: reads the maps and the script of a server, and runs them on a request.

It shares only the lexer with the code that wrote the text. It supports only the directives that a table needs;
`Unreadable` for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NamedTuple, TypeVar

from nginxopt import lazy
from nginxopt._native import Patterns, captures
from nginxopt.config.tree import Statement, statements
from nginxopt.records import record
from nginxopt.text import Source, encode

_VARIABLE = lazy.pattern(rb"\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z_][A-Za-z0-9_]*)|([1-9]))|\$")
_ARGS_ESCAPED = frozenset(b' "#%&+;<>?\\^`{|}') | frozenset(range(0x21)) | frozenset(range(0x7F, 0x100))
_KEPT_ENCODED = frozenset(range(0x26)) | frozenset(range(0x7F, 0x100))
"""What `ngx_unescape_uri` leaves encoded in a redirect."""

STATUS_OF_FLAG = {"permanent": 301, "redirect": 302, "last": 200}
"""The statuses of rewrites; 200 stands for the next phase of nginx."""

Pieces = tuple[bytes | tuple[bytes], ...]
"""Text, and names of variables, each in a tuple."""
_Value = TypeVar("_Value")


class Unreadable(Exception):  # noqa: N818 - a verdict on a text
    """The text has something that a table does not need."""


class SimulatedResponse(NamedTuple):
    """The response of a server: the status and the `Location`; for a rewrite, 200 and the new path."""

    status: int
    location: bytes


@record(eq=True)
class Map:
    """A map: the text that it looks up, its values by key in lower case, and its default."""

    subject: Pieces
    keys: tuple[bytes, ...]
    values: dict[bytes, Pieces]
    default: Pieces


@record(eq=True)
class Return:
    """`return`, with a target or without."""

    status: int
    target: Pieces | None


@record(eq=True)
class Rewrite:
    """`rewrite`: `pattern` as it is written."""

    pattern: bytes
    target: bytes
    flag: str


@record(eq=True)
class If:
    """`if`: its variable, its operator (`=` or `~`), its operand, and its statements."""

    variable: bytes
    operator: str
    operand: bytes
    body: tuple[Return | Rewrite, ...]


@record(eq=True)
class SimulatedMaps:
    """The http block: maps and constants by the names of their variables, and sizes of hash tables."""

    maps: dict[bytes, Map]
    constants: dict[bytes, bytes]
    sizes: dict[str, int] = field(default_factory=dict)


def read_maps(text: bytes) -> SimulatedMaps:
    """Return the maps of a text."""
    found = SimulatedMaps({}, {})
    reading = statements(Source("http.conf", text))
    for statement in reading:
        words = statement.words
        if statement.kind == "#":
            continue
        if statement.kind == ";" and len(words) == 2 and words[0].endswith("_size"):
            found.sizes[str(words[0])] = int(words[1])
        elif statement.kind == "{" and words[0] == "map" and len(words) == 3:
            _add(found.maps, words[2], _read_map(encode(words[1]), reading))
        elif statement.kind == "{" and words[0] == "geo" and len(words) == 2:
            rows = [row.words for row in _block(reading)]
            if len(rows) != 1 or len(rows[0]) != 2 or rows[0][0] != "default":
                raise Unreadable("a geo block is not constant")
            _add(found.constants, words[1], encode(rows[0][1]))
        else:
            raise Unreadable(f"line {statement.line} of the maps")
    return found


def _add(values: dict[bytes, _Value], variable: str, value: _Value) -> None:
    name = encode(variable).removeprefix(b"$")
    if name in values:
        raise Unreadable(f"two variables are named {variable}")
    values[name] = value


def _read_map(subject: bytes, reading: Iterator[Statement]) -> Map:
    keys: list[bytes] = []
    values: dict[bytes, Pieces] = {}
    default: Pieces = ()
    for row in _block(reading):
        if len(row.words) != 2:
            raise Unreadable(f"line {row.line} of the maps")
        key, value = encode(row.words[0]), pieces(encode(row.words[1]))
        if row.words[0] == "default" and not row.words[0].quoted:
            default = value
            continue
        if key.startswith((b"~", b"\\")) or key in (b"default", b"hostnames", b"include", b"volatile"):
            raise Unreadable(f"line {row.line} of the maps is not a key")
        if key.lower() in values:
            raise Unreadable(f"conflicting parameter in line {row.line} of the maps")
        keys.append(key)
        values[key.lower()] = value
    return Map(pieces(subject), tuple(keys), values, default)


def _block(reading: Iterator[Statement]) -> Iterator[Statement]:
    """Yield the statements of a block up to its end."""
    for statement in reading:
        if statement.kind == "}":
            return
        if statement.kind != ";":
            raise Unreadable(f"line {statement.line}")
        yield statement


def read_script(text: bytes) -> tuple[If, ...]:
    """Return the script of a server: a sequence of `if` blocks."""
    reading = statements(Source("server.conf", text))
    script = []
    for statement in reading:
        if statement.kind == "#":
            continue
        variable, operator, operand = _condition(statement)
        body = tuple(_read_statement(inner) for inner in _block(reading))
        script.append(If(variable, operator, operand, body))
    return tuple(script)


def _condition(statement: Statement) -> tuple[bytes, str, bytes]:
    """Return the variable, the operator and the operand of an `if`."""
    words = statement.words
    is_apart = len(words) == 5 and words[4] == ")" and words[3].quoted
    is_joined = len(words) == 4 and words[3].endswith(")") and not words[3].quoted
    if statement.kind != "{" or words[0] != "if" or not (is_apart or is_joined) or words[2] not in ("=", "~"):
        raise Unreadable(f"line {statement.line} of the statements")
    operand = encode(words[3] if is_apart else words[3].removesuffix(")"))
    return encode(words[1]).removeprefix(b"($"), str(words[2]), operand


def _read_statement(statement: Statement) -> Return | Rewrite:
    name, *arguments = statement.words
    if name == "return" and arguments and len(arguments) <= 2 and arguments[0].isdigit():
        target = pieces(encode(arguments[1])) if len(arguments) == 2 else None
        return Return(int(arguments[0]), target)
    if name == "rewrite" and len(arguments) == 3 and arguments[2] in STATUS_OF_FLAG:
        return Rewrite(encode(arguments[0]), encode(arguments[1]), str(arguments[2]))
    raise Unreadable(f"line {statement.line} of the statements")


def pieces(text: bytes) -> Pieces:
    """Split a text into literals and variables (`ngx_http_script_compile`)."""
    parts: list[bytes | tuple[bytes]] = []
    at = 0
    if b"$" in text:
        for match in _VARIABLE.finditer(text):
            name = match[1] or match[2] or match[3]
            if name is None:
                raise Unreadable("invalid variable name")
            parts += [text[at : match.start()], (name,)]
            at = match.end()
    return tuple(part for part in (*parts, text[at:]) if part)


class SimulatedServer:
    """A server with the emitted text, and what it answers to the first pass of a request."""

    def __init__(self, maps: SimulatedMaps, script: Sequence[If]) -> None:
        self.maps = maps
        self.script = tuple(script)
        self._patterns: dict[bytes, Patterns] = {}
        self._operands = {
            condition.operand: pieces(condition.operand) for condition in script if condition.operator == "="
        }

    def operand(self, condition: If) -> Pieces:
        """Return what a condition compares with."""
        return self._operands[condition.operand]

    def constant(self, text: Pieces) -> bytes | None:
        """Return a text that is the same for all requests; None if it has other variables."""
        if len(text) == 1 and isinstance(text[0], bytes):
            return text[0]
        known = [part if isinstance(part, bytes) else self.maps.constants.get(part[0]) for part in text]
        return None if None in known else b"".join(part for part in known if part is not None)

    def answer(self, site: bytes, path: bytes, args: bytes, *, is_forwarded: bool = False) -> SimulatedResponse | None:
        """Return the response to a request for a decoded path; None if no statement answers it.

        `is_forwarded`: a proxy states the scheme, and asks by http itself.
        """
        scheme, _, host = site.partition(b"://")
        stated = scheme if is_forwarded else b""
        scheme = b"http" if is_forwarded else scheme
        request = {b"uri": path, b"args": args, b"is_args": b"?" if args else b"", b"scheme": scheme, b"host": host}
        request[b"http_x_forwarded_proto"] = stated
        for condition in self.script:
            subject = self._value(condition.variable, request)
            if condition.operator == "=":
                holds = subject == self._expand(self._operands[condition.operand], request)
            else:
                holds = self._matches(condition.operand, subject)
            if not holds:
                continue
            for statement in condition.body:
                response = self._run(statement, request)
                if response is not None:
                    return response
        return None

    def _run(self, statement: Return | Rewrite, request: dict[bytes, bytes]) -> SimulatedResponse | None:
        if isinstance(statement, Return):
            target = b"" if statement.target is None else self._expand(statement.target, request)
            return SimulatedResponse(statement.status, target)
        if not self._matches(statement.pattern, request[b"uri"]):
            return None
        if statement.flag == "last":
            return SimulatedResponse(200, self._expand(pieces(statement.target), request))
        target = statement.target
        adds = not target.endswith(b"?")
        captured = _captures(statement.pattern, request[b"uri"])
        written = self._escaped(pieces(target.removesuffix(b"?")), request, captured)
        if adds and request[b"args"]:
            written += (b"&" if b"?" in target else b"?") + request[b"args"]
        return SimulatedResponse(STATUS_OF_FLAG[statement.flag], written)

    def _escaped(self, target: Pieces, request: dict[bytes, bytes], captured: dict[bytes, bytes]) -> bytes:
        """Return the target of a redirecting rewrite, percent-encoded.

        Captures are escaped as arguments; then `%XX` is decoded up to a question mark, except what has to stay encoded
        (`ngx_http_script_regex_end_code`).
        """
        text = b""
        for piece in target:
            if isinstance(piece, bytes):
                text += piece
            elif piece[0] in captured:
                text += _escape(captured[piece[0]])
            else:
                text += self._value(piece[0], request)
        head, mark, tail = text.partition(b"?")
        return re.sub(rb"%([0-9A-Fa-f]{2})", _unescape, head) + mark + tail

    def _expand(self, parts: Pieces, request: dict[bytes, bytes]) -> bytes:
        if len(parts) == 1:
            part = parts[0]
            return part if isinstance(part, bytes) else self._value(part[0], request)
        return b"".join([part if isinstance(part, bytes) else self._value(part[0], request) for part in parts])

    def _value(self, name: bytes, request: dict[bytes, bytes]) -> bytes:
        known = request.get(name)
        if known is not None:
            return known
        table = self.maps.maps.get(name)
        if table is not None:
            return self._expand(table.values.get(self._expand(table.subject, request).lower(), table.default), request)
        if name not in self.maps.constants:
            raise Unreadable(f"unknown variable {name.decode(errors='replace')}")
        return self.maps.constants[name]

    def _matches(self, pattern: bytes, subject: bytes) -> bool:
        """Return whether a pattern matches; `ValueError` where PCRE releases differ."""
        if pattern not in self._patterns:
            self._patterns[pattern] = Patterns([pattern])
        return self._patterns[pattern].first(subject) is not None


def _captures(pattern: bytes, subject: bytes) -> dict[bytes, bytes]:
    """Return the captures of a pattern that matches, by number. As in nginx, a group without a match is empty."""
    match = captures(pattern, subject)
    groups = [] if match is None else match[0][1:]
    return {b"%d" % number: b"".join(group or b"" for group in groups[number - 1 : number]) for number in range(1, 10)}


def _escape(text: bytes) -> bytes:
    return b"".join(b"%%%02X" % byte if byte in _ARGS_ESCAPED else bytes([byte]) for byte in text)


def _unescape(escape: re.Match[bytes]) -> bytes:
    byte = int(escape[1], 16)
    return escape[0] if byte in _KEPT_ENCODED else bytes([byte])
