"""Rules about what nginx requires of its directives: the real one refuses what they flag, and nothing else."""

from __future__ import annotations

import pytest

from nginxopt.config import load_text
from nginxopt.lint.examples import wrapped
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.lintcheck import diagnose, judge
from tests.nginx.example import verdict_on

pytestmark = pytest.mark.nginx

_RULES = (
    *("misplaced-directive", "wrong-arguments", "removed-directive", "newer-directive"),
    *("duplicate-directive", "duplicate-location"),
)

_REFUSED = {
    "misplaced-directive": (
        ("server { proxy_pass http://127.0.0.1:1; }", '"proxy_pass" directive is not allowed here'),
        ("server { if ($uri) { add_header A b; } }", '"add_header" directive is not allowed here'),
        ("location / { return 200; }", '"location" directive is not allowed here'),
        ("server { location / { server_name a; } }", '"server_name" directive is not allowed here'),
        ("server { location / { if ($uri) { location /a { } } } }", '"location" directive is not allowed here'),
        ("upstream u { server 127.0.0.1:1; proxy_pass a; }", '"proxy_pass" directive is not allowed here'),
        ("worker_processes 1;", '"worker_processes" directive is not allowed here'),
    ),
    "wrong-arguments": (
        ("server { location / { root /a /b; } }", 'invalid number of arguments in "root" directive'),
        ("sendfile yes;", 'invalid value "yes" in "sendfile" directive, it must be "on" or "off"'),
        ("server { location / { try_files $uri; } }", 'invalid number of arguments in "try_files" directive'),
        ("types;", 'directive "types" has no opening "{"'),
        ("server { root /a { } }", 'directive "root" is not terminated by ";"'),
        ("server { return; }", 'invalid number of arguments in "return" directive'),
    ),
    "duplicate-directive": (
        ("root /a; server { } root /b;", '"root" directive is duplicate'),
        ("server { location / { root /a; alias /b; } }", '"alias" directive is duplicate'),
        ("sendfile on; sendfile on;", '"sendfile" directive is duplicate'),
        ("server { location / { try_files a b; try_files a b; } }", '"try_files" directive is duplicate'),
        ("upstream u { server 127.0.0.1:1; keepalive 1; keepalive 1; }", '"keepalive" directive is duplicate'),
    ),
    "duplicate-location": (
        ("server { location /a { } location ^~ /a { } }", 'duplicate location "/a"'),
        ("server { location = /a { } location = /a { } }", 'duplicate location "/a"'),
        ("server { location / { location /a { } location /a { } } }", 'duplicate location "/a"'),
    ),
    "refused": (
        ("map $uri $a { } map_hash_max_size 64;", '"map_hash_max_size" directive is duplicate'),
        ("map_hash_max_size 64; map $uri $a { } map_hash_bucket_size 64;", '"map_hash_bucket_size" directive is dup'),
    ),
}

_TAKEN = (
    "server { location = /a { } location /a { } location ~ a { } location ~ a { } location @a { } location @a { } }",
    "server { location / { if ($uri) { add_header A b; proxy_pass http://127.0.0.1:1; } } }",
    "add_header A b; add_header A b; index a; index b; sendfile ON;",
    "upstream u { least_conn; server 127.0.0.1:1; server 127.0.0.1:2 backup; }",
    "server { location / { limit_except GET { deny all; proxy_pass http://127.0.0.1:1; } } }",
    "gzip_types text/css; gzip_types text/plain; proxy_cache_valid 200 1m; proxy_cache_valid any 1m;",
    "server { listen 127.0.0.1:18181; listen 127.0.0.1:18182; server_name a; server_name b; }",
    "map_hash_max_size 64; map_hash_bucket_size 64; map $uri $a { }",
    "geo $a { } split_clients $uri $b { } map_hash_max_size 64;",
    "proxy_cache_path cache levels= keys_zone=a:1m;",
)

_RELEASES = (
    ("server { ssl off; }", 'unknown directive "ssl"', "1.25.1", False),
    ("server { http2 on; }", 'unknown directive "http2"', "1.25.1", True),
    ("upstream u { server 127.0.0.1:1; resolver 127.0.0.1; }", "not allowed here", "1.27.3", True),
    ("upstream u { server 127.0.0.1:1; keepalive 1 local; }", "invalid number of arguments", "1.29.7", True),
    ("server { location / { early_hints 1; } }", 'unknown directive "early_hints"', "1.29.0", True),
    ("geo $a { volatile; default 1; }", "invalid number of the geo parameters", "1.29.3", True),
)


def _refusal(binary: nginx.Binary, http: str) -> str | None:
    """Return what nginx says when it refuses the content of an `http` block; None if it starts."""
    private = "pid nginx.pid; error_log stderr; "
    verdict = binary.test(private.encode() + wrapped("access_log off; " + http, "http"))
    return None if verdict.ok else str(verdict)


def _found(http: str, binary: nginx.Binary) -> set[str]:
    target = Version.of(binary.version)
    return {rule for rule in _RULES if diagnose(rule, http, context="http", target=target)}


@pytest.mark.parametrize(
    ("rule", "http", "message"), [(rule, *case) for rule, cases in _REFUSED.items() for case in cases]
)
def test_nginx_refuses_what_is_flagged(each_binary: nginx.Binary, rule: str, http: str, message: str) -> None:
    """nginx does not start, and says why in these words."""
    assert message in (_refusal(each_binary, http) or "")
    found = _found(http, each_binary) or {each.rule for each in diagnose("refused", http, context="http")}
    assert found == {rule}


@pytest.mark.parametrize("http", _TAKEN)
def test_nginx_takes_what_is_not_flagged(each_binary: nginx.Binary, http: str) -> None:
    """nginx starts with what looks wrong and is not."""
    assert _refusal(each_binary, http) is None
    assert _found(http, each_binary) == set()


@pytest.mark.parametrize(("http", "message", "release", "is_newer"), _RELEASES)
def test_releases_differ(each_binary: nginx.Binary, http: str, message: str, release: str, is_newer: bool) -> None:
    """A directive is flagged for the releases that refuse it, and for no other."""
    is_taken = (Version.of(each_binary.version) >= Version.parse(release)) == is_newer
    refusal = _refusal(each_binary, http)
    assert (refusal is None) == is_taken
    assert is_taken or message in (refusal or "")
    assert bool(_found(http, each_binary)) == (not is_taken)


def test_a_version_before_the_removal_warns(binary: nginx.Binary) -> None:
    """The nginx that still has a directive which `removed-directive` flags later only warns of it."""
    if Version.of(binary.version) >= Version.parse("1.25.1"):
        pytest.skip("this nginx has no ssl directive")
    verdict = verdict_on(binary, wrapped("ssl off;", "http"))
    assert verdict.ok
    assert 'the "ssl" directive is deprecated' in str(verdict)


def test_nginx_warns_of_what_does_nothing(each_binary: nginx.Binary) -> None:
    """nginx warns of an obsolete directive and starts."""
    verdict = verdict_on(each_binary, wrapped("http2_max_field_size 8k;", "http"))
    assert verdict.ok
    assert "obsolete" in str(verdict)
    target = Version.of(each_binary.version)
    (diagnostic,) = diagnose("obsolete-directive", "http2_max_field_size 8k;", context="http", target=target)
    assert diagnostic.finding.message == '"http2_max_field_size" has no effect since nginx 1.19.7'


@pytest.mark.parametrize(
    "http",
    [
        "server { health_check_of_a_module on; }",
        "gzip ${NGINX_GZIP};",
        "limit_req_zone $binary_remote_addr zone=a:1m rate=1r/s sync;",
        "types { text/html html; proxy_pass a; }",
        "map $uri $to { root a; server b; }",
        "some_module { server { root a b c; } }",
    ],
)
def test_what_is_for_others_is_not_flagged(http: str) -> None:
    """Directives of modules and their blocks, rows, templates and NGINX Plus are not judged."""
    assert [rule for rule in _RULES if diagnose(rule, http, context="http")] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("proxy_pass http://127.0.0.1:1;", []),
        ("server { proxy_pass http://127.0.0.1:1; }", []),  # a server of stream may have it
        ("server { fastcgi_pass 127.0.0.1:1; }", ["misplaced-directive"]),
        ("location / { server_name a; }", ["misplaced-directive"]),
        ("location / { root a; } root b; root c;", ["duplicate-directive"]),
        ("global\n daemon;\n maxconn 4;\n location x y z { }\n", []),
        ("/old /new;\n root a b;\n /older /newer;\n", []),
    ],
)
def test_fragments(text: str, found: list[str]) -> None:
    """A directive of a fragment is refused where no context of it allows it; another program's file is not judged."""
    config = load_text(text.encode(), includes=False)
    assert [rule for rule in _RULES if judge(rule, config).diagnostics] == found
