"""Rules about proxies: how often they report, and where their fixes add lines."""

from __future__ import annotations

import pytest

from tests.lint.pools import APP, CLEAR, OLD, PIVOT, POOL, V11, WS
from tests.lintcheck import diagnose, fix_text

CLOSE = "proxy_set_header Connection close;"


def at(*lines: str, upstream: str = POOL) -> str:
    """A location that passes to the upstream, with some lines in it."""
    return f"{upstream} server {{ location / {{ proxy_pass http://app; {' '.join(lines)} }} }}"


# What is claimed: the rule, the text of http, the nginx, and how often the rule speaks.
CASES: dict[str, tuple[str, str, str, int]] = {
    "an upstream that nothing passes to": ("upstream-keepalive-missing", APP, OLD, 0),
    "a keepalive that is commented out": (
        "upstream-keepalive-missing",
        at(upstream="upstream app {\nserver 10.0.0.1;\n# keepalive 32;\n}"),
        OLD,
        0,
    ),
    "a comment that only speaks of keepalive": (
        "upstream-keepalive-missing",
        at(upstream="upstream app {\nserver 10.0.0.1;\n# keepalive would be nice\n}"),
        OLD,
        1,
    ),
    "every pass says close": ("upstream-keepalive-missing", at(CLOSE, upstream=APP), OLD, 0),
    "every pass states HTTP/1.0": ("upstream-keepalive-missing", at("proxy_http_version 1.0;", upstream=APP), OLD, 0),
    "only WebSockets": (
        "upstream-keepalive-missing",
        at(V11, f"{WS} 'Upgrade';", upstream=APP).replace("location /", "location /ws"),
        OLD,
        0,
    ),
    "a literal upgrade for the whole site": (
        "upstream-keepalive-missing",
        at(V11, f"{WS} 'Upgrade';", upstream=APP),
        OLD,
        1,
    ),
    "FastCGI that does not keep": (
        "upstream-keepalive-missing",
        f"{APP} server {{ location / {{ fastcgi_pass app; }} }}",
        OLD,
        0,
    ),
    "FastCGI that keeps": (
        "upstream-keepalive-missing",
        f"{APP} server {{ location / {{ fastcgi_pass app; fastcgi_keep_conn on; }} }}",
        OLD,
        1,
    ),
    "gRPC keeps": ("upstream-keepalive-missing", f"{APP} server {{ location / {{ grpc_pass app; }} }}", OLD, 1),
    "memcached keeps": (
        "upstream-keepalive-missing",
        f"{APP} server {{ location / {{ memcached_pass app; }} }}",
        OLD,
        1,
    ),
    "SCGI does not": ("upstream-keepalive-missing", f"{APP} server {{ location / {{ scgi_pass app; }} }}", OLD, 0),
    "ntlm keeps connections of its own": (
        "upstream-keepalive-missing",
        at(upstream="upstream app { server 10.0.0.1; ntlm; }"),
        OLD,
        0,
    ),
    "a variable URI behind the upstream's name": (
        "upstream-keepalive-missing",
        f"{APP} server {{ location / {{ proxy_pass http://app$request_uri; }} }}",
        OLD,
        1,
    ),
    "1.1 of the server": (
        "proxy-http-version",
        f"{POOL} server {{ {V11} location / {{ proxy_pass http://app; }} }}",
        OLD,
        0,
    ),
    "an include that is not there may say 1.1": ("proxy-http-version", at("include not-there.conf;"), OLD, 0),
    "HTTP/2": ("proxy-http-version", at("proxy_http_version 2;"), "1.30.0", 0),
    "1.0 is stated, the pool by default": ("proxy-http-version", at("proxy_http_version 1.0;", upstream=APP), PIVOT, 0),
    "1.0 is stated, and the pool": ("proxy-http-version", at("proxy_http_version 1.0;"), PIVOT, 1),
    "no pool is wanted": (
        "proxy-http-version",
        at("proxy_http_version 1.0;", upstream="upstream app { server 10.0.0.1; keepalive 0; }"),
        PIVOT,
        0,
    ),
    "no upstream": ("proxy-http-version", "server { location / { proxy_pass http://10.0.0.1; } }", OLD, 0),
    "a header in lower case": ("proxy-connection-not-cleared", at(V11, "proxy_set_header connection '';"), OLD, 0),
    "Keep-Alive": ("proxy-connection-not-cleared", at(V11, "proxy_set_header Connection 'Keep-Alive';"), OLD, 0),
    "two values, one of them close": (
        "proxy-connection-not-cleared",
        at(V11, CLEAR, CLOSE),
        OLD,
        1,
    ),
    "close, from the pivot on": ("proxy-connection-not-cleared", at(CLOSE), PIVOT, 1),
    "close, no pool wanted": (
        "proxy-connection-not-cleared",
        at(CLOSE, upstream=APP),
        PIVOT,
        0,
    ),
    "the client's own": ("proxy-connection-not-cleared", at("proxy_set_header Connection $http_connection;"), PIVOT, 1),
    "the client's own for a WebSocket": ("proxy-connection-not-cleared", at(V11, f"{WS} $http_connection;"), OLD, 0),
    "a variable that is not known": ("proxy-connection-not-cleared", at("proxy_set_header Connection $c;"), OLD, 0),
    "one more header may be in an include": (
        "proxy-connection-not-cleared",
        at(V11, "proxy_set_header Host $host;", "include not-there.conf;"),
        OLD,
        0,
    ),
    "inherited headers are dropped": (
        "proxy-connection-not-cleared",
        f"{POOL} {CLEAR} {V11} server {{ location / {{ proxy_set_header X-A 1; proxy_pass http://app; }} }}",
        OLD,
        1,
    ),
    "inherited headers hold in an if": (
        "proxy-connection-not-cleared",
        f"{POOL} {V11} server {{ location / {{ {CLEAR} if ($arg_a) {{ proxy_pass http://app; }} }} }}",
        OLD,
        0,
    ),
    "a map with a default of close": (
        "websocket-map-close",
        f"map $http_upgrade $c {{ default close; websocket upgrade; }} {at(V11, f'{WS} $c;')}",
        OLD,
        1,
    ),
    "a map by regexes": (
        "websocket-map-close",
        f"map $http_upgrade $c {{ default close; ~. upgrade; }} {at(V11, f'{WS} $c;')}",
        OLD,
        1,
    ),
    "a map of something else": (
        "websocket-map-close",
        f"map $uri $c {{ default close; }} {at(V11, f'{WS} $c;')}",
        OLD,
        0,
    ),
    "the default pool": (
        "websocket-map-close",
        f"map $http_upgrade $c {{ default upgrade; '' close; }} {at(f'{WS} ${{c}};', upstream=APP)}",
        PIVOT,
        1,
    ),
    "keepalive after the method": ("keepalive-before-lb", "upstream app { ip_hash; keepalive 9; server a; }", OLD, 0),
    "keepalive alone": ("keepalive-before-lb", "upstream app { keepalive 9; server a; }", OLD, 0),
    "a method from the pivot on": ("keepalive-before-lb", "upstream app { keepalive 9; ip_hash; server a; }", PIVOT, 0),
    "FastCGI without a pool, from the pivot on": (
        "fastcgi-keep-conn",
        f"{APP} server {{ location / {{ fastcgi_pass app; }} }}",
        PIVOT,
        0,
    ),
    "a host that may be an upstream of a file not read": (
        "implicit-upstream",
        "include not-there.conf; server { location / { proxy_pass http://app; } }",
        OLD,
        0,
    ),
    "a host with a port": (
        "implicit-upstream",
        "include not-there.conf; server { location / { proxy_pass http://app:80; } }",
        OLD,
        1,
    ),
    "several places, one server": (
        "implicit-upstream",
        "server { location /a { proxy_pass http://10.0.0.1; } location /b { proxy_pass http://10.0.0.1/b; } }",
        PIVOT,
        1,
    ),
    "a health check": ("implicit-upstream", "server { location /health { proxy_pass http://10.0.0.1; } }", OLD, 0),
    "a name to be replaced": (
        "implicit-upstream",
        "server { location / { proxy_pass http://!HOST!:8080; } location /b { proxy_pass http://<host>; } }",
        OLD,
        0,
    ),
    "a tool of operators": (
        "implicit-upstream",
        "server { location / { proxy_pass http://10.0.0.1:3000/pgadmin/; } }",
        OLD,
        0,
    ),
    "FastCGI by address": ("implicit-upstream", "server { location / { fastcgi_pass 10.0.0.1:9000; } }", OLD, 0),
    "a name in a variable, before resolve": (
        "upstream-variable-target",
        "server { set $a app.test:80; location / { proxy_pass http://$a; } }",
        "1.27.2",
        0,
    ),
    "a name in a variable": (
        "upstream-variable-target",
        "server { set $a app.test:80; location / { proxy_pass http://$a; } }",
        "1.27.3",
        1,
    ),
    "a container in a variable": (
        "upstream-variable-target",
        "server { set $a app; set $b 80; location / { proxy_pass http://$a:$b; } }",
        "1.27.3",
        0,
    ),
    "a health check needs no pool, whatever it speaks": (
        "proxy-http-version",
        f"{APP} server {{ location /a {{ internal; health_check; proxy_pass http://app; }}"
        " location /healthz { proxy_pass http://app; } }",
        OLD,
        0,
    ),
    "a health check may close its connection": (
        "proxy-connection-not-cleared",
        f"{APP} server {{ location /a {{ internal; health_check; proxy_pass http://app; }}"
        " location /healthz { proxy_pass http://app; } }",
        OLD,
        0,
    ),
    "a location that is checked takes requests as well": (
        "proxy-connection-not-cleared",
        f"{POOL} server {{ {V11} location / {{ health_check; proxy_pass http://app; }} }}",
        OLD,
        1,
    ),
    "a Connection that is not known may keep connections over HTTP/1.0": (
        "proxy-http-version",
        f"{APP} server {{ location / {{ proxy_pass http://app; proxy_set_header Connection $up; }} }}",
        OLD,
        0,
    ),
    "an address in a variable": (
        "upstream-variable-target",
        "server { set $a http://10.0.0.1; location / { proxy_pass $a; } }",
        OLD,
        1,
    ),
    "names of upstreams from a map": (
        "upstream-variable-target",
        f"{APP} map $uri $a {{ default app; }} server {{ location / {{ proxy_pass http://$a; }} }}",
        PIVOT,
        0,
    ),
    "one of the values is not known": (
        "upstream-variable-target",
        "server { set $a 10.0.0.1; if ($arg_b) { set $a $arg_b; } location / { proxy_pass http://$a; } }",
        PIVOT,
        0,
    ),
    "TLS settings that differ must not share": (
        "keepalive-local-fanout",
        f"{APP} server {{ "
        + " ".join(
            f"location /{name} {{ proxy_pass https://app; proxy_ssl_name {name}.test; proxy_ssl_server_name on; }}"
            for name in "abcd"
        )
        + " }",
        PIVOT,
        0,
    ),
    "a long read timeout": (
        "proxy-buffering-off",
        "server { location / { proxy_pass http://10.0.0.1; proxy_buffering off; proxy_read_timeout 1h; } }",
        OLD,
        0,
    ),
    "a comment says why": (
        "proxy-buffering-off",
        "server { location / { proxy_pass http://10.0.0.1;\nproxy_buffering off; # server-sent events\n} }",
        OLD,
        0,
    ),
    "a comment of another location says why": (
        "proxy-buffering-off",
        "server { location /a { proxy_pass http://10.0.0.1;\n# No buffering, so that no disk is needed\n"
        "proxy_buffering off; } location /b { proxy_pass http://10.0.0.1; proxy_buffering off; } }",
        OLD,
        0,
    ),
    "a comment that says what is to be seen": (
        "proxy-buffering-off",
        "server { location /a { proxy_pass http://10.0.0.1;\n# buffering\nproxy_buffering off; } }",
        OLD,
        1,
    ),
    "a local server and another": (
        "connect-timeout-long",
        "proxy_connect_timeout 1h; server { location /a { proxy_pass http://127.0.0.1:80; }\n"
        "location /b { proxy_pass http://10.0.0.1; } }",
        OLD,
        1,
    ),
    "local servers": (
        "connect-timeout-long",
        "proxy_connect_timeout 1h; server { location /a { proxy_pass http://localhost; }\n"
        "location /b { proxy_pass http://unix:/run/a; } location /c { proxy_pass http://[::1]:3000; } }",
        OLD,
        0,
    ),
    "no reason": (
        "proxy-buffering-off",
        "server { proxy_buffering off; location / { proxy_pass http://10.0.0.1; } }",
        OLD,
        1,
    ),
    "FastCGI cache": (
        "cache-without-buffering",
        "server { location / { fastcgi_pass 10.0.0.1:9000; fastcgi_cache a; fastcgi_buffering off; } }",
        OLD,
        1,
    ),
    "a balancer of one": ("upstream-zone-missing", "upstream app { least_conn; server 10.0.0.1; }", OLD, 0),
    "a hop with a limit": (
        "passthrough-hop",
        "server { limit_req zone=a; location / { proxy_pass http://127.0.0.1:3000; } }",
        OLD,
        0,
    ),
    "a hop that compresses": (
        "passthrough-hop",
        "gzip on; server { location / { proxy_pass http://127.0.0.1:3000; } }",
        OLD,
        0,
    ),
    "a hop among names": (
        "passthrough-hop",
        "server { server_name a; location / { proxy_pass http://127.0.0.1:3000; } } server { server_name b; }",
        OLD,
        0,
    ),
    "a hop to another machine": (
        "passthrough-hop",
        "server { location / { proxy_pass http://10.0.0.1:3000; } }",
        OLD,
        0,
    ),
    "a hop and nothing else": (
        "passthrough-hop",
        "server { location / { proxy_pass http://localhost:3000; proxy_set_header Host $host; } }",
        OLD,
        1,
    ),
    "a hop to a socket of its own": (
        "passthrough-hop",
        "server { location / { proxy_pass http://unix:/a.sock:; } location /b { return 204; } }"
        " server { listen unix:/a.sock; location / { root /srv; } }",
        OLD,
        1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "http", "target", "count"), CASES.values(), ids=CASES)
def test_what_is_found(rule: str, http: str, target: str, count: int) -> None:
    """The rule reports as often as expected."""
    assert len(diagnose(rule, http + "\n", context="http", target=target)) == count


FIXES: dict[str, tuple[str, str, str]] = {
    "the set of the location gets the header": (
        "proxy-http-version",
        "location / {\n    proxy_pass http://app;\n    proxy_set_header Host $host; # the name\n}\n",
        f"location / {{\n    proxy_pass http://app;\n    {V11}\n    proxy_set_header Host $host; # the name\n"
        '    proxy_set_header Connection "";\n}\n',
    ),
    "the set of the server gets it if all that uses it may": (
        "proxy-http-version",
        "proxy_set_header Host $host;\n"
        "location /a { proxy_pass http://app; }\nlocation /b { proxy_pass http://app; }\n",
        'proxy_set_header Host $host;\nproxy_set_header Connection "";\n'
        f"location /a {{ proxy_pass http://app; {V11} }}\nlocation /b {{ proxy_pass http://app; {V11} }}\n",
    ),
    "else the location gets a copy": (
        "proxy-http-version",
        'proxy_set_header Host $host;\nproxy_set_header X-A "1 2";\nlocation /a { proxy_pass http://app; }\n'
        "location /b { proxy_pass http://10.0.0.2; }\n",
        'proxy_set_header Host $host;\nproxy_set_header X-A "1 2";\nlocation /a { proxy_pass http://app; '
        f'{V11} proxy_set_header Host $host; proxy_set_header X-A "1 2"; proxy_set_header Connection ""; }}\n'
        "location /b { proxy_pass http://10.0.0.2; }\n",
    ),
    "no line goes into an if": (
        "proxy-connection-not-cleared",
        f"{V11} location / {{ if ($arg_a) {{ proxy_pass http://app; }} }}\n",
        f"{V11} location / {{ if ($arg_a) {{ proxy_pass http://app; }} }}\n",
    ),
    "one header alone": (
        "proxy-connection-not-cleared",
        f"{V11}\nlocation / {{\n    proxy_pass http://app;\n    proxy_set_header Host $host;\n}}\n",
        f"{V11}\nlocation / {{\n    proxy_pass http://app;\n    proxy_set_header Host $host;\n    {CLEAR}\n}}\n",
    ),
    "no version goes into an if": (
        "proxy-http-version",
        "location / { if ($arg_a) { proxy_pass http://app; } }\n",
        "location / { if ($arg_a) { proxy_pass http://app; } }\n",
    ),
    "line ends stay": (
        "proxy-http-version",
        "location / {\r\n\tproxy_pass http://app;\r\n}\r\n",
        "location / {\r\n\tproxy_pass http://app;\r\n\tproxy_http_version 1.1;\r\n"
        '\tproxy_set_header Connection "";\r\n}\r\n',
    ),
}


@pytest.mark.parametrize(("rule", "server", "after"), FIXES.values(), ids=FIXES)
def test_where_a_fix_puts_its_lines(rule: str, server: str, after: str) -> None:
    """The fix adds its lines in the right place and changes nothing else."""
    newline = "\r\n" if "\r\n" in server else "\n"
    head, tail = f"events {{}}{newline}http {{ {POOL}{newline}server {{{newline}", f"}} }}{newline}"
    result = fix_text(rule, (head + server + tail).encode(), target=OLD).decode()
    assert result == head + after + tail
