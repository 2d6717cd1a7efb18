"""What a configuration says of its purpose, and of its load."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.lint.catalogue import catalogue, selection
from nginxopt.lint.check import Judge, check
from nginxopt.lint.report.model import grouped
from nginxopt.settings.file import Settings
from nginxopt.version import Version
from tests.lintcheck import TARGET, diagnose
from tests.rows import every_row

DEBUG = "error_log /var/log/nginx/{name}.log debug;"
MEANT = {
    "a comment behind it": "error_log /var/log/nginx/a.log debug;  # to debug uploads\n",
    "a comment above it": "# Debugging of the login\nerror_log /var/log/nginx/a.log debug;\n",
    "comments above it": "# debug\n# until Friday\nerror_log /var/log/nginx/a.log debug;\n",
    "a comment above the block": "# the dev server\nserver {\n    error_log /var/log/nginx/a.log debug;\n}\n",
    "the name of the server": "server {\n    server_name debug.example.com;\n    error_log /a.log debug;\n}\n",
    "the path of the location": "server {\n    location /debug {\n        error_log /a.log debug;\n    }\n}\n",
}
NOT_MEANT = {
    "no comment": "error_log /var/log/nginx/a.log debug;\n",
    "a comment further up": "# debug\n\nerror_log /var/log/nginx/a.log debug;\n",
    "a comment of something else": "# debug\ngzip on;\nerror_log /var/log/nginx/a.log debug;\n",
    "a part of a word": "server {\n    server_name device.example.com;\n    error_log /a.log debug;\n}\n",
}


@every_row("text", MEANT.values(), ids=MEANT)
def test_an_intention_is_respected(text: str) -> None:
    """A comment or a name that speaks of debugging makes a debug log no finding."""
    assert diagnose("error-log-debug", text, context="http") == ()


@pytest.mark.parametrize("text", NOT_MEANT.values(), ids=NOT_MEANT)
def test_without_an_intention_it_is_found(text: str) -> None:
    """Words elsewhere, and the level itself, are no intention."""
    assert len(diagnose("error-log-debug", text, context="http")) == 1


FORWARD = """resolver 127.0.0.1;
server {{
    {said}
    location / {{
        {cache}
        proxy_pass http://$host$request_uri;
    }}
}}
"""


@pytest.mark.parametrize(
    ("said", "cache", "severities"),
    [
        ("", "", ["warning"]),
        ("server_name forward-proxy.lan;", "", []),
        ("", "# Transparent proxy of the office", []),
        ("", "proxy_cache office;", []),
        ("", "proxy_cache off;", ["warning"]),
    ],
)
def test_a_forward_proxy_is_one_on_purpose(said: str, cache: str, severities: list[str]) -> None:
    """A pass to the host of the request is no finding where that is what the server is for."""
    text = "proxy_cache_path /c keys_zone=office:1m;\n" + FORWARD.format(said=said, cache=cache)
    found = diagnose("ssrf-target", text, context="http")
    assert [str(each.severity) for each in found] == severities


def test_a_server_for_this_machine_may_close_its_connections() -> None:
    """`keepalive_timeout 0` costs nothing where only programs of the machine connect."""
    text = "server {{ listen {}:80; keepalive_timeout 0; }}"
    assert diagnose("client-keepalive", text.format("127.0.0.1"), context="http") == ()
    assert len(diagnose("client-keepalive", text.format("10.0.0.1"), context="http")) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("keepalive_requests 100;", 0),
        ("keepalive_requests 99;", 1),
        ("keepalive_timeout 0;\nkeepalive_requests 1;", 1),
        ("# disables keep alive\nkeepalive_timeout 0;\nkeepalive_requests 1;", 0),
        ("#keepalive_timeout 65;\nkeepalive_timeout 0;", 1),
    ],
)
def test_connections_are_closed_on_purpose(text: str, found: int) -> None:
    """Two settings that close connections are one finding, and none where a comment says that they do."""
    assert len(diagnose("client-keepalive", text, context="http")) == found


@every_row(
    ("host", "found"),
    [
        *((blank, 0) for blank in ("XX.XX.XX.XX", "x.x.x.x", "your-app.example.net", "SERVER_IP", "api.example.com")),
        *((host, 1) for host in ("www.xxl.de", "ship.de", "yours.de", "example.org.de")),
    ],
)
def test_blanks_are_no_names(host: str, found: int) -> None:
    """What somebody is to fill in is no host that is resolved once."""
    text = f"server {{ location / {{ proxy_pass http://{host}; }} }}"
    assert len(diagnose("name-resolved-once", text, context="http")) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [("", 1), ("daemon off;", 0), ("error_log /dev/stderr;", 0), ("http { access_log /dev/stdout; }", 0)],
)
def test_containers_have_a_limit_of_their_own(text: str, found: int) -> None:
    """What shows that nginx runs in a container leaves no usual limit of 1024."""
    text = f"events {{ worker_connections 4096; }}\n{text}"
    assert len(diagnose("worker-rlimit-nofile", text)) == found


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("Dockerfile", "FROM debian\nRUN apt-get install nginx\n", 0),
        ("docker-compose.yml", "services: {web: {image: nginx}}\n", 0),
        ("Dockerfile", "FROM python\n", 1),
        ("site.yml", "roles: [nginx]\n", 1),
    ],
)
def test_a_build_near_the_file_is_a_container(name: str, text: str, found: int, tmp_path: Path) -> None:
    """A Dockerfile or compose file of nginx beside it, or a folder further up, says where it runs."""
    from nginxopt.config import load

    folder = tmp_path / "web" / "conf"
    folder.mkdir(parents=True)
    (folder / "nginx.conf").write_text("events { worker_connections 4096; }\n")
    (folder.parent / name).write_text(text)
    rules = selection(catalogue().values(), Settings(), select=["worker-rlimit-nofile"])
    checked = check([load(str(folder / "nginx.conf"))], Judge(rules, TARGET, Settings()))
    assert len(checked.diagnostics) == found


@pytest.mark.parametrize("is_guess", [False, True])
def test_the_defaults_of_a_guessed_release_are_not_judged(is_guess: bool) -> None:
    """Old defaults are a finding only if somebody says that the release is old."""
    rules = selection(catalogue().values(), Settings(), select=["weak-tls"])
    text = "events {} http { server { listen 443 ssl; ssl_certificate a; ssl_certificate_key b; } }"
    judge = Judge(rules, Version(1, 22, 1), Settings(), maybe=(Version(1, 22, 1),) if is_guess else ())
    assert len(check([load_text(text.encode(), "nginx.conf")], judge).diagnostics) == (not is_guess)


@pytest.mark.parametrize("second", ["", " "])
def test_copies_have_one_cause(second: str) -> None:
    """The same finding in two configurations with the same text is one, with two places."""
    texts = (SITE.format(events="", http="gzip on;"), SITE.format(events="", http=f"gzip on;{second}"))
    configs = [load_text(text.encode(), f"{number}/nginx.conf") for number, text in enumerate(texts)]
    rules = selection(catalogue().values(), Settings(), select=["gzip-types-default"])
    found = grouped(check(configs, Judge(rules, TARGET, Settings())).diagnostics)
    assert len(found) == (2 if second else 1)


def by_default(text: str, *select: str, name: str = "nginx.conf") -> list[str]:
    """The rules that find something in a text."""
    rules = selection(catalogue().values(), Settings(), select=select)
    config = load_text(text.encode(), name)
    return [found.rule for found in check([config], Judge(rules, TARGET, Settings())).diagnostics]


SITE = "events {{ {events} }}\nhttp {{ {http} server {{ location / {{ proxy_pass http://10.0.0.1:8080; }} }} }}\n"


@pytest.mark.parametrize(("connections", "speaks"), [(1024, False), (4096, True)])
def test_many_connections_show_load(connections: int, speaks: bool) -> None:
    """More connections than any distribution sets show load."""
    text = SITE.format(events=f"worker_connections {connections};", http="").replace("10.0.0.1:8080", "$a")
    text = text.replace("location / {", "location / { set $a 10.0.0.1:8080;")
    assert ("upstream-variable-target" in by_default(text)) == speaks


@every_row(
    ("http", "speaks"),
    [
        ("", False),
        ("upstream a { server 10.0.0.2; server 10.0.0.3; }", True),
        ("upstream a { server 127.0.0.1:1; server localhost:2; server unix:/c; }", False),
        ("upstream a { server 10.0.0.2; keepalive 8; }", True),
        ("upstream a { server 10.0.0.2 max_conns=8; }", True),
        ("upstream a { server 10.0.0.2; }", False),
        ("proxy_cache_path /c keys_zone=c:10m;", True),
        ("open_file_cache max=1000;", True),
        ("server { listen 81; location / { open_file_cache max=1000; } }", False),
    ],
)
def test_connections_matter_where_the_text_shows_load(http: str, speaks: bool) -> None:
    """A limit is reported by default only in a configuration tuned for many requests."""
    assert ("worker-connections" in by_default(SITE.format(events="", http=http))) == speaks


POOL = "upstream a { server 10.0.0.2; keepalive 8; }"
BESIDE = ("location / {", "location /a { proxy_pass http://a; } location / {")


@pytest.mark.parametrize("is_beside", [False, True])
def test_a_server_without_upstream_is_one_that_was_left_out(is_beside: bool) -> None:
    """It is reported by default only beside a pass to a pool, in the same server."""
    text = SITE.format(events="", http=POOL).replace(*BESIDE if is_beside else ("", ""))
    assert ("implicit-upstream" in by_default(text)) == is_beside
    assert "implicit-upstream" in by_default(text, "implicit-upstream")


BALANCED = (
    "worker_processes {workers};\nevents {{}}\n"
    "http {{ upstream a {{ {method} {servers} }} server {{ location / {{ proxy_pass http://a; }} }} }}\n"
)
TWO = "server 10.0.0.2; server 10.0.0.3;"


@pytest.mark.parametrize(
    ("workers", "method", "servers", "speaks"),
    [
        ("auto", "least_conn;", TWO, False),
        ("2", "least_conn;", TWO, False),
        ("8", "least_conn;", TWO, True),
        ("auto", "", "server 10.0.0.2 max_conns=8;", True),
    ],
)
def test_workers_that_count_alone_matter_if_they_are_many(
    workers: str, method: str, servers: str, speaks: bool
) -> None:
    """Few workers balance well enough each on its own; a limit of connections is another one with two workers."""
    text = BALANCED.format(workers=workers, method=method, servers=servers)
    assert ("upstream-zone-missing" in by_default(text)) == speaks
    assert "upstream-zone-missing" in by_default(text, "upstream-zone-missing")


SOME = (
    f"root /srv; {POOL} upstream b {{ server 10.0.0.3; }} server {{ listen 81; server_name www.shop.example; }} "
    "server { listen 82; location / { proxy_pass http://b; } }"
)


@every_row(
    ("name", "speaks"),
    [
        ("nginx.conf", True), ("devices.conf", True), ("/home/dev/shop/nginx.conf", True), ("nginx.dev.conf", False),
        ("nginx-local.conf", False), ("dev/nginx.conf", False), ("tools/nginx-dev/nginx.conf", False),
        ("examples/proxy/nginx.conf", False), ("lab-3/nginx.conf", False), ("nginx.conf.example", True),
        ("/srv/demo/nginx.conf", True),
    ],
)  # fmt: skip
def test_a_file_without_service_has_no_load_and_needs_no_compression(name: str, speaks: bool) -> None:
    """The path of a main file tells that its requests are a developer's or an exercise: their cost is not reported."""
    text = SITE.format(events="worker_connections 4096;", http=SOME).replace(*BESIDE)
    about = {"implicit-upstream", "upstream-keepalive-missing", "gzip-missing"}
    assert about & set(by_default(text, name=name)) == (about if speaks else set())


SHARED = {
    "nginx.conf": "events {}\nhttp {\n    server { listen 81; return 301 /x; include s.inc; }\n"
    "    server { listen 82; %s include s.inc; }\n}\n",
    "s.inc": "location /keybase.txt { root /srv; }\n",
}


@pytest.mark.parametrize(("second", "found"), [("", 0), ("return 404;", 1)])
def test_what_is_without_effect_is_so_wherever_its_file_is_read(
    second: str,
    found: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """A location of a shared file is dead only if no server that includes it comes to it."""
    from nginxopt.config import load

    folder = tmp_path_factory.mktemp("site")
    (folder / "nginx.conf").write_text(SHARED["nginx.conf"] % second)
    (folder / "s.inc").write_text(SHARED["s.inc"])
    rules = selection(catalogue().values(), Settings(), select=["dead-directive"])
    checked = check([load(str(folder / "nginx.conf"))], Judge(rules, TARGET, Settings()))
    assert len(checked.diagnostics) == found


@pytest.mark.parametrize(
    ("comment", "is_meant"),
    [
        ("at the expense of additional CPU", True),
        ("save bandwidth", True),
        ("5 is a perfect compromise between size and CPU usage", False),
        ("the highest level", False),
    ],
)
def test_a_level_of_compression_may_be_weighed(comment: str, is_meant: bool) -> None:
    """Bandwidth against processor time is a reason; the name of the setting is none."""
    found = diagnose("gzip-level", f"gzip on;\n# {comment}\ngzip_comp_level 9;", context="http")
    assert bool(found) != is_meant


LOST = """add_header X-Frame-Options DENY;
add_header X-Content-Type-Options nosniff;
# {comment}
location / {{
    add_header X-Served-By a;
    root /srv/www;
}}
"""
_ALL = "X-Frame-Options and X-Content-Type-Options"


@every_row(
    ("comment", "lost"),
    [
        ("disable no-sniff", "X-Frame-Options"),
        ("Removed: X-Frame-Options", "X-Content-Type-Options"),
        ("removing X-Frame-Options for the portal", "X-Content-Type-Options"),
        ("without X-Frame-Options", _ALL),
        ("disable sniffing in old browsers", _ALL),
        ("disable iframe embedding", _ALL),
        ("disable caching, X-Frame-Options stays", _ALL),
    ],
)
def test_a_comment_disables_the_headers_that_it_names(comment: str, lost: str) -> None:
    """Others are still lost, and what a header prevents is not the header."""
    (one,) = diagnose("headers-lost", LOST.format(comment=comment), context="server")
    assert one.message == f"this add_header drops the inherited {lost}"


def test_resumption_may_be_off_on_purpose() -> None:
    """A comment that says so makes a server without tickets and cache no finding."""
    text = "server {{ listen 443 ssl;\n# {}\nssl_session_tickets off; }}"
    found = [
        diagnose("ssl-session-cache", text.format(comment), context="http")
        for comment in ("CIS 4.1.13: ensure session resumption is disabled", "for forward secrecy")
    ]
    assert [len(each) for each in found] == [0, 1]
