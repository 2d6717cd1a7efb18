"""`rewrite-to-map` on the layouts that nginx has on a disk: real nginx takes what is written, as part of the whole.

Each test builds a tree as a package or an image has it, runs the command on it, and asks every nginx that is there: the
configuration is accepted without a word, and the maps are read once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.nginx.layouts import DEBIAN, DOCKER, LONG, RHEL, Ran, accepted, output_of, server, tree
from tests.nginx.modules import has_stream

pytestmark = pytest.mark.nginx


@pytest.mark.parametrize(
    ("layout", "files"),
    [
        (DEBIAN, ["sites-enabled/shop"]),
        (DEBIAN, ["sites-available/shop"]),
        (DEBIAN, ["sites-enabled/shop", "sites-enabled/blog"]),
        (DEBIAN, ["snippets/old.conf", "sites-available/blog", "sites-enabled/shop"]),
        (DEBIAN, ["nginx.conf", "sites-enabled/blog"]),
        (DOCKER, ["conf.d/default.conf"]),
        (DOCKER, ["conf.d/default.conf", "conf.d/other.conf"]),
        (RHEL, ["default.d/rules.conf"]),
        (RHEL, ["default.d/more.conf", "default.d/rules.conf"]),
    ],
)
def test_a_file_of_a_layout(
    a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, layout: dict[str, str], files: Sequence[str]
) -> None:
    """nginx accepts the whole configuration after files are compiled together or one by one, and twice."""
    main = tree(tmp_path / "etc", layout) / "nginx.conf"
    output_of(a_binary, main)
    names = [f"etc/{file}" for file in files]
    assert run(*names, "--diff", "-q").status == 1
    ran = run(*names, "--write", f"--nginx={a_binary.path}")
    assert ran.status == 0, ran.err
    assert "not checked" not in ran.err
    accepted(a_binary, main)
    again = run(*names, "--write", "-q")
    assert (again.status, again.err) == (0, "")
    accepted(a_binary, main)
    changed = tmp_path / "etc" / files[-1]
    changed.write_bytes(changed.read_bytes() + b"\n")
    assert run(*reversed(names), "--check", "-q").status == 0


def test_one_run_after_the_other(a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path) -> None:
    """Files that are compiled in separate runs share the sizes, which grow where they must."""
    main = tree(tmp_path, DEBIAN) / "nginx.conf"
    for name in ("sites-enabled/blog", "sites-enabled/shop"):
        assert run(name, "--write", "-q").status == 0
        accepted(a_binary, main)
    more = tmp_path / "sites-available" / "third"
    more.write_text(server("third", *(f"{number}/{'y' * 700}" for number in range(40))))
    (tmp_path / "sites-enabled" / "third").symlink_to("../sites-available/third")
    assert run("sites-enabled/third", "--write", "-q").status == 0
    accepted(a_binary, main)
    assert main.read_text().count("map_hash_bucket_size") == 1
    assert "map_hash_bucket_size 768;" in main.read_text()


@pytest.mark.parametrize(
    "sizes",
    [
        "map_hash_max_size 64;",
        "map_hash_bucket_size 32;",
        "map_hash_bucket_size 256; map_hash_max_size 100000;",
        "variables_hash_max_size 100;",
        "variables_hash_bucket_size 32; variables_hash_max_size 64;",
    ],
)
@pytest.mark.parametrize("where", ["http", "conf.d"])
def test_sizes_that_are_set(
    a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, sizes: str, where: str
) -> None:
    """Sizes that the configuration has grow where they stand, and what is not set joins them."""
    layout = dict(DEBIAN)
    if where == "http":
        layout["nginx.conf"] = layout["nginx.conf"].replace("access_log off;", f"access_log off; {sizes} # ours\n")
    else:
        layout["conf.d/sizes.conf"] = sizes
    main = tree(tmp_path, layout) / "nginx.conf"
    for name in ("sites-enabled/shop", "sites-enabled/blog"):
        assert run(name, "--write").status == 0
        accepted(a_binary, main)


def test_sizes_of_stream(a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path) -> None:
    """Directives of the same name in `stream` belong to that module, in the main file and in one that it includes."""
    stream = "map_hash_max_size 32; map_hash_bucket_size 64;\nmap $remote_addr $nxo_x { default 1; }\n"
    for text in (f"stream {{ {stream} }}\n", "stream { include stream.d/*.conf; }\n"):
        root = tree(tmp_path / str(len(text)), {**DOCKER, "stream.d/a.conf": stream})
        main = root / "nginx.conf"
        main.write_text(text + DOCKER["nginx.conf"])
        assert run(str(root / "conf.d" / "default.conf"), "--write", "-q").status == 0
        changed = main.read_text()
        assert changed.startswith(text)
        assert "map_hash_max_size 16384;" in changed.removeprefix(text)
        if has_stream(a_binary):
            accepted(a_binary, main)
        else:
            main.write_text(changed.removeprefix(text))
            accepted(a_binary, main)


@pytest.mark.parametrize("installed", ["/etc/nginx", "/usr/local/openresty/nginx/conf"])
def test_a_copy_of_what_is_installed(
    a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, installed: str
) -> None:
    """In a repository or for an image, includes name the folder where the files will lie; there nginx takes them."""
    layout = {**DOCKER, "nginx.conf": DOCKER["nginx.conf"].replace("include conf.d", f"include {installed}/conf.d")}
    root = tree(tmp_path / "app" / "nginx", layout)
    ran = run("app/nginx/conf.d/default.conf", "--write")
    assert ran.status == 0
    assert "not checked with nginx -t" in ran.err
    text = (root / "nginx.conf").read_text()
    (root / "nginx.conf").write_text(text.replace(installed, str(root)))
    accepted(a_binary, root / "nginx.conf")


def test_wildcards_that_are_not_normal(a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path) -> None:
    """The maps go where no include finds them, whatever way it goes: `..`, slashes, links, wildcards in folders."""
    includes = (
        "../etc/n[wxyz]o_*.conf", ".//./nxo_??????.maps", "link/nxo_*.http", f"{tmp_path}/e*/nxo_*2.conf",
        f"{tmp_path}/*/../etc/nxo_*.conf",
    )  # fmt: skip
    text = DOCKER["nginx.conf"].replace(
        "http {\n", "http {\n" + "".join(f"    include {include};\n" for include in includes)
    )
    main = tree(tmp_path / "etc", {**DOCKER, "nginx.conf": text, "link@": "."}) / "nginx.conf"
    assert run("etc/conf.d/default.conf", "--write", "-q").status == 0
    accepted(a_binary, main)


ONE_LINE = "events {} http { include conf.d/*.conf; }"
HTTP_ELSEWHERE = {
    **{name: text for name, text in DOCKER.items() if name != "nginx.conf"},
    "nginx.conf": "events {}\ninclude http.conf;",
    "http.conf": "http { # all\r\n  include mime.types;\r\n  include conf.d/*.conf;\r\n}",
}
SHARED = {
    "nginx.conf": "events {}\nhttp {\n"
    + server("one", inside="    include shared.conf;\n")
    + server("two", inside="    location / { include shared.conf; }\n    include shared.conf;\n")
    + "}\n",
    "shared.conf": "rewrite ^/a$ /b permanent;\nrewrite ^/c$ /d last;\n",
}
NESTED = {
    "nginx.conf": "events {}\nhttp { include vhosts/*/site.conf; }\n",
    "vhosts/a b/site.conf": server("ab", "a", "b", inside='    include "vhosts/a b/rules/*.conf";\n'),
    "vhosts/a b/rules/ü [1].conf": "rewrite ^/u$ /v permanent;\nrewrite ^/ü$ /v permanent;\n",
    "vhosts/c/site.conf": server("c", "a"),
}


@pytest.mark.parametrize(
    ("layout", "file"),
    [
        ({**DOCKER, "nginx.conf": ONE_LINE}, "conf.d/default.conf"),
        ({**DOCKER, "nginx.conf": ONE_LINE.replace("http {", "http{")}, "conf.d/default.conf"),
        (HTTP_ELSEWHERE, "conf.d/default.conf"),
        (HTTP_ELSEWHERE, "http.conf"),
        (SHARED, "shared.conf"),
        (NESTED, "vhosts/a b/site.conf"),
        (NESTED, "vhosts/a b/rules/ü [1].conf"),
        ({**DOCKER, "conf.d@": "real", "real/x.conf": server("x", "a", "b")}, "real/x.conf"),
        ({**DOCKER, "conf.d@": "real", "real/x.conf": server("x", "a", "b")}, "conf.d/x.conf"),
        ({"nginx.conf": "events {}\nhttp { include ../sites/*; }", "../sites/s": server("s", "a")}, "../sites/s"),
        ({**DEBIAN, "nginx.conf": DEBIAN["nginx.conf"].replace("\n", "\r\n")}, "sites-enabled/blog"),
    ],
)
def test_odd_layouts(
    a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, layout: dict[str, str], file: str
) -> None:
    """One line, other line ends, links, blanks, files that stand in several places, an http block in another file."""
    layout = {name: text for name, text in layout.items() if f"{name.split('/')[0]}@" not in layout}
    main = tree(tmp_path / "prefix" / "conf", layout) / "nginx.conf"
    output_of(a_binary, main)
    named = [] if (main.parent / file).resolve().is_relative_to(main.parent) else ["-c", str(main)]
    ran = run(str(main.parent / file), *named, "--write", f"--nginx={a_binary.path}")
    assert ran.status == 0, ran.err
    accepted(a_binary, main)
    assert run(str(main.parent / file), *named, "--check", "-q").status == 0


def test_main_file_in_another_folder(
    a_binary: nginx.Binary, run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """-c names the main file, with any name, and -p the prefix that has it in `conf`; both may be relative."""
    for options in (["-c", "elsewhere/main.conf"], ["-p", "prefix"]):
        base = tmp_path / options[0]
        layout = {"site.conf": server("site", "a", "b", LONG)}
        text = f"events {{}}\nhttp {{ include {base}/site.conf; }}\n"
        tree(base, {**layout, "elsewhere/main.conf": text, "prefix/conf/nginx.conf": text})
        monkeypatch.chdir(base)
        assert run("site.conf", *options, "--write", "-q").status == 0
        main = base / options[1] if options[0] == "-c" else base / "prefix" / "conf" / "nginx.conf"
        accepted(a_binary, main)


def test_c_names_another_configuration(run: Callable[..., Ran], tmp_path: Path) -> None:
    """-c names a configuration that includes the file, or the call is wrong; so is a context that it contradicts."""
    tree(tmp_path, {**DOCKER, "stray.conf": server("stray", "a")})
    before = (tmp_path / "nginx.conf").read_bytes()
    ran = run("stray.conf", "-c", "nginx.conf", "--write")
    assert (ran.status, "does not include stray.conf" in ran.err) == (2, True)
    ran = run("conf.d/default.conf", "--context", "server", "--write")
    assert (ran.status, "in http, not in server" in ran.err) == (2, True)
    assert (tmp_path / "nginx.conf").read_bytes() == before


def test_what_cannot_be_checked_is_said(run: Callable[..., Ran], tmp_path: Path) -> None:
    """No nginx.conf, one that does not include the file, or one of which a part is missing."""
    tree(tmp_path, {"alone/site.conf": server("site", "a"), "etc/nginx.conf": DOCKER["nginx.conf"]})
    ran = run("alone/site.conf", "--write")
    assert ran.status == 0
    assert "not checked, as the nginx.conf is unknown: names, hash table sizes and includes" in ran.err
    tree(tmp_path, {"etc/stray.conf": server("stray", "a")})
    ran = run("etc/stray.conf", "--write")
    assert "nginx.conf does not include it" in ran.err
    tree(tmp_path, {"etc/conf.d/a.conf": server("a", "a")})
    ran = run("etc/conf.d/a.conf", "--write")
    assert ran.status == 0
    assert " includes mime.types\n" in ran.err
