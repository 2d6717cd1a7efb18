"""Where requests are passed to: what the model reads in a `*_pass`, against the nginx binary."""

from __future__ import annotations

import re

import pytest

from nginxopt.config import load_text
from nginxopt.lint import Model
from nginxopt.semantics import Pass
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.version import Version

pytestmark = pytest.mark.nginx

OLD = Version(1, 22, 1)

# Nobody listens at port 1: where nginx went is told by its error log.
UPSTREAMS = b"".join(
    b"upstream %s { server 127.0.0.1:1; }\n" % name for name in (b"app", b"App.Mixed", b"app_2-x.y", b"unixy")
)

PROXIED = [
    "http://127.0.0.1",
    "http://127.0.0.1:81",
    "http://127.0.0.1:81/",
    "http://127.0.0.1:81/a/b?c=d",
    "http://127.0.0.1:81/a?u=http://app/",
    "http://127.0.0.1?x=1",
    "http://127.0.0.1:81?x=1",
    "HTTP://127.0.0.1:81/A",
    "http://[::1]:81/x",
    "http://[::1]/x",
    "http://localhost:81/x",
    "http://LOCALHOST",
    "http://0:81/",
    "http://app",
    "http://APP",
    "http://app/",
    "http://app/x",
    "http://app?q",
    "https://app",
    "https://app/x",
    "http://app_2-x.y/z",
    "http://App.Mixed",
    "http://app.mixed/",
    "http://unixy",
    "http://unix:temp/x.sock",
    "http://unix:temp/x.sock:",
    "http://unix:temp/x.sock:/",
    "http://unix:temp/x.sock:/a:b",
    "http://UNIX:temp/x.sock:/a",
]

PROTOCOLS = ["grpc_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "memcached_pass"]
TARGETS = ["app", "APP", "app_2-x.y", "127.0.0.1:81", "[::1]:81", "localhost:81", "unix:temp/x.sock", "unix:temp/x:y"]
TARGETS += ["unix:///tmp/x.sock"]
PASSED = [f"{protocol} {target}" for protocol in PROTOCOLS for target in TARGETS]
PASSED += ["grpc_pass grpc://app", "grpc_pass grpcs://APP", "grpc_pass grpc://127.0.0.1:81"]
PASSED += ["uwsgi_pass uwsgi://app", "uwsgi_pass suwsgi://127.0.0.1:81"]

VARIABLES = [
    ("http://app$request_uri", True),
    ("http://app${request_uri}", True),
    ("http://APP$uri$is_args$args", True),
    ("http://app$is_args$args", True),
    ("http://app/x$arg_y", True),
    ("$scheme://app", True),
    ("http://127.0.0.1:81$request_uri", False),
]


def read(text: str) -> Pass:
    """What the model says of a directive."""
    config = b"http { %s server { location / { %s; } } }" % (UPSTREAMS, text.encode())
    (pass_,) = Model(load_text(config), OLD).passes
    return pass_


def seen(binary: nginx.Binary, text: str) -> tuple[str, str, str]:
    """`$proxy_host` and `$proxy_port` for a directive, and what nginx says in its log of where it went."""
    shown = 'add_header X-Host "$proxy_host" always; add_header X-Port "$proxy_port" always;'
    server = f"location /in/ {{ set $memcached_key k; {shown} {text}; }}".encode()
    with nginx.Instance(binary, servers=[server], http=UPSTREAMS, log_level="error") as instance:
        with instance.client() as client:
            answer = client.ask([RequestBytes(b"GET /in/asked?arg HTTP/1.1\r\nHost: a.test\r\n\r\n")])[0].decode()
        log = " ".join(instance.error_log())
    host, port = (re.search(rf"\r\nX-{name}: (.*)\r\n", answer) for name in ("Host", "Port"))
    went = re.search(r'upstream: "(.*?)", host', log)
    assert went, log
    return host[1] if host else "", port[1] if port else "", went[1]


@pytest.mark.parametrize("target", PROXIED)
def test_a_url_is_split_as_nginx_splits_it(binary: nginx.Binary, target: str) -> None:
    """Host, port and URI of a `proxy_pass`, and the upstream that it names, are those that nginx finds."""
    pass_ = read(f"proxy_pass {target}")
    if target == "http://LOCALHOST" and not knows_hosts_in_any_case(binary):
        return
    host, port, went = seen(binary, f"proxy_pass {target}")
    scheme, _, rest = went.partition("://")
    assert pass_.scheme == scheme.lower()
    assert rest.endswith("/in/asked?arg" if pass_.uri is None else f"{pass_.uri}asked?arg")
    assert (pass_.uri is None) == rest.endswith("/in/asked?arg")
    assert (pass_.upstream is not None) == bool(re.match(r"127\.0\.0\.1:1(?!\d)", rest))
    if pass_.host == "unix":
        assert rest.lower().startswith(f"unix:{pass_.port}:")
        return
    assert host == pass_.host + (f":{pass_.port}" if pass_.port else "")
    assert port == (pass_.port or {"http": "80", "https": "443"}[pass_.scheme])
    assert pass_.names_an_address == (pass_.upstream is None)


def knows_hosts_in_any_case(binary: nginx.Binary) -> bool:
    """Whether nginx finds LOCALHOST in /etc/hosts: the C library musl compares these names by case."""
    verdict = binary.test(nginx.configuration([b"location / { proxy_pass http://LOCALHOST; }"]))
    assert verdict.ok or 'host not found in upstream "LOCALHOST"' in str(verdict)
    return verdict.ok


@pytest.mark.parametrize("text", PASSED)
def test_other_protocols_name_upstreams_alike(binary: nginx.Binary, text: str) -> None:
    """The other protocols find upstreams as HTTP does, and have no URI."""
    pass_ = read(text)
    _, _, went = seen(binary, text)
    rest = went.partition("://")[2]
    assert pass_.uri is None
    assert pass_.protocol == text.split("_")[0]
    assert (pass_.upstream is not None) == (not pass_.names_an_address) == (rest == "127.0.0.1:1")
    if pass_.host == "unix":
        assert rest.startswith(f"unix:{pass_.port}")


@pytest.mark.parametrize(("target", "named"), VARIABLES)
def test_a_name_before_variables(binary: nginx.Binary, target: str, named: bool) -> None:
    """A name with variables behind it is that of an upstream if what they are begins the URI."""
    pass_ = read(f"proxy_pass {target}")
    _, _, went = seen(binary, f"proxy_pass {target}")
    assert pass_.has_variable
    assert (pass_.upstream is not None) == named == ("://127.0.0.1:1/" in went or "://127.0.0.1:1?" in went)


REFUSED = ["http://app:80", "https://app:443/", "http://127.0.0.1:/x", "http://app#frag", "app", "//app", "http:///x"]


@pytest.mark.parametrize("target", REFUSED)
def test_what_nginx_refuses_names_no_upstream(binary: nginx.Binary, target: str) -> None:
    """A target that nginx refuses is read without an error."""
    server = f"location / {{ proxy_pass {target}; }}".encode()
    assert not binary.test(nginx.configuration([server], http=UPSTREAMS)).ok
    assert target in ("app", "//app") or read(f"proxy_pass {target}").upstream is None
