"""The command line: what it prints and where, its exit statuses, and that nothing is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nginxopt import cli
from nginxopt.lint.catalogue import catalogue
from nginxopt.rewrite import premises, summary
from nginxopt.rewrite import proof as proofs
from tests.support import needs_nginx, nginx_test, the_nginx

RULES = b"""# old pages
rewrite ^/about$ https://www.example.com/about-us permanent;
rewrite ^/About$ https://www.example.com/ABOUT permanent;
rewrite ^/team/?$ https://www.example.com/people permanent; # ticket 12
rewrite ^/blog/(.*)$ /news/$1 permanent;
rewrite ^/blog/x$ /never permanent;
rewrite ^/about$ https://www.example.com/about-us permanent;
rewrite ^/a.b$ /c permanent;
rewrite ^/old.html /new permanent;
"""

CONFIG = b"""events {}
http {
    # sizes
    map_hash_bucket_size 128;
    server {
        rewrite ^/old$ /new permanent;
        rewrite ^/older$ /new permanent;
        include rules/*.conf;
    }
}
"""


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: bytes
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    """A function that runs a command in the temporary folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main(args)
        captured = capfdbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, captured.out, captured.err.decode())

    return call


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A file of rules."""
    path = tmp_path / "rules.conf"
    path.write_bytes(RULES)
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A whole configuration with an include."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.conf").write_bytes(b"rewrite ^/r1$ /t1 last;\r\nrewrite ^/r2$ /t2 last;\r\n")
    path = tmp_path / "nginx.conf"
    path.write_bytes(CONFIG)
    return path


def snapshot(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


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
    """A fragment is changed in place, its maps are put beside it, and the include they need is told."""
    ran = run("rewrite-to-map", rules.name, "--write")
    assert ran.status == 0
    assert (tmp_path / "rules.conf.http").read_bytes().count(b"map $uri") > 0
    assert f"include {tmp_path / 'rules.conf.http'};" in ran.err
    assert (tmp_path / ".rules.conf.nginxopt-orig").read_bytes() == RULES


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


def schema() -> Any:
    """The schema of the report."""
    return json.loads(files("nginxopt").joinpath("schemas/rewrite-report.json").read_bytes())


def test_report(run: Any, rules: Path, tmp_path: Path) -> None:
    """The report follows its schema, and its figures add up."""
    assert run("rewrite-to-map", rules.name, "-q", "--report", "report.json", "-o", "out").status == 0
    report = json.loads((tmp_path / "report.json").read_bytes())
    jsonschema.validate(report, schema())
    assert (report["rules"], report["moved"]) == (8, 3)
    assert [(kept["line"], kept["reason"]) for kept in report["kept"]] == [
        (5, "wildcard"),
        (8, "unescaped-dot"),
        (9, "prefix"),
    ]
    assert [(dead["line"], dead["shadowed_by"], dead["witness"]) for dead in report["dead"]] == [(6, 5, "/blog/x")]
    assert [(again["line"], again["of"]) for again in report["duplicates"]] == [(7, 2)]
    assert report["proof"]["status"] == "proved"
    assert report["proof"]["checked"] > 0
    assert report["cost"] == {"before": 8, "after": 3}
    assert report["declared_differences"] == []


def test_cost_in_a_location(run: Any, tmp_path: Path) -> None:
    """The patterns that list keys are tried as well: one for each flag. As many are not called faster."""
    flags = ("last", "break", "redirect", "permanent")
    (tmp_path / "four.conf").write_text("".join(f"rewrite ^/{flag}$ /to/{flag} {flag};\n" for flag in flags))
    result = run("rewrite-to-map", "four.conf", "--context", "location", "-o", "out", "--report", "report.json")
    assert json.loads((tmp_path / "report.json").read_bytes())["cost"] == {"before": 4, "after": 4}
    assert "every other request faster" not in result.err


def test_report_of_declared_differences(run: Any, rules: Path) -> None:
    """Each declared difference is named with the number of rules it changes."""
    flags = ["--literal-dots", "--literal-ends", "--ignore-case", "--drop-newline-twins"]
    ran = run("rewrite-to-map", rules.name, *flags, "--report", "-", "--check")
    report = json.loads(ran.out)
    jsonschema.validate(report, schema())
    assert {found["option"]: found["rules"] for found in report["declared_differences"]} == {
        "--ignore-case": 6,
        "--literal-dots": 2,
        "--literal-ends": 1,
        "--drop-newline-twins": 6,
    }
    assert report["moved"] == 4  # the two spellings of /about are one rule now
    assert "no response changes except as declared" in ran.err


def test_bytes_that_are_not_utf8(run: Any, rules: Path, tmp_path: Path) -> None:
    """Rules of any bytes are compiled, and can be told of."""
    rules.write_bytes(b"rewrite ^/caf\xe9$ /coffee permanent;\nrewrite ^/\xe9/(.*)$ /$1 last;\n")
    ran = run("rewrite-to-map", rules.name, "--report", "report.json", "-v")
    assert ran.status == 0
    assert re.search(rb'"/caf\xe9" +"/caf\xe9";', ran.out)
    assert json.loads((tmp_path / "report.json").read_bytes())["kept"][0]["text"] == "rewrite ^/\\xe9/(.*)$ /$1 last;"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"rewrite ^/a$ /b permanent", "unexpected end of file"),
        (b"server { rewrite ^/a$ /b permanent;", "unexpected end of file"),
        (b"rewrite ^/a(b$ /b permanent;", "PCRE2 does not compile the pattern"),
        (b"\0\1\2", "binary file"),
        (b"rewrite ^/a$ /b permanent\nrewrite ^/c$ /d last;\n", 'invalid number of arguments in "rewrite" directive'),
        (b"rewrite ^/a$ /b Permanent;\n", 'invalid parameter "Permanent" in rules.conf:1'),
        (b"rewrite ^/a$ /b$ last;\n", "invalid variable name"),
        (b"rewrite ^/a$ /b${x last;\n", 'the closing bracket in "x" variable is missing'),
    ],
)
def test_unreadable_input(run: Any, rules: Path, text: bytes, said: str) -> None:
    """What nginx would refuse is an error with a place, status 3, and nothing is written."""
    rules.write_bytes(text)
    ran = run("rewrite-to-map", rules.name, "--write")
    assert ran.status == 3
    assert ran.err.startswith("rules.conf:1:")
    assert said in ran.err
    assert rules.read_bytes() == text


def test_missing_file_and_folder(run: Any, tmp_path: Path) -> None:
    """A file that is not there, and a folder, are one clear line and status 3."""
    missing = run("rewrite-to-map", "nowhere.conf")
    assert missing.status == 3
    assert missing.err.startswith("nowhere.conf: cannot be read: No such file or directory")
    assert run("rewrite-to-map", str(tmp_path)).status == 3


def test_empty_input(run: Any, rules: Path) -> None:
    """An empty file holds nothing to collapse, and that is no error."""
    rules.write_bytes(b"")
    assert run("rewrite-to-map", rules.name, "--check", "-q").status == 0
    assert run("rewrite-to-map", rules.name).status == 0


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["rules.conf", "--nonsense"],
        ["rules.conf", "-o", "x", "--write"],
        ["rules.conf", "--target-version", "1.11.6"],
        ["rules.conf", "--target-version", "new"],
        ["rules.conf", "--name", "http"],
        ["rules.conf", "--name", "A b"],
        ["rules.conf", "--context", "nowhere"],
        ["rules.conf", "--max-strings", "0"],
    ],
)
def test_wrong_usage(run: Any, rules: Path, args: list[str]) -> None:
    """A call that cannot be meant is status 2, with a reason and without a traceback."""
    before = snapshot(rules.parent)
    ran = run("rewrite-to-map", *args)
    assert ran.status == 2
    assert ran.err
    assert "Traceback" not in ran.err
    assert snapshot(rules.parent) == before


def test_unwritable_output(run: Any, rules: Path, tmp_path: Path) -> None:
    """A place that cannot be written is status 3, and the input is as it was."""
    (tmp_path / "taken").write_bytes(b"a file")
    ran = run("rewrite-to-map", rules.name, "-o", "taken")
    assert ran.status == 3
    assert "taken: cannot create directory" in ran.err
    assert run("rewrite-to-map", rules.name, "--report", "no/such/folder.json", "--write").status == 3
    assert rules.read_bytes() == RULES


def test_missing_nginx(run: Any, rules: Path) -> None:
    """--nginx with a path that is no nginx is status 4, and nothing is written."""
    ran = run("rewrite-to-map", rules.name, "--write", "--nginx", "/nowhere/nginx")
    assert ran.status == 4
    assert rules.read_bytes() == RULES


def test_refuted_proof_writes_nothing(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the proof does not hold: status 70, a counterexample, the report says so, and no file changes."""
    refuted = proofs.Proof(False, refutation="a rule fires that did not fire before", counterexample=b"/a b")
    monkeypatch.setattr(proofs, "prove", lambda *_: refuted)
    ran = run("rewrite-to-map", rules.name, "--write", "--report", "report.json")
    assert ran.status == 70
    assert "(for the URI /a%20b)" in ran.err
    assert "report it" in ran.err
    report = json.loads((tmp_path / "report.json").read_bytes())
    jsonschema.validate(report, schema())
    assert report["proof"]["status"] == "refuted"
    assert report["proof"]["counterexample"] == "/a%20b"
    assert rules.read_bytes() == RULES


def test_defects_are_reported_as_such(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen exception is status 70 with its traceback and what to do."""
    monkeypatch.setattr(proofs, "prove", lambda *_: 1 / 0)
    ran = run("rewrite-to-map", rules.name)
    assert ran.status == 70
    assert "ZeroDivisionError" in ran.err
    assert "Please report it" in ran.err


@needs_nginx
def test_nginx_is_asked(run: Any, rules: Path, tmp_path: Path) -> None:
    """--nginx asks a real nginx, with or without a path, and the report has its figures."""
    ran = run("rewrite-to-map", "--nginx", rules.name, "-o", "out", "--report", "report.json")
    assert ran.status == 0
    assert "requests, no difference" in ran.err
    report = json.loads((tmp_path / "report.json").read_bytes())
    jsonschema.validate(report, schema())
    assert report["nginx"]["requests"] > 100
    assert report["nginx"]["mismatches"] == 0


@needs_nginx
def test_a_terminal_shows_which_nginx_is_asked(rules: Path) -> None:
    """The progress names the binary as people do: `nginx 1.22.1`."""
    terminal, stderr = os.openpty()
    command = [sys.executable, "-m", "nginxopt", "rewrite-to-map", str(rules), "--check", "--nginx"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr) as process:
        os.close(stderr)
        shown = b"".join(iter(lambda: _read_terminal(terminal), b"")).decode()
    os.close(terminal)
    assert process.returncode == 1
    assert f"asking {the_nginx()}" in shown
    assert re.search(r"asking nginx \d+\.\d+\.\d+ ", shown), shown


def _read_terminal(terminal: int) -> bytes:
    """What a program has written to a terminal; nothing once it has ended, which Linux calls an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""


@needs_nginx
def test_nginx_is_asked_about_a_configuration(run: Any, config: Path) -> None:
    """Each run of a whole configuration is asked about."""
    ran = run("rewrite-to-map", config.name, "--check", "--nginx")
    assert ran.status == 1
    assert "requests, no difference" in ran.err


@needs_nginx
def test_a_differing_nginx_stops_everything(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a real nginx answers differently: status 70, the request is shown, and nothing is written."""
    from nginxopt.rewrite import nginx

    real = nginx.differential

    def damaged(*, after: bytes, **rest: Any) -> Any:
        return real(after=after.replace(b" permanent;", b" redirect;"), **rest)

    monkeypatch.setattr("nginxopt.rewrite.questions.differential", damaged)
    ran = run("rewrite-to-map", rules.name, "--write", "--nginx")
    assert ran.status == 70
    assert "nginx responds differently" in ran.err
    assert rules.read_bytes() == RULES


ROWS = b"".join(b"~^/page/%d/ /p%d;\n" % (number, number) for number in range(1_200))


def test_maps_with_many_regular_expressions_are_told(run: Any, tmp_path: Path) -> None:
    """A file without rewrites may be slow all the same: each map, its rows, and the rule of lint that judges them."""
    (tmp_path / "rows.map").write_bytes(ROWS)
    http = b"map $uri $new { /a /b; ~^/more /m; include rows.map; }\nmap $uri $few { ~a b; }\n"
    stream = b"stream { map $ssl_server_name $pool { %s } }\n" % ROWS
    (tmp_path / "nginx.conf").write_bytes(b"events {}\nhttp {\n%s}\n%s" % (http, stream))
    ran = run("rewrite-to-map", "nginx.conf", "--plan-only", "--report", "report.json")
    told = ran.out.decode().splitlines()
    assert told[0] == "nginx.conf: 0 rewrites"
    assert [line for line in told if "regexes" in line] == [
        "  regexes         1,201  rows of the map $new: each lookup without a match tries all of them"
    ]
    assert "  hint: nginxopt lint --select map-regex-bulk checks maps with many regular expressions" in told
    report = json.loads((tmp_path / "report.json").read_bytes())
    jsonschema.validate(report, schema())
    assert report["regex_maps"] == [{"file": "nginx.conf", "line": 3, "variable": "$new", "rows": 1_201}]
    assert "1,201  rows of the map $new" in run("rewrite-to-map", "nginx.conf").err


def test_rows_of_a_map_by_themselves_are_told(run: Any, tmp_path: Path) -> None:
    """A file of rows is part of the map that includes it, where that is known; maps of other files are not told."""
    (tmp_path / "rows.map").write_bytes(ROWS)
    alone = run("rewrite-to-map", "rows.map", "--plan-only").out.decode()
    assert "  regexes         1,200  rows of a map: each lookup without a match tries all of them\n" in alone
    others = b"map $host $x { %s }\nserver { include site.conf; }\n" % ROWS
    (tmp_path / "nginx.conf").write_bytes(b"events {}\nhttp { map $uri $new { include rows.map; }\n%s }\n" % others)
    (tmp_path / "site.conf").write_bytes(b"rewrite ^/a$ /b last;\n")
    included = run("rewrite-to-map", "rows.map", "--plan-only").out.decode()
    assert "  regexes         1,200  rows of the map $new: each lookup without a match tries all of them\n" in included
    assert "$x" not in included
    assert "regexes" not in run("rewrite-to-map", "site.conf", "--plan-only").out.decode()


def test_the_rule_that_judges_maps_is_there() -> None:
    """The hint names a rule of the catalogue."""
    assert summary.REGEX_MAP_RULE in catalogue()


MISSING = b"""events {}
http {
    include mime.types;
    server {
        rewrite ^/a$ /to/a permanent;
        include part.conf;
        rewrite ^/b$ /to/b permanent;
        include no/*.conf;
    }
}
"""


@pytest.mark.parametrize("mode", ["", "-o", "--diff", "--check", "--plan-only"])
def test_a_missing_include_is_told(run: Any, tmp_path: Path, mode: str) -> None:
    """The rules on both sides are compiled; summary and report name what is not here, and a wildcard misses nothing."""
    (tmp_path / "nginx.conf").write_bytes(MISSING)
    options = [mode, "out"] if mode == "-o" else [mode] if mode else []
    ran = run("rewrite-to-map", "nginx.conf", *options, "--report", "report.json")
    assert ran.status == (1 if mode in ("--diff", "--check") else 0)
    told = ran.out.decode() if mode == "--plan-only" else ran.err
    assert "  missing             2  included files, which may hold anything: no rule moves across them\n" in told
    assert "    nginx.conf:3 includes mime.types, which is missing\n" in told
    assert "    nginx.conf:6 includes part.conf, which is missing\n" in told
    assert f"  premise  {premises.MISSING_SIZES}\n" in told
    report = json.loads((tmp_path / "report.json").read_bytes())
    jsonschema.validate(report, schema())
    assert report["missing"] == [
        {"file": "nginx.conf", "line": 3, "includes": "mime.types"},
        {"file": "nginx.conf", "line": 6, "includes": "part.conf"},
    ]
    assert report["moved"] == 2
    assert "missing-sizes" in [premise["name"] for premise in report["premises"]]


def test_many_missing_includes_are_told_in_a_few_lines(run: Any, rules: Path) -> None:
    """Three are named, and the others with -v."""
    rules.write_bytes(RULES + b"".join(b"include part-%d.conf;\n" % number for number in range(5)))
    ran = run("rewrite-to-map", rules.name)
    assert "part-2.conf, which is missing\n    ... and 2 more (-v lists them)\n" in ran.err
    assert "part-4.conf, which is missing\n" in run("rewrite-to-map", rules.name, "-v").err


def test_a_whole_configuration_with_a_missing_include_is_not_written(run: Any, tmp_path: Path) -> None:
    """nginx does not start with it: status 3 in nginx's words, and no file changes. A fragment is no whole."""
    (tmp_path / "nginx.conf").write_bytes(MISSING)
    ran = run("rewrite-to-map", "nginx.conf", "--write")
    assert ran.status == 3
    assert "nginx.conf:3:13: mime.types cannot be read: No such file or directory" in ran.err
    assert f'nginx says: open() "{tmp_path}/mime.types" failed (2: No such file' in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["nginx.conf"]
    assert (tmp_path / "nginx.conf").read_bytes() == MISSING
    (tmp_path / "nginx.conf").unlink()
    (tmp_path / "site.conf").write_bytes(b"server {\n    include part.conf;\n    rewrite ^/a$ /b permanent;\n}\n")
    assert run("rewrite-to-map", "site.conf", "--write").status == 0
    assert b"_key = $uri" in (tmp_path / "site.conf").read_bytes()


@needs_nginx
def test_nginx_is_asked_about_rules_beside_a_missing_include(run: Any, tmp_path: Path, rules: Path) -> None:
    """The runs are asked by themselves; nginx -t is not, as it refuses the configuration as it is."""
    (tmp_path / "nginx.conf").write_bytes(MISSING)
    ran = run("rewrite-to-map", "nginx.conf", "--check", "--nginx")
    assert ran.status == 1
    assert "requests, no difference" in ran.err
    assert "not tried with nginx -t, which refuses a configuration with missing files" in ran.err
    rules.write_bytes(RULES + b"include part.conf;\n")
    ran = run("rewrite-to-map", rules.name, "-o", "out", "--nginx")
    assert (ran.status, "requests, no difference" in ran.err) == (0, True)


def test_names(run: Any, rules: Path) -> None:
    """--name starts the names of the variables, with a number where it is taken."""
    assert b"map $uri $pages_key {" in run("rewrite-to-map", rules.name, "--name", "pages").out
    rules.write_bytes(RULES + b"set $pages_key 1;\n")
    assert b"map $uri $pages2_key {" in run("rewrite-to-map", rules.name, "--name", "pages").out


def test_version_and_help(run: Any) -> None:
    """Every command has help with examples; the version is one line."""
    assert run("--version").out.startswith(b"nginxopt ")
    assert b"rewrite-to-map" in run("--help").out
    help_text = run("rewrite-to-map", "--help").out
    assert b"Examples:" in help_text
    assert b"Exit status:" in help_text
    assert run("no-such-command").status == 2


def test_completion() -> None:
    """Shells complete commands and options."""
    environment = {**os.environ, "_NGINXOPT_COMPLETE": "bash_complete", "COMP_WORDS": "nginxopt rew", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from nginxopt.cli import main; main()"],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert b"rewrite-to-map" in done.stdout


def test_closed_pipe(tmp_path: Path) -> None:
    """A reader that goes away ends the command without a traceback."""
    many = b"".join(b"rewrite ^/p%d$ /q%d last;\n" % (n, n) for n in range(5000))
    (tmp_path / "rules.conf").write_bytes(many)
    command = f"{sys.executable} -m nginxopt rewrite-to-map rules.conf -q | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 128 + signal.SIGPIPE
    assert done.stderr == b""
    assert done.stdout.startswith(b"# ========")


def test_no_colours_outside_a_terminal(run: Any, rules: Path) -> None:
    """Nothing but text is written to files and pipes."""
    ran = run("rewrite-to-map", rules.name)
    assert "\x1b" not in ran.err
    assert b"\x1b" not in ran.out


def test_prefix(run: Any, config: Path, tmp_path: Path) -> None:
    """With -p, relative includes start from that folder, and so does the include of the maps."""
    (tmp_path / "conf").mkdir()
    config.rename(tmp_path / "conf" / "nginx.conf")
    assert run("rewrite-to-map", "conf/nginx.conf", "-p", ".", "--write", "-q").status == 0
    (maps,) = tmp_path.glob("nxo_*.conf")
    assert f"include {maps.name};".encode() in (tmp_path / "conf" / "nginx.conf").read_bytes()


def test_unknown_context(run: Any, rules: Path) -> None:
    """A fragment is compiled for a server unless told otherwise; summary, header and report say so."""
    ran = run("rewrite-to-map", rules.name, "--report", "report.json")
    stated = run("rewrite-to-map", rules.name, "--context", "server", "--report", "stated.json")
    sentence = premises.SERVER_CONTEXT.sentence
    assert f"premise  server-context: {sentence}" in ran.err
    assert f"# Premise server-context: {sentence}." in ran.out.decode()
    assert {"name": "server-context", "sentence": sentence} in json.loads(Path("report.json").read_bytes())["premises"]
    assert "server-context" not in stated.err + stated.out.decode() + Path("stated.json").read_text()


def test_patterns_of_other_releases(run: Any, rules: Path) -> None:
    """A pattern that the built-in PCRE2 does not take, and another release does, is no reason to fail."""
    rules.write_bytes(b'rewrite ^/\\x$ /x last;\nrewrite "^/\\b{ 1}$" /y last;\nrewrite ^/\\i$ /z last;\n')
    ran = run("rewrite-to-map", rules.name)
    assert ran.status == 0
    assert "pcre-dependent: PCRE releases read its pattern differently" in ran.err


@needs_nginx
@pytest.mark.parametrize(
    "rule", [b"rewrite ^/a$;", b"rewrite ^/a$ /b Last;", b"rewrite ^/a$ /b$;", b"rewrite ^/a$ /${b last;"]
)
def test_refusals_are_in_the_words_of_nginx(run: Any, rules: Path, rule: bytes, tmp_path: Path) -> None:
    """What is said that nginx says is what it says."""
    rules.write_bytes(rule)
    ran = run("rewrite-to-map", rules.name)
    said = nginx_test(tmp_path, b"events {} http { server { %s } }" % rule).message.decode()
    assert ran.status == 3
    assert said
    assert f"nginx says: {said} in rules.conf:1" in ran.err


def test_several_files_are_checked(run: Any, rules: Path, tmp_path: Path) -> None:
    """Each of several files is compiled for itself, and the worst status counts."""
    (tmp_path / "other.conf").write_text("rewrite ^/a/(.*)$ /b/$1 last;\n")
    assert run("rewrite-to-map", "--check", "other.conf", "other.conf").status == 0
    ran = run("rewrite-to-map", "--check", "other.conf", str(rules))
    assert ran.status == 1
    assert "other.conf: 1 rewrite" in ran.err
    assert "rules.conf: 8 rewrites" in ran.err


@pytest.mark.parametrize("options", [(), ("-o", "out"), ("--check", "--report", "report.json")])
def test_one_result_is_of_one_file(run: Any, rules: Path, options: tuple[str, ...]) -> None:
    """What has one place to go to is refused for two files."""
    ran = run("rewrite-to-map", *options, str(rules), str(rules))
    assert ran.status == 2
    assert "supports only one FILE" in ran.err
    assert not Path("out").exists()
    assert not Path("report.json").exists()


def test_a_few_rules_may_be_left(run: Any, rules: Path) -> None:
    """A file of which fewer rules would move than asked for is left as it is, and is no finding."""
    moved = re.search(r"moved +(\d+)", run("rewrite-to-map", "--plan-only", str(rules)).out.decode())
    assert moved
    count = int(moved[1])
    assert run("rewrite-to-map", "--check", "--at-least", str(count), str(rules)).status == 1
    before = rules.read_bytes()
    ran = run("rewrite-to-map", "--write", "--at-least", str(count + 1), str(rules))
    assert ran.status == 0
    assert f"skipped, as only {count} of 8 rules would move (--at-least {count + 1})" in ran.err
    assert rules.read_bytes() == before


def test_what_was_compiled_can_be_measured(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--bench hands the file to `nginxopt bench rewrites`, whose table is the result, and whose status counts."""
    asked: list[list[str]] = []

    def main(args: list[str], **_: Any) -> int:
        asked.append(args)
        return 1

    monkeypatch.setattr("nginxopt.cli.bench.command.main", main)
    ran = run("rewrite-to-map", "--bench", str(rules))
    assert asked == [["rewrites", str(rules)]]
    assert ran.status == 1
    assert ran.out == b""
    assert "8 rewrites" in ran.err
    for args in (["--bench", "--write", str(rules)], ["--bench", "-"]):
        refused = run("rewrite-to-map", *args)
        assert refused.status == 2
        assert "--bench needs a file that stays unchanged" in refused.err
