"""The witnesses of the rules about security, sent to the real nginx."""

from __future__ import annotations

import socket
import ssl
import subprocess
import warnings
from collections.abc import Mapping
from urllib.parse import urlsplit

import pytest

from nginxopt.errors import InputError
from nginxopt.lint import Diagnostic, Severity, Witness
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import diagnose, fixed
from tests.nginx.example import certificate
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

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


def request_of(witness: Witness) -> RequestBytes:
    """A witness as it is sent."""
    url = urlsplit(witness.url)
    target = witness.url.removeprefix(f"{url.scheme}://{url.netloc}")
    lines = [f"{witness.method} {target} HTTP/1.1", f"Host: {url.hostname}", *witness.headers, "Connection: close"]
    return RequestBytes("\r\n".join([*lines, "", ""]).encode(), alone=True)


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


def test_the_help_of_a_pattern_is_enough(each_binary: nginx.Binary) -> None:
    """What the help says of a capture that follows another keeps the file beside the folder in."""
    before = "location ~ ^/files/(.*)-v\\d+(.*)$ {\n    alias html/shop/files/$1$2;\n}\n"
    witness = witness_of("alias-traversal", before)
    assert answered(each_binary, before, witness).endswith(SECRET)
    [found] = diagnose("alias-traversal", before, context="server")
    word = found.finding.help.rpartition(" ")[2]
    after = before.replace("(.*)$", f"({word})$")
    assert after != before
    assert not diagnose("alias-traversal", after, context="server")
    assert SECRET not in answered(each_binary, after, witness)


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


SPLIT = {
    "Location": "return 302 https://b.test$uri;\n",
    "Location of a rewrite": "rewrite ^ https://b.test$uri redirect;\n",
    "a capture": "location ~ ^/user/([^/]*)$ {\n    return 302 /u/$1;\n}\n",
    "a header": "location / {\n    add_header X-Path $uri;\n    return 200 ok;\n}\n",
    "a variable": "location ~ ^/a/(?<rest>[^/]*)$ {\n    set $copy $rest;\n    return 302 /b/$copy;\n}\n",
}


@pytest.mark.parametrize("server", SPLIT.values(), ids=SPLIT)
def test_a_path_writes_headers(each_binary: nginx.Binary, server: str) -> None:
    """The witness of `response-splitting` gets a header that nginx was not to send."""
    witness = witness_of("response-splitting", server)
    assert b"\r\nX-Injected:1\r\n" in answered(each_binary, server, witness)
    after = fixed("response-splitting", server, context="server").decode()
    if after != server:
        assert b"\r\nX-Injected:1" not in answered(each_binary, after, witness)


def test_a_path_writes_headers_to_the_upstream(each_binary: nginx.Binary) -> None:
    """The upstream gets a header out of the path of the witness, or a request line that ends early: one of HTTP/0.9."""
    echo = b'server { listen unix:temp/echo; return 200 "[$server_protocol $http_x_injected]"; }'
    for location, got in (
        ("location / { proxy_pass http://unix:temp/echo:$uri; }", b"[ ]"),
        ("location / { proxy_set_header X-Path $uri; proxy_pass http://unix:temp/echo:/; }", b" 1]"),
    ):
        witness = witness_of("response-splitting", location)
        assert got in answered(each_binary, location, witness, http=echo)


@pytest.mark.parametrize(
    "server",
    [
        "location ~ ^/old/(.*)$ { return 301 /new/$1; }",
        "location ~ ^/item/([^/]*)$ { rewrite ^/item/([^/]*)$ /items/$1 permanent; }",
        "return 301 https://b.test$request_uri;",
    ],
)
def test_what_nginx_escapes_is_no_header(each_binary: nginx.Binary, server: str) -> None:
    """What looks the same and is not flagged sends no such header, for a line end in any part of the path."""
    assert not found("response-splitting", server)
    for path in ("/old/%0d%0aX-Injected:1", "/item/%0d%0aX-Injected:1", "/%0d%0aX-Injected:1"):
        assert b"\r\nX-Injected:1" not in answered(each_binary, server, Witness(f"http://a{path}", "nothing"))


ORIGINS = {
    "a map": (
        "http",
        "map $http_origin $allowed {{\n    {pattern} $http_origin;\n}}\n"
        "server {{\n    add_header Access-Control-Allow-Origin $allowed;\n    return 200 ok;\n}}\n",
        b"Access-Control-Allow-Origin: ",
    ),
    "a condition": (
        "server",
        'location / {{ if ($http_origin !~ "{bare}") {{ return 403; }} return 200 ok; }}',
        b" 200 ",
    ),
}
PATTERNS = (
    r"example\.com",
    r"^https://example\.com",
    r"^https://([^/]+)?example\.com$",
    r"^https?://www.example\.com$",
)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("context", "text", "shown"), ORIGINS.values(), ids=ORIGINS)
def test_a_foreign_origin_passes(
    each_binary: nginx.Binary, pattern: str, context: str, text: str, shown: bytes
) -> None:
    """nginx takes the origin of the witness of `origin-accepted`, which is not below the domain of the pattern."""
    config = text.format(pattern=f"~{pattern}", bare=pattern)
    witness = witness_of("origin-accepted", config, context)
    (header,) = witness.headers
    assert not header.endswith((".example.com", "//example.com"))
    http, server = config.partition("server {")[::2] if context == "http" else ("", config)
    server = server.rstrip().removesuffix("}") if context == "http" else server
    assert shown in answered(each_binary, server, witness, http=http.encode())


def test_every_origin_is_repeated(each_binary: nginx.Binary) -> None:
    """The response to the witness of `origin-accepted` allows its origin, with credentials."""
    server = (
        "add_header Access-Control-Allow-Origin $http_origin;\n"
        "add_header Access-Control-Allow-Credentials true;\nlocation / { return 200 ok; }\n"
    )
    answer = answered(each_binary, server, witness_of("origin-accepted", server))
    assert b"Access-Control-Allow-Origin: https://evil.test" in answer
    assert b"Access-Control-Allow-Credentials: true" in answer


TARGETS = (
    "location /fetch/ { proxy_pass http://$arg_host/; }",
    "location /fetch/ { proxy_pass $http_x_url; }",
    "location ~ ^/port/(\\d+)/(.*)$ { proxy_pass http://127.0.0.1:$1/$2; }",
    "location ~ ^/to/([^/]+)/ { set $target $1; proxy_pass http://$target/; }",
)


@pytest.mark.parametrize("server", TARGETS)
def test_the_client_chooses_the_server(each_binary: nginx.Binary, server: str) -> None:
    """The witness of `ssrf-target` reaches a server at a port of 127.0.0.1 that the configuration does not name."""
    witness = witness_of("ssrf-target", server)
    servers = [server.encode(), b'return 200 "an inner server";']
    with nginx.Instance(binary=each_binary, servers=servers) as instance, instance.client() as client:
        port = str(instance.ports[1])
        headers = tuple(header.replace("6379", port) for header in witness.headers)
        sent = Witness(witness.url.replace("6379", port).replace("localhost", "127.0.0.1"), "it", headers=headers)
        assert client.ask([request_of(sent)])[0].endswith(b"an inner server")


REPEATED = {
    "a location": "location ~ ^/(?:[a-z]+-?)+\\.html$ { return 204; }",
    "groups": "location ~ ^/((ab)+)+/test$ { return 204; }",
    "a rewrite": "location / { rewrite ^/(\\w+\\s?)*$ /index.php break; return 200 ok; }",
    "a header": "location / { if ($http_user_agent ~ ^(a+)+$) { return 403; } return 200 ok; }",
}


@pytest.mark.extended
@pytest.mark.parametrize("server", REPEATED.values(), ids=REPEATED)
def test_pcre_gives_up(each_binary: nginx.Binary, server: str) -> None:
    """nginx answers the witness of `redos`, which is short, with 500, as PCRE2 reaches its match limit."""
    witness = witness_of("redos", server)
    assert len(witness.url) + sum(map(len, witness.headers)) < 300
    with nginx.Instance(each_binary, servers=[server.encode()], log_level="error") as instance:
        with instance.client() as client:
            assert b" 500 " in client.ask([request_of(witness)])[0]
        gave_up = ("failed: -47", "failed: -8")  # the match limit of PCRE2, and of PCRE
        assert any(code in line for line in instance.error_log() for code in gave_up), instance.error_log()


def test_possessive_groups_do_not_give_up(each_binary: nginx.Binary) -> None:
    """The same request is answered once the group is possessive."""
    before = "location ~ ^/(?:[a-z]+-?)+\\.html$ { return 204; }"
    after = before.replace(")+", ")++")
    assert not found("redos", after)
    assert b" 404 " in answered(each_binary, after, witness_of("redos", before))


def test_php_is_asked_for_what_does_not_exist(each_binary: nginx.Binary) -> None:
    """The witness of `php-path-info` goes to PHP, which nobody runs here: 502; with the fix it is not asked: 404."""
    before = (
        "root html;\nlocation ~ \\.php$ {\n    fastcgi_pass unix:temp/none;\n"
        "    fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;\n}\n"
    )
    witness = witness_of("php-path-info", before)
    files = {"html/avatar.png": b"<?php"}
    assert b" 502 " in answered(each_binary, before, witness, files=files)
    after = fixed("php-path-info", before, context="server").decode()
    assert b" 404 " in answered(each_binary, after, witness, files=files)


def test_a_file_with_a_dot_is_served(each_binary: nginx.Binary) -> None:
    """The witness of `dotfiles-served` gets the settings of git, but not where a location denies them."""
    before = "root html;\n"
    files = {"html/.git/config": b"[remote]"}
    witness = witness_of("dotfiles-served", before)
    assert answered(each_binary, before, witness, files=files).endswith(b"[remote]")
    after = "root html;\nlocation ~ /\\.(?!well-known/) { deny all; }\n"
    assert not found("dotfiles-served", after)
    assert b" 403 " in answered(each_binary, after, witness, files=files)


def test_a_pattern_that_ends_behind_the_dot_name_denies_no_file_in_it(each_binary: nginx.Binary) -> None:
    """The file that `location-dot-name` names is sent, but not without `$`."""
    before = "root html;\nlocation ~ /(\\.ht|\\.git)$ { deny all; }\n"
    files = {"html/.htpasswd": b"[secret]"}
    asked = Witness("http://localhost/.htpasswd", "nginx sends .htpasswd")
    (finding,) = found("location-dot-name", before)
    assert "but not /.htpasswd" in finding.message
    assert answered(each_binary, before, asked, files=files).endswith(b"[secret]")
    after = before.replace("$", "")
    assert not found("location-dot-name", after)
    assert b" 403 " in answered(each_binary, after, asked, files=files)


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1.1"])
def test_old_protocols_are_spoken(each_binary: nginx.Binary, version: str) -> None:
    """nginx speaks a protocol that `weak-tls` flags, where its library may, and no longer once the fix is made."""
    before = f"ssl_protocols {version} TLSv1.2;\n"
    after = fixed("weak-tls", before, context="http", target="1.22.1").decode()
    assert after == "ssl_protocols TLSv1.2;\n"
    spoken = [_speaks(each_binary, text, version) for text in (before, after)]
    assert spoken == [True, False]


@pytest.mark.parametrize("version", ["TLSv1", "TLSv1.1"])
def test_openssl_3_speaks_old_protocols_at_level_0_only(each_binary: nginx.Binary, version: str) -> None:
    """At its default security level, OpenSSL 3.0 and later refuses what `ssl_protocols` enables."""
    built = subprocess.run([each_binary.path, "-V"], capture_output=True, check=True, timeout=PATIENCE).stderr
    if b"OpenSSL 3." not in built:
        pytest.skip("this nginx has another TLS library")
    spoken = [_speaks(each_binary, f"ssl_protocols {version} TLSv1.2;\n", version, ciphers) for ciphers in _LEVELS]
    assert spoken == [False, True]


_LEVELS = ("DEFAULT", "DEFAULT@SECLEVEL=0")


@pytest.mark.parametrize(
    ("settings", "taken", "severity"),
    [
        ("set_real_ip_from 0.0.0.0/0; real_ip_recursive on;", b"192.0.2.7", Severity.WARNING),
        ("set_real_ip_from 0.0.0.0/0;", b"198.51.100.1", Severity.INFO),
        ("set_real_ip_from 127.0.0.0/8; real_ip_recursive on;", b"198.51.100.1", None),
    ],
)
def test_clients_that_state_their_address(
    each_binary: nginx.Binary, settings: str, taken: bytes, severity: Severity | None
) -> None:
    """nginx takes the address that a client wrote before that of its proxy where `real-ip-from-all` warns."""
    server = f"{settings} real_ip_header X-Forwarded-For;\nlocation / {{ return 200 $remote_addr; }}"
    assert [diagnostic.severity for diagnostic in found("real-ip-from-all", server)] == ([severity] if severity else [])
    witness = Witness("http://localhost/", headers=("X-Forwarded-For: 192.0.2.7, 198.51.100.1",), shows="an address")
    assert answered(each_binary, server, witness, http=b"").endswith(taken)


@pytest.mark.parametrize("ciphers", ["RC4-SHA", "DES-CBC3-SHA", "RSA+3DES", "EXPORT", "LOW"])
def test_listed_ciphers_that_the_library_lacks(each_binary: nginx.Binary, ciphers: str) -> None:
    """`weak-tls` says of ciphers that this library has none of them only that they are listed."""
    (diagnostic,) = found("weak-tls", f"ssl_ciphers {ciphers};\n", "http")
    assert diagnostic.severity == Severity.INFO
    with pytest.raises(InputError, match="no cipher match"), _tls_server(each_binary, f"ssl_ciphers {ciphers};"):
        pass


@pytest.mark.parametrize(("ciphers", "is_taken"), [("aNULL", False), ("aNULL:@SECLEVEL=0", True)])
def test_anonymous_clients_need_level_0(each_binary: nginx.Binary, ciphers: str, *, is_taken: bool) -> None:
    """`weak-tls` warns of ciphers that nginx accepts, and only lists those that the security level forbids."""
    (diagnostic,) = found("weak-tls", f"ssl_ciphers {ciphers};\n", "http")
    assert (diagnostic.severity == Severity.WARNING) == is_taken
    context = _client("aNULL:@SECLEVEL=0")
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with _tls_server(each_binary, f"ssl_ciphers {ciphers};") as instance:
        assert _shakes_hands(instance, context) == is_taken


def _speaks(binary: nginx.Binary, http: str, version: str, ciphers: str = "DEFAULT@SECLEVEL=0") -> bool:
    """Whether a server with TLS takes a client that speaks one version only."""
    context = _client("DEFAULT@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that is what the test is about
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version.replace(".", "_")]
    with _tls_server(binary, f"{http}ssl_ciphers {ciphers};") as instance:
        return _shakes_hands(instance, context)


def _client(ciphers: str) -> ssl.SSLContext:
    """A client that trusts every certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers(ciphers)
    return context


def _tls_server(binary: nginx.Binary, http: str) -> nginx.Instance:
    """A server with TLS at the socket `tls`."""
    pair = "ssl_certificate cert.pem; ssl_certificate_key key.pem;"
    text = f"{http}\nserver {{ listen unix:tls ssl; {pair} return 200; }}"
    return nginx.Instance(binary, servers=[b""], http=text.encode(), files=certificate())


def _shakes_hands(instance: nginx.Instance, context: ssl.SSLContext) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(instance.prefix / "tls"))
        try:
            context.wrap_socket(connection).close()
        except ssl.SSLError:
            return False
        return True


def test_a_response_names_the_version(each_binary: nginx.Binary) -> None:
    """By default `Server` has the version, and no longer once the fix of `server-tokens` is made."""
    server = "location / { return 200 ok; }\n"
    witness = Witness("http://localhost/", "the version")
    version = b"Server: nginx/" + ".".join(map(str, each_binary.version)).encode()
    assert version in answered(each_binary, server, witness)
    whole = fixed("server-tokens", f"server {{\n{server}}}\n", context="http").decode()
    assert whole.startswith("server_tokens off;\n")
    assert version not in answered(each_binary, f"server_tokens off;\n{server}", witness)


def test_everybody_sees_the_names_of_files(each_binary: nginx.Binary) -> None:
    """A listing names a file that no page links to, none with a dot, and is a 403 with the fix of `autoindex-on`."""
    before = "location /files/ {\n    root html;\n    autoindex on;\n}\n"
    witness, files = (
        Witness("http://localhost/files/", "a listing"),
        {"html/files/backup.sql": b"data", "html/files/.env": b"data"},
    )
    listing = answered(each_binary, before, witness, files=files)
    assert b"backup.sql" in listing
    assert b".env" not in listing
    after = fixed("autoindex-on", before, context="server").decode()
    assert b" 403 " in answered(each_binary, after, witness, files=files)
