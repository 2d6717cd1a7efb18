"""What requests take is measured on a real nginx, or it is said why it is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import blind
from benchmarks.sites import SITES, Kind, Site
from benchmarks.sites.clients import CURL, SIGNED
from nginxopt.config import load
from nginxopt.errors import InputError, MissingError
from nginxopt.profile.figures import PRINTED_FORMAT, Figures
from nginxopt.profile.measuring import measure
from nginxopt.profile.reading import SiteLogs
from nginxopt.profile.sums import Profile, save
from nginxopt.profile.sums import load as load_profile
from nginxopt.profile.work import OTHER, Work
from nginxopt.request.build import probe
from nginxopt.request.model import SiteModel, World
from nginxopt.system import callgrind, nginx
from nginxopt.system.nginx import lay
from tests.nginx.benching import needs_valgrind
from tests.support import the_nginx

pytestmark = pytest.mark.nginx

LINE = (
    '192.0.2.1 a.example http 80 [27/Nov/2026:10:00:00 +0000] "{method} {target} HTTP/1.1" {status} {sent} {body} 400 '
    '0.010 "{upstream}" "-" "{cache}" "{ratio}" 2 "-" 1795773600.000 - "-" "-" "curl/8"\n'
)
CONF = """
events {{ }}
http {{
    types {{ text/html html; image/png png; }}
    {format}
    access_log /var/log/nginx/access.log profile;
    {http}
    server {{ listen 80; server_name a.example; root /srv; {server} }}
}}
"""


def line(target: str, status: int = 200, body: int = 2_000, **others: object) -> str:
    """A line of a log."""
    plain = {"method": "GET", "upstream": "-", "cache": "-", "ratio": "-", "sent": body + 250}
    return LINE.format(**{**plain, "target": target, "status": status, "body": body, **others})


@pytest.fixture(name="logs")
def _logs(tmp_path: Path) -> Any:
    """A function that makes the logs of a site."""

    def made(lines: list[str], server: str, http: str = "", binary: nginx.Binary | None = None) -> SiteLogs:
        text = CONF.format(format=PRINTED_FORMAT.partition("access_log")[0], server=server, http=http)
        (tmp_path / "nginx.conf").write_text(text)
        (tmp_path / "access.log").write_text("".join(lines))
        model = SiteModel(load(str(tmp_path / "nginx.conf")), probe(binary or the_nginx()))
        return SiteLogs(model, model.gate(), World(), (str(tmp_path / "access.log"),))

    return made


@pytest.fixture
def without_valgrind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without valgrind."""

    def counter() -> Iterator[object]:
        raise MissingError("no valgrind")

    monkeypatch.setattr(callgrind, "counter", counter)


def measured(logs: SiteLogs, binary: nginx.Binary | None = None, rounds: int = 1) -> Profile:
    """The profile of logs with what was measured."""
    profile = logs.profile()
    measure(logs, profile, binary or the_nginx(), rounds=rounds)
    return profile


PASS = "proxy_pass http://192.0.2.7;"
CACHE = "proxy_cache_path /c keys_zone=c:1m;"


@pytest.mark.usefixtures("without_valgrind")
@pytest.mark.parametrize(
    ("lines", "server", "http"),
    [
        ([line("/a.html")], "", ""),
        ([line("/a.html", method="HEAD", body=0)], "", ""),
        ([line("/a.html", 304, 0)], "", ""),
        ([line("/a.html", 206, 1_000)], "", ""),
        ([line("/a.html", 416, 200)], "", ""),
        ([line("/a.html", ratio="3.00", body=3_000)], "gzip on;", ""),
        ([line("/none.html", 404, 153)], "location / { try_files $uri =404; }", ""),
        ([line("/p", ratio="3.00", body=3_000)], "gzip on; open_file_cache max=9; error_page 404 /404.html; "
         "location / { try_files $uri $uri.html $uri/ =404; }", ""),
        ([line("/deep/link", 200)], "location / { try_files $uri /index.html; }", ""),
        ([line("/x", 404, 2_000)], "error_page 404 /gone.html; location /x { return 404; }", ""),
        ([line("/dir/", 200)], "index index.html;", ""),
        ([line("/dir", 301, 162)], "", ""),
        ([line("/old", 301, 162)], "rewrite ^/old$ /new permanent;", ""),
        ([line("/up", 200, upstream="0.010")], f"location /up {{ {PASS} }}", ""),
        ([line("/up", 500, 900, upstream="0.010")], f"location /up {{ {PASS} }}", ""),
        ([line("/up", 302, 0, upstream="0.010")], f"location /up {{ {PASS} }}", ""),
        ([line("/up", 304, 0, upstream="0.010")], f"location /up {{ {PASS} }}", ""),
        ([line("/up", 206, 500, upstream="0.010")], f"location /up {{ {PASS} }}", ""),
        ([line("/up", 201, 500, method="POST", upstream="0.010")], f"location /up {{ {PASS} }}", ""),
        ([line("/up", ratio="4.00", upstream="0.010")], f"gzip on; gzip_proxied any; location /up {{ {PASS} }}", ""),
        ([line("/c", cache="HIT")], f"location /c {{ {PASS} proxy_cache c; }}", CACHE),
        ([line("/c", cache="MISS", upstream="0.010")],
         f"location /c {{ {PASS} proxy_cache c; proxy_cache_valid 9m; }}", CACHE),
        ([line("/c?a=1", cache="MISS", upstream="0.010")],
         f"location /c {{ {PASS} proxy_cache c; proxy_cache_key $uri; proxy_cache_valid 9m; }}", CACHE),
        ([line("/dir/", body=145 + 30 * 130)], "location /dir/ { autoindex on; }", ""),
        ([line("/f", upstream="0.010")], "location /f { fastcgi_pass unix:/run/php.sock; }", ""),
        ([line("/u", upstream="0.010")], "location /u { uwsgi_pass 192.0.2.7:99; }", ""),
        ([line("/l", 204, 0)], "limit_req zone=z; location /l { return 204; }",
         "limit_req_zone $binary_remote_addr zone=z:1m rate=1r/m;"),
        ([line("/s", upstream="0.010")],
         f"location /s {{ auth_request /auth; {PASS} }} location /auth {{ return 204; }}", ""),
    ],
)  # fmt: skip
def test_what_can_be_measured(logs: Any, lines: list[str], server: str, http: str) -> None:
    """Error pages, internal redirects, subrequests, parts of files, responses of caches: all requests are measured."""
    profile = measured(logs(lines, server, http))
    assert dict(profile.unmeasured) == {}
    ((_, one),) = profile.measured.items()
    assert (one.timed, one.counted) == (1, 0)
    assert 500 < one.nanoseconds < 100_000_000
    assert profile.notes == ["only processor time was measured: no valgrind"]


@pytest.mark.usefixtures("without_valgrind")
@pytest.mark.parametrize(
    ("lines", "server", "http", "reason"),
    [
        ([line("/x", 200)], "return 204;", "", "the configuration gives another response"),
        ([line("/x", 499, 0)], "return 204;", "", "connections that fail, or clients that go away (499)"),
        ([line("/up", 503, 197)], "location /up { return 204; }", "", "the configuration gives another response"),
        ([line("/a.html", body=9_000, ratio="3.00")], "", "", "responses are compressed in the log"),
        ([line("/r", 200, 90_000)], "location /r { return 200 short; }", "",
         "responses have 90,250 bytes in the log, and nginx sends"),
        ([line("/c", cache="HIT")], f"location /c {{ {PASS} proxy_cache c; proxy_no_cache 1; }}", CACHE,
         "nginx does not keep the response in its cache"),
        ([line("/c", cache="MISS", upstream="0.010")],
         f"location /c {{ {PASS} proxy_cache c; proxy_cache_key one; proxy_cache_valid 9m; open_file_cache max=9; }}",
         CACHE,
         "nginx answers from its cache"),
        ([line("/g", upstream="0.010")], "location /g { grpc_pass 192.0.2.7:1; }", "",
         "gRPC needs an upstream of its own"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured(logs: Any, lines: list[str], server: str, http: str, reason: str) -> None:
    """The report gives the reason and keeps the estimate."""
    made = logs(lines, server, http)
    before = Work(made.profile()).total
    profile = measured(made)
    ((found, one),) = profile.unmeasured.items()
    assert found.startswith(reason)
    assert one.requests == 1
    assert not profile.measured
    assert Work(profile).total == before


@pytest.mark.usefixtures("without_valgrind")
def test_what_is_measured_is_saved_and_adds_up(logs: Any, tmp_path: Path) -> None:
    """A day that was measured, and one that was not: the figures of the first hold for both."""
    server = "location /a { return 204; } location /b { return 410; }"
    made = logs([line("/a", 204, 0)] * 10 + [line("/b", 410, 150)] * 10, server)
    profile = measured(made)
    (tmp_path / "day.profile").write_bytes(save(profile))
    again = load_profile(str(tmp_path / "day.profile"))
    assert again.document() == profile.document()
    one = Work(again).total.nanoseconds
    again.add(made.profile())
    assert Work(again).total.nanoseconds == pytest.approx(2 * one)
    assert Figures(again).is_timed
    twice = load_profile(str(tmp_path / "day.profile"))
    twice.add(load_profile(str(tmp_path / "day.profile")))
    assert Work(twice).total.nanoseconds == pytest.approx(2 * one)


@needs_valgrind
@pytest.mark.slow
def test_what_no_term_knows_is_beyond_them(logs: Any) -> None:
    """A class that takes much more than its terms say has the rest under a cause of its own."""
    big = "".join(f"set $v{number} {'$request_uri$http_user_agent' * 140};" for number in range(10))  # long values
    profile = measured(logs([line("/x", 204, 0)], f"location /x {{ {big} return 204; }}"), rounds=0)
    work = Work(profile)
    other = sum(load.term.instructions for cause, _, load in work.by_cause if cause == OTHER)
    assert other > work.total.instructions / 2
    assert work.total.instructions == pytest.approx(sum(one.instructions for one in profile.measured.values()))


@needs_valgrind
@pytest.mark.slow
def test_a_site_is_measured(a_binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each kind of request is measured to 15 % of what it takes, and a mix to 5 %."""
    server = "".join(f"rewrite ^/old/page-{number:03}$ /new permanent;\n" for number in range(60)) + (
        "gzip on; gzip_types text/css; location / { try_files $uri $uri/ =404; }"
        "location /app/ { proxy_pass http://127.0.0.1:@BACK@; add_header X-A b; }"
    )
    kinds = {
        "page": Kind(5, "/@N@.html"),
        "missing": Kind(2, "/none-@N@"),
        "moved": Kind(2, "/old/page-030"),
        "app": Kind(4, "/app/@N@", size=(3_000, 9_000)),
    }
    site = Site("", server, kinds, {f"{number}.html": 4_000 + 2_000 * number for number in range(8)})
    monkeypatch.setitem(SITES, "small", site)
    *lines, mix = blind.compare("small", a_binary, 60)
    assert {one.what for one in lines} == set(kinds)
    for one in lines:
        assert one.measured == pytest.approx(1, abs=blind.MOST_OF_A_KIND), one
    assert mix.measured == pytest.approx(1, abs=0.08), mix  # of 60 requests


@needs_valgrind
@pytest.mark.slow
@pytest.mark.parametrize(
    ("http", "server", "kinds"),
    [
        (
            "open_file_cache max=9;",
            "location / { root files; }",
            {
                "whole": Kind(1, "/a.bin", CURL),
                "part": Kind(1, "/a.bin", f"{CURL}Range: bytes=0-999\r\n"),
                "parts": Kind(1, "/a.bin", f"{CURL}Range: bytes=9000-\r\n"),
            },
        ),
        (
            "proxy_cache_path cache keys_zone=c:1m;",
            "location / { slice 16k; proxy_cache c; proxy_cache_key $uri$slice_range; proxy_cache_valid 200 206 1h; "
            "proxy_set_header Range $slice_range; proxy_http_version 1.1; proxy_pass http://127.0.0.1:@BACK@; }",
            {"cached": Kind(1, "/a", CURL, size=(100_000, 100_000))},
        ),
        (
            "proxy_cache_path cache keys_zone=c:1m;",
            "gzip on; gzip_comp_level 2; gzip_proxied any; "
            "location / { proxy_cache c; proxy_cache_valid 1h; proxy_pass http://127.0.0.1:@BACK@; }",
            {"packed": Kind(1, "/a", size=(7_000, 7_000))},
        ),
    ],
)
def test_files_that_stay_open_and_parts(
    monkeypatch: pytest.MonkeyPatch, http: str, server: str, kinds: dict[str, Kind]
) -> None:
    """A sample is not answered with the file of another one or with an earlier body, and `slice` gets its parts."""
    monkeypatch.setitem(SITES, "small", Site(http, server, kinds, {"a.bin": 300_000}, tls=True))
    for one in blind.compare("small", the_nginx(), 12):
        assert one.measured == pytest.approx(1, abs=0.12), one


@needs_valgrind
@pytest.mark.slow
@pytest.mark.parametrize(
    "hashed",
    [
        "$apr1$c4Vq8sXw$IVJK3gQvgIXMCl.TOYJ060",
        "{SHA}UWuXg/ylF+7L0dBk2i0WUxCxl1k=",
        "$6$rounds=1000$saltsalt$mfpRMw2YHznamS6CHjpBoMWQ7oHYEORKZO2J6QPjlqWgxw.tSKwFrOQbfQ0Jh/qF8DNOXYLhOeIWLXMbM86IU0",
    ],
)
def test_passwords_are_hashed_as_those_of_the_site(monkeypatch: pytest.MonkeyPatch, hashed: str) -> None:
    """The check of a password is measured, whatever it takes, of right and of wrong ones."""
    server = "auth_basic Staff; auth_basic_user_file users; location / { try_files /a.png =404; }"
    kinds = {"right": Kind(1, "/", CURL + SIGNED), "wrong": Kind(1, "/", f"{CURL}Authorization: Basic dTpx\r\n")}
    monkeypatch.setattr(blind, "USERS", f"u:{hashed}\n".encode())
    monkeypatch.setitem(SITES, "small", Site("", server, kinds, {"a.png": 900}))
    for one in blind.compare("small", the_nginx(), 2):
        assert one.measured == pytest.approx(1, abs=blind.MOST_OF_A_MIX), one


@pytest.mark.usefixtures("without_valgrind")
@pytest.mark.parametrize(
    ("users", "file", "reason"),
    [
        (None, "users", "the passwords in {} cannot be read"),
        (
            "a:{PLAIN}b\nc:{SHA}UWuXg/ylF+7L0dBk2i0WUxCxl1k=\n",
            "users",
            "the passwords in {} are hashed in several ways",
        ),
        ("a:$9$b\n", "users", "how {} hashes passwords is not known"),
        ("a:{PLAIN}b\n", "users-$host", "the path of the passwords is not known, or has a variable"),
    ],
)
def test_passwords_that_are_not_known(tmp_path: Path, logs: Any, users: str | None, file: str, reason: str) -> None:
    """Where the kind of the hashes is not known, requests with a password are not measured, and the report says why."""
    path = tmp_path / "users"
    if users is not None:
        path.write_text(users)
    signed = line("/a.html").replace('"-" "-" "curl/8"', '"a" "-" "curl/8"')
    profile = measured(logs([signed], f"auth_basic x; auth_basic_user_file {file};"))
    ((found, _),) = profile.unmeasured.items()
    assert found.startswith(reason.format(path))


def test_programs_are_refused(logs: Any) -> None:
    """As wherever nginx is run: what a configuration would run needs `--allow-code`."""
    made = logs([line("/a.html")], "", "perl_modules /x;")
    with pytest.raises(InputError, match="perl_modules"):
        measured(made)


def test_no_file_is_laid_outside_of_the_disk(tmp_path: Path) -> None:
    """Neither by its name, nor through a link that somebody put there."""
    (tmp_path / "out").mkdir()
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "link").symlink_to(tmp_path / "out")
    lay(disk, {"/../../out/x": b"x", "/link/y": b"y", "/a/": b"", "/a/../../z": b"z"}, modified=1)
    assert not list((tmp_path / "out").iterdir())
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "disk/link/y", "disk/out/x", "disk/z",
    ]  # fmt: skip
