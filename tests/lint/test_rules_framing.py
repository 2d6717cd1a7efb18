"""`request-framing`: where it reports, how gravely, and what its fixes add. What nginx sends is in `tests/nginx`."""

from __future__ import annotations

from nginxopt.lint import Severity
from tests.lint.pools import OLD, PIVOT
from tests.lintcheck import diagnose, fixed
from tests.rows import every_row

APP = "upstream app { server 10.0.0.1:8080; keepalive 4; }\n"
KEPT = 'proxy_http_version 1.1; proxy_set_header Connection "";'
CLEARED = 'proxy_set_header Content-Length "";'
OFF = "proxy_pass_request_body off;"
PASS = "proxy_pass http://app;"


def at(lines: str, *, upstream: str = APP, path: str = "/", server: str = "") -> str:
    """A location that passes to the upstream, with some lines in it."""
    return f"{upstream} server {{ {server} location {path} {{ {PASS} {lines} }} }}"


def subrequests(lines: str, parent: str = "auth_request /sub;", server: str = KEPT) -> str:
    """A location with subrequests, and the location of these."""
    return f"{APP} server {{ {server} location / {{ {parent} {PASS} }} location = /sub {{ {PASS} {lines} }} }}"


# What is claimed: the text of http, the nginx, and how grave it is; None where nothing is reported.
CASES: dict[str, tuple[str, str, Severity | None]] = {
    "the defaults of an old nginx": (at(CLEARED), OLD, None),
    "the defaults of a new nginx": (at(CLEARED), PIVOT, Severity.ERROR),
    "HTTP/1.0 that is kept": (at(f"proxy_set_header Connection keep-alive; {CLEARED}"), OLD, Severity.ERROR),
    "HTTP/2": (at(f"proxy_http_version 2; {CLEARED}"), "1.31.3", None),
    "no body over HTTP/2": (at(f"proxy_http_version 2; {OFF}"), "1.31.3", None),
    "a map that closes most connections": (
        "map $http_upgrade $c { default upgrade; '' close; }"
        + at(f"proxy_http_version 1.1; proxy_set_header Connection $c; {CLEARED}"),
        OLD,
        None,
    ),
    "a length that nobody knows": (at(f"{KEPT} proxy_set_header Content-Length $arg_length;"), OLD, None),
    "two lengths": (at(f"{KEPT} {CLEARED} proxy_set_header Content-Length $content_length;"), OLD, None),
    "a body that may be empty": (at(f"{KEPT} {CLEARED} proxy_set_body $arg_body;"), OLD, None),
    "a body that is not empty": (at(f"{KEPT} {CLEARED} proxy_set_body a=$arg_a;"), OLD, Severity.ERROR),
    "the body of the client": (
        at(f"{KEPT} proxy_set_body $request_body; proxy_set_header Content-Length $content_length;"),
        OLD,
        None,
    ),
    "a missing include": (at(f"{KEPT} {CLEARED} include missing.conf;"), OLD, None),
    "a named location": (
        f"{APP} server {{ location / {{ try_files $uri @app; }} location @app {{ {PASS} {KEPT} {CLEARED} }} }}",
        OLD,
        Severity.ERROR,
    ),
    "a location that no client reaches": (at(f"internal; {KEPT} {CLEARED}"), OLD, None),
    "a location that refuses everybody": (at(f"deny all; {KEPT} {CLEARED}"), OLD, None),
    "a location for some addresses": (at(f"allow 10.0.0.0/8; deny all; {KEPT} {CLEARED}"), OLD, Severity.ERROR),
    "a location with passwords": (at(f"auth_basic a; auth_basic_user_file b; {KEPT} {CLEARED}"), OLD, Severity.ERROR),
    "a location for GET": (at(f"limit_except GET {{ deny all; }} {KEPT} {CLEARED}"), OLD, Severity.ERROR),
    "no body, and a pool": (at(f"{KEPT} {OFF}"), OLD, Severity.WARNING),
    "no body, and a pool by default": (at(OFF, upstream="upstream app { server a:1; }"), PIVOT, Severity.WARNING),
    "no body, and no pool": (at(f"{KEPT} {OFF}", upstream="upstream app { server a:1; }"), OLD, Severity.INFO),
    "no body, and a connection that closes": (at(OFF), OLD, Severity.INFO),
    "no body, a connection that closes, and only GET": (at(f"limit_except GET {{ deny all; }} {OFF}"), OLD, None),
    "no body, a pool, and only GET": (at(f"limit_except GET {{ deny all; }} {KEPT} {OFF}"), OLD, Severity.WARNING),
    "no body, and a length of zero": (at(f"{KEPT} {OFF} proxy_set_header Content-Length 0;"), OLD, None),
    "chunks that are read first": (at(f'{KEPT} proxy_set_header Transfer-Encoding "";'), OLD, None),
    "chunks over HTTP/1.0": (
        at(
            "proxy_request_buffering off; proxy_set_header Connection keep-alive;"
            ' proxy_set_header Transfer-Encoding "";'
        ),
        OLD,
        None,
    ),
    "auth_request": (subrequests("internal;"), OLD, Severity.WARNING),
    "auth_request to an internal location, which is an error page for clients": (
        subrequests("internal;", server=f"{KEPT} error_page 404 /missing;"),
        OLD,
        Severity.WARNING,
    ),
    "auth_request without a length, where clients get an error page": (
        subrequests(f"internal; {KEPT} {CLEARED} {OFF}", server=f"{KEPT} error_page 404 /missing;"),
        OLD,
        None,
    ),
    "auth_request by default": (subrequests("internal;", server=""), PIVOT, Severity.WARNING),
    "auth_request without a pool": (subrequests("internal;", server=""), OLD, None),
    "auth_request of a server": (
        subrequests("internal;", parent="", server=f"{KEPT} auth_request /sub;"),
        OLD,
        Severity.WARNING,
    ),
    "auth_request for some addresses": (
        subrequests("internal;", parent="allow 10.0.0.0/8; deny all; auth_request /sub;"),
        OLD,
        Severity.WARNING,
    ),
    "auth_request or an address": (
        subrequests("internal;", parent="satisfy any; allow 10.0.0.0/8; deny all; auth_request /sub;"),
        OLD,
        None,
    ),
    "auth_request that is never made": (subrequests("internal;", parent="auth_request /sub; return 204;"), OLD, None),
    "auth_request of a variable": (subrequests("internal;", parent="auth_request /s$arg_a;"), OLD, None),
    "auth_request of the location of clients": (
        subrequests("internal;", parent="auth_request /other;"),
        OLD,
        Severity.WARNING,
    ),
    "auth_request that is answered here": (subrequests("internal; return 204;"), OLD, None),
    "auth_request without a length": (subrequests(f"internal; {KEPT} {CLEARED}"), OLD, None),
    "auth_request that clients reach": (subrequests(f"{KEPT} {CLEARED}"), OLD, Severity.ERROR),
    "mirror": (subrequests("internal;", parent="mirror /sub;"), OLD, None),
    "mirror without bodies": (
        subrequests("internal;", parent="mirror /sub; mirror_request_body off;"),
        OLD,
        Severity.WARNING,
    ),
    "mirror without a length": (subrequests(f"internal; {KEPT} {CLEARED}", parent="mirror /sub;"), OLD, Severity.ERROR),
}


@every_row(("text", "target", "severity"), CASES.values(), ids=CASES)
def test_how_grave_it_is(text: str, target: str, severity: Severity | None) -> None:
    """The rule reports what is certain, and how grave it is depends on what becomes of the connection."""
    found = diagnose("request-framing", text, context="http", target=target)
    assert {diagnostic.severity for diagnostic in found} == ({severity} - {None})


# The lines of a server before and after the fix; None where there is none.
FIXES: dict[str, tuple[str, str | None]] = {
    "no body": (f"location / {{ {PASS} {KEPT} {CLEARED} }}", f"location / {{ {PASS} {OFF} {KEPT} {CLEARED} }}"),
    "a body that is passed on by intent": (
        f"location / {{ {PASS} {KEPT} {CLEARED} proxy_pass_request_body on; }}",
        None,
    ),
    "no length": (f"location / {{ {PASS} {KEPT} {OFF} }}", f"location / {{ {PASS} {KEPT} {CLEARED} {OFF} }}"),
    "headers that would be lost": (
        f"proxy_set_header Host $host; {KEPT} location / {{ {PASS} {OFF} }}",
        f"proxy_set_header Host $host; {KEPT} "
        f'location / {{ {PASS} proxy_set_header Host $host; proxy_set_header Connection ""; {CLEARED} {OFF} }}',
    ),
    "a wrong length": (
        f"location / {{ {PASS} {KEPT} proxy_set_header Content-Length 0; }}",
        f"location / {{ {PASS} {KEPT} }}",
    ),
    "a wrong length that is inherited": (
        f"{KEPT} proxy_set_header Content-Length 0; location / {{ {PASS} }}",
        None,
    ),
    "a wrong length in the place of inherited headers": (
        'proxy_set_header Host $host; proxy_set_header Connection "";'
        f" location / {{ {PASS} proxy_http_version 1.1; proxy_set_header Content-Length 0; }}",
        None,
    ),
    "a block that would inherit it": (
        f"location / {{ {PASS} {KEPT} {CLEARED} location /a {{ {PASS} proxy_http_version 1.0; }} }}",
        None,
    ),
    "a block that is fixed as well": (
        f"location / {{ {PASS} {KEPT} {CLEARED} location /a {{ {PASS} }} }}",
        f"location / {{ {PASS} {OFF} {KEPT} {CLEARED} location /a {{ {PASS} {OFF} }} }}",
    ),
    "a pass in an if": (
        f"location / {{ {KEPT} {CLEARED} if ($request_method = PUT) {{ {PASS} }} }}",
        None,
    ),
    "a subrequest": (
        f"{KEPT} location / {{ auth_request /sub; {PASS} }} location = /sub {{ internal; {PASS} }}",
        f"{KEPT} location / {{ auth_request /sub; {PASS} }} "
        f'location = /sub {{ internal; {PASS} {OFF} proxy_set_header Connection ""; {CLEARED} }}',
    ),
    "a subrequest to a location for clients": (
        f"{KEPT} location / {{ auth_request /sub; {PASS} }} location = /sub {{ {PASS} }}",
        None,
    ),
}


@every_row(("before", "after"), FIXES.values(), ids=FIXES)
def test_what_a_fix_adds(before: str, after: str | None) -> None:
    """A fix keeps all other headers, and changes no other request; without one, the help says what to do."""
    text = f"{APP} server {{ {before} }}"
    expected = text if after is None else f"{APP} server {{ {after} }}"
    result = fixed("request-framing", text, context="http", target=PIVOT).decode()
    assert result.split() == expected.split()
    found = diagnose("request-framing", text, context="http", target=PIVOT)
    assert found
    assert any(diagnostic.fix for diagnostic in found) is (after is not None)
    assert all(bool(diagnostic.fix) is not bool(diagnostic.finding.help) for diagnostic in found)


def test_all_locations_that_inherit_a_header() -> None:
    """A header of the server is one finding, whose fix changes each location that passes requests on with it."""
    server = f"{KEPT} {CLEARED} location /a {{ {PASS} }} location /b {{ {PASS} }}"
    (diagnostic,) = diagnose("request-framing", f"{APP} server {{ {server} }}", context="http", target=OLD)
    assert diagnostic.fix is not None
    assert len(diagnostic.fix.changes) == 2
