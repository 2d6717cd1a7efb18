"""The output of `nginx -T`, split into its files byte for byte and read like them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import filesystem, load, load_text
from nginxopt.config.filesystem import DISK, Dump
from nginxopt.errors import InputError
from tests.rows import every_row
from tests.support import run_nginx, the_nginx

GLOBALS = ("-g", "pid nginx.pid;")


def dump_of(data: bytes) -> Dump:
    """The dump in a text."""
    dump = Dump.of("dump.txt", data)
    assert dump is not None
    return dump


def configuration(directory: Path) -> dict[str, bytes]:
    """Write a configuration of many files, as awkward as nginx allows; return them in the order of their reading."""
    files = {
        "nginx.conf": b"events {}\ninclude empty.conf;\nhttp {\r\n\tinclude ./a/*.conf; include b/[^x]?.conf;\n"
        b"include a/one.conf; include none/*; include %s/c.conf; }" % bytes(directory),
        "empty.conf": b"",
        "a/one.conf": b"# configuration file of ours:\n\n\n",
        "a/two.conf": b"# no line end",
        "b/1x.conf": b"\r\n# \xff\r\n\n",
        "c.conf": b"# configuration file %s/nginx.conf:\nmap $uri $m { include rows.conf; }\n" % bytes(directory),
        "rows.conf": b"/a 1; # \xc3\xa4\n",
    }
    for name, text in {**files, "b/x1.conf": b"unread", "a/.hidden.conf": b"unread"}.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(text)
    return files


@pytest.mark.nginx
@pytest.mark.parametrize("messages", [False, True], ids=["stdout", "2>&1"])
def test_the_dump_of_nginx_itself(tmp_path: Path, messages: bool) -> None:
    """Each file comes back byte for byte, and the includes of the dump lead where those of the disk do."""
    files = configuration(tmp_path)
    run = run_nginx(the_nginx(), tmp_path, "-T", *GLOBALS)
    assert run.returncode == 0, run.stderr
    assert run.stderr.startswith(b"nginx: ")
    dump = dump_of(run.stderr + run.stdout if messages else run.stdout)
    assert dump.main == str(tmp_path / "nginx.conf")
    read = load(dump.main, files=dump)
    disk = load(dump.main)
    assert [(file.path, file.source.data) for file in read.files] == [
        (str(tmp_path / name), text) for name, text in files.items()
    ]
    assert [file.path for file in read.files] == [file.path for file in disk.files]
    words = [[[*map(str, (d.name, *d.args))] for d, _ in config.walk()] for config in (read, disk)]
    assert words[0] == words[1]
    assert dump.left_over({file.path for file in read.files}) == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_places_are_those_of_the_files(end: bytes) -> None:
    """An error in a file of a dump has the path and the line of that file, whatever its line ends have become."""
    lines = [b"# configuration file /e/nginx.conf:", b"include a.conf;", b"", b"# configuration file /e/a.conf:"]
    data = end.join([*lines, b"a;", b"  b", b"", b""])
    dump = dump_of(data)
    assert dump.read("/e//./nginx.conf") == b"include a.conf;" + end
    with pytest.raises(InputError) as caught:
        load(dump.main, files=dump)
    assert caught.value.render().startswith("/e/a.conf:2:3: ")


@every_row(
    "text",
    [
        b"",
        b"events {}\n# configuration file /etc/nginx/nginx.conf:\n",
        b"\n# configuration file /etc/nginx/nginx.conf:\n",
        b"# configuration file /etc/nginx/nginx.conf\n",
        b"# configuration file of ours: see below\nevents {}\n",
        b"nginx: configuration file /etc/nginx/nginx.conf test is successful\n",
        b"  # configuration file /etc/nginx/nginx.conf:\n",
    ],
)
def test_what_is_no_dump(text: bytes) -> None:
    """A text that does not begin with the header of a file is none, whatever comments it holds."""
    assert Dump.of("f.conf", text) is None


def test_a_dump_that_is_not_whole() -> None:
    """A file that the dump lacks is a missing include; one that nothing includes is an error at its header."""
    data = b"# configuration file /e/nginx.conf:\ninclude a.conf;\n\n# configuration file /e/b.conf:\nb;\n\n"
    dump = dump_of(data)
    config = load(dump.main, files=dump, missing_ok=True)
    assert len(config.missing) == 1
    (error,) = dump.left_over({file.path for file in config.files})
    assert error.render().split("\n") == [
        "dump.txt:4:1: no file in this dump includes /e/b.conf",
        "    # configuration file /e/b.conf:",
        f"    {'^' * 31}",
    ]
    with pytest.raises(InputError, match=r"/e/a\.conf cannot be read: No such file"):
        load(dump.main, files=dump)


def test_relative_names() -> None:
    """A dump made with a relative prefix names its files so, and they are found."""
    data = b"# configuration file ./nginx.conf:\ninclude d/*.conf;\n# configuration file ./d/a.conf:\nb;\n"
    dump = dump_of(data)
    assert [file.path for file in load(dump.main, files=dump).files] == ["nginx.conf", "d/a.conf"]


PARTS = ["a", "b", "ab", ".a", "]", "ä", "[x]"]


@given(
    st.sets(st.tuples(st.sampled_from(PARTS), st.sampled_from(PARTS))),
    st.lists(st.sampled_from(["a", "b", "*", "?", "[!a]", "[^b]", ".*", "[]x]", "..", "["]), min_size=1, max_size=3),
    st.booleans(),
)
def test_wildcards_over_names(
    tmp_path_factory: pytest.TempPathFactory, names: set[tuple[str, str]], parts: list[str], is_absolute: bool
) -> None:
    """A wildcard finds among names what it finds on a disk with these files, in the same order."""
    root = tmp_path_factory.mktemp("[w]")
    for folder, name in names:
        (root / folder).mkdir(exist_ok=True)
        (root / folder / name).touch()
    files = [str(root / folder / name) for folder, name in names]
    name = f"{'/'.join(parts[:-1])}{'/' if parts[1:] else ''}{parts[-1]}"
    if is_absolute:
        root, name = Path("/"), f"{str(root).replace('[w]', '?w?')}/{name}"
    expected = [path for path in DISK.matches(str(root), name) if Path(path).is_file() and ".." not in path]
    assert [path for path in filesystem.among(files, str(root), name) if path in files] == expected or (
        not filesystem.is_pattern(name)
    )


def test_a_text_that_is_loaded_as_a_dump_keeps_its_name() -> None:
    """The main file of a dump may be read from memory too, its includes from the dump."""
    dump = dump_of(b"# configuration file /e/n.conf:\ninclude a;\n# configuration file /e/a:\nb;\n")
    config = load_text(b"include a; include a;", "/e/other.conf", files=dump)
    assert [str(d.name) for d, _ in config.walk()] == ["include", "b", "include", "b"]
