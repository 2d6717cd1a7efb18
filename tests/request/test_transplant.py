"""A configuration for a private nginx keeps what decides outcomes, and leads nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nginxopt.config import load_text
from nginxopt.config.filesystem import Overlay
from nginxopt.errors import InputError
from nginxopt.request.transplant import PrivateStage, transplanted
from nginxopt.semantics import Address, Level
from nginxopt.semantics.site.lowering import http_level, placed
from nginxopt.version import Version
from tests.rows import every_row

PORTS = {
    Address("inet", "0.0.0.0", 80): 7001,
    Address("inet", "0.0.0.0", 443): 7002,
    Address("unix", "/s", 0): 7003,
    Address("inet", "0.0.0.0", 443, datagram=True): 7004,
}
STAGE = PrivateStage(PORTS, 7009, "/stage/disk", "/etc/nginx/", "/conf/")


def http_of(text: str) -> Level:
    """The http level of a main file."""
    files = Overlay({"/conf/part.conf": b"location /part { return 204; }"})
    config = placed(load_text(text.encode(), "/conf/nginx.conf", missing_ok=True, files=files))
    return http_level(config, Version(1, 28, 0))


def moved(text: str, stage: PrivateStage = STAGE) -> list[str]:
    """The lines of the http block on the stage, without those that every one has."""
    lines = transplanted(http_of(text), stage).decode().splitlines()
    return [line for line in lines if "temp_path" not in line and line != "access_log off;"]


@every_row(
    ("text", "line"),
    [
        ("listen 80 backlog=5 default_server;", "listen 127.0.0.1:7001 default_server reuseport;"),
        ("listen unix:/s;", "listen 127.0.0.1:7003 reuseport;"),
        ("listen 443 ssl;", "listen 127.0.0.1:7002 reuseport;"),
        ("listen 443 quic reuseport;", "listen 127.0.0.1:7004 reuseport;"),
        ("root /srv;", "root /stage/disk/srv;"),
        ("root html;", "root /stage/disk/etc/nginx/html;"),
        ("root $a;", "root /stage/disk$a;"),
        ("location /a { alias /b/; }", "alias /stage/disk/b/;"),
        ("if (!-f /a) { return 404; }", "if (!-f /stage/disk/a) {"),
        ("if (-f $a/b) { return 404; }", "if (-f $a/b) {"),
        ("location /a { auth_basic_user_file users; }", "auth_basic_user_file /conf/users;"),
        ("location /a { proxy_pass https://192.0.2.1:81/b?c; }", "proxy_pass http://127.0.0.1:7009/b?c;"),
        ("location /a { proxy_pass http://$up$request_uri; }", "proxy_pass http://$nginxopt_echo$request_uri;"),
        ("location /a { fastcgi_pass unix:/php.sock; }", "fastcgi_pass 127.0.0.1:7009;"),
        ("location /a { grpc_pass grpcs://b; }", "grpc_pass grpc://127.0.0.1:7009;"),
        ("include part.conf;", "location /part {"),
        ("rewrite ^/a$ /b last;", "rewrite ^/a$ /b last;"),
        ("add_header A 'b c' always;", "add_header A 'b c' always;"),
    ],
)
def test_a_directive_on_the_stage(text: str, line: str) -> None:
    """Ports, paths and servers are those of the stage; all else is as it is written."""
    assert line in moved(f"http {{ server {{ {text} }} }}")


def test_what_leads_away_is_left_out() -> None:
    """Logs, resolvers, certificates and the servers of upstreams are gone."""
    text = """http {
        log_format a b; error_log /nowhere; resolver 192.0.2.1; ssl_certificate /c; proxy_ssl_verify on;
        proxy_cache_path /nowhere keys_zone=a:1m; upstream u { server 192.0.2.1; zone u 1m; keepalive 2; }
        server { listen 443 quic; access_log /nowhere; proxy_bind 192.0.2.9; aio threads; }
    }"""
    lines = moved(text)
    assert not [line for line in lines if "192.0.2" in line or "/nowhere" in line or "ssl" in line or "aio" in line]
    assert "server 127.0.0.1:7009;" in lines
    assert "keepalive 2;" in lines
    assert any(line.startswith("proxy_cache_path temp/cache-") for line in lines)


def test_tls_has_a_certificate_of_its_own() -> None:
    """With a certificate `ssl` stays, and http has it for all servers."""
    stage = PrivateStage(PORTS, 7009, "", "/", "/", ("/c.pem", "/c.key"))
    lines = moved("http { server { listen 443 ssl; ssl_certificate /other; } server { listen 443 ssl; } }", stage)
    assert lines.count("ssl_certificate /c.pem;") == 1
    assert "listen 127.0.0.1:7002 ssl reuseport;" in lines
    assert "listen 127.0.0.1:7002 ssl;" in lines
    assert "ssl on;" in moved("http { server { listen 443; ssl on; } }", stage)
    assert "listen 127.0.0.1:7004 default_server ssl reuseport;" in moved(
        "http { server { listen 443 default_server quic; } }", stage
    )


def test_a_server_without_listen_and_a_fragment() -> None:
    """Both are those of port 80; a run of rewrites stays as it is."""
    rules = "".join(f"rewrite ^/a{number}$ /b{number} last;\n" for number in range(100))
    lines = moved(rules)
    assert lines.index("listen 127.0.0.1:7001 reuseport;") < lines.index("rewrite ^/a0$ /b0 last;")
    assert lines[-4] == "rewrite ^/a99$ /b99 last;"


def test_a_url_that_is_a_variable_cannot_be_replaced() -> None:
    """Which part of its value is the server is not known."""
    with pytest.raises(InputError, match="a URL that is a variable"):
        moved("http { server { location /a { proxy_pass $url; } } }")


@every_row(
    ("text", "line"),
    [
        ("access_log /var/log/a.log combined buffer=64k if=$a;", "access_log logs/27.log combined buffer=64k if=$a;"),
        ("access_log syslog:server=192.0.2.1;", "access_log logs/27.log;"),
        ("error_log /var/log/e.log debug;", "error_log error.log debug;"),
        ("error_log syslog:server=192.0.2.1 info;", "error_log error.log info;"),
        ("error_log /dev/null;", "error_log /dev/null;"),
        ("sendfile on;", "sendfile on;"),
        ("limit_req zone=z burst=5 delay=2;", "limit_req zone=z burst=1000000 nodelay;"),
        ("ssl_protocols TLSv1.3;", "ssl_protocols TLSv1.3;"),
    ],
)
def test_what_is_measured(text: str, line: str) -> None:
    """Logs are written into the folder of nginx, and no request comes too early."""
    measured = replace(STAGE, certificate=("/c", "/k"), is_measured=True)
    lines = moved(f"http {{ server {{ listen 80; {text} }} }}", measured)
    assert line in lines
    assert "access_log logs/access.log;" in lines
    assert not [each for each in lines if "192.0.2" in each or "/var" in each]


def test_what_ends_connections_is_not_measured() -> None:
    """Nor what slows down responses, nor files of keys."""
    text = """http { keepalive_timeout 5; keepalive_requests 3; access_log /a; server { listen 443 ssl; limit_rate 1k;
        ssl_session_ticket_key /t; ssl_dhparam /d; ssl_session_cache shared:a:1m; keepalive_timeout 0; } }"""
    lines = moved(text, replace(STAGE, certificate=("/c", "/k"), is_measured=True))
    assert [each for each in lines if each.startswith("keepalive")] == [
        "keepalive_requests 1000000000;", "keepalive_timeout 1h;",
    ]  # fmt: skip
    assert "ssl_session_cache shared:a:1m;" in lines
    assert not [each for each in lines if "limit_rate" in each or "ticket_key" in each or "dhparam" in each]
