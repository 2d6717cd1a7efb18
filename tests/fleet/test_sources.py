"""Where hosts are: folders, wildcards, archives and URLs."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from nginxopt.errors import InputError, MissingError, UsageError
from nginxopt.fleet.content import Link
from nginxopt.fleet.sources import Fleet, find
from tests.fleet.fleets import GOOD, SITE, dump, tree


def _all(fleet: Fleet) -> dict[str, dict[str, bytes | Link]]:
    found = {host.name: dict(host.recipe.read().files) for host in fleet.hosts(lambda _: False)}
    assert len(found) == len(fleet)
    return found


_TREE = {"nginx.conf": GOOD, "conf.d/a.conf": SITE}


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """A folder with a tree and a dump."""
    tree(tmp_path / "hosts" / "web1", a=SITE)
    (tmp_path / "hosts" / "web2.txt").write_bytes(dump(tmp_path / "hosts" / "web1"))
    return tmp_path / "hosts"


def test_each_child_of_a_folder_is_a_host(hosts: Path) -> None:
    """Folders are trees, files are dumps; hidden children are none."""
    (hosts / ".git").mkdir()
    found = _all(find([str(hosts)], None))
    assert found == {"web1": _TREE, "web2": {"": dump(hosts / "web1")}}


def test_a_folder_with_a_main_file_is_one_host(hosts: Path) -> None:
    """The tree itself may be named."""
    assert _all(find([str(hosts / "web1")], None)) == {"web1": _TREE}


def test_wildcards_name_hosts(hosts: Path) -> None:
    """What a pattern matches is a host each: a main file stands for its tree."""
    assert _all(find([f"{hosts}/*/nginx.conf"], None)) == {"web1": _TREE}
    assert set(_all(find([f"{hosts}/*"], None))) == {"web1", "web2"}


def test_the_pattern_finds_hosts_at_any_depth(hosts: Path) -> None:
    """With --host-from each path that matches is a host."""
    tree(hosts / "eu" / "web3" / "etc" / "nginx")
    found = _all(find([str(hosts)], "{host}/etc/nginx/nginx.conf"))
    assert found == {"web3": {"nginx.conf": GOOD}}


@pytest.mark.parametrize(("source", "host_from"), [(".", None), ("*", None), (".", "{host}"), ("*", "{host}")])
def test_results_are_no_hosts(hosts: Path, source: str, host_from: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run has written beside the hosts, in either form, complete or not, is found by no source."""
    monkeypatch.chdir(hosts)
    before = _all(find([source], host_from))
    for name in ("fleet.duckdb", "prod.db", "fleet.duckdb.part"):
        (hosts / name).write_bytes(b"12345678DUCK" + bytes(8))
    (hosts / "fleet.duckdb.part.wal").write_bytes(b"log")
    (hosts / "result").mkdir()
    (hosts / "result" / "hosts.parquet").write_bytes(b"PAR1")
    assert _all(find([source], host_from)) == before


@pytest.mark.parametrize("source", [".", "*", "../fleet.tar"])
def test_settings_and_files_of_the_run_are_no_hosts(hosts: Path, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor in an archive, where hidden files are none either; other files are hosts, as a dump may be damaged."""
    monkeypatch.chdir(hosts)
    for name in ("nginxopt.toml", "pyproject.toml", ".hidden", "b.json", "empty.txt"):
        (hosts / name).touch()
    (hosts.parent / "fleet.tar").write_bytes(_tar(hosts, "w"))
    assert set(_all(find([source], None, ["b.json"]))) == {"web1", "web2", "empty"} | (
        {"b.json"} if source.endswith(".tar") else set()
    )


def test_a_configuration_is_never_taken_for_a_result(hosts: Path) -> None:
    """Words of a comment and names of files do not make one."""
    (hosts / "duck.conf").write_text("# fleet DUCK.example.com\nevents {}\n")
    (hosts / "disk.wal").write_text("events {}\n")
    tree(hosts / "web3")
    (hosts / "web3" / "hosts.parquet").write_bytes(b"PAR1")
    assert {"duck", "disk.wal", "web3"} <= set(_all(find([str(hosts)], None)))


def _tar(hosts: Path, mode: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
        archive.add(hosts, "fleet")
    return data.getvalue()


def _zip(hosts: Path) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for file in sorted(hosts.rglob("*")):
            archive.write(file, f"fleet/{file.relative_to(hosts)}")
    return data.getvalue()


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("fleet.tar", lambda hosts: _tar(hosts, "w")),
        ("fleet.tar.gz", lambda hosts: _tar(hosts, "w:gz")),
        ("fleet.tgz", lambda hosts: _tar(hosts, "w:gz")),
        ("fleet.tar.xz", lambda hosts: _tar(hosts, "w:xz")),
        ("fleet.ZIP", _zip),
    ],
)
def test_an_archive_is_like_the_folder_in_it(hosts: Path, name: str, pack: Callable[[Path], bytes]) -> None:
    """The hosts of a packed folder are those of the folder, also by a pattern, and but for those that are done."""
    packed = hosts.parent / name
    packed.write_bytes(pack(hosts))
    fleet = find([str(packed)], None)
    assert _all(fleet) == _all(find([str(hosts)], None))
    assert [host.name for host in fleet.hosts({"web1"}.__contains__)] == ["web2"]
    assert _all(find([str(packed)], "{host}/nginx.conf")) == {"web1": _TREE}


def test_links_in_a_tar_file_are_links(tmp_path: Path) -> None:
    """Symbolic links are kept, hard links are links to the other name."""
    site = tree(tmp_path / "web1", a=SITE)
    (site / "soft").symlink_to("conf.d/a.conf")
    (site / "hard").hardlink_to(site / "conf.d" / "a.conf")
    (tmp_path / "one.tar").write_bytes(_tar(site, "w"))
    (found,) = _all(find([str(tmp_path / "one.tar")], "{host}/nginx.conf")).values()
    assert found["soft"] == Link("conf.d/a.conf")
    parts = {found["hard"], found["conf.d/a.conf"]}
    assert SITE in parts
    assert any(isinstance(part, Link) for part in parts)


def test_urls_are_opened_by_fsspec(hosts: Path) -> None:
    """Folders, patterns and archives of a URL have the same hosts as those of this machine."""
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    memory.put(str(hosts), "/prod", recursive=True)
    with memory.open("/fleet.tar", "wb") as file:
        file.write(_tar(hosts, "w"))
    expected = _all(find([str(hosts)], None))
    assert _all(find(["memory://prod"], None)) == expected
    assert _all(find(["memory://prod/*"], None)) == expected
    assert _all(find(["memory://fleet.tar"], None)) == expected
    assert _all(find(["memory://prod"], "{host}/nginx.conf")) == {"web1": _TREE}


def test_an_archive_of_a_root_file_system_is_one_host(tmp_path: Path) -> None:
    """It has the name of the archive, as its folders have none."""
    tree(tmp_path / "web1" / "etc" / "nginx")
    with tarfile.open(tmp_path / "web1.example.com.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "web1", ".")
    found = _all(find([str(tmp_path / "web1.example.com.tar.gz")], None))
    assert found == {"web1.example.com": {"etc/nginx/nginx.conf": GOOD}}


def test_two_hosts_of_one_name_are_refused(hosts: Path) -> None:
    """Both places are named, and the option that tells them apart."""
    tree(hosts.parent / "more" / "web1")
    with pytest.raises(UsageError, match=r"two hosts are named web1: .*hosts/web1 and .*more/web1"):
        find([str(hosts), str(hosts.parent / "more")], None)


@pytest.mark.parametrize("name", ["none/*", "none", "empty", "broken.tar.gz", "broken.zip", "nowhere://x"])
def test_a_source_without_hosts_is_an_error(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not exist, has no hosts or cannot be opened is an error that names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.tar.gz").write_bytes(b"\x1f\x8b\x08 broken")
    (tmp_path / "broken.zip").write_bytes(b"PK broken")
    with pytest.raises(InputError) as caught:
        find([name], None)
    assert name in caught.value.render()


def test_a_protocol_without_its_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """fsspec names the package."""
    monkeypatch.setitem(__import__("sys").modules, "s3fs", None)
    with pytest.raises(MissingError, match="s3fs"):
        find(["s3://bucket/x"], None)
