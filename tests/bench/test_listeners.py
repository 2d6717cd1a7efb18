"""Which listen of a configuration is measured."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import load_text
from nginxopt.bench import compare, listeners
from nginxopt.bench.scenario import Experiment
from nginxopt.errors import UsageError
from nginxopt.request import read_url
from nginxopt.request.client import from_curl
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.text import Source
from nginxopt.version import Version
from tests.rows import every_row

USUAL = """\
server { listen 80 default_server; listen [::]:80; server_name shop.example www.shop.example;
    return 301 https://shop.example$request_uri; }
server { listen [::]:443 ssl; listen 443 ssl; server_name www.shop.example; return 301 https://shop.example/; }
server { listen [::]:443 ssl; listen 443 ssl http2; server_name shop.example; location / { root /srv; } }
"""
SEVERAL = """\
server { listen 443 ssl default_server; server_name _; ssl_reject_handshake on; }
server { listen 443 ssl; server_name a.example; location / { root /a; } }
server { listen 443 ssl; server_name b.example; ssl_verify_client on; ssl_client_certificate a; location / { root /b; }}
server { listen 443 ssl; server_name c.example *.c.example; location / { root /c; } }
server { listen 443 ssl; server_name ~^d\\d+\\.example$; location / { root /d; } }
server { listen 80; return 301 https://$host$request_uri; }
"""
MIXED = """\
server { listen unix:/run/a.sock; server_name a.example; }
server { listen 10.0.0.1:80 proxy_protocol; server_name a.example; }
server { listen 443 quic; listen 443 ssl; server_name a.example; root /a; }
server { listen 8443 ssl; server_name b.example; root /b; }
server { listen 8444 ssl; server_name c.example; root /c; }
server { listen 10.0.0.2:443 ssl; server_name d.example; root /d; }
server { listen 10.0.0.3:443 ssl; server_name d.example; root /e; }
server { listen 444 ssl; server_name closed.example; return 444; }
"""


def made(before: str, targets: str, after: str | None = None) -> Experiment:
    """The comparison of two contents of http."""
    top = "events {} http { ssl_certificate a; ssl_certificate_key a;"
    texts = (f"{top} {text}\n}}".encode() for text in (before, before if after is None else after))
    old, new = (load_text(text, f"{name}.conf") for text, name in zip(texts, ("a", "b"), strict=True))
    requests = compare.targets(Source("t", targets.encode()))
    return compare.build(old, new, requests)


def measured(before: str, targets: str, after: str | None = None) -> list[str]:
    """What is measured of the configuration before, in the order of the cases: its origin, address and line."""
    return [
        f"{attack.case} {attack.measured.address} {attack.measured.server}"
        for attack in made(before, targets, after).attacks
        if attack.variant == "before" and attack.measured is not None
    ]


@every_row(
    ("site", "targets", "listens"),
    [
        # A path means the content of a site, not what sends to it.
        (USUAL, "/x", "https://shop.example *:443 a.conf:4"),
        (USUAL, "/x\nHost: www.shop.example", "https://www.shop.example *:443 a.conf:3"),
        (USUAL, "https://shop.example/x", "https://shop.example *:443 a.conf:4"),
        (USUAL, "https://WWW.shop.example:443/x", "https://www.shop.example *:443 a.conf:3"),
        (USUAL, "http://shop.example/x", "http://shop.example *:80 a.conf:1"),
        (USUAL, "https://other.example/x", "https://other.example *:443 a.conf:3"),
        ("server { listen 80; }", "/x\nHost: \u4f8b.example", "http://\u4f8b.example *:80 a.conf:1"),
        (USUAL, "https://[::1]/x", "https://[::1] [::]:443 a.conf:3"),
        (USUAL, "https://192.0.2.1/x\nHost: shop.example", "https://shop.example *:443 a.conf:4"),
        # A server that refuses, or that nobody can name, is not what a path means.
        (SEVERAL, "/\nHost: c.example", "https://c.example *:443 a.conf:4"),
        (SEVERAL, "https://x.c.example/", "https://x.c.example *:443 a.conf:4"),
        (SEVERAL, "https://d7.example/", "https://d7.example *:443 a.conf:5"),
        (SEVERAL, "http://b.example/", "http://b.example *:80 a.conf:6"),
        # Ports: the usual one, the stated one, or the only one.
        (MIXED, "https://a.example/", "https://a.example *:443 a.conf:3"),
        (MIXED, "https://b.example/", "https://b.example *:443 a.conf:3"),
        (MIXED, "https://b.example:8443/", "https://b.example:8443 *:8443 a.conf:4"),
        (MIXED, "https://10.0.0.3/", "https://10.0.0.3 10.0.0.3:443 a.conf:7"),
        (MIXED, "https://10.0.0.3/\nHost: d.example", "https://d.example 10.0.0.3:443 a.conf:7"),
        ("server { listen 8443 ssl; root /a; }", "https://a.example/", "https://a.example *:8443"),
        ("server { listen 8080; root /a; }", "http://a.example/", "http://a.example *:8080"),
        # Without names, and with the same content at both schemes.
        ("server { listen 80; root /a; }", "/", "http://*:80 *:80"),
        ("server { listen 80; listen 443 ssl; server_name a.example; root /a; }", "/", "https://a.example *:443"),
        ("server { root /a; }", "/", "http://*:80 *:80"),
        ("server { listen 80; server_name a.example; root /a; } server { listen 8443 ssl; server_name admin; }", "/",
         "http://a.example *:80"),
        # All that there is only redirects.
        ("server { listen 80; server_name a.example; return 301 https://a.example$request_uri; }", "/",
         "http://a.example *:80"),
    ],
)  # fmt: skip
def test_the_listen_of_a_target(site: str, targets: str, listens: str) -> None:
    """A URL goes to the address with its scheme and port whose server has the name, a path to the content."""
    (found,) = measured(site, targets)
    assert found.startswith(listens)


@every_row(
    ("site", "targets", "message"),
    [
        ("server { listen 80; }", "https://a.example/", r"before: no server listens for https://a\.example"),
        ("server { listen 443 ssl; }", "http://a.example/", r"before: no server listens for http://a\.example"),
        (USUAL, "https://shop.example:8443/", r"no server listens for https://shop\.example:8443"),
        (SEVERAL, "https://b.example/", r"b\.example requires a certificate of clients.* \(a\.conf:3\)"),
        (SEVERAL, "https://e.example/", r"e\.example rejects the TLS handshake \(a\.conf:1\)"),
        (SEVERAL, "/", r"a path may mean several sites: https://a\.example, https://c\.example"),
        (MIXED, "https://d.example/", r"several servers answer https://d\.example, at different addresses"),
        (MIXED, "http://a.example/", r"10\.0\.0\.1:80 expects the PROXY protocol.* \(a\.conf:2\)"),
        (MIXED, "https://closed.example:444/", r"closes the connection without a response \(a\.conf:8\)"),
        (r"server { listen 80; server_name ~^(?<=a)\C+$; } ", "http://b.example/", r"is not known \(a\.conf:1\)"),
        (USUAL, "/x\nHost: \u4f8b.example", "is no name for TLS"),
        # The content cannot be loaded, so that its redirect is not measured instead.
        (USUAL.replace("[::]:443 ssl; listen 443 ssl http2", "443 ssl proxy_protocol"), "/", "the PROXY protocol"),
        (
            USUAL.replace("location /", "ssl_verify_client on; ssl_client_certificate a; location /"),
            "/",
            r"of clients.* \(a\.conf:4\)",
        ),
        ("server { listen unix:/run/a.sock; }", "/", "no server can be asked for a path alone"),
        ("server { listen 8443 ssl; } server { listen 9443 ssl; }", "https://a.example/", "several ports: 8443, 9443"),
    ],
)
def test_targets_without_a_listen(site: str, targets: str, message: str) -> None:
    """A target that nothing fits, or whose server takes no load, is a usage error that names the place."""
    with pytest.raises(UsageError, match=message) as error:
        made(site, targets)
    assert error.value.hint


def test_what_the_model_of_requests_does_not_know() -> None:
    """The listen is chosen all the same where a server, or the whole configuration, is not understood."""
    lua = SEVERAL.replace("location / { root /a; }", "rewrite_by_lua_block { ngx.exit(403) }")
    assert measured(lua, "https://a.example/") == ["https://a.example *:443 a.conf:2"]
    unknown = USUAL.replace("root /srv;", "root /srv; from_the_future on; log_format a;")
    assert measured(unknown, "https://shop.example/") == ["https://shop.example *:443 a.conf:4"]


def test_the_other_side_has_no_listen() -> None:
    """Each side must listen for the target; the error names the side."""
    with pytest.raises(UsageError, match=r"after: no server listens for https://shop\.example"):
        made(USUAL, "/x", "server { listen 80; server_name shop.example; }")
    with pytest.raises(UsageError, match=r"after: no server listens for http at port 80"):
        made("server { root /a; }", "/x", "server { listen 81; root /a; }")


def test_targets_of_several_sites() -> None:
    """Each listener and host is a case of its own, with a place, a server name and files of its own."""
    experiment = made(USUAL, "/a\nhttps://shop.example/b\nhttp://shop.example/c\nhttps://www.shop.example/d\n")
    before = [attack for attack in experiment.attacks if attack.variant == "before"]
    assert [attack.case for attack in before] == [
        "https://shop.example",
        "http://shop.example",
        "https://www.shop.example",
    ]
    assert [[target.path for target in attack.targets] for attack in before] == [["/a", "/b"], ["/c"], ["/d"]]
    assert [attack.tls and attack.tls.server_name for attack in before] == ["shop.example", None, "www.shop.example"]
    assert [attack.place for attack in before] == ["", "edge/p1", ""]
    assert before[0].targets[0].headers == (("Host", "shop.example"),)
    dashes = made(
        "server { listen 80; server_name a-b.example a.b.example; }", "http://a-b.example/\nhttp://a.b.example/"
    )
    assert dashes.cases == ("http://a-b.example", "http://a.b.example (2)")


def test_addresses_are_paired() -> None:
    """Equal addresses have equal names on both sides, whatever the order of their listens, and so have entries."""
    lines = USUAL.replace("listen [::]:443 ssl; listen 443 ssl", "listen 443 ssl; listen [::]:443 ssl").split(
        "server {"
    )
    other = "server {".join(["", *reversed(lines[1:])])
    experiment = made(USUAL, "/x", f"{other} server {{ listen 8080; }}")
    names: list[dict[str, str]] = []
    for variant, text in zip(experiment.variants, (USUAL, other), strict=True):
        listens = re.findall(r"listen (\S+?)[ ;]", text)
        places = re.findall(r"listen @(\S+)@", variant.nodes[0].config.decode())
        names.append(dict(zip(listens, places, strict=False)))
    assert names[0] == names[1]
    assert names[0]["443"] == "edge"
    assert experiment.variants[0].nodes[0].ports == experiment.variants[1].nodes[0].ports
    before = "server { listen 443 ssl; server_name a.example; root /a; }"
    after = "server { listen 10.0.0.1:443 ssl; server_name a.example; root /a; } server { listen 443 ssl; }"
    moved = made(before, "https://a.example/", after)
    assert [attack.place for attack in moved.attacks] == ["", ""]
    assert "listen @edge@ ssl; server_name a.example" in moved.variants[1].nodes[0].config.decode()


def test_what_was_measured_is_told() -> None:
    """Notes name scheme, host, address, place and paths of each side, and what is not measured."""
    notes = made(USUAL, "/x\n/y").notes
    assert notes[:2] == (
        "before: measured is https://shop.example at *:443 (TLS, offers HTTP/2; a.conf:4): GET /x, GET /y.",
        "before: not measured: *:80, [::]:80, [::]:443.",
    )
    private = made("server { listen 80; if ($server_port = 80) { return 403; } }", "/x").notes
    assert "before: $server_port is private here, and the configuration reads it." in private


_NAMES = (
    "a.test",
    "*.a.test",
    ".a.test",
    "a.*",
    "www.a.*",
    "*.test",
    "b.test",
    "~^b",
    "~test$",
    "~^(www|x)\\.",
    "_",
    "X.A.test",
)
_HOSTS = (
    "a.test",
    "www.a.test",
    "x.a.test",
    "a.example",
    "www.a.example",
    "b.test",
    "b.example",
    "c.test",
    "A.TEST",
    "z",
)
_LISTENS = ("443 ssl", "443 ssl default_server", "10.0.0.1:443 ssl", "80", "8443 ssl")
_SERVERS = st.lists(
    st.tuples(
        st.lists(st.sampled_from(_LISTENS), min_size=1, max_size=3, unique_by=lambda listen: listen.split(" ")[0]),
        st.lists(st.sampled_from(_NAMES), max_size=3, unique=True),
    ),
    min_size=1,
    max_size=5,
)


def written(servers: Sequence[tuple[Sequence[str], Sequence[str]]]) -> str:
    """The servers, one on each line; of several default servers of an address only the first is one."""
    lines, taken = [], False
    for listens, names in servers:
        words = [listen.replace(" default_server", "") if taken else listen for listen in listens]
        taken = taken or any("default_server" in word for word in words)
        named = f"server_name {' '.join(names)};" if names else ""
        lines.append(f"server {{ {' '.join(f'listen {word};' for word in words)} {named} return 200; }}")
    return "\n".join(lines)


@given(_SERVERS, st.sampled_from(_HOSTS), st.sampled_from(["http", "https", "https:8443"]))
def test_the_server_is_the_one_that_answers(servers: list[tuple[list[str], list[str]]], name: str, where: str) -> None:
    """The server of a listener is that of the model of requests at its address, whatever the names."""
    text = f"events {{}} http {{ ssl_certificate a; ssl_certificate_key a; {written(servers)}\n}}"
    config = load_text(text.encode(), "a.conf")
    scheme, _, port = where.partition(":")
    request = compare.targets(Source("t", f"{scheme}://{name}{f':{port}' if port else ''}/".encode()))
    known = listeners.site(request[0])
    assert known is not None
    try:
        found = listeners.Listeners("a", config, Version(1, 28, 0)).of_site(known, request)
    except UsageError:
        return
    model = SiteModel(config, Build(Version(1, 28, 0)))
    gate = model.gate((found.address.host.replace("0.0.0.0", "10.0.0.9"), found.address.port))
    url = read_url(f"{scheme}://{name}:{found.address.port}/")
    server = model.trace(gate.form(from_curl(url)), World())["outcome"]["server"]
    assert server is not None
    assert found.server == f"a.conf:{server + 1}"


@given(_SERVERS, st.sampled_from(_HOSTS), st.randoms())
def test_the_order_of_listens_does_not_matter(
    servers: list[tuple[list[str], list[str]]], name: str, chance: random.Random
) -> None:
    """A configuration whose listens stand in another order is measured at the same address."""
    other = [(chance.sample(listens, len(listens)), names) for listens, names in servers]
    known = listeners.RequestTarget("https", name.lower(), None, name)
    request = compare.targets(Source("t", f"https://{name}/".encode()))

    def address(of: list[tuple[list[str], list[str]]]) -> object:
        config = load_text(f"events {{}} http {{ {written(of)}\n}}".encode(), "a.conf")
        try:
            return listeners.Listeners("a", config, Version(1, 28, 0)).of_site(known, request).address
        except UsageError as error:
            return error.message

    assert address(servers) == address(other)
