"""Includes: which files are read, in which order and contexts, and which may be missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nginxopt.config import Bulk, load, load_text, reread
from nginxopt.config.filesystem import Overlay
from nginxopt.errors import InputError
from tests.config.texts import refused, rewrites, texts, write
from tests.support import nginx_files

# --- includes


def test_includes_are_read_in_place(tmp_path: Path) -> None:
    """Included files are read relative to the main file's directory, and walked where they are included."""
    main = write(
        tmp_path,
        nginx="http { a; include sub/one.conf; b; }",
        sub__one="c; include sub/two.conf;",
        sub__two="d;",
    )
    config = load(main)
    assert [str(directive.name) for directive, _ in config.walk()] == [
        "http",
        "a",
        "include",
        "c",
        "include",
        "d",
        "b",
    ]
    assert [Path(file.path).name for file in config.files] == ["nginx.conf", "one.conf", "two.conf"]
    (deepest,) = [scope for directive, scope in config.walk() if directive.name == "d"]
    assert deepest is config.scope.scopes[0]
    assert (deepest.context, deepest.opener) == (("http",), config.http)


def test_a_walk_leaves_runs_folded(tmp_path: Path) -> None:
    """A long run of rewrites is one node of its scope; a walk goes past it, and makes none of them."""
    main = write(tmp_path, nginx="server { include a.conf; break; }", a=rewrites(1000).decode())
    config = load(main)
    assert [str(directive.name) for directive, _ in config.walk()] == ["server", "include", "break"]
    include, run, last = config.scope.scopes[0].nodes
    assert (str(include.name), len(run) if isinstance(run, Bulk) else 0, str(last.name)) == ("include", 1000, "break")


def test_each_reading_of_a_file_may_be_told_apart(tmp_path: Path) -> None:
    """`scope` has the same directives wherever a file is read, `readings` some for each place; both walk alike."""
    main = write(tmp_path, nginx="a { include b.conf; } c { include b.conf; } include d.conf;", b="e { f; }", d="g;")
    config = load(main)
    same, apart = ([item for item, _ in scope.walk()] for scope in (config.scope, config.readings))
    assert [str(item.name) for item in same] == [str(item.name) for item in apart]
    assert [item.origin for item in same] == [item.origin for item in apart]
    counts = [len({item for item in items if item.name == "f"}) for items in (same, apart)]
    assert counts == [1, 2]
    assert len(config.includes) == 3
    alone = load(write(tmp_path / "alone", nginx="include b.conf;", b="e { f; }"))
    assert alone.readings is alone.scope


def test_a_prefix_and_absolute_includes(tmp_path: Path) -> None:
    """A prefix that is given is used instead of the main file's directory; absolute paths need none."""
    other = write(tmp_path, etc__a="a;")
    main = write(tmp_path, sub__nginx=f"include etc/a.conf; include {other};")
    config = load(main, prefix=tmp_path)
    assert [file.path for file in config.files] == [str(main), str(other)]
    with pytest.raises(InputError, match=r"sub/etc/a\.conf cannot be read"):
        load(main)
    assert len(load(main, includes=False).files) == 1


def test_globs(tmp_path: Path) -> None:
    """Wildcards skip dotfiles, sort by bytes, may match nothing, and stay out of the prefix."""
    directory = tmp_path / "[x]"
    names = ["b", "B", "a", ".hidden", "ä", "_"]
    main = write(directory, nginx="include d/*.conf; include none/*.conf; include d/[^a-z]*.conf;")
    write(directory, **{f"d__{name}": "a;" for name in names})
    config = load(main)
    first, nothing, negated = (config.included(directive) for directive in config.main.block.directives())
    assert [Path(file.path).stem for file in first] == ["B", "_", "a", "b", "ä"]
    assert nothing == ()
    assert [Path(file.path).stem for file in negated] == ["B", "_", "ä"]


@pytest.mark.nginx
@pytest.mark.parametrize("pattern", ["*", "?", "[!a-z]*", "[^0-9]*", "a*", ".*", "[a-b]", "[]-_]", "none*"])
def test_globs_as_nginx_reads_them(tmp_path: Path, pattern: str) -> None:
    """nginx reads the same files of a wildcard, in the same order."""
    names = ["b", "B", "ab", "a b", "a", ".a", "ä", "_", "10", "9", "-", "+", "]"]
    write(tmp_path, **{f"d__{name}": "" for name in names})
    main = write(tmp_path, nginx=f"include d/{pattern}.conf;\nevents{{}}")
    assert [file.path for file in load(main).files] == nginx_files(tmp_path)


def test_a_file_in_several_contexts(tmp_path: Path) -> None:
    """A file included several times is parsed once, and each place has its context and parent."""
    main = write(
        tmp_path,
        nginx="http { server { include a.conf; location /x { include ./a.conf; } } include a.conf; }",
        a="rewrite b c; include b.conf;",
        b="d;",
    )
    (tmp_path / "link.conf").symlink_to("a.conf")
    config = load(main)
    assert len(config.files) == 3
    contexts = config.contexts(tmp_path / "link.conf")
    assert contexts == (("http", "server"), ("http", "server", "location"), ("http",))
    assert config.contexts(tmp_path / "b.conf") == contexts
    scopes = [scope for directive, scope in config.walk() if directive.name == "d"]
    assert tuple(scope.context for scope in scopes) == contexts
    assert [scope.parents[-1].args for scope in scopes] == [(), ("/x",), ()]
    includes = [[str(item.args[0]) for item in scope.directives if item.name == "include"] for scope in scopes]
    assert includes == [["a.conf", "b.conf"], ["./a.conf", "b.conf"], ["a.conf", "b.conf"]]
    with pytest.raises(KeyError):
        config.file("other.conf")


def test_includes_in_maps(tmp_path: Path) -> None:
    """Blocks with a syntax of their own include files too, and their rows are directives of any name."""
    main = write(tmp_path, nginx="http { map $a $b { default 0; include rows.conf; } }", rows="/x 1;\n~^/y 2;")
    config = load(main)
    names = [str(directive.name) for directive, _ in config.walk()]
    assert names == ["http", "map", "default", "include", "/x", "~^/y"]
    assert config.contexts(config.files[1])[0] == ("http", "map")


# --- files that are missing, and texts in place of files


def test_missing_includes_may_be_allowed(tmp_path: Path) -> None:
    """Includes that cannot be read are kept, in order and once, and all that is there is read."""
    main = write(
        tmp_path,
        nginx="include none.conf; include a.conf; include d.conf; include link*.conf; include nothing*.conf; c;",
        a="b; include a/none.conf;",
    )
    (tmp_path / "d.conf").mkdir()
    for name in ("link1.conf", "link2.conf"):
        (tmp_path / name).symlink_to("nowhere")
    (tmp_path / "link3.conf").symlink_to("a.conf")
    config = load(main, missing_ok=True)
    assert [texts(include) for include in config.missing] == [
        ["none.conf"],
        ["a/none.conf"],
        ["d.conf"],
        ["link*.conf"],
    ]
    assert [str(d.name) for d, _ in config.walk() if d.name != "include"] == ["b", "b", "c"]
    assert config.included(config.missing[0]) == ()
    with pytest.raises(InputError, match=r"none\.conf cannot be read"):
        load(main)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """nginx would wait for a writer; a pipe that is included is an error with its place, and may be left out."""
    os.mkfifo(tmp_path / "pipe")
    main = write(tmp_path, nginx="a;\ninclude pipe;")
    assert refused(main).render().split("\n") == [
        f"{main}:2:9: {tmp_path}/pipe cannot be read: not a regular file",
        "    include pipe;",
        "            ^^^^",
    ]
    config = load(main, missing_ok=True)
    assert [texts(include) for include in config.missing] == [["pipe"]]
    assert [unread.why for unread in config.unread] == ["is not a regular file"]
    assert refused(tmp_path / "pipe").render() == f"{tmp_path}/pipe: cannot be read: not a regular file"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/full"])
def test_a_device_is_an_empty_file(tmp_path: Path, device: str) -> None:
    """nginx reads as many bytes as the size of a file, and that of a device is 0."""
    config = load(write(tmp_path, nginx=f"a; include {device}; b;"))
    assert [str(item.name) for item, _ in config.walk()] == ["a", "include", "b"]
    assert load(device).files[0].source.data == b""


def test_a_directory_is_not_a_regular_file(tmp_path: Path) -> None:
    """nginx opens it and cannot read it."""
    (tmp_path / "d").mkdir()
    main = write(tmp_path, nginx="include d;")
    assert "d cannot be read: Is a directory" in refused(main).render()
    config = load(main, missing_ok=True)
    assert [unread.why for unread in config.unread] == ["is not a regular file"]


@pytest.mark.parametrize("path", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_a_pipe_of_the_shell_is_read(path: str) -> None:
    """`<(command)` is an open file of the process, and read to its end."""
    reader, writer = os.pipe()
    os.write(writer, b"events {}")
    os.close(writer)
    assert load(path.format(reader)).main.source.data == b"events {}"
    os.close(reader)


@pytest.mark.parametrize(
    "text", ["include a.conf;", "include a b;", "include circle.conf;"], ids=["broken", "arguments", "circle"]
)
def test_what_is_no_missing_include(tmp_path: Path, text: str) -> None:
    """A file that does not parse, an include of no path and a circle stay errors where missing files are none."""
    main = write(tmp_path, nginx=text, a="b", circle="include circle.conf;")
    with pytest.raises(InputError):
        load(main, missing_ok=True)


def test_texts_in_place_of_files(tmp_path: Path) -> None:
    """A text stands for a file by whatever name it is included, the main file too; the disk stays as it is."""
    main = write(tmp_path, nginx="include a.conf; include link.conf; include b*.conf;", a="a;", b="b;")
    (tmp_path / "link.conf").symlink_to("a.conf")
    files = Overlay({str(tmp_path / "link.conf"): b"new;", str(tmp_path / "b2.conf"): b"unseen;"})
    names = [str(d.name) for d, _ in load(main, files=files).walk() if d.name != "include"]
    assert names == ["new", "new", "b"]
    both = Overlay({str(main): b"c; include b2.conf;"}, files)
    assert [str(d.name) for d, _ in load(main, files=both).walk()] == ["c", "include", "unseen"]
    assert (tmp_path / "a.conf").read_bytes() == b"a;"


def test_a_configuration_read_again(tmp_path: Path) -> None:
    """What was read is read again with changed texts, one change upon the other, where it stood before."""
    write(tmp_path, a="b;")
    config = load_text(b"include a.conf; include none.conf;", prefix=tmp_path, context="server", missing_ok=True)
    first = reread(config, {config.files[1].path: b"c;"})
    assert first.main is config.main, "what did not change is not parsed again"
    assert [str(d.name) for d, _ in first.walk()] == ["include", "c", "include"]
    second = reread(first, {"-": b"d; include a.conf;"})
    assert [str(d.name) for d, _ in second.walk()] == ["d", "include", "c"]
    assert (second.candidates, second.prefix) == (config.candidates, config.prefix)
    with pytest.raises(InputError, match="ends inside"):
        reread(config, {"-": b"d"})
