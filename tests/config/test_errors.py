"""Errors of reading and their messages; any text is either read or refused."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nginxopt
from nginxopt.config import Config, Directive, load, load_text
from nginxopt.config.includes import source
from nginxopt.config.tree import DEPTH
from nginxopt.errors import InputError
from nginxopt.text import decode
from tests.config.texts import refused, tree, write
from tests.support import PATIENCE, nginx_test_in


def test_an_error_as_it_is_shown() -> None:
    """An error shows place, line, carets, what was expected and what nginx says."""
    assert refused(b"a;\n\tb 'c' {\n\n").render().split("\n") == [
        "f.conf:2:8: this block is not closed",
        "    \tb 'c' {",
        "    \t      ^",
        '  expected "}" at the end of the block',
        '  as nginx words it: unexpected end of file, expecting "}" in f.conf:4',
    ]


@pytest.mark.nginx
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("location ~ ^/([0-9]{2})/ { return 200; }", "_compile() failed"),
        ("rewrite ^/a{2,}$ /b permanent;", 'directive "rewrite" is not terminated'),
        ("if ($uri ~ ^/a{,3}$) { return 200; }", "invalid condition"),
        ("location ~ ^/a{2}$ { return 200; }", "unknown directive"),
    ],
)
def test_an_unquoted_brace_is_the_error(tmp_path: Path, text: str, words: str) -> None:
    """An unquoted quantifier is reported at its brace, without a quote: what nginx says of it differs."""
    main = write(tmp_path, nginx=f"events {{}}\nhttp {{\nserver {{\n{text}\n}}\n}}\n")
    assert words in decode(nginx_test_in(tmp_path).message)
    error = refused(main)
    assert error.nginx is None
    assert error.span is not None
    assert error.source is not None
    assert error.source.position(error.span.start).line == 4
    assert error.source.data[error.span.start : error.span.end].startswith(b"{")


def test_a_block_without_a_blank_is_no_quantifier() -> None:
    """A block may open directly behind a word, and what is missing at the end of the file is still reported there."""
    text = b"server {\nlocation ~ a{return 200;}\nif ($x){}\n# rewrite ^/a{2}$ /b;\nrewrite '^/a{2}$' /b;\n"
    assert refused(text).message == "this block is not closed"


@pytest.mark.nginx
@pytest.mark.parametrize(
    "text",
    [
        "events {",
        "events {}\nuser a",
        "events {}\nuser 'a;\n",
        'events {}\nuser "a"b;\n',
        "events {}\n}\n",
        "events {} ;",
        "user a }",
        "\ufeffevents {}",
        "\ufeff# a\nevents {}",
        "events {}\ninclude none.conf\n;",
        "events {}\ninclude a b;",
        "events {}\ninclude d.conf;",
        "include nginx.conf;",
    ],
)
def test_nginx_says_the_same(tmp_path: Path, text: str) -> None:
    """What is said to be nginx's message is nginx's message, with its file and line."""
    main = write(tmp_path, nginx=text)
    (tmp_path / "d.conf").mkdir()
    verdict = nginx_test_in(tmp_path)
    place = f" in {main}:{verdict.line}" if verdict.line else ""
    assert refused(main).nginx == decode(verdict.message) + place


def test_a_missing_file(tmp_path: Path) -> None:
    """A main file that does not exist is an error with its name and nginx's words."""
    path = tmp_path / "none.conf"
    error = refused(path)
    assert error.render().split("\n") == [
        f"{path}: cannot be read: No such file or directory",
        f'  as nginx words it: open() "{path}" failed (2: No such file or directory)',
    ]


def test_a_missing_table(tmp_path: Path) -> None:
    """A file that nginx does not read is an error without nginx's words."""
    path = tmp_path / "none.csv"
    with pytest.raises(InputError) as error:
        source(str(path))
    assert error.value.render() == f"{path}: cannot be read: No such file or directory"


def test_a_path_that_is_none() -> None:
    """A path with a NUL byte is an error like a missing file."""
    assert refused(Path("a\0b")).render() == "a\\x00b: cannot be read: the path has a null byte"


def test_a_missing_include(tmp_path: Path) -> None:
    """An include that does not exist is an error at its path in the file that includes it."""
    main = write(tmp_path, nginx="http {\n  include a.conf;\n}", a="b;\n  include none.conf;")
    error = refused(main)
    assert error.render().startswith(f"{tmp_path}/a.conf:2:11: {tmp_path}/none.conf cannot be read: No such")
    assert error.source is not None
    assert error.span is not None
    assert error.source.text(error.span) == "none.conf"


def test_a_circular_include(tmp_path: Path) -> None:
    """Files that include each other are an error that names the whole circle, and only it."""
    main = write(tmp_path, nginx="include a.conf;", a="include b.conf;", b="c;\ninclude a.conf;")
    error = refused(main)
    names = [str(tmp_path / f"{name}.conf") for name in "aba"]
    assert error.message == f"circular include: {' -> '.join(names)}"
    assert error.render().startswith(f"{tmp_path}/b.conf:2:9: ")
    assert f'open() "{names[0]}" failed (24: Too many open files)' in (error.nginx or "")


def test_a_circle_found_late(tmp_path: Path) -> None:
    """A file read before without a circle is still followed where it makes one."""
    main = write(tmp_path, nginx="http { include a.conf; } include a.conf;", a="include a*.conf;")
    assert "circular include" in refused(main).message


def test_a_directory(tmp_path: Path) -> None:
    """A directory is an error with nginx's words, as the main file and as an include."""
    assert f'pread() "{tmp_path}" failed (21: Is a directory)' == refused(tmp_path).nginx
    main = write(tmp_path, nginx="include d.conf;")
    (tmp_path / "d.conf").mkdir()
    assert "Is a directory" in refused(main).message


@pytest.mark.parametrize("data", [b"\x7fELF\2\1\1\0\0\0", "user a;".encode("utf-16"), b"a;\0"])
def test_a_binary_file(data: bytes) -> None:
    """A file with NUL bytes is said to be binary, at the first of them."""
    error = refused(data)
    assert "binary file" in error.message
    assert error.span is not None
    assert error.span.start == data.index(b"\0")


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    """A file without permission is an error like a missing one."""
    path = write(tmp_path, nginx="a;")
    path.chmod(0)
    code = (
        "import sys, nginxopt\n"
        "from nginxopt.errors import InputError\n"
        "try:\n nginxopt.load(sys.argv[1])\n"
        "except InputError as error:\n print(error.nginx)"
    )
    import_first = f"import nginxopt.config.configuration, os\nif os.getuid() == 0: os.setuid(65534)\n{code}"
    run = subprocess.run(
        [sys.executable, "-c", import_first, str(path)], capture_output=True, check=True, timeout=PATIENCE
    )
    assert run.stdout.decode() == f'open() "{path}" failed (13: Permission denied)\n'


@pytest.mark.parametrize("text", [b"", b"\n", b"# only a comment"])
def test_an_empty_file(text: bytes) -> None:
    """An empty file is read: nginx accepts it wherever it is included."""
    config = load_text(text)
    assert list(config.walk()) == []
    assert config.candidates == ()


def test_byte_order_marks() -> None:
    """A mark is an error where nginx would not know the directive, and a part of the key in map rows."""
    for text in (b"\xef\xbb\xbfuser a;", b"\xef\xbb\xbf# a\nuser a;"):
        error = refused(text)
        assert "byte order mark" in error.message
        assert error.hint is not None
    (row,) = tree(b"\xef\xbb\xbf/a b;")
    assert row.name == "\ufeff/a"


def test_nesting_has_a_limit() -> None:
    """Blocks within the limit are read and walked; beyond it there is an error instead of a crash."""
    assert len(tree(b"a {" * DEPTH + b"}" * DEPTH)) == DEPTH
    for depth in (DEPTH + 1, 50_000):
        assert "nested" in refused(b"a {" * depth + b"}" * depth).message


@given(st.lists(st.sampled_from([b"a", b" ", b";", b"{", b"}", b"'", b"#", b"\n", b"if (", b")", b"\\", b"\0"])))
def test_any_text_is_read_or_refused(parts: list[bytes]) -> None:
    """Any text is read into a tree whose spans are in order, or refused with a place."""
    data = b"".join(parts)
    place = "f:"
    directives: list[Directive] = []
    try:
        directives = tree(data)
    except InputError as error:
        place = error.render()
    assert place.startswith("f:")
    starts = [directive.span.start for directive in directives]
    assert starts == sorted(starts)
    assert all(directive.span.end <= len(data) for directive in directives)


# --- the ways in


def test_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`-` reads standard input, whose includes are relative to the current directory or the prefix."""
    write(tmp_path, a="b;")
    monkeypatch.chdir(tmp_path)
    for prefix in (None, tmp_path):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"include a.conf;")))
        config = load("-", prefix=prefix)
        assert config.main.path == "-"
        assert [str(directive.name) for directive, _ in config.walk()] == ["include", "b"]


def test_relative_paths_stay_as_they_are_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Names in messages are relative if the main file's was."""
    write(tmp_path, d__nginx="include a.conf;", d__a="b;")
    monkeypatch.chdir(tmp_path)
    assert [file.path for file in load("d/nginx.conf").files] == ["d/nginx.conf", "d/a.conf"]
    monkeypatch.chdir(tmp_path / "d")
    assert [file.path for file in load("nginx.conf").files] == ["nginx.conf", "a.conf"]


def test_the_package_is_lazy() -> None:
    """Importing the package does not import the extension; asking for `load` does. Neither imports crossplane."""
    code = (
        "import sys, nginxopt\n"
        "names = ['crossplane', 'nginxopt._native', 'nginxopt.config.configuration']\n"
        "print([name in sys.modules for name in names])\n"
        "nginxopt.load\n"
        "print([name in sys.modules for name in names])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=PATIENCE)
    assert run.stdout.decode().split(os.linesep)[:2] == ["[False, False, False]", "[False, True, True]"]
    assert nginxopt.Config is Config
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nginxopt.nothing
