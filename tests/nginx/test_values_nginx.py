"""Arguments are read as nginx reads them: accepted, refused, and worth the same."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from nginxopt.semantics import values
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes

pytestmark = pytest.mark.nginx

TIMES = (
    "0", "0s", "1", "75s", "1m", "1m 30s", "1m30s", "1m30", "1h1", "500ms", "0ms", "1s500ms", "1s 500ms", "1 500ms",
    "1 5", "1 ", "s", "ms", "1ms2", "1ms 2", "1 2ms", "1M", "2M 3w", "1y", "1y6M", "6M1y", "1d 1h", "1h 1d", "1m1m",
    "1S", "1.5s", " 1", "1  2", "1s2", "1s 2", "1s 2 ", "5 s", "y1", "m5", "1h m 5s", "-1", "+1", "1,5", "",
    "1w2d3h4m5s",
    "99999999999999999999", "9223372036854775807", "9223372036854775808", "9223372036854775", "106751991167d",
    "292471208y", "300000000000y",
)  # fmt: skip
SIZES = (
    "0", "1", "512", "1k", "1K", "0k", "64k", "2m", "2M", "1g", "1G", "1t", "k", "m", "", "1 k", "1.5k", "-1", "+1",
    "1kb", "9223372036854775807", "9223372036854775808", "9007199254740991k", "9007199254740992k", "8589934591g",
    "0x10",
)  # fmt: skip
NUMBERS = ("0", "1", "100", "007", "-1", "+1", "1k", "1.0", "", " 1", "9223372036854775807", "9223372036854775808")
FLAGS = ("on", "off", "ON", "Off", "oN", "yes", "1", "0", "true", "", "on ")

# Directive -> what reads its argument, and the texts to compare.
READERS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "send_timeout": (values.milliseconds, TIMES),
    "expires": (values.seconds, tuple(text for text in TIMES if not text.startswith(("-", "+")))),  # signs are its own
    "output_buffers 1": (values.size, tuple(text for text in SIZES if text not in ("0", "0k"))),  # which it forbids
    "client_max_body_size": (lambda text: values.size(text, giga=True), SIZES),
    "keepalive_requests": (values.number, NUMBERS),
    "sendfile": (values.flag, FLAGS),
}


@pytest.mark.parametrize("directive", READERS)
def test_accepted_and_refused(binary: nginx.Binary, directive: str) -> None:
    """nginx refuses the argument if, and only if, there is no value."""
    read, texts = READERS[directive]
    accepted = {text: binary.test(nginx.configuration([f'{directive} "{text}";'.encode()])).ok for text in texts}
    assert {text: read(text) is not None for text in texts} == accepted


def test_seconds_are_worth_the_same(binary: nginx.Binary) -> None:
    """The `timeout` of a `Keep-Alive` header is what `keepalive_timeout`'s second argument says in seconds."""
    expected = {text: value for text in TIMES if (value := values.seconds(text)) and value < 2**31}
    servers = [f'keepalive_timeout 1m "{text}"; return 204;'.encode() for text in expected]
    with nginx.Instance(binary, servers=servers) as instance:
        answers = [asked(instance, index) for index in range(len(servers))]
    seconds = [int(re.search(rb"Keep-Alive: timeout=(\d+)", answer)[1]) for answer in answers]  # type: ignore[index]
    assert dict(zip(expected, seconds, strict=True)) == expected


def test_milliseconds_are_worth_the_same() -> None:
    """A timeout in milliseconds is that of seconds, a thousand times, where both are read."""
    both = [text for text in TIMES if values.seconds(text) is not None and values.milliseconds(text) is not None]
    assert both
    assert {text: values.milliseconds(text) for text in both} == {
        text: 1000 * (values.seconds(text) or 0) for text in both
    }


def test_sizes_are_worth_the_same(binary: nginx.Binary) -> None:
    """The end of the first slice is what `slice` says in bytes."""
    expected = {text: value for text in SIZES if (value := values.size(text))}
    servers = [f'slice "{text}"; set $range $slice_range; return 200 $range;'.encode() for text in expected]
    if not binary.test(nginx.configuration(servers[:1])).ok:
        pytest.skip("this nginx has no slice module")
    with nginx.Instance(binary, servers=servers) as instance:
        answers = [asked(instance, index) for index in range(len(servers))]
    sizes = [int(answer.rpartition(b"-")[2]) + 1 for answer in answers]
    assert dict(zip(expected, sizes, strict=True)) == expected


def asked(instance: nginx.Instance, server: int) -> bytes:
    """The answer of a server."""
    with instance.client(server) as client:
        return client.ask([RequestBytes(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")])[0]
