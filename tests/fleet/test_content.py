"""The files of a host, by the names that they have there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.fleet.content import HostContent, Link


def _names(files: dict[str, bytes | Link], installed: str = "/etc/nginx") -> list[str]:
    dump = HostContent(files).dump(installed)
    found = dump.matches("/", "/*") + dump.matches("/", "/*/*") + dump.matches("/", "/*/*/*")
    return [*found, *dump.matches("/", "/*/*/*/*")]


def test_a_tree_is_where_its_main_file_is_installed() -> None:
    """The folder of nginx.conf stands for /etc/nginx, or for the one that is stated."""
    files: dict[str, bytes | Link] = {"conf/nginx.conf": b"a", "conf/conf.d/x.conf": b"b", "other": b"c"}
    assert _names(files) == ["/etc/other", "/etc/nginx/nginx.conf", "/etc/nginx/conf.d/x.conf"]
    assert "/srv/conf.d/x.conf" in _names(files, "/srv")


@pytest.mark.parametrize(
    ("main", "folder"),
    [
        (b"include /usr/local/nginx/conf/vhost/*.conf;", "/usr/local/nginx/conf"),
        (b"http { include /usr/share/nginx/modules/*; include /srv/x/nginx/conf/a; }", "/srv/x/nginx/conf"),
        (b"include /srv/a.conf; include b.conf;", "/etc/nginx"),
        (b"include '/opt/nginx", "/etc/nginx"),
    ],
)
def test_a_tree_is_where_its_includes_show(main: bytes, folder: str) -> None:
    """Without a statement, the includes of the main file show its folder on the host."""
    dump = HostContent({"nginx.conf": main, "vhost/a.conf": b"b;"}).dump()
    assert [file.path for file in load_text(b"include vhost/*;", dump.main, files=dump).files[1:]] == [
        f"{folder}/vhost/a.conf"
    ]


def test_a_root_file_system_keeps_its_paths() -> None:
    """If the main file is below etc/, paths are those of the host."""
    files: dict[str, bytes | Link] = {"etc/nginx/nginx.conf": b"a", "srv/x.conf": b"b"}
    assert _names(files) == ["/srv/x.conf", "/etc/nginx/nginx.conf"]


def test_the_main_file_is_the_highest_one() -> None:
    """A nginx.conf in a folder below is not the main file."""
    dump = HostContent({"a/nginx.conf": b"inner", "nginx.conf": b"outer"}).dump()
    assert dump.read(dump.main) == b"outer"


def test_links_lead_to_files_and_folders_of_the_tree() -> None:
    """Absolute and relative links, links to links and links to folders give files further names; circles end."""
    files: dict[str, bytes | Link] = {
        "nginx.conf": b"",
        "sites-available/a": b"a",
        "sites-enabled/a": Link("/etc/nginx/sites-available/a"),
        "sites-enabled/b": Link("../sites-available/a"),
        "sites-enabled/c": Link("b"),
        "more": Link("sites-enabled"),
        "gone": Link("nowhere"),
        "self": Link("self"),
        "up": Link("."),
    }
    dump = HostContent(files).dump()
    for name in ("sites-enabled/a", "sites-enabled/b", "sites-enabled/c", "more/c"):
        assert dump.read(f"/etc/nginx/{name}") == b"a"
    with pytest.raises(FileNotFoundError):
        dump.read("/etc/nginx/gone")


@pytest.mark.parametrize("files", [{}, {"a.conf": b""}, {"nginx.conf": Link("gone")}])
def test_a_tree_without_a_main_file_is_an_error(files: dict[str, bytes | Link]) -> None:
    """What nginx would start from must be there."""
    with pytest.raises(InputError, match=r"nginx\.conf"):
        HostContent(files).dump()


@given(
    st.dictionaries(st.text(max_size=3), st.one_of(st.binary(max_size=3), st.builds(Link, st.text(max_size=3)))),
    st.dictionaries(st.text(max_size=3), st.one_of(st.binary(max_size=3), st.builds(Link, st.text(max_size=3)))),
)
def test_only_the_same_files_have_the_same_digest(one: dict[str, bytes | Link], other: dict[str, bytes | Link]) -> None:
    """Digests are equal if and only if names, bytes and links are, whatever the order."""
    assert (HostContent(one).digest == HostContent(other).digest) == (one == other)
    assert HostContent(one).digest == HostContent(dict(reversed(one.items()))).digest
