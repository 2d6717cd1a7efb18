"""Addresses as nginx sees them: which servers share one, and how many sockets it opens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nginxopt.lint import Model
from nginxopt.semantics import sockets
from nginxopt.system import nginx
from tests.lintcheck import TARGET, read

PAIRS = [
    ("18080", "*:18080"),
    ("18080", "0.0.0.0:18080"),
    ("18080", "127.0.0.1:18080"),
    ("18080", "[::]:18080"),
    ("127.0.0.1:18080", "127.000.0.01:18080"),
    ("127.0.0.1:18080", "127.0.0.2:18080"),
    ("[::1]:18080", "[0:0:0:0:0:0:0:1]:18080"),
    ("[::1]:18080", "[::]:18080"),
    ("18080-18082", "18082"),
    ("18080-18082", "18083"),
    ("unix:a.sock", "unix:a.sock"),
    ("unix:a.sock", "UNIX:a.sock"),
    ("unix:a.sock", "unix:b.sock"),
]

REFUSED = ["0", "65536", "18090-18080", "127.0.0.1:0", "127.0.0.1:x", "[::1", "[::g]:80", "unix:", "a/b:80"]


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_nginx_shares_the_same_addresses(binary: nginx.Binary, pair: tuple[str, str]) -> None:
    """Two servers of one name are in conflict exactly where they share an address."""
    first, second = (f"server {{ listen {address}; server_name a; }}" for address in pair)
    text = f"{first}\n{second}\n"
    verdict = binary.test(_whole(text))
    assert verdict.ok, verdict
    conflicts = len(re.findall("conflicting server name", str(verdict)))
    shared = [one for one in Model(read(text, "http"), TARGET).endpoints.values() if len(one.servers) > 1]
    assert len(shared) == conflicts


@pytest.mark.parametrize("address", REFUSED)
def test_nginx_refuses(binary: nginx.Binary, address: str) -> None:
    """What is read as no address is refused."""
    verdict = binary.test(_whole(f"server {{ listen {address}; }}"))
    assert not verdict.ok
    assert 'of the "listen" directive' in str(verdict)


@pytest.mark.parametrize(
    "servers",
    [
        "listen 127.0.0.1:{0}; listen 127.0.0.2:{0};",
        "listen {0}; listen 127.0.0.1:{0}; listen 127.0.0.2:{0};",
        "listen {0} reuseport; listen 127.0.0.1:{0} reuseport; listen [::1]:{0};",
        "listen {0} backlog=16; listen unix:temp/a.sock; listen unix:temp/b.sock;",
    ],
)
def test_nginx_opens_so_many_sockets(binary: nginx.Binary, servers: str) -> None:
    """nginx listens on as many sockets as its configuration needs, besides the one of the instance."""
    with nginx.Instance(binary) as probe:
        port = probe.ports[0]
    text = f"server {{ {servers.format(port)} }}"
    expected = sockets(Model(read(text, "http"), TARGET).endpoints.values())
    with nginx.Instance(binary, http=text.encode()) as instance:
        assert len(_listening(instance.pid)) == len(expected) + 1


def _whole(http: str) -> bytes:
    return nginx.configuration(http=http.encode())


def _listening(pid: int) -> set[str]:
    """The sockets on which a process listens, as the system shows them."""
    links = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    tcp = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()
    ]
    unix = [line.split() for line in Path(f"/proc/{pid}/net/unix").read_text().splitlines()]
    inodes = {row[9] for row in tcp if row[3] == "0A"} | {row[6] for row in unix if row[3] == "00010000"}
    return {f"socket:[{inode}]" for inode in inodes} & links
