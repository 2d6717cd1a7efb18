"""`$request_uri` has no newline, however a request is sent: what maps of it and their proof rely on."""

from __future__ import annotations

from socket import create_connection

import pytest

from nginxopt.system import nginx
from tests.fuzz.sites.stage import Stage
from tests.nginx.test_access_logs import sent_as_http2
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

SERVER = """
    map $request_uri $has_newline { "~\\n" found; default none; }
    server { listen 127.0.0.1:{P}; location / { return 200 "[$has_newline]"; } }
    server { listen 127.0.0.1:{Q} http2; location / { return 200 "[$has_newline]"; } }
"""
TARGETS = (b"/a\nb", b"/\n", b"/a\n", b"/a?\nb", b"/a\r\nb", b"/a%0ab", b"/a#\nb")


_DATA, _HEADERS, _RST_STREAM, _GOAWAY = 0, 1, 3, 7
_END_STREAM = 0x01


def _answer(port: int, data: bytes) -> bytes:
    """Return what nginx sends until it closes the connection, which it does after a request of HTTP/1."""
    with create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        with connection.makefile("rb") as stream:
            return stream.read()


def _answer_of_http2(port: int, data: bytes) -> bytes:
    """Return the frames that nginx sends until the stream ends (RFC 9113, 4.1)."""
    with create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(data)
        frames = b""
        with connection.makefile("rb") as stream:
            while head := stream.read(9):
                kind, flags = head[3], head[4]
                frames += stream.read(int.from_bytes(head[:3], "big"))
                if kind in (_RST_STREAM, _GOAWAY) or (kind in (_DATA, _HEADERS) and flags & _END_STREAM):
                    break
        return frames


def test_the_request_uri_has_no_newline(each_binary: nginx.Binary) -> None:
    """A newline ends a request line, and HTTP/2 has none in a path; an escaped one stays escaped."""
    with Stage(each_binary) as stage:
        first, second = stage.ports(2)
        http = SERVER.replace("{P}", str(first)).replace("{Q}", str(second))
        stage.write({"nginx.conf": f"events {{ }} http {{ access_log off; {http} }}"})
        with stage.running():
            for target in TARGETS:
                line = b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % target
                absolute = b"GET http://a%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % target
                answers = [_answer(first, line), _answer(first, absolute)]
                answers.append(_answer_of_http2(second, sent_as_http2(target, b"a")))
                assert not any(b"[found]" in answer for answer in answers), answers
                if b"\n" not in target:
                    assert all(b"[none]" in answer for answer in answers), answers
