"""Logs of all kinds: what their lines tell, what they lack, and lines that are none."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.errors import InputError, UsageError
from nginxopt.profile import html, text
from nginxopt.profile.figures import PRINTED_FORMAT, Figures
from nginxopt.profile.sums import Durations, load
from nginxopt.request.client import Url
from nginxopt.request.log_places import LogPlaces, log_name
from nginxopt.semantics.site import Build, lower
from nginxopt.version import Version
from tests.profile.lines import FILES, LINE, profiled
from tests.profile.test_planted import profile_of
from tests.rows import every_row

HEADERS = """
events { }
http {
    map $http_x_api_key $client { default ''; k1 one; }
    server {
        listen 80;
        listen 443 ssl;
        ssl_certificate a.pem;
        ssl_certificate_key a.key;
        server_name a.example;
        location /key/ { if ($client = '') { return 401; } proxy_pass http://127.0.0.1:8080; }
        location /cookie/ { if ($cookie_session = '') { return 302 /login; } proxy_pass http://127.0.0.1:8080; }
        location /tls/ { if ($http_x_forwarded_proto != https) { return 301 /x; } proxy_pass http://127.0.0.1:8080; }
        location /arg/ { if ($arg_q = '') { return 301 /x; } proxy_pass http://127.0.0.1:8080; }
        location /agent/ { if ($http_user_agent ~ curl) { return 403; } proxy_pass http://127.0.0.1:8080; }
    }
}
"""


@every_row(
    ("target", "status", "verdict", "variable"),
    [
        ("/key/1", 200, "unknown", "http_x_api_key"),
        ("/key/1", 401, "agrees", None),
        ("/cookie/1", 200, "unknown", "cookie_session"),
        ("/tls/1", 200, "unknown", "http_x_forwarded_proto"),
        ("/arg/", 200, "differs", None),
        ("/agent/", 200, "differs", None),
    ],
)
def test_headers_that_the_log_lacks(
    tmp_path: Path, target: str, status: int, verdict: str, variable: str | None
) -> None:
    """It is not known whether a response is that of the configuration if a header decides that is not logged."""
    profile = profiled(tmp_path, LINE.format(f"GET {target} HTTP/1.1", status), HEADERS)
    ((key, _),) = profile.classes.items()
    assert key.verdict == verdict
    assert key.reason == (variable and f"${variable} is not in the log (--assume {variable}=VALUE)")


_COMBINED = '192.0.2.1 - - [27/Nov/2026:10:00:00 +0200] "GET /old HTTP/1.1" 301 5 "-" "curl/8"'


@every_row(
    ("name", "line"),
    [
        ("main", f'{_COMBINED} "-"'),
        ("vhost_combined", f"a.example:80 {_COMBINED}"),
        ("vhost", f"a.example {_COMBINED}"),
        ("nginx-proxy", f'a.example {_COMBINED} "172.18.0.3:80"'),
        (
            "upstreaminfo",
            f"{_COMBINED} 81 0.004 [shop-web-80] [] - - - - f0e1d2c3b4a5968778695a4b3c2d1e0f",
        ),
        (
            "proxy",
            '[27/Nov/2026:10:00:00 +0200] - 301 301 - GET http a.example "/old" [Client 192.0.2.1] [Length 5] [Gzip -] '
            '[Sent-to 10.0.0.7] "curl/8" "-"',
        ),
    ],
)
def test_formats_that_the_configuration_lacks(tmp_path: Path, name: str, line: str) -> None:
    """Logs are read whose format a package or an image has brought."""
    profile = profiled(tmp_path, f"{line}\n" * 2)
    (file,) = profile.files
    assert (file.format, file.lines, file.broken) == (name, 2, 0)
    assert Figures(profile).number("agrees") == 2


def test_a_format_that_is_stated(tmp_path: Path) -> None:
    """The text of a format is taken for it; without it, the error says how to state it."""
    line = "192.0.2.1 > GET /old 301\n"
    with pytest.raises(InputError) as error:
        profiled(tmp_path, line)
    assert "--input-format takes its text" in str(error.value.hint)
    profile = profiled(tmp_path, line, stated="$remote_addr > $request_method $request_uri $status")
    assert Figures(profile).number("agrees") == 1
    of_json = 'escape=json {"r":"$request","s":$status}'
    profile = profiled(tmp_path, '{"r":"GET /old?q=\\"1 HTTP/1.1","s":301}\n', stated=of_json)
    assert Figures(profile).number("agrees") == 1


@pytest.mark.parametrize(("new", "notes"), [(3, 1), (1, 0)])
def test_a_log_whose_format_was_changed(tmp_path: Path, new: int, notes: int) -> None:
    """If most lines have another format than the first, the report names it."""
    conf = """http { log_format named '$host $remote_addr [$time_local] "$request" $status'; server { listen 80;
    access_log access.log named; location / { return 204; } } }"""
    before = '192.0.2.1 - - [27/Nov/2026:10:00:00 +0200] "GET /a HTTP/1.1" 204 0 "-" "curl/8"\n'
    after = 'a.example 192.0.2.1 [27/Nov/2026:10:00:00 +0200] "GET /a HTTP/1.1" 204\n'
    lines = 200  # more than are looked at to find the format
    found = profiled(tmp_path, before * lines + after * new * lines, conf)
    (file,) = found.files
    assert (file.format, file.lines, file.broken) == ("combined", (1 + new) * lines, new * lines)
    path = tmp_path / "access.log"
    assert found.notes == [f"{path}: the last lines have the format named (--input-format named)"] * notes


def test_a_format_that_ends_its_line(tmp_path: Path) -> None:
    """Behind a `\\n` of the format nginx writes its own: the empty lines are none of the log."""
    form = r"http { log_format own '$remote_addr \"$request\" $status\n'; access_log access.log own;"
    profile = profiled(tmp_path, '192.0.2.1 "GET /old HTTP/1.1" 301\n\n' * 2, FILES.replace("http {", form))
    (file,) = profile.files
    assert (file.format, file.lines, file.broken) == ("own", 2, 0)


_LISTS = "$upstream_addr $upstream_status $upstream_response_time"
_RETRIED = "10.0.0.1:80, 10.0.0.2:80 : 10.0.0.3:80 502, 502 : 200 0.100, 0.100 : 0.001"
_URI = 'escape=json {"u":"$request_uri","h":"$host","s":$status}'
_NO_HOST = '$http_host "$request" $status'


@every_row(
    ("stated", "line", "time", "example"),
    [
        (f'"$request" $status {_LISTS}', f'"GET /app/x HTTP/1.1" 200 {_RETRIED}', 201, "/app/x"),
        (f'{_LISTS} $http_host "$request" $status', f'{_RETRIED} a.example "GET /app/x HTTP/1.1" 200', 201, "/app/x"),
        (f"{_LISTS} $request_uri $status", f"{_RETRIED} /app/x 200", 201, "/app/x"),
        # The last upstream had no address, or one in between.
        (f"$request_uri {_LISTS}", "/app/x a:80 :  502 :  0.100 : ", 100, "/app/x"),
        (f"$request_uri {_LISTS}", "/app/x a:80 : , c:80 502 : -, 200 0.1 : 0.0, -", 100, "/app/x"),
        (f"{_LISTS} $request_uri", "- - - /app/x", 0, "/app/x"),
        (f"escape=none {_LISTS} $request_uri", "unix:/a.sock, [::1]:80 502, 200 0.1, - /app/x", 100, "/app/x"),
        (_URI, r'{"u":"/app/?q=\"1\"\\","h":"a.example","s":200}', 0, '/app/?q="1"\\'),
        (_URI, r'{"u":"/app/","h":"a\"b","s":200}', 0, "/app/"),
        ('escape=none "$request_uri" $status', '"/app/?q="1"" 200', 0, '/app/?q="1"'),
        (_NO_HOST, 'http://a/b "GET /app/ HTTP/1.1" 400', 0, "/app/"),  # nginx refused it
        (_NO_HOST, 'a b "GET /app/ HTTP/1.1" 400', 0, "/app/"),
    ],
)
def test_values_with_spaces_and_quotes(tmp_path: Path, stated: str, line: str, time: int, example: str) -> None:
    """Lists of upstreams need no quotes around them, and quotes in a URI or a host do not end it."""
    profile = profiled(tmp_path, f"{line}\n", stated=stated)
    ((_, cell),) = profile.classes.items()
    assert (profile.files[0].broken, cell.upstream.sum, cell.example) == (0, time, example)


@pytest.mark.parametrize("time", ["-", "27/Nov/2026", "00/Nov/0000:10:00:00 +0200", "27/Nov/2026:10:00:0\\x00 +0200"])
def test_a_time_that_is_none(tmp_path: Path, time: str) -> None:
    """It is counted, and does not hide when the others were sent."""
    good = LINE.format("GET /old HTTP/1.1", 301)
    broken = good.replace("27/Nov/2026:10:00:00 +0200", time).replace("/old", "/old/a")
    profile = profiled(tmp_path, good * 2 + broken + good)
    ((_, cell),) = profile.classes.items()
    assert (cell.requests, cell.first, cell.last, cell.example) == (4, 1_795_766_400, 1_795_766_400, "/old")
    assert profile.files[0].undated == 1
    assert f"{tmp_path}/access.log: 1 line with a time that is none\n" in "".join(text.lines(profile, verbose=False))
    assert "1 lines with a time that is none" in html.render(profile)


def test_times_in_other_zones(tmp_path: Path) -> None:
    """A time is that of its zone."""
    ((_, cell),) = profiled(tmp_path, LINE.format("GET /old HTTP/1.1", 301)).classes.items()
    assert cell.first == 1_795_766_400  # 2026-11-27T08:00:00Z


def test_lines_that_are_none(tmp_path: Path) -> None:
    """Lines of another format, without a request, far too long or cut short are counted, and the others read."""
    good = LINE.format("GET /old HTTP/1.1", 301)
    log = [
        good,
        "other\n",
        LINE.format(r"\x16\x03\x01", 400),
        LINE.format(f"GET /old/{'x' * 8_000}?\\x22 HTTP/1.1", 301),
        "\n",
        "x" * 3_000_000 + "\n",
        good.replace("\n", "\r\n"),
        good[:40],
    ]
    profile = profiled(tmp_path, "".join(log))
    (file,) = profile.files
    assert (file.lines, file.broken, file.broken_lines, file.malformed) == (7, 3, [2, 6, 8], 1)
    assert Figures(profile).number("agrees") == 3
    ((key, _),) = Figures(profile).of_verdict("unknown")
    assert key.reason == "no HTTP request"
    assert (Figures(profile).unknown, Figures(profile).empty) == (0, 1)
    assert "        1  no HTTP request\n" in "".join(text.lines(profile, verbose=True))


def test_a_log_that_was_just_rotated(tmp_path: Path) -> None:
    """An empty log among others is a note; empty logs alone are an error."""
    empty, full = tmp_path / "access.log", tmp_path / "access.log.1"
    empty.touch()
    full.write_text(LINE.format("GET /old HTTP/1.1", 301))
    profile = profile_of([empty, full], FILES)
    assert [file.lines for file in profile.files] == [1]
    assert profile.notes == [f"{empty}: the file is empty"]
    with pytest.raises(InputError, match="the file is empty"):
        profile_of([empty], FILES)


def test_a_missing_log_is_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error before any log is read, however many there are."""
    full = tmp_path / "access.log.1"
    full.write_text(LINE.format("GET /old HTTP/1.1", 301))
    monkeypatch.setattr("nginxopt.profile.reading.opened", lambda path: pytest.fail(f"{path} was opened"))
    for last in (tmp_path / "access.log.2", tmp_path):
        with pytest.raises(InputError, match="cannot be read") as caught:
            profile_of([full, last], FILES)
        assert caught.value.path == str(last)


def test_a_log_that_is_cut_short(tmp_path: Path) -> None:
    """What can be read of a compressed log is, and the report says that it ends too early."""
    whole = LINE.format("GET /old HTTP/1.1", 301) * 10 + "".join(
        LINE.format(f"GET /{number * 7919 % 10_007} HTTP/1.1", 200) for number in range(6_000)
    )
    profile = profiled(tmp_path, gzip.compress(whole.encode())[:-1_000], name="access.log.2.gz")
    (file,) = profile.files
    assert file.cut is not None
    assert 1_000 < profile.requests < 6_010
    assert profiled(tmp_path, gzip.compress(whole.encode()), name="access.log.3.gz").requests == 6_010


def test_lines_inside_of_json(tmp_path: Path) -> None:
    """Docker and journald keep lines in JSON."""
    line = LINE.format("GET /old HTTP/1.1", 301)
    docker = json.dumps({"log": line, "stream": "stdout", "time": "2026-11-27T10:00:00Z"})
    journal = json.dumps({"_PID": "1", "MESSAGE": line.rstrip("\n"), "PRIORITY": "6"})
    for wrapped in (docker, journal):
        profile = profiled(tmp_path, f"{wrapped}\n" * 3)
        assert [cell.requests for cell in profile.classes.values()] == [3]
        assert profile.files[0].broken == 0


def test_a_line_that_looks_like_one_inside_of_json(tmp_path: Path) -> None:
    """Lines of a log decide together whether they are kept in JSON: a single one makes no other unreadable."""
    log = '{"log": "GET / HTTP/1.1"}\n' + LINE.format("GET /old HTTP/1.1", 301) * 3
    profile = profiled(tmp_path, log)
    assert [cell.requests for cell in profile.classes.values()] == [3]
    assert profile.files[0].broken == 1


@pytest.mark.parametrize("escape", ["escape=json ", ""])
def test_json_formats(tmp_path: Path, escape: str) -> None:
    """A format of JSON is read, with its escapes and without."""
    conf = FILES.replace(
        "http {",
        f'http {{ log_format js {escape}\'{{"host":"$host","r":"$request","s":$status,'
        '"t":$request_time,"ua":"$http_user_agent"}\';',
        1,
    )
    quote = r"\"" if escape else r"\x22"
    line = f'{{"host":"a.example","r":"GET /old?{quote} HTTP/1.1","s":301,"t":0.010,"ua":"x{quote}y"}}\n'
    profile = profiled(tmp_path, line, conf)
    ((key, cell),) = profile.classes.items()
    assert (key.verdict, cell.example, cell.request.sum) == ("agrees", '/old?"', 10)


SEVERAL = """
events { }
http {
    server { listen 80; server_name a.example; return 301 https://a.example$request_uri; }
    server { listen 80; server_name b.example; location / { return 404; } location /only { return 200; } }
    server { listen 80; server_name c.example; access_log /var/log/c.log; return 410; }
}
"""


def test_several_servers_and_a_log_without_host(tmp_path: Path) -> None:
    """Each server that writes to the log is asked, and the status decides; `c.example` writes to another one."""
    lines = "".join(LINE.format("GET /only HTTP/1.1", status) for status in (301, 200, 404))
    classes = profiled(tmp_path, lines, SEVERAL).classes
    found = {key.status: (key.verdict, key.server and key.server.text) for key in classes}
    assert found[301] == ("agrees", "server a.example")
    assert found[200] == ("agrees", "server b.example")
    assert found[404][0] == "differs"
    (key,) = profiled(tmp_path, LINE.format("GET / HTTP/1.1", 410), SEVERAL, name="c.log").classes
    assert (key.verdict, key.server and key.server.text) == ("agrees", "server c.example")


def test_who_writes_where_may_be_stated(tmp_path: Path) -> None:
    """`--base` and `--host-of` name the site of a log without hosts."""
    line = LINE.format("GET / HTTP/1.1", 404)
    path = str(tmp_path / "access.log")
    (key,) = profiled(tmp_path, line, SEVERAL, hosts={path: "a.example"}).classes
    assert (key.verdict, key.expected) == ("differs", 301)
    (key,) = profiled(tmp_path, line, SEVERAL, base=Url("http", "b.example", 80, b"/")).classes
    assert key.verdict == "agrees"


def test_too_many_sites(tmp_path: Path) -> None:
    """A log without hosts of very many servers is refused, with what settles it."""
    servers = "".join(f"server {{ listen 80; server_name s{n}.example; return 204; }}\n" for n in range(40))
    with pytest.raises(UsageError, match="has no host, and 40 sites write to"):
        profiled(tmp_path, LINE.format("GET / HTTP/1.1", 204), f"events {{ }} http {{ {servers} }}")


def test_which_levels_write_to_a_log() -> None:
    """What is off, conditional or written elsewhere is no use that could be seen; names may have variables."""
    conf = """
    events { }
    http {
        access_log /var/log/nginx/access.log;
        server {
            location /off { access_log off; }
            location /if { access_log /var/log/nginx/access.log combined if=$arg_x; }
            location /other { access_log /var/log/nginx/other.log; }
            location /both { access_log /a/other.log; access_log /b/access.log; }
            location /host { access_log /var/log/nginx/${host}.log; }
            location /here { }
        }
    }
    """
    site = lower(load_text(conf.encode(), "nginx.conf"), Build(Version(1, 22, 1)))
    places = LogPlaces(site, ("old/access.log-20261127.gz",))
    writing = {site.site["levels"][level]["args"][0] for level in places.levels if site.site["levels"][level]["args"]}
    assert writing == {"/both", "/host", "/here"}
    everywhere = LogPlaces(site, ("copy.txt",)).levels
    assert {site.site["levels"][level]["args"][0] for level in everywhere if site.site["levels"][level]["args"]} == {
        "/other", "/both", "/host", "/here",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["a.log", "a.log.1", "a.log.2.gz", "a.log-20261127.zst", "x/y/a.log-2026-11-27"])
def test_names_of_rotated_logs(name: str) -> None:
    """Rotation adds a number or a date."""
    assert log_name(name) == "a.log"


def test_quantiles() -> None:
    """Quantiles are exact below 32 ms, and beyond to some percent."""
    assert Durations().quantile(0.5) is None
    assert Durations(3, 3, [1, 1, 1]).quantile(0.5) == 1
    assert Durations(1, 40, [0] * 36 + [1]).quantile(0.99) == 40.5  # of 40 and 41


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8b", gzip.compress(b"{}", mtime=0), gzip.compress(b"[1]", mtime=0), b"text"]
)
def test_files_that_are_no_profile(tmp_path: Path, content: bytes) -> None:
    """They are refused."""
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InputError, match="not a saved profile"):
        load(str(tmp_path / "x"))


def test_the_printed_format_lacks_nothing(tmp_path: Path) -> None:
    """nginx logs all that is read, in the format that is printed."""
    conf = f"events {{ }} http {{ {PRINTED_FORMAT} server {{ listen 80; server_name a; return 204; }} }}"
    line = (
        '::1 a http 80 [27/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 204 100 0 50 0.001 "-" "-" "-" "-" 1 "." '
        '1795773600.123 - "-" "-" "x"\n'
    )
    profile = profiled(tmp_path, line, conf)
    assert Figures(profile).lacking == []
    ((key, cell),) = profile.classes.items()
    assert (key.verdict, cell.first) == ("agrees", 1_795_773_600)


def test_what_some_logs_lack(tmp_path: Path) -> None:
    """A variable is named if a log has none of those that tell the same, with this log."""
    formats = "log_format iso '$time_iso8601 $host $scheme $body_bytes_sent \"$request\" $status';"
    conf = FILES.replace("http {", f"http {{ {formats} access_log iso.log iso; access_log access.log;")
    (tmp_path / "iso.log").write_text('2026-11-27T10:00:00+02:00 a.example http 512 "GET /old HTTP/1.1" 301\n')
    (tmp_path / "access.log").write_text(LINE.format("GET /old HTTP/1.1", 301))
    paths = [tmp_path / "iso.log", tmp_path / "access.log"]
    lacking = dict(Figures(profile_of(paths, conf)).lacking)
    assert not {"msec", "bytes_sent", "status"} & set(lacking)
    assert lacking["host"].endswith(f"(not in {paths[1]})")
    assert lacking["http_user_agent"].endswith(f"(not in {paths[0]})")
    assert "not in" not in lacking["request_time"]


PORTS = """
events { }
http {
    log_format timed '$host $server_port "$request" $status';
    map $http_host $site { a.example known; default other; }
    server {
        listen 8080;
        server_name a.example;
        access_log access.log timed;
        location / { if ($site = other) { return 404; } return 204; }
        location /same { return 301 http://$http_host/; }
    }
}
"""


@every_row(
    ("target", "status", "verdict"),
    [("/", 204, "agrees"), ("/", 404, "agrees"), ("/", 500, "differs"), ("/same", 301, "agrees")],
)
def test_ports_that_are_forwarded(tmp_path: Path, target: str, status: int, verdict: str) -> None:
    """A log with `$host` does not show whether `Host` had the port of the server, and the status decides."""
    log = f'a.example 8080 "GET {target} HTTP/1.1" {status}\n'
    ((key, _),) = profiled(tmp_path, log, PORTS).classes.items()
    assert key.verdict == verdict


@every_row(
    ("method", "before", "is_named"),
    [
        ("GET", "", True), ("HEAD", "", True), ("POST", "", False),
        ("GET", "auth_request /asked; location = /asked { return 204; }", False),
        ("GET", "auth_basic x; auth_basic_user_file u;", False),
    ],
)  # fmt: skip
def test_what_a_cache_may_answer(tmp_path: Path, method: str, before: str, is_named: bool) -> None:
    """A cache keeps responses to GET and HEAD, and not those for one who was asked for a password."""
    conf = FILES.replace("root /srv;", f"root /srv; {before}")
    line = LINE.replace(" - - ", " - me ").format(f"{method} /api HTTP/1.1", 200)
    assert bool(Figures(profiled(tmp_path, line * 4, conf)).repeated) == is_named


def test_each_log_has_its_servers(tmp_path: Path) -> None:
    """Of several logs without hosts, each is of the servers that write to it, whatever the others are of."""
    servers = "".join(
        f"server {{ listen 80; server_name {name}.example; access_log /var/log/nginx/{name}.log; root /srv/{name}; }}\n"
        for name in ("shop", "blog", "api")
    )
    paths = []
    for name in ("shop", "blog"):
        paths.append(tmp_path / f"{name}.log")
        paths[-1].write_text(LINE.format("GET /a.html HTTP/1.1", 200))
    profile = profile_of(paths, f"events {{ }}\nhttp {{\n{servers}}}\n")
    assert sorted((key.verdict, key.server and key.server.line) for key in profile.classes) == [
        ("agrees", 3),
        ("agrees", 4),
    ]


def test_a_configuration_without_servers(tmp_path: Path) -> None:
    """The first sentence says that nothing is known, and why, and nothing is said of what nginx takes."""
    profile = profiled(tmp_path, LINE.format("GET / HTTP/1.1", 200) * 3, "events { }\nhttp { include sites/*.conf; }\n")
    figures = Figures(profile)
    assert figures.is_blind
    assert figures.sentences[0] == (
        "What answers 100% of the requests is not known: http://localhost: no server listens at port 80."
    )
    assert profile.notes == [
        "the configuration has no server",
        "nginx.conf:2: include sites/*.conf matches no file",
    ]
    shown = "".join(text.lines(profile, verbose=False))
    assert "CPU" not in shown
    assert "location" not in shown
    page = html.render(profile)
    assert "<h1>What answers 100%" in page
    assert "nginx&#39;s own CPU" not in page
    assert "no server listens at port 80" in page.partition("Not known")[2]


def test_what_the_page_explains(tmp_path: Path) -> None:
    """It has the reasons of what is not known, what was asked for again, and the lines that are of another format."""
    lines = LINE.format("GET /app/x HTTP/1.1", 200) + LINE.format("GET /api HTTP/1.1", 200) * 4 + "broken\n"
    page = html.render(profiled(tmp_path, lines))
    assert "several responses fit 200" in page
    assert "1 lines of another format than combined: 6" in page
    assert "75.0% of <code>nginx.conf:13: location /api</code>" in page.partition("Asked for again")[2]
    assert '<th class="n">Time</th>' not in page  # the log has none
