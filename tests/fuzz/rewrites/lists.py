"""Lists in a server that shows what they do: real ones, and ones drawn from the shapes of real ones.

A real list is a file of rows of a map, of rewrites, or of whole servers. Its servers listen where the bench does. What
needs other hosts or files is left out, and so is what nginx refuses (`check`). Requests are for what its patterns
match, changed by a few bytes, and spelled in all ways that a client may.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import shapes
from nginxopt import load_text
from nginxopt.config import Directive
from nginxopt.errors import InputError
from nginxopt.rewrite.kinds.maps.differential import examples
from nginxopt.text import encode
from nginxopt.text.display import percent_encode
from tests.fuzz.nodes import Node
from tests.fuzz.rewrites.generate import Case, Command
from tests.fuzz.rewrites.requests import Ask

_SERVER = ("http", "server")
_LOCATION = (*_SERVER, "location")
_PLACES = (_SERVER, _LOCATION)
"""The contexts of lists of rules."""

_ROWS = "map $request_uri $new"
"""The map that rows alone stand in."""

_OUTSIDE = re.compile(
    r"include|listen|ssl.*|http[23].*|quic.*|load_module|user|pid|error_log|access_log|log_format|worker_.*|daemon"
    r"|resolver.*|auth_.*|.*_cache.*|.*_temp_path|open_file_cache.*|root|alias|types|default_type|keepalive_.*|.*_timeout"
    r"|limit_(?!except).*"
)
"""Directives of a site that need other hosts or files, that the bench states, or whose effect depends on the time."""

_UPSTREAM = re.compile(rb"^((?:proxy|fastcgi|uwsgi|scgi)_pass)\s+(http://|)[^$]*$")
_CHANGING = re.compile(rb"\$\{?(?:request_id|pid|msec|time_\w+|connection\w*|\w*_time|remote_port|bytes_sent)\b\}?")
"""Variables that differ between two requests."""

_SENT = {"uri": "", "request_uri": "", "document_uri": "", "args": "?", "query_string": "?"}
_ODD = b"/.-_+?&=%aAzZ09 \n\r~\xc3\xa9\x7f"
_TAILS = (b"", b"", b"", b"", b"?", b"?a=1", b"?v=Z%41%20&w=1", b"?%3F", b"?q=%0a+x#y", b"?page=2&id=7")
_HEADERS = (b"", b"", b"", b"User-Agent: Mozilla/5.0\r\n", b"Referer: http://a.test/x\r\n", b"Cookie: a=b\r\n")
_LINE = re.compile(rb"[\0-\x20\x7f]")
_SPECIAL = re.compile(rb"[\0-\x20\x7f?#%]")
_WORD = re.compile(rb"[\w.-]{2,}|/[\w.-]+/?", re.ASCII)
_LONGEST = 6_000


@dataclass(slots=True)
class _List:
    """The servers of a list, the names that they answer, and texts by the variable that patterns are tried on."""

    http: list[Node] = field(default_factory=list)
    names: list[bytes] = field(default_factory=lambda: [b"list.test"])
    texts: dict[str, list[bytes]] = field(default_factory=dict)

    def add(self, variable: str, pattern: bytes) -> None:
        """Add texts that a pattern may match."""
        self.texts.setdefault(variable, []).extend(examples(pattern.lstrip(b"~*^")))


def cases(files: Sequence[Path], seed: int, most_rows: int, count: int) -> Iterator[Case]:
    """Yield cases for ever: real lists and drawn ones, each twice with other requests, for two binaries.
    Each has `count` requests; every third list a quarter of that, by HTTP/2, which takes longer.
    """
    for number in range(1 << 62):
        draw = random.Random(f"lists {seed}-{number}")
        index = number // 2
        if files and index % 2 == 0:
            path = files[index // 2 % len(files)]
            name, data = str(path), path.read_bytes()
        else:
            shape = seed * 100_000 + index
            name, data = f"shape {shape}", _drawn(random.Random(shape), shape, most_rows)
        found = _read(data, name, draw)
        if found is not None:
            is_http2 = index % 3 == 2
            asked = count // 4 if is_http2 else count
            yield _case(f"{seed}-{number} {name}", found, draw, asked, is_http2=is_http2)


def _drawn(draw: random.Random, seed: int, most: int) -> bytes:
    """Return a list of a shape, as rows or as rewrites."""
    rows = list(shapes.rows(draw.choice((most // 20, most // 5, most)), seed))
    if draw.random() < 0.5:
        return b"".join(rows)
    flags = draw.choice(((b"permanent",), (b"permanent", b"redirect"), (b"permanent", b"last", b"redirect", b"")))
    found = (re.fullmatch(rb'"~(\*?)(.*)" "(.*)";\n', row) for row in rows)
    rules = (
        b'rewrite "%s%s" %s %s;\n' % (b"(?i)" * bool(row[1]), row[2], row[3], draw.choice(flags))
        for row in found
        if row is not None
    )
    return b"".join(rules)


def _read(data: bytes, name: str, draw: random.Random) -> _List | None:
    """Return the list in a file, which is in a server or a location if it may be; None if that is no configuration, or
    has no list.
    """
    for text in (data, b"%s {\n%s\n}\n" % (_ROWS.encode(), data)):
        try:
            config = load_text(text, name, includes=False)
        except InputError:
            continue
        found = _List()
        directives = list(config.main.block.directives())
        if places := [place for place in _PLACES if place in config.candidates]:
            inside = _nodes(found, directives)
            if draw.choice(places) == _LOCATION:
                inside = [Node(b"location /", inside)]
            found.http = [_server(found, inside, draw)]
        elif any(each.name in ("map", "server", "http") for each in directives):
            top = [each for each in directives if each.name != "http"]
            http = next(
                (list(each.block.directives()) for each in directives if each.name == "http" and each.block), top
            )
            found.http = _nodes(found, [each for each in http if each.name != "upstream"])
            found.http = [
                each if each.head != b"server" else _server(found, each.body or [], draw) for each in found.http
            ]
            if not any(each.head == b"server" for each in found.http):
                shown = b" ".join(b"%s" % each.head.split()[2] for each in found.http if each.head.startswith(b"map "))
                found.http.append(_server(found, [Node(b"location /", [Node(b'return 200 "%s"' % shown)])], draw))
        if any(map(len, found.texts.values())):
            return found
    return None


def _server(found: _List, inside: list[Node], draw: random.Random) -> Node:
    heads = [node.head for node in inside]
    found.names += [
        name
        for head in heads
        if head.startswith(b"server_name ")
        for name in head.split()[1:]
        if name.isalnum() or b"." in name
    ]
    if not any(head in (b"location /", b"location = /") for head in heads):
        captures = draw.choice((b"", b" 1=[$1] 2=[$2]"))  # where they are read, fewer forms will do
        inside = [*inside, Node(b"location /", [Node(b'return 200 "uri=[$uri] args=[$args]%s"' % captures)])]
    return Node(b"server", [Node(b"listen 127.0.0.1:@P0@"), *inside])


def _nodes(found: _List, directives: Sequence[Directive], variable: str = "uri") -> list[Node]:
    """Return directives as they are written, without what needs other files or hosts; note what patterns match."""
    nodes = []
    for each in directives:
        name, words = str(each.name), [encode(word) for word in each.args]
        if variable == "uri" and _OUTSIDE.fullmatch(name):
            continue
        head = each.source.data[each.start : each.block.span.start if each.block else each.end - 1].strip()
        if name == "map" and len(words) == 2:
            inside = _nodes(found, list(each.block.directives()) if each.block else [], words[0].decode("latin-1"))
        elif each.block is not None:
            inside = _nodes(found, list(each.block.directives()))
        else:
            inside = None
        if variable.startswith("$"):
            found.add(variable[1:], encode(each.name))
        elif name in ("rewrite", "location") and words:
            found.add("uri", words[-1] if name == "location" else words[0])
        elif name == "if" and len(words) == 3 and words[0].startswith(b"$"):
            found.add(words[0][1:].decode("latin-1"), words[2])
        elif name == "server_name":
            head = re.sub(rb"\s+", b" ", head)
        nodes.append(Node(_UPSTREAM.sub(rb"\1 \g<2>127.0.0.1:@UP@", _CHANGING.sub(b"always", head)), inside))
    return nodes


def _case(name: str, found: _List, draw: random.Random, count: int, *, is_http2: bool) -> Case:
    shown = b"$http_x_n [$request] $status $uri|$args|$sent_http_location|$sent_http_content_type"
    http = [
        Node(b"log_format full '%s'" % shown),
        Node(b"access_log logs/a.log full"),
        Node(b"root html"),
        Node(b"keepalive_requests 100000"),
        Node(b"large_client_header_buffers 4 32k"),
        Node(b"variables_hash_max_size 4096"),
        *found.http,
        Node(b"server", [Node(b"listen 127.0.0.1:@P0@"), Node(b"server_name sets.test")]),
    ]
    if not any(node.head.startswith(b"map_hash_") for node in found.http):
        http[:0] = [Node(b"map_hash_max_size 65536"), Node(b"map_hash_bucket_size 1024")]
    main = [Node(b"user root"), Node(b"worker_processes 1"), Node(b"error_log logs/error.log warn")]
    tree = [*main, Node(b"events", [Node(b"worker_connections 512")]), Node(b"http", http)]
    command = Command("whole", "write", ("nginx.conf",), ())
    return Case(name, tree, command, list(asks(draw, found, count)), set(), is_http2=is_http2)


def asks(draw: random.Random, found: _List, count: int) -> Iterator[Ask]:
    """Yield requests for what patterns match, and nearly; as many as asked."""
    paths = [text for name in _SENT for text in found.texts.get(name, ()) if _SENT[name] == ""] or [b"/"]
    others = [(name, texts) for name, texts in found.texts.items() if texts and _SENT.get(name) != ""]
    words = list(dict.fromkeys(word for text in paths[:20_000] for word in _WORD.findall(text))) or [b"x"]
    spellings: tuple[Callable[[bytes], bytes], ...] = (
        percent_encode,
        percent_encode,
        lambda text: _SPECIAL.sub(lambda byte: b"%%%02x" % byte[0][0], text),
        lambda text: b"".join(b"%%%02X" % byte if draw.random() < 0.15 else bytes((byte,)) for byte in text),
        lambda text: text,
    )
    for number in range(count):
        path, tail, headers = _changed(draw, paths, words), draw.choice(_TAILS), draw.choice(_HEADERS)
        if others and draw.random() < 0.5:
            name, texts = draw.choice(others)
            value = _changed(draw, texts, words)
            if name in _SENT:
                tail = b"?" + draw.choice(spellings)(value)
            elif name.startswith("arg_"):
                tail = b"?%s=%s" % (name[4:].encode("latin-1"), draw.choice(spellings)(value))
            elif name.startswith(("http_", "cookie_")) and name != "http_host":
                kind, _, rest = name.partition("_")
                line = re.sub(rb"[\r\n\0]", b"", value)
                line = line if kind == "http" else rest.encode() + b"=" + line
                headers = b"%s: %s\r\n" % (b"Cookie" if kind == "cookie" else rest.replace("_", "-").encode(), line)
        target = b"/" * (not path.startswith(b"/")) + path
        target = draw.choice(spellings)(target)[:_LONGEST] + tail
        target = _LINE.sub(lambda byte: b"%%%02X" % byte[0][0], target)
        method = draw.choice((b"GET",) * 8 + (b"HEAD", b"DELETE", b"OPTIONS"))
        lines = (method, target, draw.choice(found.names), number, headers)
        yield Ask(0, b"%s %s HTTP/1.1\r\nHost: %s\r\nX-N: %d\r\n%s\r\n" % lines, head=method == b"HEAD")


def _changed(draw: random.Random, texts: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Return one of the texts with up to three changes."""
    text = draw.choice(texts)
    for _ in range(draw.choice((0, 0, 1, 1, 1, 2, 3))):
        at, other = draw.randrange(len(text) + 1), draw.choice(texts)
        text = draw.choice(_CHANGES)(draw, text[:at], text[at:], other, words)
    return text


_Change = Callable[[random.Random, bytes, bytes, bytes, Sequence[bytes]], bytes]
"""Returns a text of the parts of one, with another text of the list and its words."""

_CHANGES: tuple[_Change, ...] = (
    lambda draw, head, tail, *_: head + bytes((draw.choice(_ODD),)) + tail,
    lambda _, head, tail, *__: head + tail[1:],
    lambda _, head, tail, *__: head + tail[:1].swapcase() + tail[1:],
    lambda _, head, tail, *__: (head + tail).swapcase(),
    lambda draw, head, tail, *_: head + tail + draw.choice((b"\n", b"/", b"?", b".", b"\n\n", b"x")),
    lambda draw, head, tail, _, words: head + tail + draw.choice(words),
    lambda draw, head, tail, _, words: head + draw.choice(words) + tail,
    lambda draw, head, _, other, __: head + other[draw.randrange(len(other) + 1) :],
    lambda _, head, __, other, ___: head + other[len(head) :],
    lambda draw, head, tail, *_: draw.choice((b"/", b"/x/..", b"/.", b"/%2F", b"//")) + head + tail,
    lambda _, head, tail, *__: (head + tail).replace(b".", b"x", 1),
    lambda draw, head, tail, *_: re.sub(rb"\d", lambda _: b"%d" % draw.randrange(10), head + tail),
    lambda draw, head, tail, *_: head + b"y" * 2_600 + tail if draw.random() < 0.1 else head,
)
