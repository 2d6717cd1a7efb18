"""An HTTP/2 client without TLS: the same requests as streams of a connection, and all that comes back on each."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    DataReceived,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
)

from tests.fuzz.rewrites.requests import Ask

_SECONDS = 20.0
# What nginx sends and refuses is for nginx to say.
_CONFIG = H2Configuration(
    header_encoding=False,
    validate_outbound_headers=False,
    normalize_outbound_headers=False,
    validate_inbound_headers=False,
    normalize_inbound_headers=False,
)
# Headers of a connection, which nginx refuses in HTTP/2 (RFC 9113, 8.2.2), and one that a pseudo-header replaces.
_LEFT_OUT = {b"host", b"connection", b"transfer-encoding"}

Header = tuple[bytes, bytes]


def converse(port: int, asks: Sequence[Ask]) -> list[bytes]:
    """Return the answer to each request, as lines of text; empty where nginx ends the connection before it answers."""
    answers: list[bytes] = []
    while len(answers) < len(asks):
        left = asks[len(answers) :]
        connection = _Connection(port, left)
        answered = connection.answers()
        # nginx ended the connection: what it answered counts, and the next request is asked once more, by itself.
        answers += answered or _Connection(port, left[:1]).answers() or [b""]
    return answers


def head(ask: Ask) -> tuple[list[Header], bytes]:
    """Return the headers and the body of a request."""
    lines, _, body = ask.data.partition(b"\r\n\r\n")
    first, *others = lines.split(b"\r\n")
    method, target = first.split(b" ")[:2]
    pairs = [tuple(line.split(b": ", 1)) for line in others]
    authority = next(value for name, value in pairs if name == b"Host")
    headers = [(b":method", method), (b":scheme", b"http"), (b":authority", authority), (b":path", target)]
    return headers + [(name.lower(), value) for name, value in pairs if name.lower() not in _LEFT_OUT], body


class _Connection:
    """A connection on which all requests are asked at once; `answers` are those up to the first without an end."""

    def __init__(self, port: int, asks: Sequence[Ask]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _SECONDS)
        self._http2 = H2Connection(_CONFIG)
        self._http2.initiate_connection()
        self._open: set[int] = set()
        self._answers: dict[int, bytearray] = {}
        for ask in asks:
            stream = self._http2.get_next_available_stream_id()
            headers, body = head(ask)
            self._http2.send_headers(stream, headers, end_stream=not body)
            if body:
                self._http2.send_data(stream, body, end_stream=True)
            self._open.add(stream)
            self._answers[stream] = bytearray()

    def answers(self) -> list[bytes]:
        try:
            while self._open:
                self._socket.sendall(self._http2.data_to_send())
                received = self._socket.recv(1 << 18)
                if not received:
                    break
                for event in self._http2.receive_data(received):
                    self._note(event)
        except OSError:
            pass  # nginx reset the connection
        finally:
            self._socket.close()
        ended = []
        for stream, answer in self._answers.items():
            if stream in self._open:
                break
            ended.append(bytes(answer))
        return ended

    def _note(self, event: Event) -> None:
        match event:
            case ResponseReceived() | InformationalResponseReceived() | TrailersReceived():
                lines = b"".join(b"\r\n%s: %s" % (bytes(name).title(), value) for name, value in event.headers)
                self._answers[event.stream_id] += lines + b"\r\n\r\n"
            case DataReceived():
                self._answers[event.stream_id] += event.data
                self._http2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case StreamEnded():
                self._open.discard(event.stream_id)
            case StreamReset():
                self._answers[event.stream_id] += b"reset: %d" % event.error_code
                self._open.discard(event.stream_id)
