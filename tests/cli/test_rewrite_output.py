"""`rewrite-to-map`: its output and the files that it writes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.compiling import CONFIG, RULES, Ran, snapshot


def test_default_prints_both_parts(run: Any, rules: Path) -> None:
    """The maps and the replacement go to standard output under headings, the summary to standard error."""
    ran = run("rewrite-to-map", rules.name)
    assert ran.status == 0
    http, server = ran.out.split(b"# ======== server.conf")
    assert http.startswith(b"# ======== http.conf")
    assert b"map $uri $nxo_" in http
    assert b'"/team/"' in http
    assert b"if ($nxo_" in server
    assert b"rewrite ^/blog/(.*)$ /news/$1 permanent;" in server
    assert b"# ticket 12" in server
    assert "rules.conf: 8 rewrites" in ran.err
    assert "rules.conf:6: rewrite ^/blog/x$ /never permanent;  [line 5 matches /blog/x first]" in ran.err
    assert "rules.conf:7: rewrite ^/about$ https://www.example.com/about-us permanent;  [as line 2]" in ran.err
    assert "no response changes" in ran.err
    assert "2 more would move with --literal-dots --literal-ends" in ran.err


def test_the_pattern_of_a_template_is_refused(run: Any, rules: Path) -> None:
    """`^/${LANG}/a$` matches no URI for nginx: the rule would be left out. Values are as nginx reads them."""
    text = rules.read_text()
    rules.write_text(text + "rewrite ^/x$ ${TARGET}/b permanent;\n")
    assert run("rewrite-to-map", "rules.conf").status == 0
    rules.write_text(text + "rewrite ^/${LANG}/a$ /b permanent;\n")
    ran = run("rewrite-to-map", "rules.conf")
    assert ran.status == 3
    assert ran.out == b""
    assert "this is an envsubst template: check the rendered file\n" in ran.err


def test_explain_shows_the_way_of_a_request(run: Any, rules: Path) -> None:
    """The same redirect has its way through the rules and through the maps, by file; what is no URL is refused."""
    ran = run("rewrite-to-map", rules.name, "--explain", "/about")
    before, after = ran.err.split("way before\n")[1].split("way after\n")
    assert before.splitlines()[0] == after.splitlines()[0] == "    301 -> https://www.example.com/about-us"
    assert "* rewrite    rules.conf:2 " in before
    assert "rewrite ^/about$" in before
    assert "* map        http.conf:" in after
    assert "rewrite ^/about$" not in after
    refused = run("rewrite-to-map", rules.name, "--explain", "ftp://a")
    assert refused.status == 2
    assert "--explain ftp://a" in refused.err
    assert run("rewrite-to-map", rules.name, "--plan-only", "--explain", "/about").status == 2


def test_quiet_says_nothing(run: Any, rules: Path) -> None:
    """With -q only the result is printed."""
    ran = run("rewrite-to-map", rules.name, "-q")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out


def test_folder_of_a_fragment(run: Any, rules: Path, tmp_path: Path) -> None:
    """-o writes http.conf and server.conf, and leaves the rules as they are."""
    before = rules.read_bytes()
    ran = run("rewrite-to-map", rules.name, "-o", "out/deep", "-q")
    assert (ran.status, ran.out) == (0, b"")
    assert set(snapshot(tmp_path / "out" / "deep")) == {"http.conf", "server.conf"}
    assert rules.read_bytes() == before


def test_folder_of_a_configuration(run: Any, config: Path, tmp_path: Path) -> None:
    """-o writes the whole tree of a configuration, its includes and the file of maps."""
    assert run("rewrite-to-map", config.name, "-o", "out").status == 0
    tree = snapshot(tmp_path / "out")
    (maps,) = set(tree) - {"nginx.conf", "rules/a.conf"}
    assert f"include {maps};".encode() in tree["nginx.conf"]
    assert b"map_hash_bucket_size 512;" in tree["nginx.conf"]
    assert b"map_hash_bucket_size" not in tree[maps]
    assert tree["rules/a.conf"].count(b"\r\n") == tree["rules/a.conf"].count(b"\n")
    assert config.read_bytes() == CONFIG


def test_write_changes_in_place_and_keeps_the_old_text(run: Any, config: Path, tmp_path: Path) -> None:
    """--write edits each file where it is; the old texts are kept, and a second run changes nothing."""
    before = snapshot(tmp_path)
    ran = run("rewrite-to-map", config.name, "--write")
    assert (ran.status, ran.out) == (0, b"")
    after = snapshot(tmp_path)
    for name in before:
        copy = Path(name).with_name(f".{Path(name).name}.nginxopt-orig")
        assert after[str(copy)] == before[name]
        assert f"to undo: mv {tmp_path / copy} {name}" in ran.err
    assert after["nginx.conf"] != CONFIG
    again = run("rewrite-to-map", config.name, "--write")
    assert again.status == 0
    assert "nothing to change" in again.err
    assert snapshot(tmp_path) == after


def test_write_keeps_everything_else(run: Any, config: Path) -> None:
    """What is no rule survives byte for byte."""
    run("rewrite-to-map", config.name, "--write", "-q")
    text = config.read_bytes()
    for line in CONFIG.splitlines(keepends=True):
        if b"rewrite" not in line and b"bucket_size" not in line:
            assert line in text


def test_write_a_fragment(run: Any, rules: Path, tmp_path: Path) -> None:
    """--write changes a fragment in place, writes its maps beside it, and prints the include they need."""
    ran = run("rewrite-to-map", rules.name, "--write")
    assert ran.status == 0
    assert (tmp_path / "rules.conf.http").read_bytes().count(b"map $uri") > 0
    assert f"include {tmp_path / 'rules.conf.http'};" in ran.err
    assert (tmp_path / ".rules.conf.nginxopt-orig").read_bytes() == RULES


ONES, TWOS = (
    b"".join(b"rewrite ^/%s%d$ /to permanent;\n" % (head, number) for number in range(5)) for head in (b"a", b"b")
)


def test_write_a_fragment_again(run: Any, tmp_path: Path) -> None:
    """A second --write leaves the maps that the fragment still uses; the statements name the file of their maps."""
    rules = tmp_path / "r.conf"
    rules.write_bytes(ONES)
    run("rewrite-to-map", rules.name, "--write", "-q")
    first = (tmp_path / "r.conf.http").read_bytes()
    with rules.open("ab") as file:
        file.write(TWOS)
    ran = run("rewrite-to-map", rules.name, "--write")
    assert f"add to the http block: include {tmp_path / 'r.conf2.http'};" in ran.err
    assert (tmp_path / "r.conf.http").read_bytes() == first
    maps = first + (tmp_path / "r.conf2.http").read_bytes()
    assert set(re.findall(rb"if \(\$(\w+)", rules.read_bytes())) <= set(re.findall(rb"map \$uri \$(\w+)", maps))
    assert b"in the maps of r.conf.http." in rules.read_bytes()
    assert b"in the maps of r.conf2.http." in rules.read_bytes()


@pytest.mark.parametrize(("text", "is_replaced"), [("of r.conf", True), ("of other.conf", False), ("not maps", False)])
def test_write_a_restored_fragment(run: Any, tmp_path: Path, text: str, is_replaced: bool) -> None:
    """Maps that the fragment no longer uses are replaced, and a copy is kept; other files of the name stay."""
    rules, name = tmp_path / "r.conf", "r.conf.http"
    rules.write_bytes(TWOS)
    old = f"# 5 rewrites {text} as maps, made by nginxopt rewrite-to-map.\nmap $uri $old {{\n}}\n".encode()
    (tmp_path / name).write_bytes(old)
    shown = run("rewrite-to-map", rules.name, "--diff").out
    ran = run("rewrite-to-map", rules.name, "--write")
    assert (f"to undo: mv {tmp_path / f'.{name}.nginxopt-orig'} {name}" in ran.err) is is_replaced
    assert ((tmp_path / name).read_bytes() != old) is is_replaced
    assert (tmp_path / "r.conf2.http").exists() is not is_replaced
    assert (b"-map $uri $old {" in shown) is is_replaced


def test_write_a_fragment_without_maps(run: Any, tmp_path: Path) -> None:
    """Rules that are only put behind a filter need no file of maps."""
    fragment = tmp_path / "part.conf"
    fragment.write_text("".join(f"rewrite ^/a{number}/(.*)$ /b{number}/$1;\n" for number in range(4)))
    ran = run("rewrite-to-map", fragment.name, "--write")
    assert ran.status == 0
    assert "part.conf; to undo: " in ran.err
    assert "include" not in ran.err.partition("part.conf; to undo: ")[2]
    assert "if ($uri ~ " in fragment.read_text()
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".http")]


def test_folder_keeps_maps_in_use(run: Any, tmp_path: Path) -> None:
    """-o refuses to replace maps of an earlier run that the fragment still uses."""
    rules = tmp_path / "r.conf"
    rules.write_bytes(ONES)
    run("rewrite-to-map", rules.name, "-o", "out", "-q")
    assert run("rewrite-to-map", rules.name, "-o", "out", "-q").status == 0
    rules.write_bytes((tmp_path / "out" / "server.conf").read_bytes() + TWOS)
    before = snapshot(tmp_path)
    ran = run("rewrite-to-map", rules.name, "-o", "out", "-q")
    assert ran.status == 2
    assert "which r.conf still uses" in ran.err
    assert snapshot(tmp_path) == before


def test_folder_keeps_larger_sizes(run: Any, tmp_path: Path) -> None:
    """A size in hash.conf that an earlier run needed stays, as its maps may be included elsewhere."""
    rules = tmp_path / "r.conf"
    rules.write_bytes(b"".join(b"rewrite ^/%s%d$ /to permanent;\n" % (b"long" * 12, number) for number in range(50)))
    (tmp_path / "t.csv").write_bytes(b"".join(b"/%d-%s,/x\n" % (number, b"long" * 20) for number in range(50)))
    for file in (rules.name, "t.csv"):
        (tmp_path / "out").mkdir(exist_ok=True)
        (tmp_path / "out" / "hash.conf").write_bytes(b"map_hash_bucket_size 1024;\n")
        assert run("rewrite-to-map", file, "-o", "out", "-q").status == 0
        assert b"map_hash_bucket_size 1024;" in (tmp_path / "out" / "hash.conf").read_bytes()


def test_write_follows_a_link(run: Any, rules: Path, tmp_path: Path) -> None:
    """The file that a link names is changed; the link stays one."""
    (tmp_path / "enabled").mkdir()
    link = tmp_path / "enabled" / "rules.conf"
    link.symlink_to(rules)
    assert run("rewrite-to-map", "enabled/rules.conf", "--write", "-q").status == 0
    assert link.is_symlink()
    assert b"if ($nxo_" in rules.read_bytes()


def test_write_keeps_the_mode(run: Any, rules: Path) -> None:
    """A file is as readable after the change as before it."""
    rules.chmod(0o640)
    run("rewrite-to-map", rules.name, "--write", "-q")
    assert rules.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["my sites/a b.conf", "a\nb.conf", "\udcff.conf"])
def test_diff_of_any_name_is_a_patch(run: Any, rules: Path, tmp_path: Path, name: str) -> None:
    """`patch` changes a fragment of any name and writes the maps beside it, as --write does."""
    fragment, text = tmp_path / name, rules.read_bytes()
    fragment.parent.mkdir(exist_ok=True)
    fragment.write_bytes(text)
    ran = run("rewrite-to-map", name, "--diff", "-q")
    assert ran.status == 1
    subprocess.run(["patch", "--binary", "-p0", "-s"], cwd=tmp_path, input=ran.out, check=True)
    patched = snapshot(tmp_path)
    for path in set(fragment.parent.iterdir()) - {rules}:
        path.unlink()
    fragment.write_bytes(text)
    run("rewrite-to-map", name, "--write", "-q")
    assert patched == {file: made for file, made in snapshot(tmp_path).items() if "nginxopt-orig" not in file}


def test_headings_are_comments(run: Any, config: Path, tmp_path: Path) -> None:
    """What is printed of a file whose name has several lines is what nginx reads."""
    (tmp_path / "rules" / "a.conf").rename(tmp_path / "rules" / "a\nb.conf")
    assert b"\n# ======== rules/a b.conf: changed ========\n" in run("rewrite-to-map", config.name).out


def test_diff_is_a_patch(run: Any, config: Path, tmp_path: Path) -> None:
    """--diff exits 1 if something would change, and `patch` makes of it what --write writes."""
    ran = run("rewrite-to-map", config.name, "--diff", "-q")
    assert ran.status == 1
    patched = tmp_path / "patched"
    (patched / "rules").mkdir(parents=True)
    for name, text in snapshot(tmp_path).items():
        (patched / name).write_bytes(text)
    subprocess.run(["patch", "--binary", "-p0", "-s"], cwd=patched, input=ran.out, check=True)
    run("rewrite-to-map", config.name, "--write", "-q")
    written = {name: text for name, text in snapshot(tmp_path).items() if not name.startswith((".", "patched"))}
    del_hidden = {name: text for name, text in written.items() if "nginxopt-orig" not in name}
    assert snapshot(patched) == del_hidden
    assert run("rewrite-to-map", config.name, "--diff", "-q") == Ran(0, b"", "")


def test_check(run: Any, rules: Path) -> None:
    """--check exits 1 if there is something to collapse and 0 if not, and writes nothing."""
    before = rules.read_bytes()
    assert run("rewrite-to-map", rules.name, "--check", "-q") == Ran(1, b"", "")
    assert rules.read_bytes() == before
    rules.write_bytes(b"rewrite ^/blog/(.*)$ /news/$1 permanent;\n")
    assert run("rewrite-to-map", rules.name, "--check", "-q").status == 0


def test_plan_only(run: Any, rules: Path) -> None:
    """--plan-only prints the plan as its result; -v lists every rule that stays with its reason."""
    ran = run("rewrite-to-map", rules.name, "--plan-only", "-v")
    assert (ran.status, ran.err) == (0, "")
    assert b"rules.conf:9: rewrite ^/old.html /new permanent;  [prefix]" in ran.out
    assert b"proved" not in ran.out


def test_standard_input(tmp_path: Path) -> None:
    """- reads standard input, which cannot be written to."""
    command = [sys.executable, "-m", "nginxopt", "rewrite-to-map", "-"]
    done = subprocess.run([*command, "-q"], input=RULES, capture_output=True, check=True, cwd=tmp_path)
    assert b"in place of standard input" in done.stdout
    refused = subprocess.run([*command, "--write"], input=RULES, capture_output=True, check=False, cwd=tmp_path)
    assert refused.returncode == 2


@pytest.mark.parametrize(
    ("include", "rows", "refusal"),
    [
        ("{outside}", "default_type text/plain;", None),
        ("{outside}", "map $uri $b {{ {rows} }}", "outside of the named paths"),
        ("../outside.conf", "default_type text/plain;", "../outside.conf would not lead there with -o"),
    ],
    ids=["unchanged", "changed", "relative"],
)
def test_files_outside_of_the_folder(tmp_path: Path, run: Any, include: str, rows: str, refusal: str | None) -> None:
    """One that does not change stays where it is if its include is an absolute path; nginx reads the result."""
    patterns = " ".join(f"~^/{number}/.*$ {number};" for number in range(40))
    outside = tmp_path / "outside.conf"
    outside.write_text(rows.format(rows=patterns))
    (tmp_path / "in").mkdir()
    (tmp_path / "in/rows.conf").write_text(patterns)
    path = include.format(outside=outside)
    text = f"events {{}}\nhttp {{\n  include {path};\n  map $uri $a {{\n    include rows.conf;\n  }}\n}}\n"
    (tmp_path / "in/nginx.conf").write_text(text)
    done = run("rewrite-to-map", "-o", "out", "in/nginx.conf")
    assert (done.status in (2, 3)) == bool(refusal), done.err
    if refusal:
        assert refusal in done.err
        assert not Path("out").exists()
        return
    written = {str(file.relative_to("out")) for file in Path("out").rglob("*") if file.is_file()}
    assert {"nginx.conf", "rows.conf"} < written
    assert not any("outside" in name for name in written)
    assert f"include {path};" in Path("out/nginx.conf").read_text()
    from nginxopt.config import load

    assert outside in [Path(file.path) for file in load("out/nginx.conf").files]


def test_check_names_a_list_once(run: Any, tmp_path: Path) -> None:
    """Of a configuration and the file of rules that it includes, in either order, only one names the list."""
    (tmp_path / "rules.conf").write_text("".join(f"rewrite ^/{n}$ /to/{n} permanent;\n" for n in range(30)))
    (tmp_path / "nginx.conf").write_text("events { }\nhttp {\n    server {\n        include rules.conf;\n    }\n}\n")
    for files in (["nginx.conf", "rules.conf"], ["rules.conf", "nginx.conf"]):
        ran = run("rewrite-to-map", "--check", *files)
        assert ran.status == 1
        told = (ran.out.decode() + ran.err).splitlines()
        assert len([line for line in told if line.lstrip().startswith("moved")]) == 1, told
        assert "rules.conf: part of a configuration above, which names its lists" in told
    assert "part of" not in run("rewrite-to-map", "--check", "rules.conf").err
