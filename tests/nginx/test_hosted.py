"""What nginx refuses of files, certificates, users and host names is what is said with `--host`, in its words."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from random import Random

import pytest

from nginxopt.config import load
from nginxopt.lint import Model
from nginxopt.lint.hosted import refusals
from nginxopt.system import nginx
from nginxopt.system.host import Host
from nginxopt.system.machine import Machine
from nginxopt.version import Version
from tests.certificates import NOW, issue, rsa_key
from tests.nginx.modules import has_stream
from tests.support import NGINXES, PATIENCE

pytestmark = pytest.mark.nginx

SERVER = "http { server { listen 127.0.0.1:8443 ssl; %s } }"
PAIR = "ssl_certificate good.pem; ssl_certificate_key good.key; "
HTTP = "http { server { listen 127.0.0.1:8081; %s } }"


@cache
def files() -> dict[str, bytes]:
    """The files beside the configuration."""
    good, other = issue("a.example", key=rsa_key()), issue("a.example", key=rsa_key(1))
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    elliptic = issue("a.example")
    return {
        "good.pem": good.pem,
        "good.key": good.private,
        "other.key": other.private,
        "ec.pem": elliptic.pem,
        "ec.key": elliptic.private,
        "locked.key": good.locked(b"secret"),
        "passwords": b"wrong\r\nsecret\r\n",
        "wrong": b"wrong\n",
        "empty": b"",
        "text": b"hello\n",
        "der": good.der,
        "crlf.pem": good.pem.replace(b"\n", b"\r\n"),
        "indented.pem": b"  " + good.pem,
        "both.pem": good.private + good.pem,
        "cut.pem": good.pem[:-40],
        "base64.pem": b"-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
        "asn1.pem": broken,
        "chain.pem": good.pem + other.pem,
        "broken-chain.pem": good.pem + broken,
        "ticket.key": b"k" * 48,
    }


def keys(certificate: str, key: str) -> str:
    """The directives of a certificate and its key."""
    return f"ssl_certificate {certificate}; ssl_certificate_key {key}; "


ACCEPTED = {
    "a pair": SERVER % PAIR,
    "a key of another kind": SERVER % keys("good.pem", "ec.key"),
    "a certificate of another kind": SERVER % keys("ec.pem", "good.key"),
    "addresses to listen on": "http { server { listen localhost:8081; listen [::1]:8082; listen *:8083; } }",
    "two kinds": SERVER % (PAIR + keys("ec.pem", "ec.key")),
    "a chain": SERVER % keys("chain.pem", "good.key"),
    "lines that end as on Windows": SERVER % keys("crlf.pem", "good.key"),
    "both in one file": SERVER % keys("both.pem", "both.pem"),
    "one of several passwords": SERVER % (keys("good.pem", "locked.key") + "ssl_password_file passwords;"),
    "a variable": SERVER % keys("$host.pem", "missing.key"),
    "no server": f"http {{ {keys('missing.pem', 'missing.key')} }}",
    "authorities that nobody asks for": SERVER % (PAIR + "ssl_client_certificate missing.pem;"),
    "an upstream without TLS": HTTP
    % "location / { proxy_ssl_certificate missing; proxy_ssl_certificate_key missing; proxy_pass http://127.0.0.1; }",
    "an upstream that is not verified": HTTP
    % "location / { proxy_ssl_trusted_certificate missing; proxy_pass https://127.0.0.1; }",
    "users": HTTP % "auth_basic a; auth_basic_user_file missing;",
    "a folder": HTTP % "root /nonexistent;",
    "a log for each host": HTTP % "access_log /nonexistent/$host.log;",
    "a socket": HTTP % "location / { proxy_pass http://unix:/nonexistent; }",
    "keys of tickets": SERVER % (PAIR + "ssl_session_ticket_key ticket.key;"),
}
REFUSED = {
    "another key": SERVER % keys("good.pem", "other.key"),
    "no certificate": SERVER % keys("text", "good.key"),
    "an empty file": SERVER % keys("empty", "good.key"),
    "a binary file": SERVER % keys("der", "good.key"),
    "only a key": SERVER % keys("good.key", "good.key"),
    "an indented one": SERVER % keys("indented.pem", "good.key"),
    "one that is cut": SERVER % keys("cut.pem", "good.key"),
    "characters that are no base64": SERVER % keys("base64.pem", "good.key"),
    "bytes that are no certificate": SERVER % keys("asn1.pem", "good.key"),
    "a second one that is none": SERVER % keys("broken-chain.pem", "good.key"),
    "a missing certificate": SERVER % keys("missing.pem", "good.key"),
    "a missing key": SERVER % keys("good.pem", "missing.key"),
    "a folder for a certificate": SERVER % keys("/", "good.key"),
    "no key": SERVER % keys("good.pem", "text"),
    "a certificate for a key": SERVER % keys("good.pem", "good.pem"),
    "a password that nobody states": SERVER % keys("good.pem", "locked.key"),
    "a wrong password": SERVER % (keys("good.pem", "locked.key") + "ssl_password_file wrong;"),
    "no passwords": SERVER % (keys("good.pem", "locked.key") + "ssl_password_file empty;"),
    "a missing file of passwords": SERVER % (PAIR + "ssl_password_file missing;"),
    "a missing file of passwords upstream": HTTP % "proxy_ssl_password_file missing;",
    "no certificate in the text": SERVER % keys("data:hello", "good.key"),
    "the second of two": SERVER % (PAIR + keys("ec.pem", "other.key").replace("ec.pem", "text")),
    "inherited": f"http {{ {keys('missing.pem', 'good.key')} server {{ listen 127.0.0.1:8081; }} }}",
    "clients": SERVER % (PAIR + "ssl_client_certificate text; ssl_verify_client on;"),
    "missing authorities": SERVER % (PAIR + "ssl_client_certificate missing; ssl_verify_client optional;"),
    "trusted": SERVER % (PAIR + "ssl_trusted_certificate text;"),
    "missing trusted": SERVER % (PAIR + "ssl_trusted_certificate missing;"),
    "revoked": SERVER % (PAIR + "ssl_crl text;"),
    "missing revoked": SERVER % (PAIR + "ssl_crl missing;"),
    "parameters": SERVER % (PAIR + "ssl_dhparam text;"),
    "missing parameters": SERVER % (PAIR + "ssl_dhparam missing;"),
    "a key of tickets that is too long": SERVER % (PAIR + "ssl_session_ticket_key good.pem;"),
    "a missing key of tickets": SERVER % (PAIR + "ssl_session_ticket_key missing;"),
    "a missing response": SERVER % (PAIR + "ssl_stapling on; ssl_stapling_file missing;"),
    "a certificate for an upstream": HTTP
    % (
        "location / { proxy_pass https://127.0.0.1; "
        "proxy_ssl_certificate good.pem; proxy_ssl_certificate_key other.key; }"
    ),
    "trusted upstreams": HTTP
    % "location / { proxy_pass https://127.0.0.1; proxy_ssl_verify on; proxy_ssl_trusted_certificate missing; }",
    "trusted upstreams of gRPC": HTTP
    % "location / { grpc_pass grpcs://127.0.0.1:1; grpc_ssl_verify on; grpc_ssl_trusted_certificate text; }",
    "an include": "http { include missing.conf; }",
    "a log": HTTP % "access_log /nonexistent/a.log;",
    "a log of errors": HTTP % "error_log /nonexistent/a.log;",
    "a folder for a log": HTTP % "access_log /etc;",
    "temporary files": HTTP % "client_body_temp_path /nonexistent/a;",
    "a cache": "http { proxy_cache_path /nonexistent/a keys_zone=a:1m; server { listen 127.0.0.1:8081; } }",
    "an upstream": "http { upstream a { server 127.0.0.1; server nope.invalid:81; } }",
    "a pass": HTTP % "location / { proxy_pass http://nope.invalid/a; }",
    "a pass to a port": HTTP % "location / { fastcgi_pass nope.invalid:9000; }",
    "an address to listen on": "http { server { listen nope.invalid:81; } }",
    "a resolver": HTTP % "resolver nope.invalid;",
    "a trusted proxy": HTTP % "set_real_ip_from nope.invalid;",
    "a log server": HTTP % "access_log syslog:server=nope.invalid;",
}
STREAM = "stream { %s server { listen 127.0.0.1:8444; %s } }"
IN_STREAM = {
    "another key": STREAM % ("", keys("good.pem", "other.key") + "return ok;"),
    "inherited": STREAM % (keys("text", "good.key"), "return ok;"),
    "clients": STREAM % (PAIR, "ssl_verify_client on; ssl_client_certificate missing; return ok;"),
    "a key for an upstream": STREAM
    % (
        "",
        "proxy_pass 127.0.0.1:1; proxy_ssl on; proxy_ssl_certificate good.pem; proxy_ssl_certificate_key other.key;",
    ),
    "trusted upstreams": STREAM
    % ("", "proxy_pass 127.0.0.1:1; proxy_ssl on; proxy_ssl_verify on; proxy_ssl_trusted_certificate missing;"),
    "an upstream": STREAM % ("upstream a { server nope.invalid:1; }", "proxy_pass a;"),
    "a pass": STREAM % ("", "proxy_pass nope.invalid:1;"),
    "a log": STREAM % ("log_format a b;", "access_log /nonexistent/a a; return ok;"),
}
ACCEPTED_IN_STREAM = {
    "a pair": STREAM % (PAIR, "return ok;"),
    "a key for an upstream without TLS": STREAM
    % ("", "proxy_pass 127.0.0.1:1; proxy_ssl_certificate missing; proxy_ssl_certificate_key missing;"),
}
AS_ROOT = {
    "a user": "user nobody-at-all;",
    "a group": "user root nobody-at-all;",
    "a group of the name of the user": "user nobody-at-all;",
}


def lookup(names: Iterable[str]) -> dict[str, bool]:
    """What a name server says: names in `.invalid` never exist (RFC 6761)."""
    return {name: not name.endswith(".invalid") for name in names}


def said(folder: Path, text: str, binary: nginx.Binary) -> list[str]:
    """What is said of a configuration in a folder with the files."""
    for name, data in files().items():
        (folder / name).write_bytes(data)
    main = folder / "nginx.conf"
    main.write_text(f"pid nginx.pid; error_log stderr; events {{}}\n{text}\n")
    here = Machine.here(NOW)
    machine = Machine(here.tree, here.accounts, NOW, lookup)
    model = Model(load(main, missing_ok=True), Version.parse(".".join(map(str, binary.version))), Host(machine=machine))
    return [refusal.message for refusal in refusals(model)]


def refused(folder: Path, binary: nginx.Binary) -> str:
    """What nginx says, without the codes of OpenSSL and the place; nothing if it accepts. It has no terminal."""
    command = [*binary.command(folder), "-t"]
    run = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False, start_new_session=True
    )
    if run.returncode == 0:
        return ""
    told = re.search(r"\[emerg\] (?:\d+#\d+: )?(.*)", run.stderr.decode())
    assert told is not None
    return told[1]


@pytest.mark.parametrize("binary", NGINXES, ids=str)
@pytest.mark.parametrize("case", ACCEPTED)
def test_nothing_is_said_of_what_nginx_accepts(tmp_path: Path, case: str, binary: nginx.Binary) -> None:
    """What nginx accepts is no refusal."""
    assert said(tmp_path, ACCEPTED[case], binary) == []
    assert refused(tmp_path, binary) == ""


@pytest.mark.parametrize("binary", [each for each in NGINXES if has_stream(each)], ids=str)
@pytest.mark.parametrize("case", [*IN_STREAM, *ACCEPTED_IN_STREAM])
def test_stream_is_judged_as_nginx_judges_it(tmp_path: Path, case: str, binary: nginx.Binary) -> None:
    """The same holds for stream, whose passes say `proxy_ssl on`."""
    messages = said(tmp_path, {**IN_STREAM, **ACCEPTED_IN_STREAM}[case], binary)
    told = refused(tmp_path, binary)
    assert [bool(message) for message in messages] == ([True] if case in IN_STREAM else [])
    assert bool(told) == bool(messages)
    assert all(told.startswith(message.partition(" (SSL: ")[0]) for message in messages)


@pytest.mark.parametrize("binary", NGINXES, ids=str)
@pytest.mark.parametrize("case", [*REFUSED, *(AS_ROOT if os.geteuid() == 0 else ())])
def test_what_nginx_refuses_is_said_in_its_words(tmp_path: Path, case: str, binary: nginx.Binary) -> None:
    """One thing is said, and it is what nginx says first."""
    (message,) = said(tmp_path, {**REFUSED, **AS_ROOT}[case], binary)
    words, _, reason = message.partition(" (SSL: ")
    told = refused(tmp_path, binary)
    assert told.replace("data:hello", "data:").startswith(words)
    assert reason.rstrip(")") in told


def mutated(random: Random, data: bytes) -> bytes:
    """A file with one thing changed: bytes that are lost, other, inserted, twice or in another order."""
    at = random.randrange(len(data) + 1)
    end = at + random.randrange(1, 60)
    insert = random.choice(
        [b"\n", b" ", b"-----BEGIN X-----\n", b"-", b"A", b"==", b"\n\n", b"Proc-Type: 4,ENCRYPTED\n"]
    )
    lines = data.split(b"\n")
    return random.choice(
        [
            data[:at] + data[end:],
            data[:at] + bytes([random.choice(b"A=-\n \r!\0z")]) + data[at + 1 :],
            data[:at] + insert + data[at:],
            data[:end] + data[at:],
            data[:at],
            b"\n".join(random.sample(lines, len(lines))),
            data + data,
        ]
    )


@pytest.mark.extended
@pytest.mark.parametrize("binary", NGINXES, ids=str)
@pytest.mark.parametrize("seed", range(60))
def test_broken_files_are_judged_as_nginx_judges_them(tmp_path: Path, seed: int, binary: nginx.Binary) -> None:
    """A certificate or key with something changed is refused if nginx refuses it, with the same function of OpenSSL."""
    random = Random(seed)
    name = random.choice(["good.pem", "broken-chain.pem", "chain.pem", "both.pem", "good.key", "locked.key"])
    pair = keys("good.pem", "broken") if name.endswith(".key") else keys("broken", "good.key")
    text = SERVER % f"{pair} {'ssl_password_file passwords;' if name == 'locked.key' else ''}"
    (tmp_path / "broken").write_bytes(mutated(random, mutated(random, files()[name])))
    words = [message.partition(" (SSL: ")[0] for message in said(tmp_path, text, binary)]
    told = refused(tmp_path, binary)
    assert bool(words) == bool(told)
    assert all(told.startswith(message) for message in words)
