"""Configurations adapted for `nginx -t` in a private prefix: files and addresses outside it are replaced."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from nginxopt.config import Config, Directive, Token, load_text
from nginxopt.config.layout import replace
from nginxopt.semantics import read_addresses
from nginxopt.system import nginx
from nginxopt.system.nginx import Binary, Verdict
from nginxopt.system.nginx.writes import defaults
from nginxopt.text import Edit, Span, apply, encode
from tests.support import PATIENCE

_CERTIFICATES = {"ssl_certificate", "ssl_trusted_certificate", "ssl_client_certificate", "proxy_ssl_certificate",
                 "proxy_ssl_trusted_certificate", "grpc_ssl_certificate", "grpc_ssl_trusted_certificate"}  # fmt: skip
_KEYS = {"ssl_certificate_key", "proxy_ssl_certificate_key", "grpc_ssl_certificate_key"}
_FOLDERS = {"proxy_cache_path", "fastcgi_cache_path", "uwsgi_cache_path", "scgi_cache_path", "client_body_temp_path",
            "proxy_temp_path", "fastcgi_temp_path", "uwsgi_temp_path", "scgi_temp_path"}  # fmt: skip
_LOGS = {"access_log", "error_log"}
_TARGET = re.compile(r"(\w+://)?([a-zA-Z_][\w.-]*)(?=[:/]|$)(?!:/)")
"""Where a request is passed to, if it is a name; a socket is none."""
_NAMING = {"upstream", "log_format"}


@cache
def certificate() -> dict[str, bytes]:
    """A certificate and its key, made once; without openssl the test is skipped."""
    with nginx.private_prefix() as prefix:
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-subj", "/CN=a.test", "-keyout", "key.pem", "-out", "cert.pem"]
        try:
            subprocess.run(command, cwd=prefix, capture_output=True, timeout=PATIENCE, check=True)
        except FileNotFoundError:
            pytest.skip("no openssl: install it to run these tests")
        return {name: (prefix / name).read_bytes() for name in ("cert.pem", "key.pem")}


def verdict_on(binary: Binary, data: bytes) -> Verdict:
    """The verdict of `nginx -t` on a whole configuration; missing included files are empty."""
    config = load_text(data, "nginx.conf", includes=False)
    if any(directive.name == "load_module" for directive in config.main.block.unfolded()):
        pytest.skip("an example with a module that nginx may lack")
    files = {"logs/made": b""}
    directives = list(config.main.block.walk())
    names = {str(directive.args[0]) for directive in directives if directive.args and directive.name in _NAMING}
    edits = [edit for directive in directives for edit in _edits(directive, files, names)]
    return binary.test(apply(data, [*_defaults(config), *(replace(*edit).edit for edit in edits)]), files)


def _defaults(config: Config) -> Iterator[Edit]:
    """Edits that put the files that nginx would write by default into the prefix."""
    for scope in config.scope.tree():
        start = scope.opener.block.span.start + 1 if scope.opener and scope.opener.block else 0
        text = " ".join(defaults(scope.context, {str(item.name) for item in scope.directives}, "temp"))
        if text:
            yield Edit(Span(start, start), encode(f" {text} "))


def warnings(verdict: Verdict) -> list[str]:
    """The texts of the warnings in a verdict, without lines."""
    return [warning.text for warning in verdict.warnings]


def _edits(directive: Directive, files: dict[str, bytes], names: set[str]) -> list[tuple[Directive, Token, str]]:
    """The words of a directive that are replaced; `files` receives what they name, `names` are known to nginx."""
    if not directive.args or "$" in directive.args[0] or directive.args[0].startswith("data:"):
        return []
    new = _instead(str(directive.name), directive.args[0], files)
    if directive.name.endswith("_pass") or (directive.name == "server" and directive.block is None):
        new = _passed(directive.args[0], names)
    edits = [] if new is None else [(directive, directive.args[0], new)]
    if directive.name == "access_log" and len(directive.args) > 1 and directive.args[1] not in names:
        edits.append((directive, directive.args[1], "combined"))
    if directive.name == "user" and len(directive.args) > 1:
        edits.append((directive, directive.args[1], "root"))
    if directive.name == "listen":
        edits += [(directive, word, "reuseport") for word in directive.args[1:] if word.startswith("ipv6only")]
    return edits


def _instead(name: str, word: str, files: dict[str, bytes]) -> str | None:
    if name == "listen":
        return _listen(word)
    if name in _CERTIFICATES or name in _KEYS:
        files.update(certificate())
        return "key.pem" if name in _KEYS else "cert.pem"
    if name == "include" and "*" not in word:
        files[f"included/{Path(word).name}"] = b""
        return f"included/{Path(word).name}"
    if name == "ssl_session_ticket_key":
        files["ticket.key"] = bytes(range(80))
        return "ticket.key"
    if name in _FOLDERS or (name in _LOGS and word not in ("off", "stderr") and not word.startswith("syslog:")):
        return f"temp/{Path(word).name}-{name}"
    if name == "user":
        return "root"
    return "nginx.pid" if name == "pid" else None


def _passed(word: str, names: set[str]) -> str | None:
    """A target without a name that only the network knows: nginx asks for it when it starts."""
    match = _TARGET.match(word)
    if match is None or match[2] in names or match[2] == "unix":
        return None
    return f"{match[1] or ''}127.0.0.1{word[match.end() :]}"


def _listen(word: str) -> str | None:
    """An address of this machine instead: the same for the same, another for another; None for what is no address."""
    address = next(iter(read_addresses(word)), None)
    if address is None:
        return None
    if address.family == "unix":
        return f"unix:temp/{Path(address.host).name}"
    host = 0 if address.host == "0.0.0.0" else sum(encode(address.host)) % 200
    return f"127.0.0.{host + 1}:{20_000 + address.port % 20_000}"
