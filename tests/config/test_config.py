"""Configurations: the tree, includes, contexts, folded runs, and every way in which a file cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nginxopt
from nginxopt.config import Bulk, Comment, Config, Directive, load, load_text, reread
from nginxopt.config.context import parse_context
from nginxopt.config.filesystem import Overlay
from nginxopt.config.tree import DEPTH, FOLD, parse
from nginxopt.errors import InputError, UsageError
from nginxopt.text import Source, decode
from tests.support import needs_nginx, nginx_files, nginx_test_in


def write(directory: Path, **files: str) -> Path:
    """Write files (`__` in a name stands for `/`, all end in `.conf`); return the path of the first."""
    paths = [directory / f"{name.replace('__', '/')}.conf" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return paths[0]


def tree(text: bytes) -> list[Directive]:
    """Every directive of a text."""
    return list(parse(Source("f", text)).walk())


def texts(directive: Directive) -> list[str]:
    """The arguments as they are written."""
    return [directive.source.text(arg.span) for arg in directive.args]


def test_a_directive_knows_its_place() -> None:
    """Name, arguments, block and the directive itself have the spans they are written in, and a line."""
    text = b'http {\r\n  server_name "a b" c\\;d; # e\r\n}\r\n'
    http, name = tree(text)
    assert http.block is not None
    assert (http.span.start, http.span.end, http.line) == (0, text.rindex(b"}") + 1, 1)
    assert (http.block.span.start, http.block.span.end) == (5, http.span.end)
    assert (name.name, name.args, name.line) == ("server_name", ("a b", "c\\;d"), 2)
    assert texts(name) == ['"a b"', "c\\;d"]
    assert [arg.quoted for arg in name.args] == [True, False]
    assert name.source.text(name.span) == 'server_name "a b" c\\;d;'


def test_comments_are_kept() -> None:
    """Comments between directives are nodes, those between words belong to their directive."""
    block = parse(Source("f", b'# a\n"#b" c # d\n ; # e\nf { # g\n}'))
    kinds = [type(node).__name__ for node in block.nodes]
    assert kinds == ["Comment", "Directive", "Comment", "Directive"]
    directive, last = block.directives()
    assert (directive.name, directive.args) == ("#b", ("c",))
    assert [comment.text for comment in directive.comments] == ["# d"]
    assert last.block is not None
    assert [block.source.text(node.span) for node in last.block.nodes] == ["# g"]


CONDITIONS = {
    b"if ($a = b) {}": ["$a", "=", "b"],
    b"if ( $a ~ b ) {}": ["$a", "~", "b"],
    b"if ($a) {}": ["$a"],
    b'if ($a = "b") {}': ["$a", "=", '"b"'],
    b"if ($a = 'b)' ) {}": ["$a", "=", "'b)'"],
    b"if ('($a' = 'b)') {}": ["'($a'", "=", "'b)'"],
    b"if () {}": [],
    b"if ( ) {}": [],
    b"if (($a)) {}": ["($a)"],
    b"if $a {}": ["$a"],
    b"if (\xc2\xa0$a\xc2\xa0) {}": ["\xa0$a\xa0"],
}


@pytest.mark.parametrize("text", CONDITIONS)
def test_conditions_lose_their_parentheses(text: bytes) -> None:
    """One parenthesis is taken off each end of a condition, as nginx does, and the spans follow."""
    (condition,) = tree(text)
    assert texts(condition) == CONDITIONS[text]
    unquoted = [arg for arg in condition.args if not arg.quoted]
    assert [condition.source.text(arg.span) for arg in unquoted] == unquoted


def rewrites(count: int) -> bytes:
    """A run of rewrites with comments in it."""
    return b"\n".join(b"rewrite ^/a%d$ /b last; # c" % number for number in range(count))


def test_long_runs_are_one_node() -> None:
    """A run is one `Bulk` from `FOLD` rewrites on, and a walk makes the same directives either way."""
    for count, nodes in [(FOLD - 1, FOLD - 1), (FOLD, 1), (1000, 1)]:
        block = parse(Source("f", b"server {\n" + rewrites(count) + b"\nset $a b;\n" + rewrites(2) + b"\n}"))
        (server,) = block.directives()
        assert server.block is not None
        found = [node for node in server.block.nodes if not isinstance(node, Comment)]
        assert len(found) == nodes + 3
        directives = list(server.block.directives())
        assert len(directives) == count + 3
        assert [directive.line for directive in directives[:count]] == list(range(2, count + 2))
        assert directives[count - 1].args[0] == f"^/a{count - 1}$"
        assert directives[0].source.text(directives[0].span) == "rewrite ^/a0$ /b last;"


def test_a_bulk_is_iterated_again_and_again() -> None:
    """A `Bulk` has a length and makes equal directives each time it is asked."""
    (bulk,) = (node for node in parse(Source("f", rewrites(100))).nodes if isinstance(node, Bulk))
    assert len(bulk) == 100
    first, second = ([(d.args, d.span, d.line) for d in bulk] for _ in range(2))
    assert first == second
    assert len(first) == 100


def test_reading_is_thread_safe() -> None:
    """Files read at the same time by several threads do not get each other's tokens."""
    failures: list[int] = []

    def read(number: int) -> None:
        for _ in range(50):
            names = {directive.name for directive in tree(b"a%d;" % number * 20)}
            if names != {f"a{number}"}:
                failures.append(number)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


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


@needs_nginx
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
    assert config.irregular == frozenset(config.missing)
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
    assert config.irregular == frozenset(config.missing)


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
    assert [str(d.name) for d, _ in first.walk()] == ["include", "c", "include"]
    second = reread(first, {"-": b"d; include a.conf;"})
    assert [str(d.name) for d, _ in second.walk()] == ["d", "include", "c"]
    assert (second.candidates, second.prefix) == (config.candidates, config.prefix)
    with pytest.raises(InputError, match="ends inside"):
        reread(config, {"-": b"d"})


# --- contexts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"events {}", [""]),
        (
            b"rewrite a b;",
            ["http,server", "http,server,if", "http,server,location", "http,server,location,if"],
        ),
        (b"rewrite a b; location / {}", ["http,server", "http,server,location"]),
        (b"rewrite a b; listen 80;", ["http,server"]),
        (b"internal; include x;", ["http,server,location"]),
        (b"map $a $b {}", ["http", "stream"]),
        (b"server a:80;", ["http,upstream", "stream,upstream"]),
        (b"server {}", ["http", "mail", "stream"]),
        (b"listen 80; events {}", []),
        (b"/a b; unknown_directive c;", []),
        (b"server { listen 80; location / { proxy_pass http://x; } }", ["http"]),
        (b"server { listen 80; server_name a; }", ["http", "mail"]),
        (b"server { listen 53 udp; proxy_pass x; }", ["stream"]),
        (b"server { listen 25; protocol smtp; }", ["mail"]),
        (b"server { listen 80; include x; unknown a; }", ["http", "mail", "stream"]),
        (b"server { unknown { root a; } }", ["http", "mail", "stream"]),
        (b"upstream a { server b; }", ["http", "stream"]),
        (b"upstream a { server b; ip_hash; }", ["http"]),
        (b"map $a $b { root c; listen d; }", ["http", "stream"]),
        (b"location / { location /a { limit_except GET { deny all; } } }", ["http,server", "http,server,location"]),
        (b"if ($a) { proxy_pass b; }", ["http,server,location"]),
        (b"if ($a) { return 404; }", ["http,server", "http,server,location"]),
        (b"server { listen 80; rewrite a b; location / { listen 80; } }", ["http"]),
        (b"server { protocol smtp; root a; }", ["http", "mail"]),
        (b"server { if ($a) { " + b"rewrite a b;" * 100 + b" } }", ["http"]),
    ],
)
def test_the_context_of_a_fragment(text: bytes, expected: list[str]) -> None:
    """A fragment may stand where all its known directives may, and where those in its blocks fit best."""
    candidates = load_text(text, includes=False).candidates
    assert [",".join(context) for context in candidates] == expected


def test_a_context_is_found_without_unfolding(monkeypatch: pytest.MonkeyPatch) -> None:
    """No directive of a folded run is made to find the context of a file."""
    monkeypatch.setattr(Bulk, "__iter__", lambda _: pytest.fail("a run was unfolded"))
    assert load_text(b"server {\n" + rewrites(FOLD) + b"\n}").candidates == (("http",),)


def test_a_stated_context(tmp_path: Path) -> None:
    """A context that is stated is the fragment's, and what it includes stands in it."""
    main = write(tmp_path, rules="if ($a) { include b.conf; }", b="rewrite c d;")
    config = load(main, context="server")
    assert config.candidates == (("http", "server"),)
    assert config.contexts(tmp_path / "b.conf") == (("http", "server", "if"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("main", ()),
        ("http", ("http",)),
        ("location", ("http", "server", "location")),
        ("http, location", ("http", "server", "location")),
        ("http,server,location,location", ("http", "server", "location", "location")),
        ("http,server,if", ("http", "server", "if")),
        ("stream,server", ("stream", "server")),
        (("http", "upstream"), ("http", "upstream")),
    ],
)
def test_contexts_as_they_are_written(text: str | tuple[str, ...], expected: tuple[str, ...]) -> None:
    """A context may be stated by its short name or in full."""
    assert parse_context(text) == expected


@pytest.mark.parametrize("text", ["", "servers", "server,http", "if", "http,if"])
def test_contexts_that_are_none(text: str) -> None:
    """What is no context of nginx is a wrong call."""
    with pytest.raises(UsageError, match="unknown context"):
        load_text(b"", context=text)


# --- what cannot be read


def refused(call: Path | bytes) -> InputError:
    """The error of reading a file or a text."""
    with pytest.raises(InputError) as caught:
        load(call) if isinstance(call, Path) else load_text(call, "f.conf")
    assert caught.value.exit_code == 3
    return caught.value


def test_an_error_as_it_is_shown() -> None:
    """An error shows place, line, carets, what was expected and what nginx says."""
    assert refused(b"a;\n\tb 'c' {\n\n").render().split("\n") == [
        "f.conf:2:8: this block is not closed",
        "    \tb 'c' {",
        "    \t      ^",
        '  expected "}" at the end of the block',
        '  nginx says: unexpected end of file, expecting "}" in f.conf:4',
    ]


@needs_nginx
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
        f'  nginx says: open() "{path}" failed (2: No such file or directory)',
    ]


def test_a_path_that_is_none() -> None:
    """A path with a NUL byte is an error like a missing file."""
    assert refused(Path("a\0b")).render() == "a\0b: cannot be read: embedded null byte"


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
    run = subprocess.run([sys.executable, "-c", import_first, str(path)], capture_output=True, check=True, timeout=60)
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
    data = SimpleNamespace(buffer=SimpleNamespace(read=lambda: b"include a.conf;"))
    monkeypatch.setattr("sys.stdin", data)
    monkeypatch.chdir(tmp_path)
    for config in (load("-"), load("-", prefix=tmp_path)):
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
    """Importing the package imports neither crossplane nor the extension; asking for `load` does."""
    code = (
        "import sys, nginxopt\n"
        "names = ['crossplane', 'nginxopt._native', 'nginxopt.config.configuration']\n"
        "print([name in sys.modules for name in names])\n"
        "nginxopt.load\n"
        "print([name in sys.modules for name in names])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert run.stdout.decode().split(os.linesep)[:2] == ["[False, False, False]", "[True, True, True]"]
    assert nginxopt.Config is Config
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = nginxopt.nothing
