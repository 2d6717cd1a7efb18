"""When nginx asks for the addresses of a name: once, as `name-resolved-once` says."""

from __future__ import annotations

import shutil
import socket
import subprocess
from functools import cache
from pathlib import Path

import pytest

from nginxopt.system import nginx, process
from tests.lintcheck import diagnose
from tests.nginx.test_sessions import reload
from tests.support import PATIENCE, USER

pytestmark = pytest.mark.nginx

NAME = "shop-1.eu-west-1.elb.amazonaws.com"
UNSHARE = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"')
"""Runs a command that has a `/etc/hosts` of its own, which is the first argument."""


@cache
def why_not() -> str | None:
    """Why no command can have a `/etc/hosts` of its own here; None if one can."""
    if shutil.which("unshare") is None:
        return "unshare is not installed"
    command = [*UNSHARE, "/etc/hosts", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return f"no namespace for mounts: {done.stderr.strip()}" if done.returncode else None


needs_mounts = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def text(port: int, server: str, upstream: str) -> bytes:
    """A configuration that passes to the name, and two servers that answer with their own addresses."""
    answers = "".join(
        f"server {{ listen 127.0.0.{number}:{port} reuseport; return 200 at-127.0.0.{number}; }}\n" for number in (1, 2)
    )
    main = f"daemon off; worker_processes 1; pid nginx.pid; error_log error.log; {USER}\nevents {{}}\n"
    http = f"access_log off;\nproxy_temp_path temp/proxy;\nclient_body_temp_path temp/body;\n{upstream}{answers}"
    return f"{main}http {{\n{http}server {{ listen unix:temp/asked; {server} }}\n}}\n".encode()


def ask(prefix: Path) -> bytes:
    """The body of the answer to a GET."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE)
        client.connect(str(prefix / "temp" / "asked"))
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        answer = b"".join(iter(lambda: client.recv(1000), b""))
    return answer.rpartition(b"\r\n\r\n")[2]


@needs_mounts
@pytest.mark.parametrize("is_upstream", [False, True], ids=["proxy_pass", "upstream"])
def test_a_name_keeps_its_address_until_a_reload(
    each_binary: nginx.Binary, tmp_path: Path, *, is_upstream: bool
) -> None:
    """nginx passes requests to the address that a name had when it started, whatever the name has now."""
    hosts = tmp_path / "hosts"
    hosts.write_text(f"127.0.0.1 {NAME}\n")
    with nginx.reserved_ports(1) as (port,), nginx.private_prefix() as prefix:
        upstream = f"upstream app {{ server {NAME}:{port}; }}\n" if is_upstream else ""
        server = f"location / {{ proxy_pass http://{'app' if is_upstream else f'{NAME}:{port}'}; }}"
        assert len(diagnose("name-resolved-once", f"{upstream}server {{ {server} }}", context="http")) == 1
        (prefix / "nginx.conf").write_bytes(text(port, server, upstream))
        command = [*UNSHARE, str(hosts), *each_binary.command(prefix)]
        started = process.start(command, cwd=prefix, output=subprocess.DEVNULL)
        try:
            assert nginx.wait_until_started(started, prefix / nginx.PID_FILE, PATIENCE)
            running = nginx.Running(prefix, started)
            assert ask(prefix) == b"at-127.0.0.1"
            hosts.write_text(f"127.0.0.2 {NAME}\n")
            assert ask(prefix) == b"at-127.0.0.1"
            reload(running)
            assert ask(prefix) == b"at-127.0.0.2"
        finally:
            process.end(started)
