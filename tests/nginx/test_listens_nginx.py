"""Addresses as nginx sees them: servers that share one, and the number of its sockets."""

from __future__ import annotations

import contextlib
import random
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.lint import Model
from nginxopt.semantics import read_addresses, sockets
from nginxopt.system import nginx
from tests.lintcheck import TARGET, read

pytestmark = pytest.mark.nginx

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

READ = [
    "*", "[::]", "1-3", "*:1-3", "127.0.0.1:1-3", "[::]:1-3", "127...1", "...:80", "0.0.0.000:80", "000127.0.0.1",
    "[:1:2:3:4:5:6:7:8]", "[1::2:]", "[1::3:4:5:6:7:8]", "[::1.2.3.4]", "[::0001.2.3.4]", "[1:2:3:4:5:6:1.2.3.4]",
    "[::FFFF:1.2.3.4]:80", "[::ABcd]", f"unix:{'a' * 107}", "unix:/a:80", "Unix:[a]", "unix:a/",
]  # fmt: skip
"""What nginx reads as an address, the odd ones among them."""

NAMES = [
    "none.invalid", "none.invalid:80", "5-x.invalid", "x-70000", "-80", "80-", "99999999999999999999",
    "99999999999999999999-80", "80-99999999999999999999", "127.0.0.1-80", "**:80", "256.0.0.1.invalid",
]  # fmt: skip
"""What nginx looks up, and does not find."""

LOOKED_UP = ["255.255.255.255:80", "1.2.3:80", "localhost:18080"]
"""What nginx leaves to the system's lookup, which finds it."""

REFUSED = [
    "0", "65536", "18090-18080", "127.0.0.1:0", "127.0.0.1:x", "[::1", "[::g]:80", "unix:", "a/b:80", "a?b", "70000",
    "80-70000", "70000-80", "0-80", "80-0", ":80", "*:", "*:80-", "*:-80", "127.0.0.1:80:90", "127.0.0.1:+80", "[]:80",
    "[:]:80", "[::]x80", "[::]:", "[::]:80-", "[::]/x", "[fe80::1%lo]:80", "[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:8:9]",
    "[1:2:3:4:5:6:7:1.2.3.4]", "[:1.2.3.4]", "[1.2.3.4]", "[::255.255.255.255]", "[::1.2.3]", "[::12345]", "[1:2:3]",
    "[::00001.2.3.4]", "[1::2::3]", "[:::]", f"unix:{'a' * 108}",
]  # fmt: skip


@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_nginx_shares_the_same_addresses(each_binary: nginx.Binary, pair: tuple[str, str]) -> None:
    """Two servers of one name are in conflict exactly where they share an address."""
    first, second = (f"server {{ listen {address}; server_name a; }}" for address in pair)
    text = f"{first}\n{second}\n"
    verdict = each_binary.test(_whole(text))
    assert verdict.ok, verdict
    conflicts = len(re.findall("conflicting server name", str(verdict)))
    shared = [
        endpoint for endpoint in Model(read(text, "http"), TARGET).endpoints.values() if len(endpoint.servers) > 1
    ]
    assert len(shared) == conflicts


def test_nginx_reads_the_same_addresses(each_binary: nginx.Binary) -> None:
    """A server that is written with the addresses that were read is in conflict with the first one at each of them."""
    for text in READ:
        addresses = read_addresses(text)
        written = " ".join(f"listen {address};" for address in addresses)
        verdict = each_binary.test(
            _whole(f"server {{ listen {text}; server_name a; }} server {{ {written} server_name a; }}")
        )
        assert len(addresses) == len(re.findall("conflicting server name", str(verdict))), (text, str(verdict))


@pytest.mark.parametrize("text", REFUSED)
def test_nginx_refuses(each_binary: nginx.Binary, text: str) -> None:
    """What is read as no address is refused."""
    assert read_addresses(text) == ()
    verdict = each_binary.test(_whole(f"server {{ listen {text}; }}"))
    assert not verdict.ok
    assert 'of the "listen" directive' in str(verdict)
    assert "host not found" not in str(verdict)


@pytest.mark.parametrize("text", [*NAMES, *LOOKED_UP])
def test_nginx_looks_up(each_binary: nginx.Binary, text: str) -> None:
    """What is read as a name is none of the things that nginx refuses by itself: the system's lookup decides."""
    (address,) = read_addresses(text)
    assert address.family == "name"
    verdict = each_binary.test(_whole(f"server {{ listen {text}; }}"))
    assert ('host not found in "' in str(verdict)) is (text in NAMES)
    assert 'of the "listen" directive' not in str(verdict) or text in NAMES


@pytest.mark.parametrize("seed", range(3))
def test_nginx_reads_any_text_alike(each_binary: nginx.Binary, seed: int) -> None:
    """Random texts of the pieces of addresses are read, looked up or refused as nginx does it."""
    rng = random.Random(seed)
    for _ in range(25):
        text = "".join(
            rng.choices(["1", "80", ":", "::", "[", "]", ".", "-", "127.0.0.1", "*", "f", "0"], k=rng.randint(1, 6))
        )
        text = f"[{text}]:80" if rng.random() < 0.5 else text
        addresses = read_addresses(text)[:100]
        written = " ".join(f"listen {address};" for address in addresses if address.family != "name")
        verdict = str(each_binary.test(_whole(f"server {{ listen {text}; }} server {{ {written or 'listen 9;'} }}")))
        if written:
            conflicts = len(re.findall('conflicting server name "" on', verdict))
            assert conflicts == len(addresses), (text, verdict)
        else:
            is_refused = 'of the "listen" directive' in verdict and "host not found" not in verdict
            assert is_refused is not bool(addresses), (text, verdict)


@pytest.mark.parametrize(
    "servers",
    [
        "listen 127.0.0.1:{0}; listen 127.0.0.2:{0};",
        "listen {0}; listen 127.0.0.1:{0}; listen 127.0.0.2:{0};",
        "listen {0} reuseport; listen 127.0.0.1:{0} reuseport; listen [::1]:{0};",
        "listen 127.0.0.1:{0}-{1}; listen 127.0.0.1:{2}; listen [::1]:{1}-{2};",
        "listen {0} backlog=16; listen unix:temp/a.sock; listen unix:temp/b.sock;",
    ],
)
def test_nginx_opens_so_many_sockets(each_binary: nginx.Binary, servers: str) -> None:
    """nginx listens on as many sockets as its configuration needs, besides the one of the instance."""
    with _successive_ports() as ports:
        text = f"server {{ {servers.format(*ports)} }}"
        expected = sockets(Model(read(text, "http"), TARGET).endpoints.values())
        with nginx.Instance(each_binary, http=text.encode()) as instance:
            assert len(_listening(instance.pid)) == len(expected) + 1


@contextlib.contextmanager
def _successive_ports() -> Iterator[tuple[int, int, int]]:
    """Three free ports, one after the other, that are held meanwhile; see `nginx.reserved_ports`."""
    while True:
        with nginx.reserved_ports(1) as (port,), contextlib.ExitStack() as held:
            if all(_is_held(held.enter_context(socket.socket()), number) for number in (port + 1, port + 2)):
                yield port, port + 1, port + 2
                return


def _is_held(holder: socket.socket, port: int) -> bool:
    """Bind a socket so that nginx can bind the same port; see `nginx.reserved_ports`."""
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        holder.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


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
