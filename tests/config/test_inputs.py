"""The files that names on a command line stand for, in which context they are read, and errors about the others."""

from __future__ import annotations

import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from nginxopt.config import inputs
from nginxopt.config.filesystem import Dump
from nginxopt.config.inputs import InputOptions, Inputs, read
from nginxopt.errors import InputError, UsageError


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(**files: str) -> None:
    """Write files into the working directory: `__` in a name stands for `/` and `_` at its end for no suffix."""
    for name, text in files.items():
        path = Path(name.replace("__", "/") + ".conf").with_suffix("" if name.endswith("_") else ".conf")
        path = path.with_name(path.name.rstrip("_"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def touch(*names: str) -> None:
    """Write files that hold nothing."""
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()


def mains(inputs: Inputs) -> list[str]:
    """The paths of what was read."""
    return [config.main.path for config in inputs.configs]


def shown(errors: list[InputError] | tuple[InputError, ...]) -> list[str]:
    """The first lines of errors."""
    return [error.render().split("\n")[0] for error in errors]


# --- names to files


def test_a_folder_is_walked() -> None:
    """A folder stands for its configurations at any depth, sorted; hidden and backup files are skipped."""
    taken = [
        "b.vhost",
        "nginx.conf",
        "z.nginx",
        "a/x.conf",
        "backup/nginx.conf",
        "conf.d/default",
        "sites-available/example.com",
        "sites-enabled/default",
        "vendor/nginx.conf",
        "vhosts.d/v",
    ]
    touch(*taken, "README.md", "mime.types", "a/plain", ".git/c.conf", ".a.conf", "a/.b.conf.nginxopt-orig")
    touch("conf.d/x.conf.bak", "conf.d/y.disabled", "sites-available/a.bak", "sites-available/b~", "a/c.conf~")
    touch("sites-available/default.save.1", "sites-available/default.dpkg-old", "sites-available/README.md")
    touch("_OLD/nginx.conf", "conf.d.bak2/a.conf", "a/conf.d.backup.20250624/a.conf", "a/nginx-backup-20250925.conf")
    touch("sites-available/archives/a.conf", "archive/nginx.conf", "a/_deprecated/nginx.conf")
    touch("nginx (2).conf", "a/x copy.conf", "conf.d/default (10)")
    touch("conf.d.20250624/a.conf", "vhosts.d-2025-06-24-old/v.conf", "a_20250624/x.conf")
    touch("a/node_modules/b/nginx.conf", "a/vendor/github.com/b/nginx.conf")
    Path("conf.d/dir.conf").mkdir()
    Path("conf.d/gone.conf").symlink_to("nowhere")
    Path("round").symlink_to(".")
    assert inputs.named(["."]) == (taken, [])
    Path("conf.d/link").symlink_to("../nginx.conf")
    named, _ = inputs.named([os.fspath(Path.cwd() / "conf.d"), "conf.d", "nginx.conf"])
    assert named == [f"{Path.cwd()}/conf.d/default", f"{Path.cwd()}/conf.d/link"]


def test_a_server_without_a_suffix() -> None:
    """Outside of the folders for configurations, a file without a suffix is one if it begins with a server."""
    Path("salt").mkdir()
    Path("salt/default").write_text("# of Salt\nserver {\n    listen 80;\n}\n")
    Path("salt/shop").write_text("upstream a { server b; }\nserver\n{\n    # all\n    server_name shop.example;\n}\n")
    Path("salt/Vagrantfile").write_text('server {\n  name "x"\n}\n')
    Path("salt/setup").write_text("#!/bin/sh\ncat > x <<E\nserver {\n    listen 80;\n}\nE\n")
    assert inputs.named(["."])[0] == ["salt/default", "salt/shop"]


def test_a_server_in_a_file_named_by_its_domain() -> None:
    """A file with the name of a domain is a configuration in any folder, if it has a server."""
    Path("shop.example.com").write_text("server {\n  server_name shop.example.com;\n}\n")
    Path("edit.com").write_bytes(b"\xe9\x00\x01server")
    Path("server.js").write_text("server {\n  listen 80;\n}\n")
    assert inputs.named(["."])[0] == ["shop.example.com"]


def test_a_site_is_read_once() -> None:
    """What `sites-enabled` has a copy of is left out, unless that one is excluded, differs or is not in the folder."""
    write(**{"sites-available__a": "listen 80;", "sites-enabled__a": "listen 80;"})
    write(**{"sites-available__b": "listen 80;", "sites-enabled__b": "listen 81;"})
    paths = ["sites-available/b.conf", "sites-enabled/a.conf", "sites-enabled/b.conf"]
    assert inputs.named(["."]) == (paths, [])
    every = ["sites-available/a.conf", "sites-available/b.conf"]
    assert inputs.named(["sites-available"]) == (every, [])
    assert inputs.named(["."], lambda path: "enabled" in path) == (every, [])


def test_a_dump_beside_its_files_is_not_read() -> None:
    """The output of `nginx -T` that repeats a file is left out where it was found, and read where it is named."""
    site, main = "server { listen 80; }\n", "events {} http { include conf.d/*.conf; }\n"
    texts = {"nginx.conf": main, "conf.d/a.conf": site}
    dump = "".join(f"# configuration file /etc/nginx/{name}:\n{text}\n" for name, text in texts.items())
    Path("conf.d").mkdir()
    for name, text in {**texts, "all.conf": dump}.items():
        Path(name).write_text(text, encoding="utf-8")
    assert inputs.select(["."]).files == ["nginx.conf", "conf.d/a.conf"]
    assert inputs.select([".", "all.conf"]).files[0] == "all.conf"
    Path("conf.d/a.conf").write_text("server { listen 81; }\n", encoding="utf-8")
    Path("nginx.conf").unlink()
    assert inputs.select(["."]).files == ["all.conf", "conf.d/a.conf"]


def test_a_named_file_is_taken() -> None:
    """A file that is named is taken, whatever its name is and whatever is excluded; one name each, in order."""
    touch("b.txt", ".hidden", "a.conf", "[a].conf")
    names = ["b.txt", ".hidden", "[a].conf", "none.conf", "-", "./b.txt", "-", "a.conf"]
    assert inputs.named(names, lambda _: True) == (["b.txt", ".hidden", "[a].conf", "none.conf", "-", "a.conf"], [])


def test_wildcards_that_the_shell_left() -> None:
    """A name with wildcards stands for the files it matches, and for those in the folders it matches."""
    touch("a/x.conf", "a/b/y.conf", "a/b/z.txt", "c.conf", "d/e/f.conf")
    assert inputs.named(["a/b/*"])[0] == ["a/b/y.conf", "a/b/z.txt"]
    assert inputs.named(["**/*.conf"])[0] == ["a/b/y.conf", "a/x.conf", "c.conf", "d/e/f.conf"]
    assert inputs.named(["[ac]*"], lambda path: path.startswith("a/b/"))[0] == ["a/x.conf", "c.conf"]
    named, errors = inputs.named(["*.nginx", "c.conf"])
    assert (named, shown(errors)) == (["c.conf"], ["*.nginx: no file matches"])


def test_names_with_nothing_in_them() -> None:
    """A folder without a configuration is an error that names it, and so is one in which all is excluded."""
    touch("a/readme.txt", "b/x.conf")
    named, errors = inputs.named(["a", "b"], lambda path: path.startswith("b/"))
    assert named == []
    assert shown(errors) == ["a: no configuration found", "b: no configuration found"]
    assert [error.hint for error in errors] == [
        "expected files named *.conf, *.nginx, *.ngx, *.vhost, or templates and parts of them",
        "all its configuration files are excluded",
    ]
    assert {error.exit_code for error in errors} == {3}


def test_a_folder_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that may not be read is an error, and the rest is read."""
    touch("a/x.conf", "b/y.conf")
    scan = os.scandir

    def refuse(path: str) -> object:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    named, errors = inputs.named(["."])
    assert (named, shown(errors)) == (["b/y.conf"], ["./a: cannot be read: Permission denied"])


def test_a_name_that_no_file_can_have() -> None:
    """A name that the system refuses is an error about that file alone."""
    write(a="listen 80;")
    name = "a" * 300
    inputs = read([name, f"{name}/*", "a.conf"])
    assert mains(inputs) == ["a.conf"]
    assert shown(inputs.errors) == [f"{name}/*: no file matches", f"{name}: cannot be read: File name too long"]


# --- files to configurations


def test_what_is_included_is_read_in_its_place() -> None:
    """A file that another includes is no configuration of its own, wherever it stands among the names."""
    write(etc__conf__a="listen 80;", etc__nginx="http { server { include conf/*.conf; } }", etc__z="listen 81;")
    for names in (["etc"], ["etc/conf/a.conf", "etc/nginx.conf", "etc/z.conf"]):
        inputs = read(names)
        assert mains(inputs) == ["etc/nginx.conf", "etc/z.conf"]
        assert inputs.errors == ()
        assert [file.path for file in inputs.configs[0].files] == ["etc/nginx.conf", "etc/conf/a.conf"]
    write(etc__0="include conf/a.conf; include nginx.conf;")
    assert mains(read(["etc"])) == ["etc/0.conf", "etc/z.conf"]
    assert mains(read(["etc/conf/a.conf"])) == ["etc/conf/a.conf"]


def test_one_broken_file_keeps_no_other_from_being_read() -> None:
    """The errors of files are told once, in order, and all else is read; a template is called what it is."""
    write(a="include d.conf;", b="user a;", c="listen {{ port }};", d="user\n  'a", e="include d.conf;")
    inputs = read(["none.conf", "."])
    assert mains(inputs) == ["b.conf"]
    assert shown(inputs.errors) == [
        "none.conf: cannot be read: No such file or directory",
        "d.conf:2:3: the file ends inside this quoted string",
    ]
    assert shown(inputs.templates) == ["c.conf:1:8: this is a Jinja or Mustache template: check the rendered file"]
    assert shown(read(["c.conf"]).errors) == shown(inputs.templates)


def test_a_template_that_parses_is_refused() -> None:
    """A tag in a word makes a file a template, in an included file, too."""
    write(nginx="include a.conf;", a="listen <%= port %>;", b="listen 80; # <%= port %>")
    inputs = read(["nginx.conf", "b.conf"])
    assert mains(inputs) == ["b.conf"]
    assert shown(inputs.errors) == ["a.conf:1:8: this is a template with ERB tags: check the rendered file"]


def test_missing_includes_are_no_errors() -> None:
    """Includes that lead nowhere are kept with the configuration."""
    write(a="include none.conf; include /none/*.conf; listen 80;")
    (config,) = read(["a.conf"]).configs
    assert [str(include.args[0]) for include in config.missing] == ["none.conf"]


def test_the_prefix_of_a_fragment() -> None:
    """Includes of a fragment are looked for beside it, and else beside the nearest `nginx.conf` above it."""
    write(etc__nginx="events {}", etc__snippets__s="listen 80;", etc__conf__d__f="include snippets/s*.conf;")
    for name in ("etc/conf/d/f.conf", str(Path.cwd() / "etc/conf/d/f.conf")):
        (config,) = read([name]).configs
        assert len(config.files) == 2
        assert Path(config.files[1].path).is_absolute() == Path(name).is_absolute()
    write(etc__conf__d__snippets__s="listen 81;")
    (config,) = read(["etc/conf/d/f.conf"]).configs
    assert config.files[1].path == "etc/conf/d/snippets/s.conf"
    (config,) = read(["etc/conf/d/f.conf"], InputOptions(prefix="etc")).configs
    assert config.files[1].path == "etc/snippets/s.conf"
    write(third__a__b="include snippets/s.conf;", third__snippets__s="listen 80;")
    (config,) = read(["third/a/b.conf"]).configs
    assert len(config.files) == 1  # no tree ends there
    Path("third/.git").touch()
    (config,) = read(["third/a/b.conf"]).configs
    assert [file.path for file in config.files] == ["third/a/b.conf", "third/snippets/s.conf"]
    write(other__conf__g="include snippets/s.conf;")
    (config,) = read(["other/conf/g.conf"]).configs
    assert (len(config.files), config.prefix) == (1, "other/conf")


def test_a_stated_context() -> None:
    """The context that is stated is that of each fragment; one that nginx has not is a wrong call."""
    write(a="return 404;", b="return 404;")
    configs = read(["."], InputOptions(context=lambda _: "server")).configs
    assert [config.candidates for config in configs] == [(("http", "server"),)] * 2
    with pytest.raises(UsageError, match="unknown context"):
        read(["a.conf"], InputOptions(context=lambda _: "servers"))


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` is read from standard input, as if it lay at the name that is given for it."""
    write(etc__b="listen 80;")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"include b.conf; listen")))
    inputs = read(["-"], InputOptions(stdin_name="etc/a.conf"))
    assert shown(inputs.errors) == ["etc/a.conf:1:17: the file ends inside this statement"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"include b.conf;")))
    (config,) = read(["-"], InputOptions(stdin_name="etc/a.conf")).configs
    assert [file.path for file in config.files] == ["etc/a.conf", "etc/b.conf"]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"include b.conf;")))
    (config,) = read(["-"]).configs
    assert (config.main.path, len(config.missing)) == ("-", 1)


def test_the_output_of_nginx() -> None:
    """A dump is read as the files in it, not those on the disk, and what nothing includes is an error."""
    write(nginx="events {}", a="unseen;")
    here = Path.cwd()
    header = f"# configuration file {here}"
    write(dump=f"{header}/nginx.conf:\ninclude a.conf;\n\n{header}/a.conf:\nb;\n\n{header}/c.conf:\nd;\n\n")
    inputs = read(["dump.conf", "a.conf"])
    assert mains(inputs) == [f"{here}/nginx.conf", "a.conf"]
    dump, _ = inputs.configs
    assert isinstance(dump.origin, Dump)
    assert [str(directive.name) for directive, _ in dump.walk()] == ["include", "b"]
    assert shown(inputs.errors) == [f"dump.conf:7:1: no file in this dump includes {here}/c.conf"]
