"""`nginxopt check` and `nginxopt lint` with `--host` and `--root`: the machine beside the configuration."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nginxopt.config.root_folder import RootFolder
from nginxopt.system import machine as machine_
from tests.certificates import issue

_ASSUMED = "note: checked for nginx 1.28.0; --target-version names another\n"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="machines are checked on Linux only")

_SITE = """server {
    listen 443 ssl;
    server_name shop.example;
    ssl_certificate /etc/ssl/shop.pem;
    ssl_certificate_key /etc/ssl/shop.key;
    location / { proxy_pass http://nope.invalid; }
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system with an nginx whose certificate has another key, beside the folder of the command."""
    etc = tmp_path / "rootfs/etc"
    for folder in ("nginx/sites-available", "nginx/sites-enabled", "ssl"):
        (etc / folder).mkdir(parents=True)
    (etc / "passwd").write_text("root:x:0:0::/root:/bin/sh\nweb:x:50:50::/:/bin/false\n")
    (etc / "group").write_text("root:x:0:\nweb:x:50:\n")
    (etc / "nginx/nginx.conf").write_text(
        "user www;\nevents {}\nhttp { include /etc/nginx/sites-enabled/*; include /etc/nginx/gone.conf; }\n"
    )
    (etc / "nginx/sites-available/shop").write_text(_SITE)
    (etc / "nginx/sites-enabled/shop").symlink_to("/etc/nginx/sites-available/shop")
    (etc / "ssl/shop.pem").write_bytes(issue("shop.example", days=(-90, 20_000)).pem)
    (etc / "ssl/shop.key").write_bytes(issue("shop.example").private)
    return tmp_path / "rootfs"


_FOUND = [
    'rootfs/etc/nginx/nginx.conf:1:6: getpwnam("www") failed',
    'rootfs/etc/nginx/nginx.conf:3:52: open() "/etc/nginx/gone.conf" failed (2: No such file or directory)',
    "rootfs/etc/nginx/sites-available/shop:5:25: "
    'SSL_CTX_use_PrivateKey("/etc/ssl/shop.key") failed (SSL: key values mismatch)',
]


def test_check_of_a_root(run: Any, root: Path) -> None:
    """The files, users and certificates are those below the root, links too; no name is looked up."""
    ran = run("check", "rootfs/etc/nginx/nginx.conf", "--root", "rootfs")
    assert (ran.status, sorted(ran.out.decode().splitlines())) == (1, _FOUND)
    (root / "etc/nginx/nginx.conf").write_text("user web;\nevents {}\nhttp { include /etc/nginx/sites-enabled/*; }\n")
    (root / "etc/ssl/shop.key").unlink()
    (root / "etc/ssl/shop.pem").unlink()
    ran = run("check", "rootfs/etc/nginx/nginx.conf", "--root", "rootfs")
    assert (ran.status, ran.err) == (1, _ASSUMED)
    assert b'cannot load certificate "/etc/ssl/shop.pem": BIO_new_file() failed' in ran.out


def test_lint_of_a_root(run: Any, root: Path) -> None:
    """`lint` says the same as errors, with the text of the files below the root."""
    assert (root / "etc").exists()
    ran = run(
        "lint", "rootfs/etc/nginx", "--root", "rootfs", "--select", "host-refused", "--format", "json", "--isolated"
    )
    report = json.loads(ran.out)
    assert ran.status == 1
    assert (
        sorted(
            f"{each['file']}:{each['line']}:{each['column']}: {each['message'].removeprefix('nginx refuses it: ')}"
            for each in report["diagnostics"]
        )
        == _FOUND
    )
    ran = run("lint", "rootfs/etc/nginx", "--root", "rootfs", "--select", "host-refused", "--isolated")
    assert "    user www;\n" in ran.out.decode()


def test_nothing_is_looked_at_without_a_machine(run: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `--host` and `--root`, no certificate is read and no name is looked up."""
    monkeypatch.setattr(machine_, "resolvable", None)
    monkeypatch.setattr(RootFolder, "look", None)
    assert run("check", "rootfs/etc/nginx/nginx.conf").status == 0
    assert run("lint", "rootfs/etc/nginx/sites-available/shop", "--select", "refused", "--isolated").status == 0
    assert (root / "etc").exists()


def test_this_machine(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--host` asks this machine, its name servers too; a name that nobody answers for is a note."""
    monkeypatch.setattr(machine_, "resolvable", lambda names: {name: False for name in names if "slow" not in name})
    (tmp_path / "nginx.conf").write_text(
        "events {}\nhttp {\n  upstream a { server nope.invalid; server slow.example; }\n  ssl_password_file gone;\n}\n"
    )
    ran = run("check", "nginx.conf", "--host")
    assert ran.status == 1
    assert ran.out.decode().splitlines() == [
        f'nginx.conf:4:21: open() "{tmp_path}/gone" failed (2: No such file or directory)',
        'nginx.conf:3:23: host not found in upstream "nope.invalid"',
    ]
    what = '"slow.example" could not be looked up: no answer in time, or no name server'
    assert ran.err == f"nginx.conf:3:44: note: {what}, so it is not checked\n{_ASSUMED}"


@pytest.mark.parametrize("command", ["lint", "check"])
def test_options_that_contradict_each_other(run: Any, root: Path, command: str) -> None:
    """There is one machine, and it must be there."""
    assert run(command, str(root), "--host", "--root", "rootfs").status == 2
    for name in ("rootfs/etc/passwd", "nowhere"):
        ran = run(command, str(root / "etc/nginx/nginx.conf"), "--root", name)
        assert (ran.status, ran.err.splitlines()[0]) == (3, f"{name}: is not a directory")


def test_certificates_need_a_package(run: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without `cryptography` all but certificates is checked, and one note says so and names the extra."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cryptography" else find(name))
    ran = run("check", "rootfs/etc/nginx/nginx.conf", "--root", "rootfs")
    assert (ran.status, sorted(ran.out.decode().splitlines())) == (1, _FOUND[:2])
    assert "rootfs/etc/nginx/sites-available/shop:4:21: note: certificates need the package cryptography" in ran.err
    assert ran.err.count("pip install 'nginxopt[host]'") == 1
    ran = run("lint", "rootfs/etc/nginx/nginx.conf", "--root", "rootfs", "--isolated", "--format", "json")
    found = [each for each in json.loads(ran.out)["diagnostics"] if each["rule"] == "host-unread"]
    assert [each["help"] for each in found] == ["install it with pip install 'nginxopt[host]'"]
    (root / "etc/ssl/shop.pem").unlink()
    ran = run("check", "rootfs/etc/nginx/nginx.conf", "--root", "rootfs")
    assert b'cannot load certificate "/etc/ssl/shop.pem": BIO_new_file() failed' in ran.out


def test_rules_that_depend_on_the_machine(run: Any, tmp_path: Path) -> None:
    """What depends on the load is reported by default only where the machine is looked at, and if it is selected."""
    (tmp_path / "nginx.conf").write_text(
        "events {}\nhttp { server { root /srv; location / { try_files $uri =404; } } }\n"
    )

    def rules(*options: str) -> set[str]:
        ran = run("lint", "nginx.conf", "--isolated", "--format", "json", *options)
        return {each["rule"] for each in json.loads(ran.out)["diagnostics"]} & {"sendfile", "worker-processes"}

    (tmp_path / "root").mkdir()
    assert rules() == set()
    assert rules("--select", "process") == set()
    assert rules("--root", "root") == {"sendfile", "worker-processes"}
    assert rules("--root", "root", "--select", "process") == {"worker-processes"}
    assert rules("--root", "root", "--ignore", "sendfile") == {"worker-processes"}
    assert rules("--select", "sendfile,worker-processes") == {"sendfile", "worker-processes"}


def test_a_dump_is_read_where_it_was_written(run: Any, tmp_path: Path) -> None:
    """Relative names in the output of `nginx -T` start from the folder that the main file had."""
    dump = "# configuration file /nonexistent/nginx.conf:\nevents {}\nhttp { ssl_password_file gone; }\n"
    (tmp_path / "dump.conf").write_text(dump)
    ran = run("check", "dump.conf", "--host")
    assert ran.out.decode().splitlines() == [
        '/nonexistent/nginx.conf:2:26: open() "/nonexistent/gone" failed (2: No such file or directory)'
    ]
