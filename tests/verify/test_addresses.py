"""Addresses of QUIC are addresses of their own, wherever something is asked by its address."""

from __future__ import annotations

import re
import socket
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.errors import InputError, UsageError
from nginxopt.lint.queries.model import Model as LintModel
from nginxopt.lint.queries.names import conflicts, shown
from nginxopt.request import ClientGate, NobodyListensError, read_url
from nginxopt.request.model import OutcomeForm, SiteModel, World
from nginxopt.request.private import PrivateNginx
from nginxopt.semantics import Address
from nginxopt.semantics.site import Build
from nginxopt.system.nginx import PID_FILE, private_prefix, reserved_ports, running
from nginxopt.verify import confirm, verify
from nginxopt.verify.hosts import ListenAddress
from nginxopt.verify.path_condition import Candidate
from nginxopt.verify.witnesses import request_of
from nginxopt.version import Version
from tests.rows import every_row
from tests.support import NGINXES, the_nginx

VERSION = Version(1, 31, 3)
SITE = """events {{ }}
http {{
    ssl_certificate a; ssl_certificate_key a;
    server {{ listen {on} quic reuseport{both}; server_name a.example; return 200 a; }}
    server {{ listen {on} ssl{both}; server_name b.example; return 200 {b}; }}
    server {{ listen {on} ssl; listen {on} quic default_server; server_name c.example; return 200 {c}; }}
}}
"""


def model(text: str) -> SiteModel:
    """The model of a configuration, with a certificate."""
    text = re.sub(r"http \{(?! *\n)", "http { ssl_certificate a; ssl_certificate_key a; ", text, count=1)
    return SiteModel(load_text(text.encode(), "nginx.conf"), Build(VERSION))


def site(on: str = "443", b: str = "b", c: str = "c") -> SiteModel:
    """Three servers at one port: over QUIC the first and the last, over TCP the last two."""
    both = " ipv6only=off" if on.startswith("[") else ""
    return model(SITE.format(on=on, both=both, b=b, c=c))


def answer(site: SiteModel, host: str, *, quic: bool = False) -> OutcomeForm:
    """What becomes of a request to a host."""
    if quic:
        request = request_of(Candidate(host=host), ListenAddress("inet", "127.0.0.1", 443, quic=True), is_tls=True)
    else:
        connection = ClientGate(site.site.site).connection(read_url(f"https://{host}/"))
        request = request_of(Candidate(host=host), ListenAddress("inet", "127.0.0.1", 443, quic=False), is_tls=True)
        request["connection"] = connection
    return site.trace(request, World())["outcome"]


@every_row("on", ["443", "[::]:443", "127.0.0.1:443"])
@every_row(
    ("host", "over_tcp", "over_quic"),
    [
        ("a.example", "b", "a"),
        ("b.example", "b", "c"),
        ("c.example", "c", "c"),
        ("x.example", "b", "c"),
    ],
)
def test_a_server_is_chosen_among_those_of_the_protocol(on: str, host: str, over_tcp: str, over_quic: str) -> None:
    """By its name, or as the default one, which each protocol has for itself."""
    assert answer(site(on), host)["body"] == over_tcp
    assert answer(site(on), host, quic=True)["body"] == over_quic


@pytest.mark.parametrize("on", ["443", "[::]:443", "127.0.0.1:443", "unix:/s"])
def test_servers_behind_an_address_of_quic_are_compared(on: str) -> None:
    """Servers of TCP have witnesses of TCP, those of QUIC alone have witnesses of QUIC."""
    edited = verify(site(on), site(on, b="edited")).witness
    assert edited is not None
    assert not edited.request["connection"].get("quic", False)
    both = verify(site(on), site(on, c="edited")).witness
    assert both is not None
    over_quic = [
        model(f"events {{}} http {{ server {{ listen {on} quic; return 200 {body}; }} }}") for body in ("a", "b")
    ]
    alone = verify(*over_quic)
    assert alone.witness is not None
    assert alone.witness.request["connection"].get("quic", False)
    assert all(host for name, host in alone.witness.request["headers"] if name == "Host")
    assert verify(site(on), site(on)).verdict == "equivalent"


_TWO = "listen 443 quic; return 200 a; } server { listen 443 quic; server_name b;"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("listen 443 ssl;", "listen 443 quic;", "0.0.0.0:443: only the old configuration listens there"),
        ("listen 443 ssl;", "listen 443 quic;", "0.0.0.0:443 (QUIC): only the new configuration listens there"),
        ("listen 443 quic;", "listen 443 quic; http3 off;", "0.0.0.0:443 (QUIC): http3 differs"),
        ("listen 443 quic;", "listen 443 quic; http3_hq on;", "0.0.0.0:443 (QUIC): http3_hq differs"),
        (f"{_TWO} http3_hq off;", f"{_TWO} http3_hq on;", "0.0.0.0:443 (QUIC): http3_hq differs"),
    ],
)
def test_an_address_that_differs_is_in_doubt(old: str, new: str, reason: str) -> None:
    """The doubt names the protocol."""
    sides = [model(f"events {{}} http {{ server {{ {text} return 200 a; }} }}") for text in (old, new)]
    assert reason in [doubt.reason for doubt in verify(*sides).doubts]


_ALONE = [
    (["P"], ["P", "[::]:P"], "::1"),
    (["P", "[::]:P"], ["P"], "::1"),
    (["[::]:P"], ["[::]:P", "P"], "127.0.0.1"),
    (["127.0.0.2:P"], ["P"], "127.0.0.1"),
    (["127.0.0.1:P"], ["127.0.0.1:P", "127.0.0.2:P"], "127.0.0.2"),
    (["127.0.0.2:P"], ["127.0.0.2:P", "[::1]:P"], "::1"),
    (["[::]:P ipv6only=off"], ["127.0.0.2:P"], "::1"),
    (["[::]:P ipv6only=off"], ["[::]:P ipv6only=off", "127.0.0.2:P"], None),
    (["P"], ["P", "[::ffff:127.0.0.2]:P ipv6only=off"], None),
    (["127.0.0.1:P"], ["P"], None),
    (["[::1]:P"], ["[::]:P"], None),
    (["localhost:P"], ["127.0.0.2:P"], None),
]
"""What two sides listen at, and the address at which only one of them answers, if `verify` finds one."""


def listening(words: list[str], port: int) -> SiteModel:
    """A server that listens there, with what an nginx that a test starts needs."""
    listens = " ".join(f"listen {word.replace('P', str(port))};" for word in words)
    head = f"daemon off; master_process off; pid {PID_FILE}; error_log error.log;"
    text = f"{head} events {{}} http {{ access_log off; server {{ {listens} return 200 a; }} }}"
    return SiteModel(load_text(text.encode(), "nginx.conf"), Build(VERSION))


@every_row(("old", "new", "host"), _ALONE)
def test_an_address_that_only_one_side_has(old: list[str], new: list[str], host: str | None) -> None:
    """A connection to it tells the sides apart, unless the other side may take it, under another name or for all."""
    witness = verify(listening(old, 80), listening(new, 80)).witness
    assert (None if witness is None else witness.request["connection"]["host"]) == host


def test_old_versions_take_ipv4_over_ipv6() -> None:
    """`ipv6only` is on since 1.3.4 only, so an address of IPv4 may be no new one before."""
    text = "events {{}} http {{ server {{ {} return 200 a; }} }}"
    for version, verdict in ((Version(1, 3, 3), "unknown"), (Version(1, 3, 4), "different")):
        sides = [
            SiteModel(load_text(text.format(listens).encode(), "nginx.conf"), Build(version))
            for listens in ("listen [::]:80;", "listen [::]:80; listen 80;")
        ]
        assert verify(*sides).verdict == verdict


@pytest.mark.nginx
@pytest.mark.parametrize("number", [number for number, case in enumerate(_ALONE) if case[2] is not None])
def test_nginx_takes_the_connection_on_one_side(number: int) -> None:
    """Sockets of a real nginx, at the addresses that are written, answer there on the same side."""
    binary = NGINXES[number % len(NGINXES)] if NGINXES else the_nginx()
    old, new, host = _ALONE[number]
    assert host is not None
    taken = []
    for words in (old, new):
        with private_prefix() as prefix, reserved_ports(1) as (port,):
            (prefix / "nginx.conf").write_bytes(listening(words, port).config.main.source.data)
            with running(binary.command(prefix), prefix):
                try:
                    socket.create_connection((host, port)).close()
                    taken.append(True)
                except ConnectionRefusedError:
                    taken.append(False)
    result = verify(listening(old, 80), listening(new, 80)).witness
    assert result is not None
    assert taken == [side["outcome"]["kind"] != "refused" for side in (result.old, result.new)]
    sides = [(site.config, site) for site in (listening(old, 80), listening(new, 80))]
    assert confirm(result, sides[0], sides[1], binary).holds


@pytest.mark.parametrize("word", ["ssl", "http2", "proxy_protocol"])
def test_parameters_that_quic_does_not_have(word: str) -> None:
    """nginx refuses them beside `quic`, and takes them on another `listen` of the same port."""
    with pytest.raises(InputError) as refused:
        model(f"events {{}} http {{ server {{ listen 443 {word} quic; }} }}")
    message = f'"listen" directive "{word}" parameter is incompatible with "quic" in nginx.conf:1'
    assert refused.value.nginx == message
    model(f"events {{}} http {{ server {{ listen 443 {word} default_server; listen 443 quic default_server; }} }}")


@pytest.mark.nginx
def test_tls_stands_for_quic_in_a_private_nginx() -> None:
    """`--nginx` asks the servers of QUIC at a port of their own, and others have no address more."""
    sides = [model(f"events {{}} http {{ server {{ listen 443 quic; return 200 {body}; }} }}") for body in ("a", "b")]
    result = verify(*sides)
    assert result.witness is not None
    (old, new) = ((side.config, side) for side in sides)
    assert confirm(result.witness, old, new, the_nginx()).holds
    three = site()
    with PrivateNginx(three.config, "/", World(), the_nginx(), tls=True) as private:
        for quic, body in ((False, b"b"), (True, b"c")):
            request = request_of(
                Candidate(host="x.example"), ListenAddress("inet", "0.0.0.0", 443, quic=quic), is_tls=True
            )
            response = private.ask(private.moved(request)).response
            assert response is not None
            assert response.body == body


@pytest.mark.nginx
def test_addresses_of_a_private_nginx(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that no server listens for is an error; a port that stands for another is not taken for that one."""
    with PrivateNginx(site().config, "/", World(), the_nginx(), tls=True) as private:
        request = request_of(
            Candidate(host="x.example"), ListenAddress("inet", "0.0.0.0", 444, quic=False), is_tls=True
        )
        with pytest.raises(UsageError, match=r"no server listens at 127\.0\.0\.1:444$") as error:
            private.moved(request)
        assert "*:443 (QUIC)" in (error.value.hint or "")
        ports = {Address("inet", "0.0.0.0", 40002): 40001, Address("inet", "0.0.0.0", 80): 40002}
        monkeypatch.setattr(private, "_ports", ports)
        assert private.original(b"http://a:40001/ http://a:40002/ 400021") == b"http://a:40002/ http://a:80/ 400021"


_HOSTS = ("a.example", "b.example", "x.example")
_LISTENS = st.lists(
    st.sampled_from(["443 ssl", "443", "[::]:443 ssl", "127.0.0.1:443", "80"]),
    min_size=1,
    unique_by=lambda word: word.split()[0],
)
_OVER_QUIC = st.lists(
    st.sampled_from(["443 quic", "[::]:443 quic", "127.0.0.1:443 quic", "80 quic"]),
    unique_by=lambda word: word.split()[0],
)
_SERVERS = st.lists(st.tuples(_LISTENS, _OVER_QUIC, st.sampled_from(_HOSTS[:2])), min_size=1, max_size=3)


def written(servers: list[tuple[list[str], list[str], str]], *, quic: bool) -> str:
    """A configuration with these servers, with or without what they and a first one of their own do over QUIC."""
    first = "server { listen 443 quic; listen 80 quic; listen [::]:443 quic; return 200 first; }" if quic else ""
    texts = []
    for number, (listens, over_quic, name) in enumerate(servers):
        words = [*over_quic, *listens] if quic else listens
        texts.append(
            f"server {{ {''.join(f'listen {word}; ' for word in words)} server_name {name}; return 200 {number}; }}"
        )
    return f"events {{}} http {{ {first} {' '.join(texts)} }}"


def over_tcp(site: SiteModel, host: str) -> list[object]:
    """What becomes of requests to a host over TCP, with and without TLS."""
    outcomes: list[object] = []
    for scheme, port in product(("http", "https"), (80, 443)):
        try:
            connection = ClientGate(site.site.site).connection(read_url(f"{scheme}://{host}:{port}/"))
        except NobodyListensError:
            outcomes.append(None)
            continue
        request = request_of(Candidate(host=host), ListenAddress("inet", "", port, quic=False), is_tls=False)
        request["connection"] = connection
        outcome = site.trace(request, World())["outcome"]
        outcomes.append((connection["host"], outcome["status"], outcome["body"]))
    return outcomes


def found_over_tcp(site: SiteModel) -> list[tuple[str, str]]:
    """The names that nginx ignores at addresses of TCP, and the default servers, as rules see them."""
    seen = LintModel(site.config, VERSION)
    lost = [(str(conflict.address), shown(conflict)) for conflict in conflicts(seen) if not conflict.address.datagram]
    endpoints = [endpoint for endpoint in seen.endpoints.values() if not endpoint.address.datagram]
    return sorted(lost + [(str(each.address), each.default.own("return")[0].args[1]) for each in endpoints])


@given(_SERVERS)
def test_what_listens_over_quic_changes_nothing_over_tcp(servers: list[tuple[list[str], list[str], str]]) -> None:
    """Neither the address that a client connects to, nor the server, nor a request that tells two sides apart."""
    plain, both = (model(written(servers, quic=quic)) for quic in (False, True))
    for host in (*_HOSTS, "127.0.0.1", "[::1]"):
        assert over_tcp(plain, host) == over_tcp(both, host)
    assert found_over_tcp(plain) == found_over_tcp(both)
    assert verify(both, both).verdict == "equivalent"
    verdicts = [verify(side, edited(side)).verdict for side in (plain, both)]
    assert "equivalent" not in verdicts
    assert verdicts != ["different", "unknown"]


def edited(site: SiteModel) -> SiteModel:
    """A configuration whose first server with TCP answers otherwise."""
    return model(site.config.files[0].source.data.decode().replace("return 200 0;", "return 200 edited;"))
