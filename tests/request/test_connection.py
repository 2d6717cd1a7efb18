"""Where a client connects to for a URL."""

from __future__ import annotations

import pytest

from nginxopt.request import ClientGate, NobodyListensError, read_request, read_url
from nginxopt.semantics.site.form import SiteForm, SocketForm
from tests.rows import every_row


def socket(host: str, port: int, *servers: int, tls: bool = False, family: str = "inet") -> SocketForm:
    """An address of some servers."""
    return SocketForm(
        node=None, family=family, host=host, port=port, tls=tls, http2=False, quic=False, proxy_protocol=False,
        takes_ipv4=False, servers=list(servers), default=servers[0],
    )  # fmt: skip


def site(*sockets: SocketForm, names: tuple[str, ...] = ("a.example", "b.example")) -> SiteForm:
    """A site with servers of one name each."""
    servers = [{"node": 0, "level": 0, "names": [{"node": 0, "text": name}]} for name in names]
    return {"sockets": list(sockets), "servers": servers}  # type: ignore[typeddict-item] # the rest is not asked


WILD = site(socket("0.0.0.0", 80, 0, 1), socket("::", 80, 0, family="inet6"), socket("0.0.0.0", 443, 0, tls=True))
SPLIT = site(socket("10.0.0.1", 80, 0), socket("0.0.0.0", 80, 1), socket("10.0.0.2", 80, 1))

BOTH = site(SocketForm(**{**socket("::", 80, 0, family="inet6"), "takes_ipv4": True}))

MET = [
    (WILD, "http://a.example/", "127.0.0.1"),
    (WILD, "http://other.example/", "127.0.0.1"),
    (WILD, "http://[::1]/", "::1"),
    (WILD, "http://192.0.2.1/", "192.0.2.1"),
    (WILD, "http://a.example:443/", "127.0.0.1"),
    (SPLIT, "http://A.example./", "10.0.0.1"),
    (SPLIT, "http://b.example/", "127.0.0.1"),
    (SPLIT, "http://other.example/", "127.0.0.1"),
    (SPLIT, "http://10.0.0.2/", "10.0.0.2"),
    (site(socket("web.internal", 80, 0, family="name")), "http://web.internal/", "web.internal"),
]


@every_row(("site_", "url", "host"), MET)
def test_a_client_connects_to_the_likely_address(site_: SiteForm, url: str, host: str) -> None:
    """A name leads to the address where a server has it, an address to itself."""
    assert ClientGate(site_).connection(read_url(url))["host"] == host


def test_a_handshake_has_the_name() -> None:
    """With TLS the client names the host of the URL, unless that is an address."""
    gate = ClientGate(WILD)
    assert gate.connection(read_url("https://A.example./"))["sni"] == "A.example"
    assert gate.connection(read_url("https://127.0.0.1/"))["sni"] is None
    assert gate.connection(read_url("http://a.example/"))["sni"] is None


@pytest.mark.parametrize(
    ("site_", "url", "message"),
    [
        (WILD, "http://a.example:81/", "http://a.example:81: no server listens at port 81"),
        (SPLIT, "https://a.example/", "https://a.example: no server listens at port 443"),
        (WILD, "https://a.example:80/", "https://a.example:80: nginx listens at port 80 without TLS"),
        (site(socket("10.0.0.1", 80, 0)), "http://10.0.0.9/", "http://10.0.0.9: no server listens at port 80"),
        (site(socket("/run/a.sock", 0, 0, family="unix")), "http://h/", "http://h: no server listens at port 80"),
    ],
)
def test_nobody_listens(site_: SiteForm, url: str, message: str) -> None:
    """A request to where nginx does not listen is an error."""
    with pytest.raises(NobodyListensError) as caught:
        ClientGate(site_).connection(read_url(url))
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("sockets", "hint"),
    [
        ([socket("10.0.0.1", 80, 0)], "it listens at 10.0.0.1:80; choose one with --connect"),
        ([socket("/run/a.sock", 0, 0, family="unix")], "it listens at no address of TCP"),
        ([], "no server was read: those of other files are missing here, if it includes some"),
    ],
)
def test_where_nginx_listens_instead(sockets: list[SocketForm], hint: str) -> None:
    """The error says what there is to choose from."""
    with pytest.raises(NobodyListensError) as caught:
        ClientGate(site(*sockets)).connection(read_url("http://10.0.0.9/"))
    assert caught.value.hint == hint


def test_the_user_chooses_the_address() -> None:
    """--connect is for whatever the URL names."""
    connection = ClientGate(SPLIT, to=("10.0.0.2", 80)).connection(read_url("http://a.example:9000/"), b"192.0.2.7")
    assert (connection["host"], connection["port"], connection["client"]) == ("10.0.0.2", 80, "192.0.2.7")


def test_the_form_of_a_request() -> None:
    """The model gets bytes as Latin-1."""
    form = ClientGate(WILD).form(read_request("POST http://a.example/?\u00e4"))
    assert form["method"] == "POST"
    assert form["target"].encode("latin-1") == "/?\u00e4".encode()
    assert form["headers"][0] == ("Host", "a.example")
    assert form["version"] == (1, 1)


def test_a_socket_of_ipv6_may_take_ipv4() -> None:
    """With ipv6only=off a client connects to an IPv4 address as well; nginx has no socket of its own for it."""
    connection = ClientGate(BOTH).connection(read_url("http://127.0.0.1/"))
    assert (connection["family"], connection["host"]) == ("inet", "127.0.0.1")
    with pytest.raises(NobodyListensError):
        ClientGate(site(socket("::", 80, 0, family="inet6"))).connection(read_url("http://127.0.0.1/"))


def test_the_name_of_the_machine_is_no_site() -> None:
    """`server_name $hostname` names no host that requests could be sent to."""
    base = ClientGate(site(socket("0.0.0.0", 80, 0), names=("$hostname",))).base
    assert base is not None
    assert base.host == "localhost"
