"""Files of requests: lists, targets of vegeta, access logs."""

from __future__ import annotations

import gzip
import io
import json
import re
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.errors import InputError, UsageError
from nginxopt.request import ClientGate, read_url
from nginxopt.request.requests_file import RequestsFile
from nginxopt.request.traffic import Traffic
from tests.request.test_connection import site, socket
from tests.rows import every_row

SITE = site(socket("0.0.0.0", 80, 0), socket("0.0.0.0", 443, 0, tls=True), names=("shop.example",))
SEVERAL = site(socket("0.0.0.0", 80, 0, 1), socket("0.0.0.0", 8443, 1, tls=True))

Listed = list[tuple[str, int]]


def read(path: Path, text: str | bytes, conf: str = "", stated: str | None = None, base: str | None = None) -> Traffic:
    """The requests of a file to a site of several servers, if a base is not stated to one of a single name."""
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    gate = ClientGate(SEVERAL if "several" in conf else SITE)
    config = load_text(f"http {{ {conf}\n}}".encode(), "nginx.conf")
    return RequestsFile(str(path), config, gate, stated, read_url(base) if base else None).read()


def listed(traffic: Traffic) -> Listed:
    """The requests of a file as text, with their counts."""
    return [
        (f"{group.request.method.decode()} {group.request.url.site}{target.decode('latin-1')}", count)
        for group in traffic.groups
        for target, count in group.targets.items()
    ]


TARGETS = (
    '{"method":"GET","url":"http://shop.example/a?x=1"}\n\n'
    ' {"method":"POST","url":"/b","header":{"X-A":["1"],"X-B":[""]},"body":"aGVsbG8="}\r\n'
    '{"url":"http://shop.example/a?x=1","method":"GET","body":null,"header":null}\n'
)


@pytest.mark.parametrize("stated", [None, "vegeta"])
def test_targets_of_vegeta_in_json(tmp_path: Path, stated: str | None) -> None:
    """Each line is a target with its headers; equal ones are counted."""
    traffic = read(tmp_path / "targets.json", TARGETS, stated=stated, base="https://shop.example")
    assert listed(traffic) == [("GET http://shop.example/a?x=1", 2), ("POST https://shop.example/b", 1)]
    assert traffic.kind == "vegeta targets in JSON"
    headers = traffic.groups[1].request.headers
    assert (b"X-A", b"1") in headers
    assert (b"X-B", b"") in headers


@every_row(
    ("line", "message"),
    [
        ('{"method":"GET"}', "a target has a method and a url, which are strings"),
        ('{"url":"/a"}', "a target has a method and a url, which are strings"),
        ('{"method":"GET","url":"x"}', "a URL begins with http:// or https://, a path with /"),
        ('{"method":"GET","url":"/a","body":"?"}', "the body of a target is a string in base64"),
        ('{"method":"GET","url":"/a","body":1}', "the body of a target is a string in base64"),
        ('{"method":"GET","url":"/a","header":{"A":"1"}}', "header is an object of lists of strings"),
        ('{"method":"GET","url":"/a","header":{"A B":["1"]}}', 'a header is "Name: value"'),
        ('{"method":"GET","url":"/a","headers":{}}', 'unknown key "headers"; a target has method, url, header, body'),
        ("[]", "a target is an object"),
        ("{", "invalid JSON: Expecting property name enclosed in double quotes"),
        ('{"method":' + "[" * 100_000, "invalid JSON: Nested too deeply"),
        ('{"method":' + "1" * 5_000 + "}", "invalid JSON: Integer with too many digits"),
        ('{"method":"\udcff"}', "invalid JSON: not UTF-8"),
    ],
)
def test_a_target_that_is_none_has_its_place(tmp_path: Path, line: str, message: str) -> None:
    """Its line is in the error."""
    text = (TARGETS + line).encode("utf-8", "surrogateescape")
    with pytest.raises(InputError) as error:
        read(tmp_path / "targets.json", text, base="http://shop.example")
    assert message in error.value.render()
    assert "targets.json:5:" in error.value.render()


COMBINED = '192.0.2.1 - bob [10/Oct/2024:13:55:36 +0000] "{}" 200 512 "http://r.example/" "curl/8 (a \\x22b\\x22)"\n'


def combined(*requests: str) -> str:
    """Lines in the format combined."""
    return "".join(COMBINED.format(request) for request in requests)


def test_a_list_of_urls(tmp_path: Path) -> None:
    """A line is a URL, a method and a URL, or a path; equal ones are counted."""
    text = (
        "# pages\n\nhttp://shop.example/a?x=1\nPOST https://shop.example/b\r\n/a\nhttp://shop.example/a?x=1\n/#top\n/\n"
    )
    traffic = read(tmp_path / "urls", text)
    assert sorted(listed(traffic)) == [
        ("GET http://shop.example/a?x=1", 2),
        ("GET https://shop.example/", 2),
        ("GET https://shop.example/a", 1),
        ("POST https://shop.example/b", 1),
    ]
    assert (traffic.kind, traffic.requests, traffic.lines) == ("list of requests", 6, 6)


def test_a_simple_list_is_read_as_any(tmp_path: Path) -> None:
    """A list that is read at once has the same requests as one that is read line by line because of one line."""
    lines = [
        "http://a.example/x",
        "HEAD http://b.example:8080/y?z",
        "https://a.example/~'\"",
        "/p",
        "http://a.example/x",
    ]
    simple = read(tmp_path / "urls", "\n".join(lines))
    any_ = read(tmp_path / "urls", "\n".join([*lines, "http://last.example"]))
    assert [*listed(simple), ("GET http://last.example/", 1)] == listed(any_)
    assert [group.request for group in simple.groups] == [group.request for group in any_.groups[:-1]]


def test_targets_of_vegeta(tmp_path: Path) -> None:
    """Headers stand below their request; a body is not read."""
    text = (
        "GET http://shop.example/a\nX-A: 1\nUser-Agent: v\n\nPOST http://shop.example/b\n@body.json\nX-Empty:\nGET /c\n"
    )
    groups = read(tmp_path / "targets.txt", text).groups
    assert [group.request.headers[1:] for group in groups] == [
        ((b"User-Agent", b"v"), (b"Accept", b"*/*"), (b"X-A", b"1")),
        ((b"User-Agent", b"curl/8.5.0"), (b"Accept", b"*/*"), (b"X-Empty", b"")),
        ((b"User-Agent", b"curl/8.5.0"), (b"Accept", b"*/*")),
    ]
    assert [(group.request.method, *group.targets) for group in groups] == [
        (b"GET", b"/a"),
        (b"POST", b"/b"),
        (b"GET", b"/c"),
    ]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("/a\nhttp://shop.example:x/\n", "2:21", "the port is not a number from 1 to 65535"),
        ("/a\n\n  GET  /b c\n", "3:10", "a space in the URL"),
        ("/a\nX-A: 1\nb\n", "3:1", "a URL begins with http:// or https://, a path with /"),
        ("http://h/\u00e4\nhttp://\u00e4 b/\n", "2:9", "a space in the host"),
    ],
)
def test_a_broken_line_of_a_list(tmp_path: Path, text: str, place: str, message: str) -> None:
    """A line that is no request is an error with its place."""
    with pytest.raises(InputError) as caught:
        read(tmp_path / "urls", text)
    assert caught.value.render().startswith(f"{tmp_path}/urls:{place}: {message}\n")


def test_a_path_needs_a_site(tmp_path: Path) -> None:
    """A path in a list is one of the base; without a base, and with several names, it is an error."""
    assert listed(read(tmp_path / "urls", "/a\n", "# several", base="http://a.example")) == [
        ("GET http://a.example/a", 1)
    ]
    with pytest.raises(InputError, match="a URL begins with http:// or https://"):
        read(tmp_path / "urls", "/a\n", "# several\n")


def test_a_combined_log(tmp_path: Path) -> None:
    """The requests of a log in nginx's own format; those that are no HTTP are counted, HTTP/2 is as HTTP/1.1."""
    text = combined(
        "GET /a HTTP/1.1", "GET /a HTTP/2.0", "GET /a HTTP/1.0", "POST /b?x=\\x22 HTTP/1.1", "GET /old",
        "\\x16\\x03\\x01", "", "-", "GET /a b HTTP/1.1",
    )  # fmt: skip
    traffic = read(tmp_path / "access.log", text)
    requests = [(group.request, dict(group.targets)) for group in traffic.groups]
    assert [(request.method, request.version, request.protocol, targets) for request, targets in requests] == [
        (b"GET", (1, 1), None, {b"/a": 1}),
        (b"GET", (1, 1), (2, 0), {b"/a": 1}),
        (b"GET", (1, 0), None, {b"/a": 1}),
        (b"POST", (1, 1), None, {b'/b?x="': 1}),
        (b"GET", (0, 9), None, {b"/old": 1}),
    ]
    assert (traffic.lines, traffic.malformed, traffic.broken) == (9, 4, 0)
    assert traffic.notes == ["the log has no host: its requests are taken as those to https://shop.example (--base)"]
    assert traffic.groups[0].request.headers == ((b"Host", b"shop.example"),)
    assert traffic.groups[0].request.client is None


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    """Lines that do not fit the format are counted, the first with their numbers; empty ones are not lines."""
    text = combined("GET /a HTTP/1.1") + "\nbroken\n" + combined(*["GET /b HTTP/1.1"] * 30) + "x\r\n" * 12
    traffic = read(tmp_path / "access.log", text)
    assert (traffic.broken, traffic.broken_lines) == (13, [3, *range(34, 43)])
    assert (traffic.requests, traffic.lines) == (31, 44)


def test_a_compressed_log(tmp_path: Path) -> None:
    """A log compressed with gzip is read as what is in it; one that is cut off is an error."""
    data = gzip.compress(combined("GET /a HTTP/1.1").encode())
    assert read(tmp_path / "access.log.1.gz", data).requests == 1
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "access.log.1.gz", data[:-12])


def test_lines_inside_of_json(tmp_path: Path) -> None:
    """Docker and journald keep lines in JSON."""
    line = combined("GET /a HTTP/1.1")
    for member in ("log", "MESSAGE"):
        text = f"{json.dumps({'stream': 'stdout', member: line})}\n" * 3
        for stated in (None, "combined"):
            traffic = read(tmp_path / "log", text, stated=stated)
            assert (listed(traffic), traffic.broken) == ([("GET https://shop.example/a", 3)], 0)


OWN = """
log_format own '$host:$server_port $remote_addr "$request_method $scheme://$http_host$request_uri" $status';
log_format json escape=json '{"host":"$host","request":"$request","agent":"$http_user_agent","x":"${http_x_a}"}';
log_format raw escape=none $remote_addr|$request|$status|$http_x_a;
"""


def test_a_format_of_the_configuration(tmp_path: Path) -> None:
    """The format is told by the lines; host, port and scheme are those of the line."""
    text = (
        'a.example:8443 192.0.2.1 "GET https://A.example:8443/x?y=\\x5C" 200\n'
        'b.example:80 - "POST http://b.example/x" 301\n'
        'b.example:80 192.0.2.1 "GET http://-/x" 400\n'
    )
    traffic = read(tmp_path / "access.log", text, OWN + "# several\n")
    assert listed(traffic) == [
        ("GET https://A.example:8443/x?y=\\", 1),
        ("POST http://b.example/x", 1),
        ("GET http://b.example/x", 1),
    ]
    assert [group.request.headers for group in traffic.groups] == [
        ((b"Host", b"A.example:8443"),), ((b"Host", b"b.example"),), (),
    ]  # fmt: skip
    assert traffic.notes == []


def test_a_format_of_json(tmp_path: Path) -> None:
    """Values are unescaped; a header is read if the configuration depends on it."""
    line = '{"host":"a.example","request":"GET /\\"\\\\\\u001f HTTP/1.1","agent":"\\"","x":""}\n'
    plain = read(tmp_path / "log", line * 2, OWN + "# several\n")
    assert listed(plain) == [('GET http://a.example/"\\\x1f', 2)]
    assert plain.groups[0].request.headers == ((b"Host", b"a.example"),)
    assert plain.notes == ["the log has no scheme: https is assumed for hosts that are served over TLS (--base)"]
    asking = read(tmp_path / "log", line, OWN + "# several\nif ($HTTP_USER_AGENT) { return 403; }")
    assert asking.groups[0].request.headers == ((b"Host", b"a.example"), (b"User-Agent", b'"'))


def test_the_client_is_read_if_it_matters(tmp_path: Path) -> None:
    """The address of the client is read from a log if the configuration depends on it."""
    line = "192.0.2.1|GET /a HTTP/1.1|200|x|y\n"
    (group,) = read(tmp_path / "log", line, OWN + "allow 192.0.2.0/24; set $a $http_x_a;").groups
    assert (group.request.client, group.request.headers[1:]) == (b"192.0.2.1", ((b"X-A", b"x|y"),))
    assert read(tmp_path / "log", line, OWN).groups[0].request.client is None


def test_the_format_may_be_stated(tmp_path: Path) -> None:
    """A stated format is not told by the content; broken lines are then counted as ever."""
    text = combined("GET /a HTTP/1.1")
    assert read(tmp_path / "log", text, stated="combined").requests == 1
    assert read(tmp_path / "urls", "/a\n", stated="urls").requests == 1
    with pytest.raises(InputError, match="no line has the format own"):
        read(tmp_path / "log", text, OWN, stated="own")
    with pytest.raises(InputError, match="a URL begins with"):
        read(tmp_path / "log", text, stated="vegeta")


@pytest.mark.parametrize(
    ("stated", "message", "hint"),
    [
        ("combinde", 'unknown format "combinde"', 'did you mean "combined"?'),
        ("zzz", 'unknown format "zzz"', "known are short, a, b, glued, combined, urls, vegeta"),
        ("short", "log_format short has neither $request nor $request_uri nor $uri", None),
        ("glued", "log_format glued has nothing between $remote_user and $request_uri", None),
    ],
)
def test_a_format_that_cannot_be_read(tmp_path: Path, stated: str, message: str, hint: str | None) -> None:
    """An unknown format, and one that does not tell the requests, are usage errors."""
    with pytest.raises(UsageError) as caught:
        read(tmp_path / "log", "x\n", FORMATS, stated=stated)
    assert (caught.value.message, caught.value.hint) == (message, hint)


FORMATS = """
log_format short '$remote_addr $status';
log_format a '"$host" "$request"';
log_format b '"$http_x_a" "$request"';
log_format glued '$remote_user$request_uri';
log_format wrong escape=no '$request';
access_log /var/log/nginx/b.log b buffer=4k;
access_log /var/log/nginx/c.log buffer=4k;
access_log off;
"""


def test_the_name_of_a_log_decides_between_formats(tmp_path: Path) -> None:
    """Of formats with the same lines, that of the file's name counts; without one the user has to choose."""
    line = '"a.example" "GET /a HTTP/1.1"\n'
    assert read(tmp_path / "b.log-20240101", line, FORMATS).kind == "access log in the format b"
    assert read(tmp_path / "b.log.1", line, FORMATS).kind == "access log in the format b"
    with pytest.raises(UsageError, match="has the formats a and b"):
        read(tmp_path / "c.log", line, FORMATS)


EQUAL = """
log_format a '$remote_addr "$request" ${status}';
log_format b '${remote_addr} "$request" ' '$status';
log_format c escape=json '$remote_addr "$request" $status';
"""


def test_equal_formats_are_one(tmp_path: Path) -> None:
    """Formats that read lines alike are no choice, whatever their names; another `escape` is one."""
    line = '10.0.0.1 "GET /a HTTP/1.1" 200\n'
    alike, _, _ = EQUAL.partition("log_format c")
    assert read(tmp_path / "a.log", line, alike).kind == "access log in the format a"
    with pytest.raises(UsageError, match="has the formats a and b and c"):
        read(tmp_path / "a.log", line, EQUAL)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    """A file that is neither a list nor a log is an error at its first line, with what could stand there."""
    with pytest.raises(InputError) as caught:
        read(tmp_path / "x", "\n<html>\n", FORMATS)
    assert caught.value.render().splitlines()[0] == f"{tmp_path}/x:2:1: neither a request nor a line of an access log"
    assert caught.value.expected == "URL, METHOD URL, or a line in the format a, b, glued, combined"
    with pytest.raises(InputError, match="the file is empty"):
        read(tmp_path / "x", "\n")
    with pytest.raises(InputError, match="no requests in this file"):
        read(tmp_path / "x", "# none\n", stated="urls")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        RequestsFile(str(tmp_path / "none"), load_text(b""), ClientGate(SITE)).read()


def test_a_log_without_a_host(tmp_path: Path) -> None:
    """Whose requests those of a log without a host are is stated, or an error."""
    text = combined("GET /a HTTP/1.1")
    assert listed(read(tmp_path / "log", text, "# several\n", base="http://b.example:81")) == [
        ("GET http://b.example:81/a", 1)
    ]
    with pytest.raises(UsageError, match="the format combined has no host"):
        read(tmp_path / "log", text, "# several\n")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file named - is standard input, of which no size is known."""
    piped = io.BufferedReader(io.BytesIO(combined("GET /a HTTP/1.1").encode()))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=piped))
    monkeypatch.setattr("nginxopt.request.requests_file._size", lambda _: 0)
    file = RequestsFile("-", load_text(b"http { }"), ClientGate(SITE))
    assert file.read(lambda *_: pytest.fail("there is no size")).requests == 1


def test_progress(tmp_path: Path) -> None:
    """The bytes that were read are told, up to the size of the file."""
    path = tmp_path / "log"
    path.write_text(combined("GET /a HTTP/1.1"))
    told: list[tuple[int, int]] = []
    RequestsFile(str(path), load_text(b"http { }"), ClientGate(SITE)).read(lambda done, size: told.append((done, size)))
    assert told == [(path.stat().st_size, path.stat().st_size)]


URIS = 'log_format uris \'$remote_addr "$uri" "$args" $status\';'


def test_a_log_with_uris(tmp_path: Path) -> None:
    """Without a request line the target is `$uri`, escaped again, and `$args`; what that cannot tell is noted."""
    lines = '1.2.3.4 "/a b" "x=1" 200\n1.2.3.4 "/50%?" "-" 200\n1.2.3.4 "/\\xC3\\xA4" "-" 200\n1.2.3.4 "-" "-" 400\n'
    traffic = read(tmp_path / "log", lines, URIS)
    assert listed(traffic) == [
        ("GET https://shop.example/a%20b?x=1", 1),
        ("GET https://shop.example/50%25%3F", 1),
        ("GET https://shop.example/%C3%A4", 1),
    ]
    assert traffic.notes[1:] == [
        "the log has $uri, not the request: it is taken as sent, though rewrites may have changed it",
        "the log has no method: GET is assumed",
    ]
    short = read(tmp_path / "log", '"/a" 200\n', "log_format short '\"$document_uri\" $status';")
    assert listed(short) == [("GET https://shop.example/a", 1)]
    assert "the log has no arguments: none are taken" in short.notes


PARTS = {
    "$remote_addr": ("1.2.3.4", "::1", "unix:", "-"),
    "[$time_local]": ("10/Oct/2025:13:55:36 +0000",),
    '"$http_user_agent"': ("", "-", "a b", r"\x22] ", "200", r"\x5C"),
    "$status": ("200", "404"),
    "$request_time": ("0.000", "12.345"),
    "$upstream_response_time": ("-", "0.001", "0.001, 0.2 : -"),
}
REQUESTS = {
    "GET / HTTP/1.1": "/",
    r"GET /a\x22b?c=d HTTP/2.0": '/a"b?c=d',
    "GET /old": "/old",
    **dict.fromkeys(("", "-", "get / HTTP/1.1", "GET /a b HTTP/1.1", r"\x16\x03\x01")),
}
"""Request lines as nginx logs them, with their targets."""


@given(st.permutations([*PARTS, '"$request"']), st.lists(st.sampled_from([*REQUESTS]), min_size=1), st.data())
def test_a_log_has_the_requests_that_were_written(parts: list[str], requests: list[str], data: st.DataObject) -> None:
    """Whatever values stand where in a line; one with more than the format is broken."""

    def line(request: str) -> str:
        values = [request if part == '"$request"' else data.draw(st.sampled_from(PARTS[part])) for part in parts]
        texts = [re.split(r"\$\w+", part) for part in parts]
        return " ".join(f"{before}{value}{after}" for (before, after), value in zip(texts, values, strict=True))

    text = "".join(f"{line(request)}\n" for request in ["GET /first HTTP/1.1", *requests])
    broken = data.draw(st.lists(st.sampled_from(["more", ""]), max_size=2))
    text += "".join(f"{line('GET / HTTP/1.1')} {more}\n" for more in broken)
    traffic = RequestsFile("log", load_text(b"http { }"), ClientGate(SITE), " ".join(parts)).read_from(text.encode())
    found: Counter[str] = Counter()
    for request, count in listed(traffic):
        found[request] += count
    targets = ["/first", *(REQUESTS[request] for request in requests)]
    assert found == Counter(f"GET https://shop.example{target}" for target in targets if target is not None)
    assert traffic.lines - traffic.broken == len(targets)
    assert (traffic.broken, traffic.malformed) == (len(broken), targets.count(None))


def test_the_end_of_a_log_is_no_line(tmp_path: Path) -> None:
    """A format that an empty line has, too, has none behind the last line end."""
    traffic = read(tmp_path / "log", "/a\n/b\n", "log_format f escape=json '$request_uri';", stated="f")
    assert (traffic.lines, traffic.malformed) == (2, 0)
