"""The witnesses of the rules about security, sent to the real nginx."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from nginxopt.lint import Diagnostic, Witness
from nginxopt.system import nginx
from nginxopt.system.http import Request
from tests.lintcheck import diagnose, fixed

SECRET = b"not to be read"
FILES = {"html/shop/files/a.txt": b"a file", "html/shop/secret": SECRET}
ECHO = b'server { listen unix:temp/echo; location / { return 200 "[$request_method $request_uri]"; } }'
"""An upstream that answers with what it is asked."""


def witness_of(rule: str, text: str, context: str = "server", target: str = "1.22.1") -> Witness:
    """The witness of the only finding of a rule."""
    (finding,) = found(rule, text, context, target)
    assert finding.finding.witness is not None
    return finding.finding.witness


def found(rule: str, text: str, context: str = "server", target: str = "1.22.1") -> tuple[Diagnostic, ...]:
    """What a rule finds in a text."""
    return diagnose(rule, text, context=context, target=target)


def request_of(witness: Witness) -> Request:
    """A witness as it is sent."""
    url = urlsplit(witness.url)
    target = witness.url.removeprefix(f"{url.scheme}://{url.netloc}")
    lines = [f"{witness.method} {target} HTTP/1.1", f"Host: {url.hostname}", *witness.headers, "Connection: close"]
    return Request("\r\n".join([*lines, "", ""]).encode(), alone=True)


def answered(
    binary: nginx.Binary,
    server: str,
    witness: Witness,
    *,
    http: bytes = ECHO,
    files: Mapping[str, bytes] = FILES,
) -> bytes:
    """The answer of a server to a witness."""
    with (
        nginx.Instance(binary, servers=[server.encode()], http=http, files=files) as instance,
        instance.client() as client,
    ):
        return client.ask([request_of(witness)])[0]


def test_an_alias_lets_a_file_beside_its_folder_out(each_binary: nginx.Binary) -> None:
    """The witness of `alias-traversal` gets a file beside the folder, and no longer once the location has its slash."""
    for before in (
        "location /files {\n    alias html/shop/files/;\n}\n",
        "location ~ ^/files(.*)$ {\n    alias html/shop/files/$1;\n}\n",
    ):
        witness = witness_of("alias-traversal", before)
        assert witness.url.endswith("/files../secret")
        assert answered(each_binary, before, witness).endswith(SECRET)
        after = fixed("alias-traversal", before, context="server").decode()
        if after != before:
            assert SECRET not in answered(each_binary, after, witness)
    assert after == before, "a pattern has no fix"


def test_an_upstream_is_asked_for_what_is_above_its_path(each_binary: nginx.Binary) -> None:
    """The witness of `proxy-pass-traversal` reaches the upstream with `..`, and no longer once the fix is made."""
    before = "location /api {\n    proxy_pass http://unix:temp/echo:/public/;\n}\n"
    witness = witness_of("proxy-pass-traversal", before)
    assert answered(each_binary, before, witness).endswith(b"[GET /public/../secret]")
    after = fixed("proxy-pass-traversal", before, context="server").decode()
    assert b" 404 " in answered(each_binary, after, witness)


def test_a_location_drops_the_headers_of_its_server(each_binary: nginx.Binary) -> None:
    """A response to the witness of `headers-lost` lacks the header, and has it once the fix is made."""
    before = (
        "add_header X-Frame-Options SAMEORIGIN always;\n"
        "location /account/ {\n    add_header Cache-Control no-cache;\n    proxy_pass http://unix:temp/echo:;\n}\n"
    )
    witness = witness_of("headers-lost", before)
    assert b"X-Frame-Options" not in answered(each_binary, before, witness)
    after = fixed("headers-lost", before, context="server").decode()
    assert b"X-Frame-Options: SAMEORIGIN" in answered(each_binary, after, witness)


def test_an_upstream_gets_what_the_client_made_up(each_binary: nginx.Binary) -> None:
    """The witness of `proxy-headers-lost` has its own X-Real-IP, which the upstream gets until the fix is made."""
    before = (
        "proxy_set_header X-Real-IP $remote_addr;\n"
        "location /api/ {\n    proxy_set_header X-Id 1;\n    proxy_pass http://unix:temp/echo:;\n}\n"
    )
    echo = b'server { listen unix:temp/echo; return 200 "[$http_x_real_ip]"; }'
    witness = witness_of("proxy-headers-lost", before)
    assert answered(each_binary, before, witness, http=echo).endswith(b"[192.0.2.1]")
    after = fixed("proxy-headers-lost", before, context="server").decode()
    assert answered(each_binary, after, witness, http=echo).endswith(b"[127.0.0.1]")


def test_addresses_that_are_not_listed_are_allowed(each_binary: nginx.Binary) -> None:
    """127.0.0.1 is not in the list of `allow-without-deny`, and is let in until the fix is made."""
    for server in ("", "deny all;\n"):
        before = f"{server}location /admin/ {{\n    allow 10.0.0.0/8;\n    proxy_pass http://unix:temp/echo:;\n}}\n"
        witness = witness_of("allow-without-deny", before)
        assert b" 200 OK" in answered(each_binary, before, witness)
        after = fixed("allow-without-deny", before, context="server").decode()
        assert b" 403 " in answered(each_binary, after, witness)


def test_return_answers_those_that_are_denied(each_binary: nginx.Binary) -> None:
    """nginx answers the witness of `access-bypassed` although the location denies 127.0.0.1."""
    for answer, status in (('return 200 "release 7.1"', b" 200 "), ("return 302 http://b.test/", b" 302 ")):
        location = f"location /status {{ allow 10.0.0.0/8; deny all; {answer}; }}"
        assert status in answered(each_binary, location, witness_of("access-bypassed", location))
    silent = "location /status { deny all; try_files /x =404; }"
    assert not found("access-bypassed", silent)
    assert b" 403 " in answered(each_binary, silent, witness_of("access-bypassed", location))


def test_everybody_gets_the_status_page(binary: nginx.Binary) -> None:
    """nginx sends its status to the witness of `status-exposed`; with the fix for this machine only, it still does."""
    before = "location = /nginx_status {\n    stub_status;\n}\n"
    witness = witness_of("status-exposed", before)
    assert b"Active connections" in answered(binary, before, witness)
    after = fixed("status-exposed", before, context="server").decode()
    assert b"Active connections" in answered(binary, after, witness)
    assert b" 403 " in answered(binary, after.replace("127.0.0.1", "10.0.0.1"), witness)
