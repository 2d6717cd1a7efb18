"""Includes that may read other files where a configuration is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load, load_text, may_read_more, places
from nginxopt.config.filesystem import Dump, Overlay
from nginxopt.fleet.content import HostContent

# What an include names, and what is there: REPO is the folder of the main file, and OTHER a folder of this machine that
# has the same files. Then whether it may read more elsewhere, and in a folder where nginx is installed.
NAMES = {
    "a file beside the main file": ("there/a.conf", False, False),
    "a file that is missing": ("gone.conf", True, True),
    "the files of a folder": ("there/*.conf", False, False),
    "the same by its path": ("REPO/there/*.conf", False, False),
    "through a folder that is not its own": ("REPO/empty/../there/*.conf", False, False),
    "files in folders": ("there*/*.conf", False, False),
    "a link to a file elsewhere": ("enabled/*.conf", False, False),
    "an empty folder": ("empty/*.conf", True, False),
    "a folder with other files": ("there/*.none", True, False),
    "a folder that is not there": ("gone/*.conf", True, True),
    "a folder of this machine": ("OTHER/there/*.conf", True, False),
    "a folder of this machine without files": ("OTHER/*.none", True, False),
    "a file of this machine": ("OTHER/there/a.conf", True, False),
    "a folder beside, by a relative path": ("../other/there/*.conf", True, False),
    "a file beside, by a relative path": ("../other/there/a.conf", False, False),
    "a folder whose name begins like that of the main file": ("../repository/*.conf", True, False),
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """The folder of a main file, beside others."""
    for folder in ("repo/there", "repo/empty", "repo/enabled", "other/there", "repository"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("repo/there/a.conf", "other/there/a.conf", "repository/a.conf"):
        (tmp_path / file).write_text("gzip on;\n")
    (tmp_path / "repo/enabled/a.conf").symlink_to(tmp_path / "other/there/a.conf")
    return tmp_path / "repo"


@pytest.mark.parametrize("case", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("is_installed", [False, True], ids=["in a repository", "installed"])
def test_what_may_be_other_elsewhere(
    repo: Path, case: tuple[str, bool, bool], monkeypatch: pytest.MonkeyPatch, *, is_installed: bool
) -> None:
    """Outside of a folder where nginx is installed, what matches nothing or leads out of the main file's folder."""
    name, *expected = case
    if is_installed:
        monkeypatch.setattr(places, "INSTALLED", (str(repo),))
    written = name.replace("REPO", str(repo)).replace("OTHER", str(repo.parent / "other"))
    (repo / "nginx.conf").write_text(f"http {{ include {written}; }}\n")
    config = load(repo / "nginx.conf", missing_ok=True)
    overlaid = load_text(
        (repo / "nginx.conf").read_bytes(), str(repo / "nginx.conf"), files=Overlay({}), missing_ok=True
    )
    assert may_read_more(config, config.includes[0]) is expected[is_installed]
    assert may_read_more(overlaid, overlaid.includes[0]) is expected[is_installed]


def test_the_prefix_is_part_of_the_configuration(repo: Path) -> None:
    """Relative includes that start from a folder above read the files of that folder."""
    (repo / "sites").mkdir()
    (repo / "sites/main.conf").write_text("http { include there/*.conf; }\n")
    config = load(repo / "sites/main.conf", prefix=repo)
    assert not may_read_more(config, config.includes[0])


def test_a_folder_in_place_of_the_installed_one(repo: Path) -> None:
    """If the repository stands for /etc/nginx, an absolute include reads the repository's files, or may read others."""
    text = b"http { include /etc/nginx/there/*.conf; include /etc/nginx/empty/*.conf; }"
    config = load_text(text, str(repo / "nginx.conf"), missing_ok=True)
    assert [may_read_more(config, include) for include in config.includes] == [False, True]


INCLUDES = b"http { include conf.d/*.conf; include /srv/*.conf; include gone.conf; }\n"


def test_nginx_prints_all_that_it_reads() -> None:
    """In the output of `nginx -T` a wildcard without files matches none; a file is missing if it was cut off."""
    dump = Dump.of("-", b"# configuration file /etc/nginx/nginx.conf:\n" + INCLUDES + b"\n")
    assert dump is not None
    config = load_text(dump.read(dump.main), dump.main, files=dump, missing_ok=True)
    assert [may_read_more(config, include) for include in config.includes] == [False, False, True]


def test_a_tree_of_a_host_need_not_be_all() -> None:
    """The files that were collected from a host, or are in the repository of a fleet, may lack folders."""
    files = {"nginx.conf": INCLUDES, "conf.d/a.conf": b"gzip on;\n"}
    dump = HostContent(files).dump()
    config = load_text(dump.read(dump.main), dump.main, files=dump, missing_ok=True)
    assert [may_read_more(config, include) for include in config.includes] == [False, True, True]


def test_a_copy_does_not_include_itself(tmp_path: Path) -> None:
    """`/config/nginx/nginx.conf` in the file of that name is another one: the copy is for another folder."""
    (tmp_path / ".git").mkdir()
    main = tmp_path / "root/etc/nginx/nginx.conf"
    main.parent.mkdir(parents=True)
    main.write_text("include /config/nginx/nginx.conf;\n")
    config = load(main, missing_ok=True)
    assert config.files == (config.main,)
    assert [unread.path for unread in config.unread] == [str(main)]
