"""`rewrite-to-map` on fragments of unknown configurations, and the names of what it writes: real nginx takes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.nginx.layouts import DOCKER, LONG, Ran, accepted, output_of, server, tree

pytestmark = pytest.mark.nginx


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("form", ["-o", "--write", "--write at once", "print"])
def test_fragments_of_an_unknown_configuration(
    a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, form: str, long: bool
) -> None:
    """Two fragments, each included as the command says: sizes once, where there are any, then the maps."""
    names = ["one.conf", "two.conf"]
    for name in names:
        stem = name.removesuffix(".conf")
        rules = [f"rewrite ^/{stem}/{number}$ /to permanent;\n" for number in range(5)]
        rules += [f"rewrite ^/{stem}/{LONG}$ /to permanent;\n"] if long else []
        (tmp_path / name).write_text("".join(rules))
    says_so: list[str] = []
    if form == "--write at once":
        says_so.append(run(*names, "--write").err)
    for name in names if form == "--write" else []:
        says_so.append(run(name, "--write").err)
    if form.startswith("--write"):
        http = re.findall(r"add to the http block.*: (include \S+;)", "".join(says_so))
        servers = names
    for name in names if form == "-o" else []:
        assert run(name, "-o", f"{name}.d").status == 0
    if form == "print":
        for name in names:
            parts = re.split(r"^# ======== (\S+): .* ========\n", run(name).out, flags=re.MULTILINE)
            tree(tmp_path / f"{name}.d", dict(zip(parts[1::2], parts[2::2], strict=True)))
    if not form.startswith("--write"):
        folders = [tmp_path / f"{name}.d" for name in names]
        http = [f"include {folder / 'hash.conf'};" for folder in folders[:1] if (folder / "hash.conf").exists()]
        http += [f"include {folder / 'http.conf'};" for folder in folders]
        servers = [f"{name}.d/server.conf" for name in names]
        assert bool(long) == (folders[0] / "hash.conf").exists()
    blocks = "".join(f"server {{ listen unix:{n}.sock; include {s}; }}\n" for n, s in enumerate(servers))
    lines = "\n".join(dict.fromkeys(http))
    main = tree(tmp_path, {"main.conf": f"events {{}}\nhttp {{\n{lines}\n{blocks}}}\n"}) / "main.conf"
    accepted(a_binary, main)


def test_a_fragment_where_nginx_includes_all(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Beside a file of `sites-enabled` the maps get a name that no `*` finds."""
    tree(tmp_path, {"sites-enabled/a": f"rewrite ^/a$ /b permanent;\nrewrite ^/{LONG}$ /b permanent;\n"})
    assert run("sites-enabled/a", "--write", "-q").status == 0
    assert [path.name for path in (tmp_path / "sites-enabled").iterdir() if not path.name.startswith(".")] == ["a"]


@pytest.mark.parametrize("name", ["n" * 40, "n" * 33])
@pytest.mark.parametrize("whole", [False, True])
def test_long_names(a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, name: str, whole: bool) -> None:
    """A name as long as --name takes, with the form of many rules, which has a group: nginx and its PCRE take it."""
    rules = "".join(f"rewrite ^/page-{number}$ /to permanent;\n" for number in range(600))
    rules += "".join(f"rewrite ^/Page-{number}$ /upper last;\n" for number in range(600))
    if whole:
        text = "events {}\nhttp {\nserver { listen unix:a.sock; include rules.conf; add_header X $1; }\n}\n"
        main = tree(tmp_path, {"nginx.conf": text, "rules.conf": rules}) / "nginx.conf"
        assert run("rules.conf", "--write", "-q", "--name", name).status == 0
    else:
        tree(tmp_path, {"rules.conf": rules})
        assert run("rules.conf", "-o", "out", "-q", "--name", name, "--context", "server").status == 0
        text = "events {}\nhttp {\ninclude out/h*.conf;\n"
        main = (
            tree(tmp_path, {"m.conf": text + "server { listen unix:a.sock; include out/server.conf; }\n}\n"}) / "m.conf"
        )
    accepted(a_binary, main)


@pytest.mark.parametrize("servers", [15, 80])
def test_many_runs(each_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, servers: int) -> None:
    """Many servers with a run each need more variables than nginx's table takes by default."""
    blocks = "".join(
        f"server {{ listen unix:{n}.sock; server_name s{n}.test;\n"
        f"rewrite ^/a{n}$ /b permanent; rewrite ^/c{n}$ /d last; rewrite ^/A{n}$ /x last; }}\n"
        for n in range(servers)
    )
    main = tree(tmp_path, {"nginx.conf": f"events {{}}\nhttp {{\n{blocks}}}\n"}) / "nginx.conf"
    output_of(each_binary, main)
    assert run("nginx.conf", "--write", "-q").status == 0
    accepted(each_binary, main)


def test_names_that_are_taken(each_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path) -> None:
    """Names are taken in any case of their letters, and by groups of patterns as well."""
    inside = '    location ~ "^/(?<M2_to>x)" { return 204; }\n    set $M_To 1;\n'
    main = tree(tmp_path, {**DOCKER, "conf.d/other.conf": server("other", "a", inside=inside)}) / "nginx.conf"
    assert run("conf.d/default.conf", "--write", "-q", "--name", "m").status == 0
    assert (tmp_path / "m3.conf").exists() or (tmp_path / "m.conf").exists()
    assert "map $uri $m3_1_to {" in output_of(each_binary, main, "-T")


def test_maps_are_as_private_as_their_rules(run: Callable[..., Ran], tmp_path: Path) -> None:
    """The new file has the mode and owner of the file its rules are from, in a configuration and beside a fragment."""
    tree(tmp_path, {**DOCKER, "alone/site.conf": server("site", "a")})
    for file, maps in (("conf.d/default.conf", "nxo_*.conf"), ("alone/site.conf", "alone/site.conf.http")):
        (tmp_path / file).chmod(0o640)
        os.chown(tmp_path / file, 33 if os.geteuid() == 0 else -1, -1)
        assert run(file, "--write", "-q").status == 0
        (written,) = tmp_path.glob(maps)
        old, new = (tmp_path / file).stat(), written.stat()
        assert (new.st_mode, new.st_uid, new.st_gid) == (old.st_mode, old.st_uid, old.st_gid)
        assert new.st_mode & 0o777 == 0o640


def test_a_folder_that_cannot_be_written(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Where the maps cannot be written, nothing is."""
    tree(tmp_path, DOCKER)
    (tmp_path / "nginx.conf").rename(tmp_path / "real.conf")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.conf")}
    ran = run("conf.d/default.conf", "-c", "/dev/null/nginx.conf", "--write")
    assert ran.status == 3
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.conf")} == before
