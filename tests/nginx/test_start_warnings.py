"""What nginx warns of when it starts, on the real nginx: the same lines, in the same words."""

from __future__ import annotations

import contextlib
import itertools
import random
import re
import socket
import threading

import pytest

from nginxopt.config import load_text
from nginxopt.facts import declarations
from nginxopt.facts.table import PLACES, names
from nginxopt.lint.report.model import grouped
from nginxopt.semantics import levels, start_warnings
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.version import Version
from tests.lintcheck import diagnose, fixed
from tests.nginx.test_zones import PATHS

pytestmark = pytest.mark.nginx

_OTHERS = re.compile(r"conflicting server name|is obsolete|could not build optimal")
"""The warnings that other rules report, or none."""

CASES = {
    "lists": """
        gzip_types text/css TEXT/CSS text/html; gzip_types text/css;
        ssi_types *; ssi_types text/html;
        server { gzip_types text/plain * text/plain; }
        charset_types text/html text/xml;
        proxy_next_upstream error Error timeout; proxy_next_upstream timeout;
        server { proxy_next_upstream error; }
        types { text/html html htm; text/plain HTML; }
        types { text/plain txt; image/png txt htm; }
    """,
    "names": """
        server { server_name /a a/b ~^(?<x>.)/$ http://c; }
        server { index /a /b; location /x { index a /b; } }
    """,
    "addresses": """
        allow 10.1.1.1/8; deny 10.0.0.0/8; allow 1:2::3/32; allow 10.1.2.3/32; allow 1.2.3.4/0;
        set_real_ip_from 192.168.1.1/24; set_real_ip_from ::1;
    """,
    "caches": """
        fastcgi_cache_path cache keys_zone=a:1m; uwsgi_cache_path uwsgi keys_zone=b:1m; fastcgi_cache a;
        scgi_cache_path scgi keys_zone=c:1m;
        server { fastcgi_cache_key $uri; location /a { uwsgi_cache b; } location /b { uwsgi_cache off; } }
        server { scgi_cache c; location / { scgi_cache_key $uri; } }
        server { fastcgi_cache off; location / { proxy_cache off; } }
    """,
    "caches with keys": """
        fastcgi_cache_path cache keys_zone=a:1m; fastcgi_cache a;
        server { fastcgi_cache_key $uri; location / { fastcgi_cache a; } }
    """,
    "methods": """
        upstream a { server 127.0.0.1:1; least_conn; ip_hash; hash $uri; }
        upstream b { server 127.0.0.1:1; random; }
        upstream c { random; hash $uri consistent; server 127.0.0.1:1; }
    """,
    "ranges": """
        geo $a { ranges; default 1; default 2; 1.1.1.1-1.1.1.2 x; }
        geo $b { default 1; default 2; proxy 10.0.0.1/8; proxy 10.0.0.0/8; 255.255.255.255 x; }
    """,
    "deprecated": """
        ssl_certificate data:$uri; ssl_certificate_key data:$uri;
        server { listen unix:a.sock ssl http2; }
        server { listen unix:a.sock ssl http2 default_server; }
    """,
}


def _whole(http: str, main: str = "") -> str:
    return f"{main}\npid nginx.pid;\nerror_log error.log;\nevents {{}}\nhttp {{\n{PATHS} access_log off;\n{http}\n}}\n"


def _verdict(binary: nginx.Binary, text: str) -> nginx.Verdict:
    return binary.test(text.encode(), {"temp/x": b""})


def said(binary: nginx.Binary, text: str) -> set[str]:
    """What a real nginx warns of, without the places. It starts, unless this build lacks a module."""
    verdict = _verdict(binary, text)
    if any(reason.startswith("unknown directive") for reason in verdict.reasons):
        pytest.skip(str(verdict))
    assert verdict.ok, verdict.messages
    return {message.text for message in verdict.warnings if not _OTHERS.match(message.text)}


def ours(binary: nginx.Binary, text: str) -> set[str]:
    """What the release of this nginx is said to warn of."""
    target = Version.of(binary.version)
    root = levels(load_text(text.encode(), "nginx.conf"), target)
    return {warning.message for warning in start_warnings(root, target)}


@pytest.mark.parametrize("case", CASES)
def test_cases(each_binary: nginx.Binary, case: str) -> None:
    """Each kind of warning, and what looks like it."""
    text = _whole(CASES[case])
    assert ours(each_binary, text) == said(each_binary, text)


def test_the_masks_of_processors(each_binary: nginx.Binary) -> None:
    """A mask for each worker, one for all, or a warning."""
    for masks, warns in (("01", False), ("01 10", True), ("01 10 11", False), ("auto", False), ("auto 0101", False)):
        text = _whole("", f"worker_processes 3; worker_cpu_affinity {masks};")
        assert ours(each_binary, text) == said(each_binary, text)
        assert bool(ours(each_binary, text)) == warns


def test_ssl_on(binary: nginx.Binary) -> None:
    """A directive that is deprecated in one release and gone in another."""
    text = _whole("ssl_certificate data:$uri; ssl_certificate_key data:$uri; server { listen unix:a.sock; ssl on; }")
    if ours(binary, text):
        assert ours(binary, text) == said(binary, text)
    else:
        assert not _verdict(binary, text).ok


def test_a_deprecated_directive_says_which_release_refuses_it() -> None:
    """The help has the release; what the newest accepts has none."""
    (one,) = diagnose("start-warning", "server { ssl on; }", context="http", target="1.22.1")
    assert one.finding.help == "nginx 1.25.1 and later do not start with it"
    assert not any(row.is_in(Version(1, 25, 1)) for row in declarations("ssl"))
    text = "events {} stream { server { listen 1; proxy_pass 127.0.0.1:2; proxy_upstream_buffer 16k; } }"
    (one,) = diagnose("start-warning", text)
    assert one.finding.help == ""


_LISTS = {
    row.name
    for name in names()
    for row in declarations(name)
    if row.setter == "ngx_conf_set_bitmask_slot" and row.places & PLACES["http"]
}


@pytest.mark.parametrize("name", sorted(_LISTS))
def test_each_list_of_values(a_binary: nginx.Binary, name: str) -> None:
    """All values of a list are different bits: nginx warns of a value only if it stood there before."""
    row = next(
        (row for row in declarations(name) if row.is_in(Version.of(a_binary.version)) and row.places & PLACES["http"]),
        None,
    )
    if row is None:
        pytest.skip("this release does not have it in http")
    most = 2 if row.arguments == "1,2" else 99
    values = row.values.split("|")
    texts = [" ".join(values[:most])] + [f"{value} {value}" for value in values]
    for words in texts:
        text = _whole(f"{name} {words};")
        if not _verdict(a_binary, text).ok:
            continue  # this build has no such module, or its OpenSSL no such protocol
        assert ours(a_binary, text) == said(a_binary, text)


@pytest.mark.parametrize("seed", range(30))
def test_random_listens(each_binary: nginx.Binary, seed: int) -> None:
    """Servers that state different protocols for an address, in any order, with and without options of the socket."""
    rng = random.Random(seed)
    holder = {name: rng.randrange(8) for name in "ab"}  # only one may set options
    servers = []
    for number in range(7):
        listens = []
        for name in rng.sample("ab", rng.choice([1, 1, 2])):
            words = [word for word in ("ssl", "http2", "proxy_protocol") if rng.random() < 0.4]
            words += ["backlog=9"] * (holder[name] == number)
            listens.append(f"listen unix:{name}.sock {' '.join(words)};")
        servers.append(f"server {{ {' '.join(listens)} server_name s{number}; }}")
    text = _whole("ssl_certificate data:$uri; ssl_certificate_key data:$uri;\n" + "\n".join(servers))
    assert ours(each_binary, text) == said(each_binary, text)


@pytest.mark.parametrize("seed", range(20))
def test_random_networks(a_binary: nginx.Binary, seed: int) -> None:
    """Tables of networks that overlap, stand twice, and are deleted."""
    rng = random.Random(seed)
    pool = [
        "default",
        "10.0.0.0/8",
        "10.0.0.1/8",
        "10.0.0.0/16",
        "10.0.0.0",
        "10.0.0.0/32",
        "0.0.0.0/0",
        "::/0",
        "1::/16",
        "1::",
    ]
    rows = []
    for number in range(12):
        network = rng.choice(pool)
        is_gone = network != "default" and rng.random() < 0.25
        rows.append(f"delete {network};" if is_gone else f"{network} v{number};")
    text = _whole(f"geo $g {{ {' '.join(rows)} }}")
    assert ours(a_binary, text) == said(a_binary, text)


@pytest.mark.parametrize(("key", "bodies"), [("", [b"1", b"1"]), ("scgi_cache_key $request_uri;", [b"1", b"2"])])
def test_without_a_key_all_requests_get_one_response(binary: nginx.Binary, key: str, bodies: list[bytes]) -> None:
    """As the help says: the second of two URIs gets what the upstream answered to the first, unless there is a key."""
    http = "scgi_cache_path cache keys_zone=pages:1m;\n"
    server = f"location / {{ scgi_cache pages; scgi_cache_valid 1m; {key} scgi_pass unix:temp/up; }}\n"
    assert bool(ours(binary, _whole(f"{http}server {{ {server} }}"))) is (key == "")
    instance = nginx.Instance(binary, servers=[server.encode()], http=http.encode())
    with instance, socket.socket(socket.AF_UNIX) as listening, instance.client() as client:
        path = instance.prefix / "temp" / "up"
        listening.bind(str(path))
        path.chmod(0o777)
        listening.listen()
        thread = threading.Thread(target=_numbered, args=(listening,))
        thread.start()
        asked = [RequestBytes(f"GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n".encode()) for name in "ab"]
        answers = [client.ask([each])[0] for each in asked]
        listening.shutdown(socket.SHUT_RDWR)  # wakes the thread
        thread.join()
    assert [answer.rpartition(b"\r\n\r\n")[2] for answer in answers] == bodies


def _numbered(listening: socket.socket) -> None:
    """Answer requests of SCGI with their number, until the socket is shut down."""
    with contextlib.suppress(OSError):
        for number in itertools.count(1):
            with listening.accept()[0] as upstream:
                upstream.recv(1 << 16)
                text = f"Status: 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\n{number}"
                upstream.sendall(text.encode())


def test_the_rows_of_a_table_are_one_finding() -> None:
    """A geo that a script has written may have many; each place has its fix."""
    rows = "".join(f"10.{number}.0.1/16 1; " for number in range(9))
    text = f"geo $a {{ {rows} 10.0.0.0/16 2; }} geo $b {{ 10.0.0.1/8 1; }}"
    found = grouped(diagnose("start-warning", text, context="http"))
    assert [1 + len(each.places) for each in found] == [9, 1, 1]
    repaired = fixed("start-warning", text, context="http")
    assert b"10.8.0.0/16 1;" in repaired
    assert b"0.1/" not in repaired
