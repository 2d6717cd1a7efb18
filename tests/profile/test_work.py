"""What nginx itself does for the requests of a log, by directive."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.profile import terms
from nginxopt.profile.figures import Figures
from nginxopt.profile.sums import Profile, Tries, load, save
from nginxopt.profile.work import Work
from tests.profile.test_planted import profile_of
from tests.rows import every_row

LINE = '192.0.2.1 a.example {} [27/Nov/2026:10:{:02}:00 +0200] "GET {} HTTP/1.1" {} {} {} {} {} {}\n'
SITE = """
http {{
    log_format full '$remote_addr $host $scheme [$time_local] "$request" $status $bytes_sent $gzip_ratio '
                    '$connection_requests $ssl_session_reused $request_length';
    access_log access.log full {buffer};
    {http}
    server {{
        listen 80;
        {listen}
        server_name a.example;
        {server}
    }}
}}
"""


def line(
    target: str,
    status: int = 200,
    size: int = 1_000,
    ratio: str = "-",
    number: int = 2,
    reused: str = ".",
    scheme: str = "http",
    minute: int = 0,
    length: int = 500,
) -> str:
    """A line of a log with all that tells of work."""
    return LINE.format(scheme, minute, target, status, size, ratio, number, reused, length)


def worked(folder: Path, lines: list[str], **parts: str) -> Work:
    """The work for the requests of a log."""
    return Work(profile(folder, lines, **parts))


def profile(folder: Path, lines: list[str], **parts: str) -> Profile:
    """The profile of a log."""
    (folder / "access.log").write_text("".join(lines))
    conf = SITE.format(**{"http": "", "server": "", "listen": "", "buffer": "", **parts})
    return profile_of([folder / "access.log"], conf)


def places(work: Work) -> dict[str, tuple[str | None, float]]:
    """The causes with the text of their directive and their instructions."""
    return {cause: (place and place.text, load.term.instructions) for cause, place, load in work.by_cause}


def test_tries_of_rewrites(tmp_path: Path) -> None:
    """Each rule that does not match is tried, up to the one that does; the run is named by its first rule."""
    rules = "".join(f"rewrite ^/old/page-{number:03}$ /new permanent;\n" for number in range(100))
    lines = [line("/elsewhere/far/away"), line("/old/page-009", 301)]
    work = worked(tmp_path, lines, server=rules + "return 204;")
    ((place, tries),) = work.profile.tries.items()
    assert place.text == "rewrite ^/old/page-000$ /new permanent"
    assert tries == Tries(long=110, shared=9 * 11 + 12)
    assert places(work)["patterns"] == (place.text, 110 * 794 + (9 * 11 + 12) * 28)


@every_row(
    ("server", "is_logged"),
    [
        ("root /srv;", True),
        ("root /srv; log_not_found off;", False),
        ("root /srv; error_log e.log crit;", False),
        ("root /srv; error_page 404 = @none; location @none { return 404; }", True),
        ("location / { return 404; }", False),
        ("location / { try_files $uri =404; }", False),
    ],
)
def test_missing_files_are_lines_of_the_error_log(tmp_path: Path, server: str, is_logged: bool) -> None:
    """nginx writes a line about a file that is missing, unless `try_files` looked for it."""
    work = worked(tmp_path, [line("/none.png", 404)], server=server)
    assert ("error log" in places(work)) == is_logged


@every_row(
    ("server", "is_logged"),
    [
        ("deny all;", True),
        ("deny all; error_log e.log crit;", False),
        ("deny all; satisfy any;", False),
        ("return 403;", False),
    ],
)
def test_denied_addresses_are_lines_of_the_error_log(tmp_path: Path, server: str, is_logged: bool) -> None:
    """nginx writes a line about an address that `deny` refuses, unless passwords could let it in as well."""
    work = worked(tmp_path, [line("/a", 403)], server=f"location / {{ {server} }}")
    assert ("error log" in places(work)) == is_logged


def test_headers_that_nginx_sets_itself(tmp_path: Path) -> None:
    """Another value of `Host` or `Connection` costs what nginx's own does, and a further header more."""
    server = "location / {{ proxy_pass http://127.0.0.1:81; {} }}"
    own = 'proxy_set_header host $host; proxy_set_header Connection "";'
    none, same, more = (
        places(worked(tmp_path, [line("/a")], server=server.format(headers)))["upstream"][1]
        for headers in ("", own, f"{own} proxy_set_header X-Real-IP $remote_addr;")
    )
    assert none == same
    assert more - same == pytest.approx(terms.of("nginx 1.22.1").set_header.instructions)


def test_parts_of_slice(tmp_path: Path) -> None:
    """Each part of a response beyond the first is asked for by itself, and passed on if it is not in a cache."""
    server = "location / {{ {} proxy_pass http://127.0.0.1:81; }}"
    whole, sliced = (worked(tmp_path, [line("/a", size=4_096)], server=server.format(one)) for one in ("", "slice 1k;"))
    assert places(sliced)["slice"][1] == pytest.approx(3 * sliced.terms.slice.instructions)
    assert places(sliced)["upstream"][1] > 3 * places(whole)["upstream"][1]
    one, more = (
        worked(tmp_path, [line("/a", size=size)], server=server.format("slice 1k;")) for size in (1_200, 1_300)
    )
    assert "slice" not in places(one)
    assert places(more)["slice"][1] == pytest.approx(more.terms.slice.instructions)


def test_rewrites_run_again(tmp_path: Path) -> None:
    """The rules of a server run again after an internal redirect."""
    rules = "".join(f"rewrite ^/old/page-{number:03}$ /new permanent;\n" for number in range(10))
    server = f"{rules} error_page 404 = /elsewhere; location /none {{ return 404; }}"
    found = worked(tmp_path, [line("/none/that/is/long", 404)], server=server).profile.tries
    (tries,) = (one for place, one in found.items() if place.text.startswith("rewrite"))
    assert (tries.short, tries.long) == (10, 10)  # "/elsewhere" is shorter than what they match


@every_row(
    ("server", "http", "tries"),
    [
        ("location ~ \\.php$ { return 204; } location ~ ^/b/ { return 204; }", "", Tries(short=1, long=1, sought=6)),
        ("location ~ \\.(css|js)$ { return 204; } location ~ /b$ { return 204; }", "",
         Tries(short=2, sought=6 + 6 + 3, places=2)),
        ("if ($uri ~ ^/a/x) { return 403; } return 204;", "", Tries(long=1, shared=2, conditions=1)),
        ("if (-f /x) { return 403; } set $a b; return 204;", "", Tries(conditions=5, sets=1)),
        ("if ($m) { return 403; } return 204;", "map $uri $m { ~^/a/c 1; ~^/a/bcdefg 1; /x 0; }",
         Tries(short=1, long=1, shared=2, lookups=1, keyed=6, conditions=1)),
        ("return 204 $m;", "geo $m { default 0; 10.0.0.0/8 1; }", Tries(lookups=1)),
    ],
)  # fmt: skip
def test_tries_of_others(tmp_path: Path, server: str, http: str, tries: Tries) -> None:
    """Locations, conditions and maps try patterns, too."""
    work = worked(tmp_path, [line("/a/b.c", 204)], server=server, http=http)
    of_all = Tries()
    for one in work.profile.tries.values():
        of_all.add(one)
    assert of_all == tries


def test_bodies(tmp_path: Path) -> None:
    """The length of a request with a body tells nothing of its headers beyond their usual length, unless the log has
    the length of the body.
    """
    lines = [line("/a", 204, length=length).replace("GET", method) for method, length in
             (("GET", 2_000), ("POST", 400), ("POST", 9_000))]  # fmt: skip
    ((_, cell),) = profile(tmp_path, lines, server="return 204;").classes.items()
    assert (cell.lengths, cell.measured, cell.posted, cell.bodies) == (2_000 + 400 + 500, 3, 2, 8_500)
    small, large = (worked(tmp_path, [one], server="return 204;").total.instructions for one in lines[1:])
    assert large - small == pytest.approx(100 * terms.of("nginx 1.22.1").further_header_byte.instructions)


def test_gzip(tmp_path: Path) -> None:
    """Compressing takes what the level takes for the bytes before; without responses that are compressed, nothing."""
    settings = "gzip on; gzip_comp_level 9; root /srv;"
    work = worked(tmp_path, [line("/a.html", ratio="4.00", size=5_000)], server=settings)
    others = worked(tmp_path, [line("/a.html", ratio="4.00", size=5_000), line("/b.png", size=10**6)], server=settings)
    for of in (work, others):
        text, instructions = places(of)["gzip"]
        assert text == "gzip_comp_level 9"
        sent, raw = 5_000 - 250, 4 * (5_000 - 250)  # less the headers
        expected = 49_000 + 44 * raw + (153 + 57 * math.log2(raw / 4_000)) * sent
        assert instructions == pytest.approx(expected, rel=1e-3)
    assert "gzip" not in places(worked(tmp_path, [line("/b.png")], server=settings))
    assert "gzip" not in places(worked(tmp_path, [line("/a.html", ratio="4.00")], server="root /srv;"))


@pytest.mark.parametrize(("encoding", "number"), [("gzip", 1), ("br", 0), ("-", 0)])
def test_encodings(tmp_path: Path, encoding: str, number: int) -> None:
    """Without ratio, the encoding of a response tells whether it was compressed, and its size before is assumed."""
    conf = """http { log_format e '$request $status $body_bytes_sent $sent_http_content_encoding'; gzip on;
    access_log access.log e; server { listen 80; root /srv; } }"""
    log = tmp_path / "access.log"
    log.write_text(f"GET /a.html HTTP/1.1 200 5000 {encoding}\nGET /b.png HTTP/1.1 200 900000 -\n")
    ((_, cell),) = profile_of([log], conf).classes.items()
    assert (cell.requests, cell.compressed, cell.packed, cell.raw) == (2, number, 5_000 * number, 0)
    took = places(Work(profile_of([log], conf))).get("gzip", (None, 0))[1]
    assert took == pytest.approx(number * terms.gzip(1, 15_000, 5_000).instructions)


def test_listings(tmp_path: Path) -> None:
    """The listing of a folder takes what its names take; a file there, and a part of one, do not."""
    server = "root /srv; autoindex on;"
    small, large = (worked(tmp_path, [line("/d/", size=size)], server=server) for size in (1_000, 9_000))
    assert large.total.instructions - small.total.instructions == pytest.approx(8_000 * 23.4)
    packed = profile(tmp_path, [line("/d/", size=1_000, ratio="9.00")], server=server)
    ((_, cell),) = packed.classes.items()
    assert (cell.listings, cell.listed) == (1, 9_000)
    others = [line("/d/a", size=9_000), line("/d/", 304, size=9_000), line("/d/", 404, size=9_000)]
    assert all(cell.listings == 0 for cell in profile(tmp_path, others, server=server).classes.values())


@pytest.mark.parametrize(
    ("setting", "cost"),
    [
        ("", 0),
        ("proxy_buffering off;", 3 * 9_000 / 4_096),
        ("proxy_buffering off; proxy_buffer_size 8k;", 3 * 9_000 / 8_192),
        ("fastcgi_buffering off;", 0),
    ],
)
def test_pieces(tmp_path: Path, setting: str, cost: float) -> None:
    """Without buffering, each piece is compressed alone."""
    server = f"gzip on; location / {{ proxy_pass http://127.0.0.1:9; {setting} }}"
    lines = [line("/", size=9_250, ratio="3.00")]
    plain = worked(tmp_path, lines, server=server.replace(setting, "") if setting else server)
    more = worked(tmp_path, lines, server=server).total.instructions - plain.total.instructions
    assert more == pytest.approx(52_000 * cost)


@every_row(
    ("place", "cost"),
    [
        ("location = /auth { return 204; }", 0),
        ("location = /auth { internal; proxy_pass http://pool; }", 7_710),
        ("location = /auth { proxy_pass http://127.0.0.1:9; proxy_set_header Host $host; }", 7_710 + 1_930),
        ("location /auth/ { return 204; } location ~ ^/auth { proxy_pass http://pool; }", 7_710),
        ("location ^~ /au { proxy_pass http://pool; } location ~ ^/auth { return 204; }", 7_710),
        ("location /au { location /auth { proxy_pass http://pool; } }", 7_710),
        ("location /au { location /auth { proxy_pass http://pool; } } location ~ ^/auth { return 204; }", 0),
        ("location = /auth { proxy_pass http://pool; } if ($uri = /auth) { return 204; }", 0),
        ("location = /auth { fastcgi_pass 127.0.0.1:9; fastcgi_param A b; }", 7_270 + 495),
    ],
)
def test_subrequests_that_an_upstream_answers(tmp_path: Path, place: str, cost: float) -> None:
    """The location of the subrequest says what it takes; a rewrite comes before it."""
    http = 'upstream pool { server 127.0.0.1:81; keepalive 8; } proxy_http_version 1.1; proxy_set_header Connection "";'
    server = f"auth_request /auth; root /srv; location = /old {{ return 301 /new; }} {place}"
    lines = [line("/a.html", length=terms.BASE_LENGTH)]
    took = places(worked(tmp_path, lines, server=server, http=http))["auth_request"][1]
    assert took == pytest.approx(3_005 + cost)
    assert "auth_request" not in places(worked(tmp_path, [line("/old", 301)], server=server, http=http))


def test_handshakes_and_connections(tmp_path: Path) -> None:
    """The first request of a connection opens it, with a handshake, or with less if that resumes a session."""
    listen = "listen 443 ssl; ssl_certificate /c; ssl_certificate_key /k;"
    full = line("/", 204, number=1, scheme="https")
    resumed = line("/", 204, number=1, reused="r", scheme="https")
    later = line("/", 204, scheme="https")
    work = [
        worked(tmp_path, [first, later], listen=listen, server="return 204;").total.instructions
        for first in (full, resumed, later)
    ]
    assert work[0] > 3 * work[1] > 30 * work[2]


def test_what_settings_make_of_a_request(tmp_path: Path) -> None:
    """Each directive that makes nginx do something is named."""
    server = """
    add_header X-A 1; limit_req zone=z; auth_request /auth; root /srv; sendfile on; sub_filter a b;
    location / { try_files $uri =404; }
    location = /auth { internal; return 204; }
    location /app { proxy_pass http://127.0.0.1:81; }
    location /pool { proxy_pass http://pool; proxy_http_version 1.1; proxy_set_header Connection ""; }
    """
    http = """
    limit_req_zone $binary_remote_addr zone=z:1m rate=9r/s;
    upstream pool { server 127.0.0.1:81; keepalive 8; }
    """
    lines = [line("/a.html"), line("/app"), line("/pool")]
    works = [worked(tmp_path, [one], server=server, http=http) for one in lines]
    of_each = [{(cause, place and place.text.split()[0]) for cause, place, _ in work.by_cause} for work in works]
    settings = {("add_header", "add_header"), ("limits", "limit_req"), ("auth_request", "auth_request")}
    assert all(settings < found and ("access log", "access_log") in found for found in of_each)
    assert {("files", "location"), ("try_files", "try_files"), ("sub_filter", "sub_filter")} < of_each[0]
    fresh, kept = (places(work)["upstream"][1] for work in works[1:])
    assert fresh - kept == pytest.approx(1_930)  # a connection


def test_logs(tmp_path: Path) -> None:
    """A buffer, and no log, take less."""
    lines = [line("/", 204)]
    direct, buffered = (
        worked(tmp_path, lines, server="return 204;", buffer=buffer).total.nanoseconds for buffer in ("", "buffer=64k")
    )
    assert direct - buffered == 800


def test_the_share_of_a_core(tmp_path: Path) -> None:
    """It needs a minute of time; where its upper end is below 1 %, nothing is worth a change."""
    rules = "".join(f"rewrite ^/old/page-{number:05}$ /new permanent;\n" for number in range(4_000)) + "return 204;"
    short = Figures(profile(tmp_path, [line("/elsewhere/far/away", 204)], server=rules))
    assert short.of_nginx == "nginx itself takes about 3,200,000 instructions a request (estimated)."
    few = [line("/elsewhere/far/away", 204, minute=minute) for minute in (0, 1)]
    small = Figures(profile(tmp_path, few, server=rules))
    assert small.work.is_small
    assert small.of_nginx.endswith("nothing here is worth a change for CPU.")
    many = Figures(profile(tmp_path, few * 20_000, server=rules))
    assert not many.work.is_small
    assert many.of_nginx.endswith(" % of a processor core (estimated).")


def test_work_adds_up(tmp_path: Path) -> None:
    """Saved profiles keep all that the estimate needs."""
    settings = "gzip on; root /srv; rewrite ^/x$ /y;"
    lines = [line("/a.html", ratio="4.00"), line("/b.html", number=1), line("/c", 404)]
    whole = profile(tmp_path, lines, server=settings)
    parts = [profile(tmp_path, [one], server=settings) for one in lines]
    for number, part in enumerate(parts):
        (tmp_path / f"{number}.profile").write_bytes(save(part))
    first, *others = (load(str(tmp_path / f"{number}.profile")) for number in range(3))
    for other in others:
        first.add(other)
    assert Work(first).by_cause == Work(whole).by_cause
    assert Work(whole).total.instructions > 0


@pytest.mark.parametrize(
    ("nginx", "name", "request_id"),
    [
        ("nginx 1.18.0", "nginx 1.22.1, -O2", 6_684),
        ("nginx 1.28.0", "nginx 1.31.3, -O2", 6_684),
        ("nginx 1.31.3", "nginx 1.31.3, -O2", 394),
        ("nginx 1.28.0 -Os", "nginx 1.31.3, -Os", 921),
        ("nginx of a stranger", "nginx 1.31.3, -O2", 394),
    ],
)
def test_terms_are_of_the_nearest_build(nginx: str, name: str, request_id: int) -> None:
    """How nginx was compiled decides, and then its release; `$request_id` changed with 1.31.2."""
    found = terms.of(nginx)
    assert (found.name, found.request_id.instructions) == (name, request_id)


@given(st.floats(0, 32_768), st.floats(0, 32_768))
def test_longer_headers_take_more(one: float, other: float) -> None:
    """The cost grows with the length."""
    found = terms.of("nginx 1.31.3")
    short, long = (found.of_headers(size, terms.assumed_agent(size)).instructions for size in sorted((one, other)))
    assert short <= long


@every_row(
    ("agent", "scanned"),
    [
        (terms.BROWSER, terms.BROWSER_AGENT.scanned),
        ("curl/8", 6 * 6),
        ("-", 0),
        ("Mozilla/5.0 (iPhone; like Mac OS X) Gecko Safari/604.1", 4 * 54 + 49 + 34),
    ],
)
def test_names_of_clients(tmp_path: Path, agent: str, scanned: int) -> None:
    """nginx looks for the names of browsers in a User-Agent, which a log may have or lack."""
    combined = f'192.0.2.1 - - [27/Nov/2026:10:00:00 +0200] "GET / HTTP/1.1" 204 0 "-" "{agent}"\n'
    (tmp_path / "access.log").write_text(combined * 2)
    conf = "events { } http { access_log access.log; server { listen 80; return 204; } }"
    work = Work(profile_of([tmp_path / "access.log"], conf))
    (cell,) = work.profile.classes.values()
    assert (cell.agents, cell.named, cell.scanned) == (2, 0 if agent == "-" else 2 * len(agent), 2 * scanned)
    lacking = next(iter(profile(tmp_path, [line("/")], server="return 204;").classes.values()))
    assert (lacking.agents, lacking.named, lacking.scanned) == (0, 0, 0)
    assumed = terms.Agent(len(terms.BROWSER), terms.BROWSER_AGENT.scanned)
    assert terms.assumed_agent(terms.USUAL_LENGTH) == terms.BROWSER_AGENT == assumed


@every_row("changing", ["ssi on;", "sub_filter a b;"])
def test_gzip_of_bodies_that_change(tmp_path: Path, changing: str) -> None:
    """A filter before compression leaves no length, as FastCGI does."""
    lines = [line("/a.html", ratio="3.00")]
    alone, behind = (
        places(worked(tmp_path, lines, server=f"root /srv; gzip on; {one}"))["gzip"][1] for one in ("", changing)
    )
    assert behind > alone + 50_000


def test_gzip_of_unknown_length() -> None:
    """FastCGI states no length, so zlib clears a large window; of a long response it is large anyway."""
    found = terms.of("nginx 1.22.1")
    known, unknown = (found.of_gzip(6, 4_096, 1_300, has_length=known).instructions for known in (True, False))
    assert unknown - known == pytest.approx(48_000)
    assert found.of_gzip(6, 20_000, 5_000, has_length=True) == found.of_gzip(6, 20_000, 5_000, has_length=False)
