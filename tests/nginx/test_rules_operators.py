"""What the rules about common mistakes of operators say, on the real nginx: before and after their fixes."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence

import pytest

from nginxopt.errors import InputError
from nginxopt.lint import Witness
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import fixed
from tests.nginx.example import certificate
from tests.nginx.test_rules_security import ECHO, answered, found, request_of, witness_of
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

CACHE = "proxy_cache_path temp/cache keys_zone=pages:1m;\n"


def after(rule: str, text: str, context: str = "server", target: str = "1.22.1") -> str:
    """A text once the fixes of a rule are made, which change it."""
    result = fixed(rule, text, context=context, target=target).decode()
    assert result != text
    return result


def get(path: str = "/", *headers: str, host: str = "a.test") -> RequestBytes:
    """A request on a connection of its own."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", *headers, "Connection: close", "", ""]
    return RequestBytes("\r\n".join(lines).encode(), alone=True)


def answers(binary: nginx.Binary, server: str, requests: Sequence[RequestBytes], http: str = "") -> list[bytes]:
    """The answers of a server to requests, one after the other."""
    with nginx.Instance(binary, servers=[server.encode()], http=http.encode()) as instance:
        collected = []
        for request in requests:
            with instance.client() as client:
                collected += client.ask([request])
        return collected


def answer(binary: nginx.Binary, server: str, request: RequestBytes, http: str = "") -> bytes:
    """The answer of a server to one request."""
    return answers(binary, server, [request], http)[0]


EXPOSED = {
    "a root": "root /;\n",
    "an alias": "location /files/ {\n    alias /;\n}\n",
    "an alias with a dot": "location /files {\n    alias /.;\n}\n",
    "a root above": "root /etc/nginx/..;\nlocation / {\n    try_files $uri =404;\n}\n",
}


@pytest.mark.parametrize("server", EXPOSED.values(), ids=EXPOSED)
def test_a_root_serves_what_is_no_site(each_binary: nginx.Binary, server: str) -> None:
    """The witness of `root-exposed` gets a file of the system."""
    witness = witness_of("root-exposed", server)
    assert b"root:" in answered(each_binary, server, witness)


def test_a_root_in_a_location_serves_its_folder(each_binary: nginx.Binary) -> None:
    """`root /` in a location for a folder is silent: no request leads elsewhere."""
    server = "location /usr/share/ {\n    root /;\n}\n"
    assert not found("root-exposed", server)
    assert b"root:" not in answer(each_binary, server, get("/usr/share/../../etc/passwd"))


@pytest.mark.parametrize("statement", ["rewrite ^ www.b.test/x permanent;\n", "return 302 $host/x;\n"])
def test_a_target_without_a_scheme_is_sent_as_it_is(each_binary: nginx.Binary, statement: str) -> None:
    """nginx puts no scheme before what `redirect-without-scheme` flags, and a browser takes it for a path."""
    sent = answer(each_binary, statement, get())
    assert b"\r\nLocation: www.b.test/x\r\n" in sent or b"\r\nLocation: a.test/x\r\n" in sent
    assert b"\r\nLocation: http://" in answer(each_binary, after("redirect-without-scheme", statement), get())


def test_nginx_does_not_start_without_a_name(each_binary: nginx.Binary) -> None:
    """nginx stops if it cannot resolve what `listen-host-name` flags."""
    http = "server {\n    listen nowhere.invalid:80;\n}\n"
    assert len(found("listen-host-name", http, "http")) == 1
    with pytest.raises(InputError, match="host not found"), nginx.Instance(each_binary, http=http.encode()):
        pass


def test_a_fallback_leads_to_itself(each_binary: nginx.Binary) -> None:
    """The witness of `try-files-loop` is answered with 500, and with 404 once the fix is made."""
    server = "root html;\nlocation / {\n    try_files $uri $uri/;\n}\n"
    witness = witness_of("try-files-loop", server)
    assert b" 500 " in answered(each_binary, server, witness)
    assert b" 404 " in answered(each_binary, after("try-files-loop", server), witness)


PASSES = ("location /a { proxy_pass http://localhost:1; }\n", "location /b { proxy_pass http://localhost:1$uri; }\n")


def test_a_name_without_a_variable_is_an_upstream(each_binary: nginx.Binary) -> None:
    """nginx knows the addresses of a name that another `proxy_pass` has: it needs no resolver, and nothing is found."""
    for server, is_missing in (("".join(PASSES), False), (PASSES[1], True)):
        assert len(found("resolver-missing", f"server {{\nlisten 80;\n{server}}}\n", "http")) == is_missing
        instance = nginx.Instance(each_binary, servers=[server.encode()], log_level="error")
        with instance, instance.client() as client:
            client.ask([get("/b")])
            assert any("no resolver defined" in line for line in instance.error_log()) is is_missing


SWALLOWING = {
    "a rewrite": "rewrite ^(.*)$ https://b.test$1 permanent;\n",
    "a condition": "if ($scheme = http) {\n    return 301 https://b.test$request_uri;\n}\n",
}


@pytest.mark.parametrize("statement", SWALLOWING.values(), ids=SWALLOWING)
def test_a_redirect_takes_the_challenge(each_binary: nginx.Binary, statement: str) -> None:
    """The witness of `acme-swallowed` is redirected; in a location for all else, the statement does not take it."""
    challenge = "location /.well-known/acme-challenge/ {\n    return 200 token;\n}\n"
    witness = witness_of("acme-swallowed", statement + challenge)
    assert b" 301 " in answered(each_binary, statement + challenge, witness)
    moved = f"location / {{\n{statement}}}\n{challenge}"
    assert not found("acme-swallowed", moved)
    assert answered(each_binary, moved, witness).endswith(b"token")


def test_a_client_chooses_the_host(each_binary: nginx.Binary) -> None:
    """The upstream gets a foreign Host of a request line with another host, but not once `host-spoofed` is fixed."""
    server = "location / {\n    proxy_set_header Host $http_host;\n    proxy_pass http://unix:temp/echo:;\n}\n"
    echo = 'server { listen unix:temp/echo; location / { return 200 "[$http_host]"; } }'
    request = RequestBytes(b"GET http://a.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n", alone=True)
    assert answer(each_binary, server, request, echo).endswith(b"[evil.test]")
    assert answer(each_binary, after("host-spoofed", server), request, echo).endswith(b"[a.test]")


def test_a_request_without_a_referrer_passes(each_binary: nginx.Binary) -> None:
    """Nobody needs a referrer where `referrer-absent-accepted` finds something."""
    check = "    valid_referers none server_names;\n    if ($invalid_referer) {\n        return 403;\n    }\n"
    server = f"location / {{\n{check}    return 200 ok;\n}}\n"
    assert b" 200 " in answer(each_binary, server, get())
    assert b" 403 " in answer(each_binary, after("referrer-absent-accepted", server), get())


def test_a_header_has_line_ends(each_binary: nginx.Binary) -> None:
    """nginx sends the line ends of a value that `header-multiline` flags."""
    server = "add_header Content-Security-Policy \"default-src 'self';\n    img-src *\" always;\n"
    assert b"default-src 'self';\n    img-src *\r\n" in answer(each_binary, server, get())
    assert b"default-src 'self'; img-src *\r\n" in answer(each_binary, after("header-multiline", server), get())


def test_content_type_is_sent_twice(each_binary: nginx.Binary) -> None:
    """A response has two types, and one once `content-type-added` is fixed."""
    server = "location / {\n    add_header Content-Type application/json;\n    return 200 ok;\n}\n"
    assert answer(each_binary, server, get()).count(b"\r\nContent-Type: ") == 2
    once = answer(each_binary, after("content-type-added", server), get())
    assert once.count(b"\r\nContent-Type: application/json") == once.count(b"\r\nContent-Type: ") == 1


LISTS = {
    "a flag": ("map $remote_addr $denied {{ {default} 192.0.2.1 0; }}", "$denied"),
    "a comparison": ("geo $allowed {{ {default} 192.0.2.1 1; }}", "$allowed = 0"),
}
REFUSED = {"$denied": "default 1;", "$allowed = 0": "default 0;"}


@pytest.mark.parametrize(("table", "condition"), LISTS.values(), ids=LISTS)
def test_a_list_without_default_refuses_nobody(each_binary: nginx.Binary, table: str, condition: str) -> None:
    """A client that is not in the list of `map-without-default` passes; with a default it is refused."""
    server = f"if ({condition}) {{ return 403; }}\nlocation / {{ return 200 ok; }}\n"
    for default, status, number in (("", b" 200 ", 1), (REFUSED[condition], b" 403 ", 0)):
        http = table.format(default=default)
        assert len(found("map-without-default", f"{http}\nserver {{\n{server}}}\n", "http")) == number
        assert status in answer(each_binary, server, get(), http)


def test_captures_of_a_pattern_that_did_not_match(each_binary: nginx.Binary) -> None:
    """The `$1` that `capture-negated` flags is empty."""
    server = "location / {\n    if ($uri !~ ^/([a-z]+)/) {\n        return 200 [$1];\n    }\n}\n"
    assert len(found("capture-negated", server)) == 1
    assert answer(each_binary, server, get("/7/x")).endswith(b"[]")


def test_a_pattern_matches_in_the_middle(each_binary: nginx.Binary) -> None:
    """The URI that `location-unanchored` names comes to the location, as the image of a visitor does."""
    server = "location ~ \\.php {\n    proxy_pass http://unix:temp/echo:;\n}\n"
    (diagnostic,) = found("location-unanchored", server)
    uri = diagnostic.message.rpartition(" ")[2]
    for path in (uri, "/upload/a.php.jpg"):
        assert f"[GET {path}]".encode() in answer(each_binary, server, get(path), ECHO.decode())


NORMALIZED = {
    "a variable": "location / { proxy_pass http://unix:temp/echo:$uri; }",
    "a capture": "location ~ ^/img/(.*)$ { proxy_pass http://unix:temp/echo:/$1; }",
    "a raw path": "location /b { rewrite ^ $request_uri break; proxy_pass http://unix:temp/echo:; }",
    "a missing slash": "location /api { proxy_pass http://unix:temp/echo:/; }",
    "a missing slash behind": "location /api/ { proxy_pass http://unix:temp/echo:/v1; }",
}


@pytest.mark.parametrize("server", NORMALIZED.values(), ids=NORMALIZED)
def test_an_upstream_gets_another_path(each_binary: nginx.Binary, server: str) -> None:
    """The upstream gets what the witness of `proxy-pass-normalized` says."""
    witness = witness_of("proxy-pass-normalized", server)
    got = witness.shows.removeprefix("the upstream gets ")
    assert got not in witness.url
    assert answered(each_binary, server, witness).endswith(f"[GET {got}]".encode())


def test_a_rewrite_leads_to_its_location(each_binary: nginx.Binary) -> None:
    """The witness of `rewrite-cycle` is answered with 500, and comes to the upstream without the rewrite."""
    location = "location /b/ {{ {}proxy_pass http://unix:temp/echo:; }}"
    server = location.format("rewrite ^ $request_uri; ")
    witness = witness_of("rewrite-cycle", server)
    assert b" 500 " in answered(each_binary, server, witness)
    assert b"[GET /b/" in answered(each_binary, location.format(""), witness)


def test_the_last_condition_has_the_headers(each_binary: nginx.Binary) -> None:
    """Of two conditions that hold, the header of the first is lost, as `if-headers-lost` says."""
    conditions = "if ($arg_a) { add_header X-A 1; } if ($arg_b) { add_header X-B 1; }"
    server = f"location / {{ {conditions} proxy_pass http://unix:temp/echo:; }}"
    assert len(found("if-headers-lost", server)) == 1
    sent = answer(each_binary, server, get("/?a=1&b=1"), ECHO.decode())
    assert (b"X-A" in sent, b"X-B" in sent) == (False, True)


def test_a_pattern_accepts_more_than_its_domain(each_binary: nginx.Binary) -> None:
    """nginx takes the referrer that `domain-pattern-loose` names."""
    server = "if ($http_referer !~ ^https://example.com/) { return 403; }\nlocation / { return 200 ok; }\n"
    (diagnostic,) = found("domain-pattern-loose", server)
    accepted = diagnostic.message.split("accepts ")[1].split(",")[0]
    assert accepted != "https://example.com/"
    assert b" 200 " in answer(each_binary, server, get("/", f"Referer: {accepted}"))


def test_nobody_sends_a_referrer(each_binary: nginx.Binary) -> None:
    """The variable that `referrer-misspelled` flags is empty, and has the header after the fix."""
    server = "location / {\n    return 200 [$http_referrer];\n}\n"
    request = get("/", "Referer: http://b.test/")
    assert answer(each_binary, server, request).endswith(b"[]")
    assert answer(each_binary, after("referrer-misspelled", server), request).endswith(b"[http://b.test/]")


@pytest.mark.parametrize(
    "statements",
    ["proxy_pass http://up.invalid$request_uri;", "set $up up.invalid;\n    proxy_pass http://$up;"],
)
def test_a_name_without_a_resolver(each_binary: nginx.Binary, statements: str) -> None:
    """nginx answers 502 where `resolver-missing` finds something, and not with an upstream of that name."""
    server = f"location / {{\n    {statements}\n}}\n"
    upstream = "upstream up.invalid {\n    server unix:temp/echo;\n}\n"
    for http, number, status in (("", 1, b" 502 "), (upstream, 0, b" 200 ")):
        whole = f"{http}server {{\nlisten 80;\n{server}}}\n"
        assert len(found("resolver-missing", whole, "http")) == number
        assert status in answer(each_binary, server, get(), http + ECHO.decode())


def test_a_list_replaces_another(each_binary: nginx.Binary) -> None:
    """A response lacks the header that `list-replaced` names."""
    server = "add_header X-A 1;\nlocation /b/ {\n    add_header X-B 1;\n    return 200 ok;\n}\n"
    assert len(found("list-replaced", server)) == 1
    assert b"X-A" not in answer(each_binary, server, get("/b/"))


COUNTER = 'server { listen unix:temp/echo; location / { add_header Set-Cookie "id=$connection"; %s } }'
"""An upstream that gives each visitor a session."""


def cached(settings: str) -> str:
    """A location with a cache."""
    return f"location / {{\n    proxy_cache pages;\n    {settings}\n    proxy_pass http://unix:temp/echo:/;\n}}\n"


def test_visitors_get_the_cookie_of_another(each_binary: nginx.Binary) -> None:
    """The second visitor has the session of the first where `cache-ignores-cookies` warns, and none after the fix."""
    server = cached("proxy_cache_valid 1h;\n    proxy_ignore_headers Set-Cookie;")
    http = CACHE + COUNTER % "return 200 ok;"
    first, second = answers(each_binary, server, [get(), get()], http)
    assert cookie(first) == cookie(second) != b""
    repaired = after("cache-ignores-cookies", f"{CACHE}server {{\n{server}}}\n", "http")
    inside = repaired.partition("server {")[2].rstrip().removesuffix("}")
    assert [cookie(one) for one in answers(each_binary, inside, [get(), get()], http)] == [b"", b""]
    apart = answers(each_binary, cached("proxy_cache_valid 1h;"), [get(), get()], http)
    assert cookie(apart[0]) != cookie(apart[1])


def cookie(response: bytes) -> bytes:
    """The cookie of a response; empty without one."""
    return response.partition(b"Set-Cookie: ")[2].partition(b"\r\n")[0]


def test_errors_stay_in_the_cache(each_binary: nginx.Binary) -> None:
    """A 500 of the upstream is served from the cache where `cache-errors-long` speaks, and not after the fix."""
    server = cached("proxy_cache_valid any 1h; add_header X-Cache $upstream_cache_status always;")
    http = CACHE + "server { listen unix:temp/echo; location / { return 500; } }"
    assert b"X-Cache: HIT" in answers(each_binary, server, [get(), get()], http)[1]
    repaired = after("cache-errors-long", f"{CACHE}server {{\n{server}}}\n", "http")
    inside = repaired.partition("server {")[2].rstrip().removesuffix("}")
    assert b"X-Cache: MISS" in answers(each_binary, inside, [get(), get()], http)[1]


SITES = (
    "{key}proxy_cache pages;\nproxy_cache_valid 1h;\nproxy_set_header Host $host;\n"
    "server {{ listen unix:temp/a; server_name a.test; location / {{ proxy_pass http://unix:temp/echo:; }} }}\n"
    "server {{ listen unix:temp/a; server_name b.test; location / {{ proxy_pass http://unix:temp/echo:; }} }}\n"
)


@pytest.mark.parametrize(("key", "pages"), [("", [b"[a.test]"] * 2), ("$host$uri", [b"[a.test]", b"[b.test]"])])
def test_a_site_gets_the_page_of_another(each_binary: nginx.Binary, key: str, pages: list[bytes]) -> None:
    """The second site has the page of the first where `cache-key-without-host` warns."""
    http = CACHE + SITES.format(key=f"proxy_cache_key {key};\n" if key else "")
    assert len(found("cache-key-without-host", http, "http")) == (pages[0] == pages[1])
    echo = 'server { listen unix:temp/echo; location / { return 200 "[$host]"; } }'
    server = "location / { proxy_pass http://unix:temp/a:; proxy_set_header Host $host; proxy_cache off; }"
    got = answers(each_binary, server, [get(host="a.test"), get(host="b.test")], http + echo)
    assert [page[-8:] for page in got] == pages


def test_a_client_is_never_limited(each_binary: nginx.Binary) -> None:
    """A client that makes up addresses passes where `limit-key-forged` warns, and is limited after the fix."""
    zone = "limit_req_zone $http_x_forwarded_for zone=perip:1m rate=1r/m;\n"
    server = "limit_req zone=perip;\nlocation / { return 200 ok; }\nlocation /x { root html; }\n"
    requests = [get("/x", f"X-Forwarded-For: 192.0.2.{number}") for number in range(3)]
    assert all(b" 404 " in one for one in answers(each_binary, server, requests, zone))
    limited = answers(each_binary, server, requests, after("limit-key-forged", zone, "http"))
    assert b" 503 " in limited[-1]


def test_grpc_clients_get_http_1(each_binary: nginx.Binary) -> None:
    """A connection that begins as gRPC clients begin is answered in HTTP/1.1, and in HTTP/2 after the fix."""
    http = "server {\n    listen 127.0.0.1:50051;\n    location / {\n        grpc_pass unix:temp/none;\n    }\n}\n"
    for text, is_http2 in ((http, False), (after("grpc-without-http2", http, "http"), True)):
        private = text.replace("127.0.0.1:50051", "unix:temp/grpc").encode()
        with nginx.Instance(each_binary, http=private) as instance, socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(str(instance.prefix / "temp" / "grpc"))
            client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000"))
            assert (client.recv(9)[3:4] == b"\x04") is is_http2  # the type of a SETTINGS frame


PAIR = "ssl_certificate cert.pem;\nssl_certificate_key key.pem;\n"


def test_a_certificate_without_tls(each_binary: nginx.Binary) -> None:
    """The server that `listen-443-plain` flags knows no handshake, and does after the fix."""
    http = f"server {{\n    listen 203.0.113.1:443;\n    {PAIR}}}\n"
    for text, is_tls in ((http, False), (after("listen-443-plain", http, "http"), True)):
        assert tls_answer(each_binary, text.replace("203.0.113.1:443", "unix:temp/tls")) is not None or not is_tls
        assert (tls_answer(each_binary, text.replace("203.0.113.1:443", "unix:temp/tls")) is not None) is is_tls


def tls_answer(binary: nginx.Binary, http: str, ciphers: str = "") -> bytes | None:
    """The answer over TLS at the socket `temp/tls`, to a client without a certificate; None without a handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if ciphers:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(ciphers)
    instance = nginx.Instance(binary, http=http.encode(), files=certificate())
    with instance, socket.socket(socket.AF_UNIX) as plain:
        plain.settimeout(PATIENCE)
        plain.connect(str(instance.prefix / "temp" / "tls"))
        try:
            with context.wrap_socket(plain, server_hostname="a.test") as client:
                client.sendall(get().data)
                return client.recv(1 << 16)
        except ssl.SSLError:
            return None


def test_clients_need_no_certificate(each_binary: nginx.Binary) -> None:
    """Clients without a certificate pass where `client-certificate-unchecked` warns; after the fix they are refused."""
    asks = "ssl_client_certificate cert.pem;\nssl_verify_client optional;\n"
    http = f"server {{\nlisten unix:temp/tls ssl;\n{PAIR}{asks}location / {{\n    return 200 ok;\n}}\n}}\n"
    whole = f"events {{\n}}\nhttp {{\n{http}}}\n"
    (diagnostic,) = found("client-certificate-unchecked", whole, None)  # type: ignore[arg-type]
    assert diagnostic.fix is not None
    assert b" 200 " in (tls_answer(each_binary, http) or b"")
    assert b" 400 " in (tls_answer(each_binary, http.replace(" optional;", " on;")) or b"")


@pytest.mark.parametrize("suite", ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384"])
def test_dated_suites_are_spoken(each_binary: nginx.Binary, suite: str) -> None:
    """nginx speaks a suite that `dated-ciphers` flags, and no longer once the fix is made."""
    modern = "ECDHE-ECDSA-AES128-GCM-SHA256"
    server = f"server {{ listen unix:temp/tls ssl; ssl_protocols TLSv1.2; {PAIR} return 200 ok; }}"
    before = f"ssl_ciphers {modern}:{suite};\n"
    assert tls_answer(each_binary, before + server, suite) is not None
    assert tls_answer(each_binary, after("dated-ciphers", before, "http") + server, suite) is None


TLS_ECHO = f'server {{ listen unix:temp/up ssl; {PAIR} location / {{ return 200 "[$ssl_server_name]"; }} }}\n'


def through(binary: nginx.Binary, settings: str) -> bytes:
    """What comes through a proxy that speaks TLS with an upstream whose certificate nobody knows."""
    http = f"upstream api.example.com {{ server unix:temp/up; }}\n{TLS_ECHO}"
    server = f"{settings}location / {{ proxy_pass https://api.example.com; }}\n"
    instance = nginx.Instance(binary, servers=[server.encode()], http=http.encode(), files=certificate())
    with instance, instance.client() as client:
        return client.ask([get()])[0]


def test_anybody_can_be_the_upstream(each_binary: nginx.Binary) -> None:
    """As `upstream-tls-unverified` says: without `proxy_ssl_verify`, nginx accepts a certificate for another name."""
    assert len(found("upstream-tls-unverified", "location / { proxy_pass https://api.example.com; }", "server")) <= 1
    assert b" 200 " in through(each_binary, "")
    assert b" 502 " in through(each_binary, "proxy_ssl_verify on;\nproxy_ssl_trusted_certificate cert.pem;\n")


def test_an_upstream_does_not_know_its_name(each_binary: nginx.Binary) -> None:
    """The handshake has a name only with the line that `upstream-sni-missing` adds."""
    assert through(each_binary, "").endswith(b"[]")
    assert through(each_binary, "proxy_ssl_server_name on;\n").endswith(b"[api.example.com]")
    whole = "server {\n    location / {\n        proxy_pass https://api.example.com;\n    }\n}\n"
    assert "proxy_ssl_server_name on;" in after("upstream-sni-missing", whole, "http")


def test_php_needs_a_file(each_binary: nginx.Binary) -> None:
    """An upstream of FastCGI gets SCRIPT_FILENAME only with the line that `script-filename-missing` adds."""
    server = "location ~ \\.php$ {\n    fastcgi_pass unix:temp/fpm;\n    fastcgi_param QUERY_STRING $query_string;\n}\n"
    whole = f"server {{\n{server}}}\n"
    repaired = after("script-filename-missing", whole, "http")
    inside = repaired.partition("server {")[2].rstrip().removesuffix("}")
    for text, is_named in ((server, False), (inside, True)):
        assert (b"SCRIPT_FILENAME" in _fastcgi(each_binary, text)) is is_named


def _fastcgi(binary: nginx.Binary, server: str) -> bytes:
    """What an upstream of FastCGI gets."""
    with nginx.Instance(binary, servers=[server.encode()]) as instance, socket.socket(socket.AF_UNIX) as listening:
        path = instance.prefix / "temp" / "fpm"
        listening.bind(str(path))
        path.chmod(0o777)
        listening.listen()
        listening.settimeout(PATIENCE)
        with socket.create_connection(("127.0.0.1", instance.ports[0]), PATIENCE) as client:
            client.sendall(get("/x.php").data)
            upstream, _ = listening.accept()
            with upstream:
                upstream.settimeout(PATIENCE)
                return upstream.recv(1 << 16)


def test_a_witness_is_a_request() -> None:
    """The requests of this module are written as those of witnesses are."""
    assert request_of(Witness("http://a.test/", "it")) == get()
