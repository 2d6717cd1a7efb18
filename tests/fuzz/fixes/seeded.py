"""Faults that fixes had, each as a configuration with the lines that a fix added: what must be seen, and what for.

In a text, `#+` before a line stands for a line that the fix adds, and `#-` behind one for a line that it takes away.
"""

from __future__ import annotations

from dataclasses import dataclass

from nginxopt.system import nginx
from tests.fuzz.fixes.case import MAIN, Case, Start, Step, Talk

PLAIN = Start()

POOL = "http11-backends,idle-connections"


@dataclass(frozen=True, slots=True)
class Seeded:
    """A fault: the configuration, what is asked, the kinds of differences to be seen.

    `assume` are premises that do not hold here, so that declaring them lets `--fix` make this difference. `needs` is
    a word of `nginx -V` without which the configuration does not start; `pooled` says that nginx does the same without
    a fix from 1.29.7 on.
    """

    text: str
    steps: tuple[Step, ...]
    kinds: frozenset[str]
    assume: str = ""
    needs: str = ""
    pooled: bool = False
    start: Start = PLAIN

    def case(self, name: str) -> Case:
        """Return the case, as it is before the fix."""
        return Case({MAIN: self.text.encode()}, self.steps, self.start, name)

    def starts_with(self, binary: nginx.Binary, built: str) -> bool:
        """Return whether a binary can show the fault; `built` is what it says of how it was built."""
        return self.needs in built and not (self.pooled and binary.version >= (1, 29, 7))

    @property
    def after(self) -> bytes:
        """The main file after the fix."""
        kept = [line for line in self.text.splitlines(keepends=True) if not line.rstrip().endswith("#-")]
        return "".join(kept).replace("#+ ", "").encode()


def request(path: str = "/", method: str = "GET", *headers: str, body: bytes = b"") -> bytes:
    """Return a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: a.test", *headers]
    lines += [f"Content-Length: {len(body)}"] if body else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def _in_turn(*requests: bytes, tls: str | None = None) -> tuple[Step, ...]:
    return (Step((Talk(0, requests, tls),)),)


def _at_once(*requests: bytes) -> Step:
    return Step(tuple(Talk(0, (request,)) for request in requests))


_HEAD = """\
worker_processes 1;
error_log logs/error.log error;
events { worker_connections 512; }
http {
access_log off;
root html;
client_body_temp_path temp/body;
proxy_temp_path temp/proxy;
fastcgi_temp_path temp/fastcgi;
uwsgi_temp_path temp/uwsgi;
scgi_temp_path temp/scgi;
"""


def _http(text: str) -> str:
    return f"{_HEAD}{text}\n}}\n"


def _pool(kind: str, text: str = "", inner: str = "") -> str:
    """Return a configuration that passes all to one upstream, whose fix is a pool."""
    return _http(
        f"""\
upstream app {{
server @{kind}0@;
#+ keepalive 32;
}}
{text}
server {{
listen 127.0.0.1:@port0@;
location / {{
proxy_pass http://app;
proxy_read_timeout 1s;
{inner}
#+ proxy_http_version 1.1;
#+ proxy_set_header Connection "";
}}
}}"""
    )


_ANSWERS = frozenset({"answers"})

_TLS = """\
server {
listen 127.0.0.1:@port0@ ssl;
ssl_certificate tls/server.pem;
ssl_certificate_key tls/server.key;
ssl_client_certificate tls/ca.pem;
ssl_verify_client on;
ssl_crl tls/none.crl;
ssl_session_tickets off;
#+ ssl_session_cache shared:nginxopt:10m;
location / { return 200 "$ssl_client_s_dn"; }
}"""

_COMES_BACK = (
    Step((Talk(0, (request(),), "alice12", "kept"),)),
    Step((Talk(0, (request(),), "alice12", "kept"),), (("tls/none.crl", "tls/revoked.crl"),)),
)

_MANY = 12

_CROWD = _http(
    "".join(f"upstream app{n} {{\nserver @plain0@;\n#+ keepalive 32;\n}}\n" for n in range(_MANY))
    + "server {\nlisten 127.0.0.1:@port0@;\n"
    + "".join(
        f"location /{n}/ {{\nproxy_pass http://app{n};\n#+ proxy_http_version 1.1;\n"
        '#+ proxy_set_header Connection "";\n}\n'
        for n in range(_MANY)
    )
    + "}"
).replace("worker_connections 512", "worker_connections 12")

_ZONE = """\
upstream app {
#+ zone app 64k;
least_conn;
server @plain0@;
server @plain1@;
}
server {
listen 127.0.0.1:@port0@;
location / { proxy_pass http://app; }
}"""

SEEDED = {
    "16 sub_filter meets an answer that is compressed": Seeded(
        _pool("gzip11", inner="sub_filter app.test b.test;"),
        _in_turn(request("/", "GET", "Accept-Encoding: gzip")),
        _ANSWERS, POOL, pooled=True, needs="sub_module",
    ),
    "16 a cache gives what is compressed to a client that cannot read it": Seeded(
        _pool("gzip11", "proxy_cache_path cache/c keys_zone=c:1m use_temp_path=off;",
              "proxy_cache c;\nproxy_cache_valid 1h;"),
        _in_turn(request("/", "GET", "Accept-Encoding: gzip"), request("/")),
        _ANSWERS, POOL, pooled=True,
    ),
    "17 who was revoked resumes a session": Seeded(
        _http(_TLS), _COMES_BACK, _ANSWERS, "no-client-revocation,no-cipher-removal"
    ),
    "18 a certificate reaches a location that has none": Seeded(
        _http("""\
upstream app {
server @tls0@;
#+ keepalive 32;
}
server {
listen 127.0.0.1:@port0@;
proxy_http_version 1.1;
proxy_set_header Connection "";
proxy_ssl_session_reuse off;
location /a/ { proxy_pass https://app; proxy_ssl_certificate tls/alice.pem; proxy_ssl_certificate_key tls/alice.key; }
location /b/ { set $to app; proxy_pass https://$to; }
}"""),
        _in_turn(request("/a/"), request("/b/")),
        _ANSWERS,
    ),
    "19 a stranger is alice": Seeded(
        _pool("who"), _in_turn(request("/", "GET", "Authorization: NTLM alice"), request("/")),
        _ANSWERS, POOL, pooled=True,
    ),
    "20 a server that takes one connection waits for it to end": Seeded(
        _pool("serial").replace("server @serial0@;", "server @serial0@ max_fails=0;"),
        (_at_once(request("/1"), request("/2"), request("/3"), request("/4")),
         _at_once(request("/1"), request("/2"), request("/3"), request("/4"))),
        frozenset({"errors"}), POOL, pooled=True,
    ),
    "21 idle connections take all there are": Seeded(
        _CROWD, _in_turn(*(request(f"/{n}/") for n in range(_MANY))), _ANSWERS, pooled=True
    ),
    "22 a server ends connections without saying so": Seeded(
        _pool("closer"), _in_turn(*(request("/", "POST", body=b"b") for _ in range(4))), _ANSWERS, POOL, pooled=True
    ),
    "23 Upgrade: h2c is passed on": Seeded(_pool("h2c"), _in_turn(request()), _ANSWERS, POOL, pooled=True),
    "23 103 comes unasked": Seeded(_pool("early"), _in_turn(request()), _ANSWERS, POOL, pooled=True),
    "23 a server of HTTP/1.0 answers 505": Seeded(_pool("old"), _in_turn(request()), _ANSWERS, POOL, pooled=True),
    "24 a nested location inherits the version": Seeded(
        _pool("plain", inner="location /old/ { proxy_pass http://@old0@; }"), _in_turn(request("/old/")),
        _ANSWERS, pooled=True,
    ),
    "24 an if inherits the version": Seeded(
        _pool("plain", inner="if ($arg_old) { proxy_pass http://@old0@; }"), _in_turn(request("/?old=1")),
        _ANSWERS, pooled=True,
    ),
    "24 a nested location passes chunks on": Seeded(
        _pool("plain", inner="location /up/ { proxy_request_buffering off; proxy_pass http://@nochunk0@; }"),
        _in_turn(request("/up/", "POST", "Transfer-Encoding: chunked", "X-Slow: 1") + b"1\r\na\r\n0\r\n\r\n"),
        _ANSWERS, pooled=True,
    ),
    "25 stream has a zone of that name": Seeded(
        _http(_ZONE) + "stream { upstream s { zone app 64k; server @plain0@; } }\n",
        _in_turn(request()), frozenset({"refusal"}), needs="--with-stream ",
    ),
    "25 a name in quotes": Seeded(
        _http(_ZONE.replace("upstream app", 'upstream "my app"').replace("http://app", '"http://my app"')
              .replace("zone app", "zone my app").replace('"http://my app"', "'http://my app'")),
        _in_turn(request()), frozenset({"refusal"}),
    ),
    "25 -g says how many workers": Seeded(
        _http("server { listen 127.0.0.1:@port0@; }").replace("worker_processes 1;", "#+ worker_processes auto;"),
        _in_turn(request()), frozenset({"refusal"}), start=Start("worker_processes 2;"),
    ),
    "26 a limit of open files gets lower": Seeded(
        "#+ worker_rlimit_nofile 1024;\n" + _http("server { listen 127.0.0.1:@port0@; }"),
        _in_turn(request()), frozenset({"nofile"}), start=Start(nofile=(8_192, 20_000)),
    ),
    "26 a limit above that of the user is not set": Seeded(
        "#+ worker_rlimit_nofile 8192;\n" + _http("server { listen 127.0.0.1:@port0@; }"),
        _in_turn(request()), frozenset({"errors"}), start=Start(nofile=(1_024, 4_096), plain_user=True),
    ),
    "27 an answer does not fit where the cache is": Seeded(
        _http("""\
proxy_cache_path cache/c keys_zone=c:1m;  #-
#+ proxy_cache_path cache/c keys_zone=c:1m use_temp_path=off;
server {
listen 127.0.0.1:@port0@;
location / { proxy_pass http://@plain0@; proxy_cache c; proxy_cache_valid 1h; proxy_no_cache $http_no; }
}"""),
        _in_turn(request("/?len=3000000")), frozenset({"errors"}), "fast-disk", start=Start(small="cache"),
    ),
    "29 a pattern that the compiled code has no room for": Seeded(
        "#+ pcre_jit on;\n" + _http(
            "server { listen 127.0.0.1:@port0@; rewrite ^/(?:[^x]|y)*z$ /z permanent; location / { return 204; } }"
        ),
        _in_turn(request("/" + "a" * 4_000 + "za")), _ANSWERS, needs="--with-pcre-jit",
    ),
    "32 Lua reads the variable of the map": Seeded(
        "load_module /usr/lib/nginx/modules/ndk_http_module.so;\n"
        "load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;\n" + _http("""\
map $http_upgrade $connection_upgrade {
default upgrade;
'' close;  #-
#+ '' '';
}
server {
listen 127.0.0.1:@port0@;
location / { content_by_lua_block { ngx.say(ngx.var.connection_upgrade) } }
}"""),
        _in_turn(request()), _ANSWERS, needs="--with-http_dav_module",
    ),
    "32 a location without a pool is asked for the header as well": Seeded(
        _http("""\
server {
listen 127.0.0.1:@port0@;
proxy_http_version 1.1;
proxy_set_header Connection $http_connection;  #-
#+ proxy_set_header Connection "";
location / { proxy_pass http://@plain0@; }
}"""),
        _in_turn(request("/", "GET", "Connection: close")), frozenset({"asked"}),
    ),
}  # fmt: skip
