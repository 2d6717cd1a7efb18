"""A folder that stands for `/`: paths and links are resolved inside of it, as the kernel does at the real root."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import load, reread
from nginxopt.config.filesystem import Rooted
from nginxopt.config.inputs import InputOptions, read
from nginxopt.config.places import may_read_more
from nginxopt.config.root_folder import RootFolder
from tests.rows import every_row

_NAMES = ("a", "b", "c")
_STEPS = st.lists(st.sampled_from([*_NAMES, "..", ".", ""]), min_size=1, max_size=4).map("/".join)
_ENTRIES = st.lists(
    st.tuples(
        st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3).map("/".join),
        st.one_of(st.none(), st.just(b"text"), st.tuples(st.booleans(), _STEPS)),
    ),
    max_size=8,
)


def _made(root: Path, entries: Sequence[tuple[str, bytes | tuple[bool, str] | None]]) -> None:
    """Make folders, files and links in a tree; what stands in the way of another is left out."""
    for name, content in entries:
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.mkdir(exist_ok=True)
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                is_absolute, target = content
                path.symlink_to(f"{root}/{target}" if is_absolute else target)
        except OSError:
            continue


@given(entries=_ENTRIES, asked=_STEPS)
def test_paths_lead_where_the_kernel_leads(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, bytes | tuple[bool, str] | None]], asked: str
) -> None:
    """With `/` as root, a path leads to the file that stat(2) finds, or fails for the same reason."""
    folder = tmp_path_factory.mktemp("tree")
    _made(folder, entries)
    path = f"{folder}/{asked}"
    reached = RootFolder().look(path)
    found = _found(path)
    if reached.entry is None:
        assert reached.error == found
    else:
        assert reached.entry.path == os.path.realpath(path)
        assert (reached.entry.mode, reached.entry.size) == found


def _found(path: str) -> int | tuple[int, int]:
    """What the kernel finds at a path: its mode and size, or why there is nothing."""
    try:
        status = os.stat(path)  # noqa: PTH116 - as the text it is
    except OSError as error:
        return error.errno or 0
    return status.st_mode, status.st_size


@given(entries=_ENTRIES, asked=_STEPS)
def test_nothing_leads_out_of_a_tree(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, bytes | tuple[bool, str] | None]], asked: str
) -> None:
    """What is found is in the tree, whatever links and `..` say."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "secret").write_bytes(b"outside")
    root = folder / "root"
    root.mkdir()
    _made(root, [*entries, ("out", (False, "../secret")), ("up", (False, "../../..")), ("abs", (True, "../secret"))])
    tree = RootFolder(str(root))
    for path in (f"/{asked}", f"/up/{asked}", "/out", "/abs", "/../secret", f"/up/{folder}/secret"):
        entry = tree.look(path).entry
        assert entry is None or os.path.realpath(tree.outside(entry.path)).startswith(str(root))


def test_links_start_from_the_root_again(tmp_path: Path) -> None:
    """An absolute link leads to the file of the tree; one into nothing and a circle have the reasons of the kernel."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/file").write_text("inside")
    (tmp_path / "link").symlink_to("/etc/file")
    (tmp_path / "gone").symlink_to("/etc/nothing")
    (tmp_path / "circle").symlink_to("circle")
    tree = RootFolder(str(tmp_path))
    assert tree.read("/link", 100) == b"inside"
    assert tree.look("/link").folders[-1].path == "/etc"
    assert tree.look("/gone").error == errno.ENOENT
    assert tree.look("/circle").error == errno.ELOOP
    assert tree.look("/etc/file/below").error == errno.ENOTDIR
    with pytest.raises(OSError, match="not a regular file"):
        tree.read("/etc", 100)


@pytest.mark.parametrize("path", ["/file/.", "/file/", "/file/..", "/link/"])
def test_a_file_is_no_folder(tmp_path: Path, path: str) -> None:
    """What follows a file must not be there, not even the folder itself."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    assert RootFolder(str(tmp_path)).look(path).error == errno.ENOTDIR


def test_a_path_has_a_name_inside(tmp_path: Path) -> None:
    """A path of this machine has one in the tree if it is below its root, by whatever name."""
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "alias").symlink_to("root")
    tree = RootFolder(str(tmp_path / "root"))
    assert tree.inside(str(tmp_path / "root/etc/nginx.conf")) == "/etc/nginx.conf"
    assert tree.inside(str(tmp_path / "alias/etc/nginx.conf")) == "/etc/nginx.conf"
    assert tree.inside(str(tmp_path / "root")) == "/"
    assert tree.inside(str(tmp_path / "rooted")) is None


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root file system with sites that are enabled by links, as Debian's."""
    etc = tmp_path / "root/etc/nginx"
    for folder in ("sites-available", "sites-enabled", "modules-enabled"):
        (etc / folder).mkdir(parents=True)
    (etc / "nginx.conf").write_text(
        "include /etc/nginx/modules-enabled/*.conf;\nevents {}\n"
        "http { include /etc/nginx/sites-enabled/*; include mime.types; }\n"
    )
    (etc / "mime.types").write_text("types { text/html html; }\n")
    (etc / "sites-available/shop").write_text("server { listen 80; }\n")
    (etc / "sites-enabled/b").symlink_to("/etc/nginx/sites-available/shop")
    (etc / "sites-enabled/a").symlink_to("../sites-available/shop")
    (etc / "sites-enabled/gone").symlink_to("/etc/nginx/sites-available/gone")
    return tmp_path / "root"


def test_includes_are_read_in_the_tree(root: Path) -> None:
    """Absolute includes and links are those of the tree; what is found there is all that nginx reads there."""
    main = root / "etc/nginx/nginx.conf"
    files = Rooted(RootFolder(str(root)))
    config = load(main, missing_ok=True, files=files)
    assert [Path(file.path).relative_to(root).as_posix() for file in config.files] == [
        "etc/nginx/nginx.conf",
        "etc/nginx/sites-available/shop",
        "etc/nginx/mime.types",
    ]
    assert config.times(config.files[1]) == 2
    assert [unread.path for unread in config.unread] == [f"{root}/etc/nginx/sites-enabled/gone"]
    for same in (config, reread(config, {})):
        known = [include for include in same.includes if not may_read_more(same, include)]
        assert [str(include.args[0]) for include in known] == ["/etc/nginx/modules-enabled/*.conf", "mime.types"]


def test_an_included_file_is_no_configuration_of_its_own(root: Path) -> None:
    """Of a folder, a file that is included by its name in the tree is read once."""
    (root / "etc/nginx/sites-enabled/gone").unlink()
    options = InputOptions(files=Rooted(RootFolder(str(root))))
    inputs = read([str(root / "etc/nginx")], options)
    assert [Path(config.main.path).name for config in inputs.configs] == ["nginx.conf"]
    assert not inputs.errors


@every_row("link", ["/outside", "../outside", "../../outside"])
@every_row("include", ["/*/x.conf", "/et?/x.conf", "/link/*.conf", "/*/*", "/link/x.conf", "/*k/x.conf"])
def test_no_include_leads_out_of_the_tree(tmp_path: Path, link: str, include: str) -> None:
    """No wildcard and no name is followed along a link to what this machine has, and the tree has not."""
    outside, root = tmp_path / "outside", tmp_path / "tree"
    for folder in (outside, root / "etc"):
        folder.mkdir(parents=True)
    (outside / "x.conf").write_text("gzip on;\n")
    (root / "link").symlink_to(f"{tmp_path}{link}" if link.startswith("/") else link)
    (root / "main.conf").write_text(f"include {include};\n")
    files = Rooted(RootFolder(str(root)))
    assert [file.path for file in load(root / "main.conf", missing_ok=True, files=files).files] == [
        str(root / "main.conf")
    ]
    for name in ("link/x.conf", "link"):
        with pytest.raises(OSError, match="No such file"):
            files.read(str(root / name))


def test_a_wildcard_follows_links_inside_of_the_tree(tmp_path: Path) -> None:
    """A folder that is a link to another one of the tree, absolute or not, is one for wildcards."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.conf").write_text("gzip on;\n")
    (tmp_path / "one").symlink_to("/real")
    (tmp_path / "two").symlink_to("real")
    (tmp_path / "main.conf").write_text("include /*/x.conf;\n")
    files = Rooted(RootFolder(str(tmp_path)))
    assert files.matches(str(tmp_path), "/*/x.conf") == [str(tmp_path / "real" / "x.conf")] * 3
