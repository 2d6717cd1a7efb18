"""`nginxopt lint` as it is used: what it prints and writes, its exit statuses, and that nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nginxopt import cli
from nginxopt.config.layout import replace
from nginxopt.lint import Finding, Fix, Model, Rule, Safety, Severity, baseline
from nginxopt.lint.catalogue import catalogue
from tests.support import PATIENCE

SLOW = """events {}
http {
    gzip on;
    gzip_types text/css;
    gzip_comp_level 9; # as fast as can be
    include sites/*.conf;
}
"""
FAST = SLOW.replace("level 9", "level 6")
UPSTREAM = (
    "upstream app {\n    server 127.0.0.1:1;\n}\nserver { listen 127.0.0.1:1; location / { proxy_pass http://app; } }\n"
)

ASSUMED = ("--assume", "http11-backends", "--assume", "idle-connections")
OPTIONS = ("--isolated", "--target-version", "1.22.1", "--select", "gzip-level,upstream-keepalive-missing", *ASSUMED)
POOLED = UPSTREAM.replace(":1;\n}", ":1;\n    keepalive 32;\n}").replace(
    "http://app;", 'http://app; proxy_http_version 1.1; proxy_set_header Connection "";'
)


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Any:
    """A function that runs `nginxopt lint` in a folder with a configuration of two files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "nginx.conf").write_text(SLOW)
    (tmp_path / "sites").mkdir()
    (tmp_path / "sites" / "app.conf").write_text(UPSTREAM)

    def call(*args: str, options: tuple[str, ...] = OPTIONS) -> Ran:
        with pytest.raises(SystemExit) as ended:
            cli.main(["lint", *options, *args])
        captured = capfdbinary.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, captured.out.decode(), captured.err.decode())

    return call


def piped(text: str, *args: str) -> Ran:
    """Run `nginxopt lint` with a text as standard input, in the working directory."""
    command = [sys.executable, "-m", "nginxopt", "lint", *OPTIONS, *args]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_findings_have_their_places(run: Any) -> None:
    """A finding is told with file, line, column, severity and rule, also in an included file, and counts."""
    ran = run("nginx.conf")
    assert "nginx.conf:5:21: info gzip-level " in ran.out
    assert "sites/app.conf:1:1: warning upstream-keepalive-missing " in ran.out
    assert ran.status == 1


def test_a_folder_is_one_configuration(run: Any) -> None:
    """What a file of a folder includes is judged where it stands, once."""
    assert run(".").out.count("upstream-keepalive-missing") == run("nginx.conf").out.count("upstream-keepalive-missing")


@pytest.mark.parametrize(("least", "status"), [("info", 1), ("warning", 1), ("error", 0)])
def test_what_counts_is_chosen(run: Any, least: str, status: int) -> None:
    """The exit status is 1 from the severity on that is asked for; a warning counts by default, advice does not."""
    assert run("nginx.conf", "--fail-on", least).status == status
    assert run("nginx.conf", "--ignore", "upstream-keepalive-missing").status == 0


def test_fixes_are_counted_as_findings_are(run: Any) -> None:
    """A finding in three places is one finding, also once it is fixed."""
    server = "server { listen 80; gzip on; gzip_comp_level 9; location / { root /srv; } }\n"
    Path("three.conf").write_text(f"events {{}}\nhttp {{\n{server}{server}{server}}}\n")
    select = ("--select", "gzip-level")
    assert "1 finding at 3 places" in run("three.conf", *select).out
    assert "fixed 1 finding\n" in run("three.conf", *select, "--fix").out
    assert Path("three.conf").read_text().count("gzip_comp_level 6;") == 3


def test_a_clean_file_says_so(run: Any) -> None:
    """Without findings there is one line, which says for which nginx, and how that is known."""
    ran = run("nginx.conf", "--ignore", "gzip-level,upstream-keepalive-missing")
    assert ran.out == "no findings in 2 files (for nginx 1.22.1, stated)\n"
    assert run("nginx.conf", "--ignore", "gzip-level,upstream-keepalive-missing", "--quiet").out == ""


def test_fix_changes_the_file_where_the_directive_lives(run: Any) -> None:
    """--fix writes each file where a directive changes, with its comments; a second run finds nothing to do."""
    ran = run("nginx.conf", "--fix")
    assert ran.status == 0
    assert "fixed 2 findings" in ran.out
    assert Path("nginx.conf").read_text() == FAST
    assert Path("sites/app.conf").read_text() == POOLED
    again = run("nginx.conf", "--fix")
    assert again.status == 0
    assert "fixed 0 findings" in again.out
    assert sorted(path.name for path in Path().rglob("*") if path.is_file()) == ["app.conf", "nginx.conf"]


def test_a_premise_is_declared_to_be_relied_on(run: Any) -> None:
    """Without its premises a fix is not made, and the finding names them; the settings can declare them as well."""
    plain = tuple(option for option in OPTIONS if option not in ASSUMED)
    ran = run("nginx.conf", "--fix", options=plain)
    assert "(--assume http11-backends,idle-connections)\n" in ran.out
    assert ran.out.endswith("  measure upstream-keepalive-missing with nginxopt bench keepalive\n")
    assert "  1 fixable with --fix --assume http11-backends,idle-connections\n" in ran.out
    assert Path("sites/app.conf").read_text() == UPSTREAM
    Path("nginxopt.toml").write_text('assume = ["idle-connections"]\n')
    declared = tuple(option for option in plain if option != "--isolated")
    assert "(--assume http11-backends)\n" in run("nginx.conf", "--fix", options=declared).out
    assert run("nginx.conf", "--fix", "--assume", "http11-backends", options=declared).status == 0
    assert Path("sites/app.conf").read_text() == POOLED


def test_an_unknown_premise_is_wrong_usage(run: Any) -> None:
    """A misspelt premise ends with status 2, and the hint has the right name."""
    ran = run("nginx.conf", "--assume", "http11-backend,idle-connections")
    assert ran.status == 2
    assert 'unknown premise "http11-backend"' in ran.err
    assert 'did you mean "http11-backends"?' in ran.err
    assert Path("nginx.conf").read_text() == SLOW


@pytest.mark.parametrize("name", ["a b.conf", "a\nb.conf", 'a"b.conf', "\udcff.conf"])
def test_diff_of_any_name_is_a_patch(run: Any, name: str) -> None:
    """`patch` makes of the file what --fix makes of it, whatever its name."""
    Path(name).write_text(SLOW)
    ran = run(name, "--diff", "--select", "gzip-level")
    assert ran.status == 1
    subprocess.run(["patch", "-p0"], input=ran.out.encode(), check=True, capture_output=True)
    assert Path(name).read_text() == FAST


def test_diff_shows_and_writes_nothing(run: Any) -> None:
    """--diff prints what --fix would change, which `patch` could apply, and exits with 1 if that is something."""
    ran = run("nginx.conf", "--diff")
    assert ran.status == 1
    assert "-    gzip_comp_level 9; # as fast as can be\n+    gzip_comp_level 6; # as fast as can be\n" in ran.out
    assert "--- sites/app.conf\n+++ sites/app.conf\n" in ran.out
    assert Path("nginx.conf").read_text() == SLOW
    Path("nginx.conf").write_text(FAST)
    assert run("nginx.conf", "--diff", "--ignore", "upstream-keepalive-missing").status == 0


def test_standard_input_is_fixed_to_standard_output(run: Any) -> None:
    """A text from a pipe is printed with its fixes, and the report goes to standard error."""
    del run  # it has made the folder
    ran = piped(FAST.replace("6", "9").replace("    include sites/*.conf;\n", ""), "--fix", "-")
    assert ran.out == FAST.replace("    include sites/*.conf;\n", "")
    assert "fixed 1 finding" in ran.err
    assert ran.status == 0
    named = piped(SLOW, "--stdin-filename", "nginx.conf", "--ignore", "upstream-keepalive-missing", "--fix", "-")
    assert named.out == FAST
    assert Path("nginx.conf").read_text() == SLOW
    others = piped(SLOW, "--stdin-filename", "nginx.conf", "--fix", "-")
    assert others.status == 2
    assert "the fixes also change sites/app.conf" in others.err


def test_a_dump_is_judged_and_not_fixed(run: Any) -> None:
    """The output of nginx -T is judged as the files it was made of; there is no file to write."""
    del run
    texts = {"nginx.conf": SLOW, "sites/app.conf": UPSTREAM}
    dump = "".join(f"# configuration file /etc/nginx/{name}:\n{text}\n" for name, text in texts.items())
    assert "/etc/nginx/sites/app.conf:1:1: warning upstream-keepalive-missing" in piped(dump, "-").out
    fixed = piped(dump, "--fix", "-")
    assert fixed.status == 2
    assert "the output of nginx -T cannot be fixed" in fixed.err


def test_an_error_does_not_hide_the_rest(run: Any) -> None:
    """A file that cannot be parsed is told with its place and gives status 3; the others are judged all the same."""
    Path("broken.conf").write_text("server {\n    listen 80\n}\n")
    ran = run("broken.conf", "none.conf", "nginx.conf")
    assert ran.status == 3
    assert "broken.conf:3:1: error " in ran.out
    assert "none.conf: error cannot be read: No such file or directory" in ran.out
    assert "gzip-level" in ran.out


def test_a_missing_include_is_told(run: Any) -> None:
    """An include that leads nowhere is a note with its place, and what it might set is not judged."""
    Path("nginx.conf").write_text(SLOW.replace("sites/*.conf", "no/mime.types"))
    ran = run("nginx.conf")
    assert "nginx.conf:6:13: note no/mime.types cannot be read and is not checked" in ran.out
    assert ran.status == 0


def test_pipes_and_directories_are_told(run: Any) -> None:
    """An include of what is no regular file is a note with its place, and nothing waits for a writer."""
    os.mkfifo("pipe")
    Path("nginx.conf").write_text("http {\n    include pipe;\n    include sites;\n}\n")
    ran = run("nginx.conf")
    assert "nginx.conf:2:13: note pipe is not a regular file and is not checked" in ran.out
    assert "nginx.conf:3:13: note sites is not a regular file and is not checked" in ran.out
    ran = run("pipe")
    assert ran.status == 3
    assert "pipe: error cannot be read: not a regular file" in ran.out


def test_each_match_that_cannot_be_read_is_named(run: Any) -> None:
    """nginx refuses each of these, and the files beside them are read; as a missing file, they do not count."""
    Path("sites/dangling.conf").symlink_to("/nonexistent")
    Path("sites/loop.conf").symlink_to("loop.conf")
    Path("sites/folder.conf").mkdir()
    Path("nginx.conf").write_text(SLOW)
    ran = run("nginx.conf", "--ignore", "upstream-keepalive-missing")
    assert [line for line in ran.out.splitlines() if " note sites" in line] == [
        "nginx.conf:6:13: note sites/dangling.conf is a link to a missing file and is not checked",
        "nginx.conf:6:13: note sites/folder.conf is not a regular file and is not checked",
        "nginx.conf:6:13: note sites/loop.conf cannot be read (Too many levels of symbolic links) and is not checked",
    ]
    assert "1 finding in 2 files" in ran.out
    assert ran.status == 0


@pytest.mark.parametrize("text", ["", " \n"])
def test_empty_standard_input_is_an_error(run: Any, text: str) -> None:
    """`nginx -T` prints nothing if it refuses the configuration, which is no configuration without findings."""
    del run
    ran = piped(text, "-")
    assert ran.status == 3
    assert ran.out.startswith("-: error standard input is empty\n  hint: the command that writes to it may have failed")


def test_a_report_goes_into_a_file(run: Any) -> None:
    """--output takes the report in any format, and nothing is printed."""
    ran = run("nginx.conf", "--format", "json", "--output", "report.json")
    assert (ran.status, ran.out, ran.err) == (1, "", "")
    report = json.loads(Path("report.json").read_text())
    assert [diagnostic["rule"] for diagnostic in report["diagnostics"]] == ["gzip-level", "upstream-keepalive-missing"]


def test_a_baseline_hides_what_is_known(run: Any) -> None:
    """What a baseline has is not told, wherever its lines have moved; what is new is."""
    assert run("nginx.conf", "--write-baseline", "known.json").status == 0
    Path("nginx.conf").write_text(f"# one more line\n{SLOW}")
    ran = run("nginx.conf", "--baseline", "known.json")
    assert ran.status == 0
    assert "known.json hides 2 findings" in ran.out
    Path("sites/b.conf").write_text(UPSTREAM.replace("app", "other"))
    ran = run("nginx.conf", "--baseline", "known.json")
    assert ran.status == 1
    assert "sites/b.conf" in ran.out
    assert "sites/app.conf" not in ran.out
    Path("nginx.conf").write_text(FAST)
    assert "the baseline has 1 entry without a finding" in run("nginx.conf", "--baseline", "known.json").out


@pytest.mark.parametrize("option", ["--fix", "--diff"])
def test_what_a_baseline_has_is_not_fixed(run: Any, option: str) -> None:
    """Fixes leave what a baseline records, named by the option or by the settings; what is new is fixed."""
    assert run("nginx.conf", "--write-baseline", "known.json").status == 0
    ran = run("nginx.conf", "--baseline", "known.json", option, "--unsafe-fixes")
    assert (ran.status, Path("nginx.conf").read_text()) == (0, SLOW)
    assert "known.json hides 2 findings" in ran.out + ran.err
    Path("nginxopt.toml").write_text('baseline = "known.json"\n')
    Path("sites/b.conf").write_text("gzip on; gzip_types text/css; gzip_comp_level 8;\n")
    before = Path("sites/b.conf").read_text()
    ran = run("nginx.conf", option, options=("--target-version", "1.22.1"))
    assert Path("nginx.conf").read_text() == SLOW
    assert (Path("sites/b.conf").read_text() != before) == (option == "--fix")
    assert ("+++ sites/b.conf" in ran.out) == (option == "--diff")
    assert "+++ nginx.conf" not in ran.out


def test_the_second_of_two_identical_findings_stays_hidden(run: Any) -> None:
    """A baseline that records only the second of two lines hides it, also after the first is fixed."""
    line = "gzip_comp_level 8;\n"
    Path("sites/b.conf").write_text(f"server {{ listen 1;\n{line}}}\nserver {{ listen 2;\n{line}}}\n")
    options = ("--select", "gzip-level", "--baseline", "known.json", "--fail-on", "info")
    assert run("nginx.conf", "--select", "gzip-level", "--write-baseline", "known.json").status == 0
    known = baseline.load("known.json")
    marked = [number for number, entry in enumerate(sorted(known.entries)) if entry.file == "sites/b.conf"]
    for number in marked:
        Path("sites/b.conf").write_text(f"server {{ listen 1;\n{line}}}\nserver {{ listen 2;\n{line}}}\n")
        baseline.write_entries("known.json", known.entries - {sorted(known.entries)[number]})
        assert run("nginx.conf", *options).status == 1
        assert run("nginx.conf", *options, "--fix").status == 0
        assert Path("sites/b.conf").read_text().count(line) == 1
        assert "without a finding" not in run("nginx.conf", *options).out


def test_a_damaged_baseline_stops_fixes(run: Any) -> None:
    """Nothing is fixed if the baseline cannot be read."""
    ran = run("nginx.conf", "--fix", "--baseline", "none.json")
    assert ran.status == 3
    assert Path("nginx.conf").read_text() == SLOW


def test_settings_are_found(run: Any) -> None:
    """Settings of the folder count, those of the command line more, and --isolated reads none."""
    Path("nginxopt.toml").write_text(
        'select = ["gzip-level"]\npaths = ["nginx.conf"]\ntarget-version = "1.22.1"\n[severity]\ngzip-level = "error"\n'
    )
    ran = run(options=())
    assert "error gzip-level" in ran.out
    assert "upstream-keepalive-missing" not in ran.out
    assert "(for nginx 1.22.1, settings)" in ran.out
    assert ran.status == 1
    assert "upstream-keepalive-missing" in run("--select", "proxy", options=()).out
    Path("nginxopt.toml").write_text("selekt = []\n")
    ran = run(options=())
    assert ran.status == 3
    assert "nginxopt.toml:1:1: " in ran.err
    assert 'did you mean "select"?' in ran.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--fix", "--diff"), "cannot be used together"),
        (("--unsafe-fixes",), "needs --fix or --diff"),
        (("--statistics", "--format", "sarif"), "--statistics does not support --format sarif"),
        (("-", "other.conf"), "standard input cannot be combined with other paths"),
        (("--stdin-filename", "a.conf"), "--stdin-filename needs - as PATH"),
        (("--diff", "--format", "json"), "needs --output"),
        (("--fix", "--write-baseline", "b"), "cannot be used with"),
        (("--select", "gzip-levle"), 'did you mean "gzip-level"?'),
        (("--target-version", "new"), "is not an nginx version"),
        (("--target-version", "1"), "'1' is not an nginx version"),
        (("--target-version", "0.8"), "nginxopt does not know nginx 0.8"),
        (("--target-version", "3.1.0"), "nginxopt does not know nginx 3.1.0"),
        (("--context", "servers"), "unknown context"),
    ],
)
def test_contradictions_are_wrong_usage(run: Any, args: tuple[str, ...], message: str) -> None:
    """What contradicts itself, or names what there is not, is refused with the reason, and nothing is written."""
    ran = run("nginx.conf", *args) if "-" not in args else run(*args)
    assert ran.status == 2
    assert message in ran.err
    assert Path("nginx.conf").read_text() == SLOW


@pytest.mark.nginx
def test_nginx_is_asked_before_anything_is_written(run: Any) -> None:
    """With --nginx the fixes are written if nginx -t accepts them, and nothing of the trial is left."""
    Path("nginx.conf").write_text(f"pid nginx.pid;\nerror_log stderr;\n{SLOW}")
    ran = run("nginx.conf", "--fix", "--nginx")
    assert ran.status == 0
    assert "level 6" in Path("nginx.conf").read_text()
    left = sorted(path.name for path in Path().rglob("*") if path.is_file() and path.name != "nginx.pid")
    assert left == ["app.conf", "nginx.conf"]


@pytest.mark.nginx
def test_nothing_is_written_if_nginx_refuses(run: Any) -> None:
    """If nginx refuses the configuration without fixes, they cannot be checked; a fragment cannot be asked for."""
    refused = f"pid nginx.pid;\nerror_log stderr;\nworker_priority 99x;\n{SLOW}"
    Path("nginx.conf").write_text(refused)
    ran = run("nginx.conf", "--fix", "--nginx")
    assert ran.status == 3
    assert "nothing was written" in ran.err
    assert '"worker_priority" directive invalid' in ran.err
    assert Path("nginx.conf").read_text() == refused
    shown = run("nginx.conf", "--diff", "--nginx")
    assert 'nginx -t refuses nginx.conf both before and after: "worker_priority" directive invalid' in shown.err
    fragment = f"gzip on;\ngzip_types text/css;\ngzip_comp_level 9;\n{UPSTREAM}"
    Path("sites/app.conf").write_text(fragment)
    ran = run("sites/app.conf", "--fix", "--unsafe-fixes", "--nginx")
    assert ran.status == 2
    assert "--nginx needs a whole configuration" in ran.err
    assert Path("sites/app.conf").read_text() == fragment


@pytest.mark.nginx
def test_a_fix_that_nginx_refuses_is_a_defect(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If nginx -t refuses what a fix makes, that is a fault of nginxopt: it is told, and nothing is written."""

    def check(model: Model) -> Iterator[Finding]:
        for directive, _ in model.each("gzip_comp_level"):
            if directive.args[0] != "five":
                fix = Fix("spoil it", (replace(directive, directive.args[0], "five"),))
                yield Finding(directive.source, directive.span, "a finding", fix)

    spoiling = Rule("gzip-level", check, catalogue()["gzip-level"].page, Severity.ERROR, "client", (Safety.SAFE,))
    monkeypatch.setattr("nginxopt.lint.catalogue.catalogue", lambda: {"gzip-level": spoiling})
    text = f"pid nginx.pid;\nerror_log stderr;\n{SLOW}"
    Path("nginx.conf").write_text(text)
    ran = run("nginx.conf", "--fix", "--nginx", options=("--isolated", "--target-version", "1.22.1"))
    assert ran.status == 70
    assert "nginx -t refuses nginx.conf after the fixes; nothing was written" in ran.err
    assert '"gzip_comp_level" directive invalid number' in ran.err
    assert Path("nginx.conf").read_text() == text
