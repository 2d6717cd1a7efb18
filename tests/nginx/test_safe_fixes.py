"""Safe fixes on the real nginx: every response, header and body, stays the same."""

from __future__ import annotations

import re

import pytest

from nginxopt.lint import Safety
from nginxopt.lint.catalogue import catalogue
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import fixed

pytestmark = pytest.mark.nginx

BIG = bytes(range(256)) * 40_000
FILES = {"html/big": BIG, "html/a.txt": b"a" * 300, "html/index.html": b"<p>one</p>"}
URIS = [
    "/", "/a.txt", "/big", "/none", "/old", "/old/", "/old%0A", "/x/old", "/blog", "/blog/", "/blog/a/b?c=d",
    "/blog/%0Aa", "/a.php", "/a.php/b", "/%0A.php", "/x%0Ay.php", "/x.phpx", "/i=ab", "/i=ab/old", "/key/1", "/key/16",
    "/KEY/3", "/key/17", "/.php", "//old", "/a.php%0A", "/" + "a" * 3000 + ".php", "/blog/" + "b" * 3000,
]  # fmt: skip

# The rule -> what stands in http, and in the server. `$1` to `$9` are responses_to, as rules may leave them behind.
CASES = {
    "map-hash-size": (
        "map_hash_max_size 4;\nmap $uri $to { default none; "
        + " ".join(f"/key/{number} v{number};" for number in range(17))
        + " }\n",
        'location / { return 200 "[$to]"; }',
    ),
    "rewrite-duplicate": (
        "",
        "if ($uri ~ ^/i=(.)(.)) { set $seen $1; }\n"
        "rewrite ^/old$ /a.txt last; rewrite ^/none$ /big last; rewrite ^/old$ /a.txt last;\n"
        'error_page 404 = @responses_to; location @responses_to { return 200 "[$1|$2|$3|$seen]"; }\n',
    ),
    "sendfile-max-chunk": ("sendfile on;\nsendfile_max_chunk 0;\n", "root html;"),
    "start-warning": (
        "gzip on; gzip_min_length 1; gzip_types text/plain text/html text/plain;\n",
        "root html; allow 10.1.1.1/8; deny 127.0.0.1/8; location / { proxy_next_upstream error error; deny ::1/0; }",
    ),
    "tcp-nodelay-off": ("tcp_nodelay off;\n", "root html;"),
    "tcp-nopush-no-sendfile": ("tcp_nopush on;\n", "location / { proxy_pass http://unix:origin.sock; }"),
    "unanchored-or-dotstar": (
        "",
        "if ($uri ~ ^/i=(.)(.)) { set $seen $1; }\n"
        "rewrite .*\\.php$ /index.html break; rewrite ^/blog/.* /a.txt break; rewrite ^/(x|y)/.* /$1.txt break;\n"
        'location ~ ^/(old|new).* { return 200 "[$1|$2|$seen]"; }\n',
    ),
}
ORIGIN = "server { listen unix:origin.sock; root html; }\n"


def responses_to(binary: nginx.Binary, http: str, server: str) -> list[bytes]:
    """The responses to all URIs, whole and in part, without their dates."""
    heads = ["", "Range: bytes=5-9\r\n", "Accept-Encoding: gzip\r\n"]
    requests = [RequestBytes(f"GET {uri} HTTP/1.1\r\nHost: a\r\n{head}\r\n".encode()) for uri in URIS for head in heads]
    data = (ORIGIN + http).encode()
    instance = nginx.Instance(binary, http=data, servers=[server.encode()], files=FILES)
    with instance, instance.client() as client:
        return [re.sub(rb"Date: [^\r]*\r\n", b"", answer) for answer in client.ask(requests)]


@pytest.mark.parametrize("rule", CASES)
def test_every_response_stays(a_binary: nginx.Binary, rule: str) -> None:
    """A server after the safe fixes of a rule gives the same responses."""
    assert Safety.SAFE in catalogue()[rule].fixes
    http, server = CASES[rule]
    before = f"{http}server {{\n{server}\n}}\n"
    after = fixed(rule, before, context="http", unsafe=False).decode()
    assert after != before
    new_http, _, new_server = after.partition("server {\n")
    assert responses_to(a_binary, new_http, new_server.rpartition("}")[0]) == responses_to(a_binary, http, server)
