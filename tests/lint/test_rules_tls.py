"""Rules about TLS, beyond the examples of their pages and `cases/`."""

from __future__ import annotations

import re

from nginxopt.lint import NO_CIPHER_REMOVAL, NO_CLIENT_REVOCATION, SESSIONS_BY_NAME, Safety
from tests.lintcheck import diagnose, fixed
from tests.rows import every_row

SSL = "ssl_certificate cert.pem;\nssl_certificate_key cert.key;\n"
OFF = "ssl_session_tickets off;\n"


def test_a_builtin_cache_is_each_workers_own() -> None:
    """A builtin session cache is reported with several workers, which do not share it, and not with one."""
    text = "{}events {{}}\nhttp {{ {}ssl_session_cache builtin:1000; server {{ listen 443 ssl; }} }}\n"
    assert len(diagnose("ssl-session-cache", text.format("worker_processes auto;\n", OFF))) == 1
    assert diagnose("ssl-session-cache", text.format("worker_processes 1;\n", OFF)) == ()


FIXES = {
    "a cache that the configuration has is used": (
        "ssl-session-cache",
        "server {\n    listen 443 ssl;\n    ssl_session_tickets off;\n}\n"
        "server {\n    listen 444 ssl;\n    ssl_session_cache shared:TLS:50m;\n}\n",
        "server {\n    listen 443 ssl;\n    ssl_session_tickets off;\n    ssl_session_cache shared:TLS:50m;\n}\n"
        "server {\n    listen 444 ssl;\n    ssl_session_cache shared:TLS:50m;\n}\n",
    ),
    "the cache goes to the default server if the tickets stand in another one": (
        "ssl-session-cache",
        "server {\n    listen 443 ssl;\n}\nserver {\n    listen 443 ssl;\n    ssl_session_tickets off;\n}\n",
        "server {\n    listen 443 ssl;\n    ssl_session_cache shared:SSL:10m;\n}\n"
        "server {\n    listen 443 ssl;\n    ssl_session_tickets off;\n}\n",
    ),
    "a name that another zone has is not used": (
        "ssl-session-cache",
        "limit_req_zone $uri zone=SSL:1m rate=1r/s;\nssl_session_tickets off;\nserver { listen 443 ssl; }\n",
        "limit_req_zone $uri zone=SSL:1m rate=1r/s;\nssl_session_tickets off;\n"
        "server { listen 443 ssl; ssl_session_cache shared:SSL_2:10m; }\n",
    ),
    "what the server states is replaced": (
        "ssl-session-tickets",
        "server { listen 443 ssl; ssl_session_cache none; # not yet\n}\n",
        "server { listen 443 ssl; ssl_session_cache shared:SSL:10m; # not yet\n}\n",
    ),
    "what holds for other servers as well stays": (
        "ssl-session-cache",
        "ssl_session_tickets off;\nssl_session_cache none;\nserver { listen 443 ssl; }\nserver { listen 80; }\n",
        "ssl_session_tickets off;\nssl_session_cache none;\n"
        "server { listen 443 ssl; ssl_session_cache shared:SSL:10m; }\nserver { listen 80; }\n",
    ),
    "a server that asks for certificates has a cache of its own": (
        "ssl-session-cache",
        "ssl_session_tickets off;\nserver { listen 443 ssl; }\n"
        "server { listen 444 ssl; ssl_session_cache shared:SSL:1m; ssl_verify_client on; }\n",
        "ssl_session_tickets off;\nserver { listen 443 ssl; ssl_session_cache shared:SSL_1:10m; }\n"
        "server { listen 444 ssl; ssl_session_cache shared:SSL:1m; ssl_verify_client on; }\n",
    ),
    "a block in one line stays in one": (
        "http2-missing",
        "server { listen 443 ssl; root html; }\n",
        "server { listen 443 ssl; http2 on; root html; }\n",
    ),
    "16k as it is written": (
        "ssl-buffer-size",
        "ssl_buffer_size 16k;\nserver { listen 443 ssl; }\n",
        "ssl_buffer_size 4k;\nserver { listen 443 ssl; }\n",
    ),
    "without a directive of its own the server ends with it": (
        "ssl-buffer-size",
        "server {\n    listen 443 ssl;\n}\n",
        "server {\n    listen 443 ssl;\n    ssl_buffer_size 4k;\n}\n",
    ),
}


@every_row("case", FIXES)
def test_fixes(case: str) -> None:
    """The fix writes the expected text, and a second run changes nothing."""
    rule, before, after = FIXES[case]
    assert fixed(rule, before, context="http").decode() == after
    assert fixed(rule, after, context="http").decode() == after


def test_http2_of_older_versions_is_put_behind_each_listen() -> None:
    """Before 1.25.1 the fix adds the parameter to every `listen` of the server with TLS, and to no other."""
    before = "server {\n    listen 80;\n    listen 443 ssl default_server;\n    listen [::]:443 ssl;\n}\n"
    after = "server {\n    listen 80;\n    listen 443 ssl default_server http2;\n    listen [::]:443 ssl http2;\n}\n"
    assert fixed("http2-missing", before, context="http", target="1.24.0").decode() == after


def test_the_old_ssl_on() -> None:
    """With `ssl on` (before 1.25.1) a `listen` without `ssl` uses TLS and gets HTTP/2."""
    before = "server {\n    listen 443;\n    ssl on;\n}\n"
    after = "server {\n    listen 443 http2;\n    ssl on;\n}\n"
    assert fixed("http2-missing", before, context="http", target="1.14.0").decode() == after
    assert diagnose("http2-missing", "server { ssl on; }", context="http", target="1.14.0") == ()


def test_addresses_that_verify_clients_share_no_cache() -> None:
    """One run gives each address a cache of its own, so that no session is resumed at another."""
    servers = [f"server {{ listen {port} ssl; ssl_verify_client on; ssl_crl {port}.pem; }}" for port in (443, 444, 445)]
    text = f"ssl_session_tickets off; limit_req_zone $uri zone=SSL_2:1m rate=1r/s; {' '.join(servers)}"
    after = fixed("ssl-session-cache", text, context="http").decode()
    assert re.findall("shared:(\\w+):10m", after) == ["SSL_1", "SSL_2_2", "SSL_3"]


def test_a_name_that_may_be_in_use_is_not_taken() -> None:
    """There is no fix if any name for the zone may be in use; the finding says so."""
    text = "ssl_session_tickets off; server { listen 443 ssl; location / { include not-there.conf; } }"
    (diagnostic,) = diagnose("ssl-session-cache", text, context="http")
    assert diagnostic.fix is None
    assert "a name that no other zone has" in diagnostic.finding.help


CIPHERS = Safety.under(NO_CIPHER_REMOVAL)
REVOCATION = Safety.under(NO_CIPHER_REMOVAL, NO_CLIENT_REVOCATION)
BY_NAME = Safety.under(NO_CIPHER_REMOVAL, SESSIONS_BY_NAME)
TWO = "server { listen 443 ssl; %s } server { listen 443 ssl; server_name b; %s }"
SAFETIES: dict[str, tuple[str, Safety | None]] = {
    "two names": (TWO % ("root a;", "ssl_certificate b; keepalive_timeout 1; ssl_stapling on; root b;"), CIPHERS),
    "sessions of one of two names are prohibited": (TWO % ("", "ssl_session_cache off;"), Safety.UNSAFE),
    "one of two names is refused": (TWO % ("", "ssl_reject_handshake on;"), BY_NAME),
    "one of two names has HTTP/2": (TWO % ("http2 on;", ""), BY_NAME),
    "one of two names has larger headers": (TWO % ("", "large_client_header_buffers 4 64k;"), BY_NAME),
    "two names have the same ciphers, one by inheritance": (
        f"ssl_ciphers a; {TWO % ('ssl_ciphers a;', '')}",
        CIPHERS,
    ),
    "of two names one is answered": (TWO % ("add_header X $ssl_server_name;", ""), BY_NAME),
    "a backend is told the name": (
        "server { listen 443 ssl; location / { proxy_pass http://a:1; proxy_ssl_name $ssl_server_name; } }",
        BY_NAME,
    ),
    "a log has the name": ("log_format a $ssl_server_name; server { listen 443 ssl; }", CIPHERS),
    "TLS 1.3 has no name in a session": (
        f"ssl_protocols TLSv1.3; {TWO % ('add_header X $ssl_server_name;', 'http2 on;')}",
        Safety.SAFE,
    ),
    "commands of OpenSSL may allow older versions": (
        "ssl_protocols TLSv1.3; ssl_conf_command MinProtocol TLSv1.2; server { listen 443 ssl; }",
        CIPHERS,
    ),
    "TLS 1.2 beside 1.3 has": (f"ssl_protocols TLSv1.3 TLSv1.2; {TWO % ('', 'http2 on;')}", BY_NAME),
    "no clients with certificates": ("server { listen 443 ssl; }", CIPHERS),
    "they are not asked": ("server { listen 443 ssl; ssl_verify_client off; }", CIPHERS),
    "clients with certificates": ("server { listen 443 ssl; ssl_verify_client on; }", REVOCATION),
    "for all servers": ("ssl_verify_client optional; server { listen 443 ssl; }", REVOCATION),
    "by a command of OpenSSL": ("ssl_conf_command VerifyMode Require; server { listen 443 ssl; }", REVOCATION),
    "in another server that shares the sessions": (
        "server { listen 443 ssl; } server { listen 443 ssl; server_name b; ssl_verify_client on; }",
        None,
    ),
    "in the default server, whose sessions others share": (
        "server { listen 443 ssl; ssl_verify_client on; } server { listen 443 ssl; server_name b; }",
        None,
    ),
    "at another address": ("server { listen 443 ssl; } server { listen 444 ssl; ssl_verify_client on; }", CIPHERS),
    "in another server at a second address of the default one": (
        "server { listen 443 ssl; listen 444 ssl; } server { listen 444 ssl; ssl_verify_client on; }",
        None,
    ),
    "a log may say that a session was resumed": (
        "log_format a $ssl_session_reused; server { listen 443 ssl; }",
        CIPHERS,
    ),
    "a response says that a session was resumed": (
        "server { listen 443 ssl; add_header X $ssl_session_reused; }",
        Safety.UNSAFE,
    ),
    "a backend is told": (
        "server { listen 443 ssl; location / { proxy_pass http://a:1; proxy_set_header X a${ssl_curves}; } }",
        Safety.UNSAFE,
    ),
    "a map is asked": ("map $ssl_early_data $x { 1 a; } server { listen 443 ssl; }", Safety.UNSAFE),
    "Lua may read it": ("server { listen 443 ssl; location / { content_by_lua_file a.lua; } }", Safety.UNSAFE),
    "njs may read it": ("js_set $x a.b; server { listen 443 ssl; }", Safety.UNSAFE),
    "SSI may read it": ("server { listen 443 ssl; ssi on; }", Safety.UNSAFE),
    "SSI is off": ("server { listen 443 ssl; ssi off; }", CIPHERS),
    "Lua runs in the handshake": ("server { listen 443 ssl; ssl_certificate_by_lua_block { } }", Safety.UNSAFE),
    "requests come with the handshake": ("server { listen 443 ssl; ssl_early_data on; }", Safety.UNSAFE),
    "the certificate is chosen in the handshake": (
        "server { listen 443 ssl; ssl_certificate $ssl_server_name.pem; ssl_certificate_key a; }",
        Safety.UNSAFE,
    ),
    "sessions are prohibited": ("server { listen 443 ssl; ssl_session_cache off; }", Safety.UNSAFE),
    "an include that was not read may use any name": (
        "server { listen 443 ssl; location / { include not-there.conf; } }",
        None,
    ),
}


@every_row("rule", ["ssl-session-cache", "ssl-session-tickets"])
@every_row("case", SAFETIES)
def test_how_safe_a_session_cache_is(rule: str, case: str) -> None:
    """The safety of the fix depends on what servers and handshakes decide; without a fix the finding says why."""
    text, safety = SAFETIES[case]
    off = OFF if rule == "ssl-session-cache" else ""
    (finding,) = diagnose(rule, SSL + off + text, context="http")[:1]
    assert (finding.fix and finding.fix.safety) == safety
    assert bool(finding.finding.help) == (safety is None)


def test_the_last_of_two_caches_counts() -> None:
    """nginx refuses a cache that is stated twice; the fix changes the one that is judged, and comes to an end."""
    text = f"server {{\nlisten 443 ssl;\n{OFF}ssl_session_cache shared:A:1m;\nssl_session_cache none;\n}}\n"
    after = fixed("ssl-session-cache", text, context="http").decode()
    assert after.count("shared:") == 2
    assert not diagnose("ssl-session-cache", after, context="http")
