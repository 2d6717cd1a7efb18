"""`listen` as nginx reads it: addresses, parameters, and servers that share an address."""

from __future__ import annotations

import pytest

from nginxopt.lint import Model
from nginxopt.semantics import Address, Endpoint, sockets
from nginxopt.version import Version
from tests.lintcheck import TARGET, read
from tests.rows import every_row

ALL = "0.0.0.0"

ADDRESSES = {
    "80": [Address("inet", ALL, 80)],
    "8000-8002": [Address("inet", ALL, port) for port in (8000, 8001, 8002)],
    "*": [Address("inet", ALL, 80)],
    "*:443 ssl": [Address("inet", ALL, 443)],
    "0.0.0.0:443": [Address("inet", ALL, 443)],
    "127.0.0.1": [Address("inet", "127.0.0.1", 80)],
    "127.000.0.01:8080": [Address("inet", "127.0.0.1", 8080)],
    "[::]:80": [Address("inet6", "::", 80)],
    "[0:0:0:0:0:0:0:1]": [Address("inet6", "::1", 80)],
    "LOCALHOST:8080": [Address("name", "localhost", 8080)],
    "a.example": [Address("name", "a.example", 80)],
    "unix:/run/a.sock": [Address("unix", "/run/a.sock", 0)],
    "UNIX:/run/a.sock": [Address("unix", "/run/a.sock", 0)],
    "443 quic reuseport": [Address("inet", ALL, 443, datagram=True)],
    "256.0.0.1:80": [Address("name", "256.0.0.1", 80)],
    "127.0.0.1:8000-8001": [Address("inet", "127.0.0.1", 8000), Address("inet", "127.0.0.1", 8001)],
    "[::1]:8000-8001 ssl": [Address("inet6", "::1", 8000), Address("inet6", "::1", 8001)],
    "127...1": [Address("inet", "127.0.0.1", 80)],
    "a-80.example": [Address("name", "a-80.example", 80)],
    "unix:/run/a:80": [Address("unix", "/run/a:80", 0)],
    "[:1:2:3:4:5:6:7:8]": [Address("inet6", "1:2:3:4:5:6:7:8", 80)],
}

REFUSED = ["0", "65536", "90-80", "127.0.0.1:0", "127.0.0.1:x", "[::1", "[::g]:80", "unix:", "a/b:80"]


def model(http: str, target: Version = TARGET) -> Model:
    """The model of a text inside http."""
    return Model(read(http, "http"), target)


@every_row("text", ADDRESSES)
def test_addresses_are_those_of_nginx(text: str) -> None:
    """A `listen` is read as the addresses that nginx makes of it."""
    (listen,) = model(f"server {{ listen {text}; }}").listens
    assert list(listen.addresses) == ADDRESSES[text]


@every_row("text", REFUSED)
def test_what_nginx_refuses_is_no_address(text: str) -> None:
    """A `listen` that nginx refuses has no address."""
    (listen,) = model(f"server {{ listen {text}; }}").listens
    assert listen.addresses == ()


def test_ranges_of_ports_are_older_than_some_nginx() -> None:
    """Before 1.15.10 a range is refused, or taken for a name."""
    texts = {"127.0.0.1:80-81": [], "8000-8010": ["8000-8010:80"]}
    for text, addresses in texts.items():
        (listen,) = model(f"server {{ listen {text}; }}", Version(1, 15, 9)).listens
        assert [str(address) for address in listen.addresses] == addresses


def test_a_server_without_listen_listens_at_port_80() -> None:
    """Root starts nginx, as usual: such a server listens at port 80 of all addresses."""
    (listen,) = model("server { }").listens
    assert listen.directive is None
    assert listen.addresses == (Address("inet", ALL, 80),)
    assert listen.source is not None
    assert listen.source.text(listen.span) == "server"


def test_a_server_that_was_not_wholly_read_may_listen_anywhere() -> None:
    """What a file that is not there says is not guessed."""
    assert model("server { include not-there.conf; }").listens == ()


def test_parameters() -> None:
    """Flags and values are those that are written, and where nothing is written nginx's own."""
    (plain, full) = model("server { listen 80; listen 443 ssl default_server backlog=1024 so_keepalive=on; }").listens
    assert (plain.has("ssl"), plain.is_default, plain.binds, plain.backlog) == (False, False, False, 511)
    assert (full.has("ssl"), full.is_default, full.binds, full.backlog) == (True, True, True, 1024)
    assert full.value("so_keepalive") == "on"
    assert full.value("rcvbuf") is None
    assert str(full.word("backlog")) == "backlog=1024"


def test_parameters_hold_for_the_address() -> None:
    """`ssl` of one server holds for all that share its address, and for no other address."""
    endpoints = model("server { listen 443 ssl; } server { listen *:443; listen 10.0.0.1:443; }").endpoints
    shared, alone = endpoints.values()
    assert (len(shared.servers), shared.has("ssl"), shared.is_tls) == (2, True, True)
    assert (len(alone.servers), alone.has("ssl"), alone.is_tls) == (1, False, False)


@pytest.mark.parametrize(
    ("servers", "name"),
    [
        ("server { listen 80; server_name a; } server { listen 80; server_name b; }", "a"),
        ("server { listen 80; server_name a; } server { listen 80 default_server; server_name b; }", "b"),
        ("server { listen 80; server_name a; } server { listen 80 default; server_name b; }", "b"),
    ],
)
def test_the_default_server(servers: str, name: str) -> None:
    """The default server is the one that says so, or the first."""
    (endpoint,) = model(servers).endpoints.values()
    assert endpoint.default.setting("server_name").value == name


def test_ssl_on_of_the_default_server_makes_tls() -> None:
    """The old `ssl on` counts in the default server, and not in another one, and for older versions only."""
    first, second = "server { listen 443; ssl on; }", "server { listen 443; }"
    old = Version(1, 25, 0)
    assert [endpoint.is_tls for endpoint in model(first + second, old).endpoints.values()] == [True]
    assert [endpoint.is_tls for endpoint in model(second + first, old).endpoints.values()] == [False]
    assert [endpoint.is_tls for endpoint in model(first + second, Version(1, 25, 1)).endpoints.values()] == [False]


def test_the_backlog_of_an_address_is_that_which_is_stated() -> None:
    """Of several `listen` of one address the one with a backlog counts."""
    (endpoint,) = model("server { listen 80; } server { listen 80 backlog=4096; }").endpoints.values()
    assert endpoint.backlog == 4096


@every_row(
    ("address", "loopback"),
    [
        ("127.0.0.1:80", True),
        ("127.8.0.1:80", True),
        ("[::1]:80", True),
        ("localhost:80", True),
        ("unix:/run/a.sock", True),
        ("80", False),
        ("10.0.0.1:80", False),
        ("a.example:80", False),
    ],
)
def test_loopback(address: str, loopback: bool) -> None:
    """Addresses of the machine itself are told from others."""
    (endpoint,) = model(f"server {{ listen {address}; }}").endpoints
    assert endpoint.is_loopback is loopback


def test_an_address_is_shown_as_it_would_be_written() -> None:
    """An address in a message is what an operator would write."""
    servers = "server { listen 80; listen [::]:443; listen unix:/run/a.sock; listen 10.0.0.1; }"
    assert [str(endpoint) for endpoint in model(servers).endpoints] == [
        "*:80",
        "[::]:443",
        "unix:/run/a.sock",
        "10.0.0.1:80",
    ]


def test_sockets() -> None:
    """An address whose port is bound for all addresses needs no socket of its own, unless it binds."""
    servers = (
        "server { listen 80; listen 10.0.0.1:80; listen 10.0.0.2:80 bind; listen [::1]:80; }"
        " server { listen 10.0.0.1:81; listen unix:/run/a.sock; }"
    )
    opened: tuple[Endpoint, ...] = sockets(model(servers).endpoints.values())
    assert [str(socket.address) for socket in opened] == [
        "*:80", "10.0.0.2:80", "[::1]:80", "10.0.0.1:81", "unix:/run/a.sock"
    ]  # fmt: skip
