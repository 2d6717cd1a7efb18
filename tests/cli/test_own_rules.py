"""Rules of one's own on the command line: lint, rules, explain, and the commands that write and test them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from nginxopt.cli import rules_new
from nginxopt.lint.report import FORMATS
from tests.schemas import validate
from tests.support import ROOT

ACME = ROOT / "fixtures" / "acme-nginx-rules" / "acme_nginx_rules"
SITE = (
    "events {}\nhttp {\n    server {\n        autoindex on;\n        gzip on;\n        gzip_comp_level 9;\n    }\n}\n"
)
LINT = ("lint", "nginx.conf", "--rules", "--target-version", "1.28.0", "--select", "acme-no-autoindex,gzip-level")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a configuration, settings, and a rule that they name."""
    (tmp_path / "nginx-rules").mkdir()
    shutil.copy(ACME / "acme_no_autoindex.py", tmp_path / "nginx-rules")
    (tmp_path / "nginxopt.toml").write_text('rules = ["nginx-rules"]\n')
    (tmp_path / "nginx.conf").write_text(SITE)
    return tmp_path / "nginx-rules"


def test_lint(run: Any, own: Path) -> None:
    """A rule of one's own is selected, suppressed, ranked and fixed as any other; nothing is written beside it."""
    ran = run(*LINT)
    assert ran.status == 1
    assert b"nginx.conf:4:9: warning acme-no-autoindex autoindex shows the names of all files" in ran.out
    (own.parent / "nginxopt.toml").write_text('rules = ["nginx-rules"]\nseverity = { acme-no-autoindex = "info" }\n')
    assert (run(*LINT).status, run(*LINT, "--fail-on", "info").status) == (0, 1)
    assert run(*LINT, "--isolated").err.startswith('unknown rule or category "acme-no-autoindex"')
    assert run(*LINT, "--fix", "--unsafe-fixes").status == 0
    assert "autoindex off;" in (own.parent / "nginx.conf").read_text()
    (own.parent / "nginx.conf").write_text(SITE.replace("on;", "on; # nginxopt: ignore[acme-no-autoindex] as is", 1))
    assert b"0 findings" not in run(*LINT, "--select", "config").out
    assert b"unknown rule" not in run("lint", "nginx.conf", "--select", "suppression").out
    assert [path.name for path in own.iterdir()] == ["acme_no_autoindex.py"]


@pytest.mark.usefixtures("own")
@pytest.mark.parametrize("format_", FORMATS)
def test_every_report_has_them(run: Any, format_: str) -> None:
    """Every report has the finding, without a link to a page that is not there."""
    out = run(*LINT, "--format", format_).out.decode()
    assert "acme-no-autoindex" in out
    assert "docs/rules/acme-no-autoindex" not in out
    assert "docs/rules/gzip-level" in out or format_ in ("text", "gitlab", "checkstyle")
    assert "None" not in out
    if format_ == "json":
        report = json.loads(out)
        validate(report, "lint-report")
        assert {finding["rule"]: finding["url"] is None for finding in report["diagnostics"]} == {
            "acme-no-autoindex": True,
            "gzip-level": False,
        }
    if format_ == "sarif":
        driver = json.loads(out)["runs"][0]["tool"]["driver"]
        assert {rule["id"]: "helpUri" in rule for rule in driver["rules"]} == {
            "acme-no-autoindex": False,
            "gzip-level": True,
        }


@pytest.mark.parametrize("format_", FORMATS)
def test_every_report_has_their_errors(run: Any, own: Path, format_: str) -> None:
    """A rule that raises is in every report, with its place; the others are run, and the status is 7."""
    module = own / "acme_broken.py"
    shutil.copy(own / "acme_no_autoindex.py", module)
    module.write_text(module.read_text().replace("directive.args[:1]", "directive.argz"))
    ran = run(*LINT, "--select", "acme-broken", "--format", format_)
    assert ran.status == 7
    out = ran.out.decode()
    assert "rule acme-broken failed: AttributeError:" in out.replace("\\-", "-")
    assert "nginx-rules/acme_broken.py" in out or "nginx-rules/acme\\_broken.py" in out
    assert "gzip_comp_level 9" in out or "gzip\\_comp\\_level" in out or format_ == "json"


def test_what_a_rule_prints_is_not_in_the_report(run: Any, own: Path) -> None:
    """What a module prints when it is imported or run goes to standard error."""
    module = own / "acme_no_autoindex.py"
    text = module.read_text().replace("    for directive, _", '    print("checking")\n    for directive, _')
    module.write_text(f"{text}\nprint('importing')\n")
    ran = run(*LINT, "--format", "json")
    assert len(json.loads(ran.out)["diagnostics"]) == 2
    assert ran.err.split() == ["importing", "checking"]


def test_a_fix_that_breaks_the_file(run: Any, own: Path) -> None:
    """A fix of one's own that makes the file unreadable is an error of the rule; nothing is written."""
    module = own / "acme_no_autoindex.py"
    broken = (
        module.read_text()
        .replace("import layout", "import Change, Edit")
        .replace('(layout.replace(directive, value, "off"),)', '(Change(directive.source, Edit(value.span, b"{")),)')
    )
    module.write_text(broken)
    ran = run(*LINT, "--fix", "--unsafe-fixes")
    assert ran.status == 7
    assert ran.err.startswith("nginx-rules/acme_no_autoindex.py: the fixes of acme-no-autoindex")
    assert "made the file unreadable" in ran.err
    assert ran.err.rstrip().endswith("nothing was written")
    assert (own.parent / "nginx.conf").read_text() == SITE


def test_an_error_of_a_file_comes_first(run: Any, own: Path) -> None:
    """With a file that cannot be read, too, the status is 3; a broken module is told whatever is selected."""
    (own / "acme_broken.py").write_text("1 / 0\n")
    ran = run(*LINT)
    assert ran.status == 7
    assert b"nginx-rules/acme_broken.py:1:1: error rule acme-broken of nginx-rules cannot be loaded: Zero" in ran.out
    assert b", 1 rule failed: " in ran.out
    assert run(*LINT, "--select", "acme-broken").status == 7
    (own.parent / "broken.conf").write_text("server {\n")
    ran = run("lint", "nginx.conf", "broken.conf", "--rules", "--select", "gzip-level")
    assert ran.status == 3
    assert b", 1 not checked, 1 rule failed: " in ran.out


def test_other_users_settings(run: Any, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that another user may have put there are refused, whatever they say, unless they are named."""
    settings = own.parent / "nginxopt.toml"
    if own.stat().st_uid == 0:
        os.chown(settings, 12345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: own.stat().st_uid + 1)
    for text in ('rules = ["nginx-rules"]\n', 'ignore = ["all"]\n', 'baseline = "/etc/shadow"\n', "what is this"):
        settings.write_text(text)
        ran = run("lint", "nginx.conf")
        assert (ran.status, ran.out) == (3, b"")
        assert ran.err.startswith("nginxopt.toml: these settings may be another user's: ")
        assert "--config nginxopt.toml uses them, --isolated ignores them" in ran.err
        assert text.strip() not in ran.err
    settings.write_text('rules = ["nginx-rules"]\n')
    assert run(*LINT, "--config", "nginxopt.toml").status == 1
    assert run("lint", "nginx.conf", "--isolated", "--select", "gzip-level").status == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")
def test_other_users_rules(run: Any, own: Path, tmp_path: Path) -> None:
    """Rules that another user may have written run nothing: a module, its folder, or a link to settings elsewhere."""
    module = own / "acme_no_autoindex.py"
    module.write_text("raise SystemExit('it runs')\n")
    for part in (module, own):
        os.chown(part, 12345, -1)
        ran = run(*LINT)
        assert (ran.status, "it runs" in ran.err) == (3, False)
        assert f"may be another user's: {part} belongs to another user" in ran.err
        os.chown(part, 0, -1)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (own.parent / "nginxopt.toml").rename(elsewhere / "nginxopt.toml")
    link = own.parent / "nginxopt.toml"
    link.symlink_to(elsewhere / "nginxopt.toml")
    os.chown(link, 12345, -1, follow_symlinks=False)
    ran = run(*LINT)
    assert (ran.status, "nginxopt.toml belongs to another user" in ran.err) == (3, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")
def test_other_users_pyproject(run: Any, own: Path) -> None:
    """A pyproject.toml of another user matters only if it has settings."""
    (own.parent / "nginxopt.toml").unlink()
    project = own.parent / "pyproject.toml"
    project.write_text('[project]\ndependencies = ["nginxopt"]\n')
    os.chown(project, 12345, -1)
    assert run("lint", "nginx.conf", "--select", "gzip-level").status == 0
    project.write_text('[tool.nginxopt]\nignore = ["all"]\n')
    assert run("lint", "nginx.conf", "--select", "gzip-level").status == 3


# --- they run only where somebody asked for it


@pytest.fixture
def programs(own: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of rules, where each module that is run leaves a file beside it; the user's record is elsewhere."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent / "home"))
    for name in ("acme_no_autoindex", "_helper", "__init__"):
        path = own / f"{name}.py"
        text = path.read_text() if path.exists() else ""
        path.write_text(f"{text}\nfrom pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n")
    return own


COMMANDS = (
    LINT[:2],
    ("lint", "nginx.conf", "--fix"),
    ("rules",),
    ("rules", "new", "acme-other"),
    ("format", "nginx.conf"),
    ("trace", "nginx.conf", "http://localhost/"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_they_are_not_run_unasked(run: Any, programs: Path, command: tuple[str, ...]) -> None:
    """No command runs the rules that settings name, nor their helpers, unless somebody asks for it."""
    assert run(*command).status in (0, 1)
    assert [*programs.glob("*.ran")] == []


@pytest.mark.usefixtures("programs")
def test_that_they_are_not_run_is_said(run: Any) -> None:
    """A note counts them, and settings and options may name them all the same."""
    Path("nginxopt.toml").write_text('rules = ["nginx-rules"]\nselect = ["acme-no-autoindex", "gzip-level"]\n')
    note = (
        "1 rule in nginx-rules is not run, as rules are programs: --rules or `nginxopt rules trust` runs what the "
        "settings name"
    )
    ran = run("lint", "nginx.conf", "--ignore", "acme-no-autoindex")
    assert (ran.status, note in ran.out.decode(), b"gzip-level" in ran.out) == (0, True, True)
    ran = run("rules")
    assert (ran.status, ran.err) == (0, note + "\n")
    ran = run("explain", "acme-no-autoindex")
    assert (ran.status, ran.err) == (
        2,
        "the page of acme-no-autoindex is in a program, nginx-rules/acme_no_autoindex.py\n  hint: --rules runs it\n",
    )


def test_a_trusted_directory(run: Any, programs: Path) -> None:
    """`rules trust` lets the rules of a directory and of those below it run, until `--remove`."""
    lint, name = ("lint", "nginx.conf", "--select", "security"), str(programs.parent)
    ran = run("rules", "trust")
    assert (ran.status, ran.out.decode()) == (0, f"rules of {name} run from now on\n")
    assert b"acme-no-autoindex" in run(*lint).out
    assert (programs / "acme_no_autoindex.ran").exists()
    assert run("rules", "trust", "--list").out.decode() == f"{name}\n"
    record = programs.parent / "home" / "nginxopt" / "trusted"
    assert record.stat().st_mode & 0o022 == 0
    assert (run("rules", "trust", "--remove").status, run("rules", "trust", "--remove").status) == (0, 1)
    assert b"acme-no-autoindex" not in run(*lint).out
    assert run("rules", "trust", "nowhere").status == 2
    assert run("rules", "trust", "--list", ".").status == 2
    run("rules", "trust", "nginx-rules")  # the settings are above it
    assert b"acme-no-autoindex" not in run(*lint).out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")
def test_another_users_record(run: Any, programs: Path) -> None:
    """A record that another user may have written is refused."""
    run("rules", "trust")
    os.chown(programs.parent / "home" / "nginxopt" / "trusted", 12345, -1)
    ran = run("lint", "nginx.conf")
    assert (ran.status, "this list of trusted directories may be another user's" in ran.err) == (3, True)


def test_rules_lists_them(run: Any, own: Path) -> None:
    """The list has them in every format; a module that cannot be loaded is an error after it."""
    assert b"  acme-no-autoindex " in run("rules", "--rules").out
    assert "acme-no-autoindex" in {rule["id"] for rule in json.loads(run("rules", "--rules", "--format", "json").out)}
    assert b"| `acme-no-autoindex` |" in run("rules", "--rules", "--format", "markdown").out
    assert b"acme-no" not in run("rules", "--isolated").out
    (own / "acme_broken.py").write_text("1 / 0\n")
    ran = run("rules", "--rules")
    assert (ran.status, b"acme-no-autoindex" in ran.out) == (7, True)
    assert "acme_broken.py:1:1: rule acme-broken of nginx-rules cannot be loaded: ZeroDivisionError" in ran.err


def test_explain_shows_them(run: Any, own: Path) -> None:
    """The page of a rule is its docstring; of one that cannot be loaded, the reason is told."""
    assert run("explain", "--rules", "acme-no-autoindex").out.startswith(b"# acme-no-autoindex\n\n`autoindex on` shows")
    (own / "acme_broken.py").write_text("1 / 0\n")
    ran = run("explain", "--rules", "acme-broken")
    assert (ran.status, "ZeroDivisionError" in ran.err) == (7, True)
    assert run("explain", "--rules", "acme-no-autoindx").err.endswith('did you mean "acme-no-autoindex"?\n')


def test_other_settings_may_be_wrong(run: Any, own: Path) -> None:
    """To list and explain rules, the folders are read and nothing else; lint refuses a wrong name."""
    (own.parent / "nginxopt.toml").write_text('rules = ["nginx-rules"]\nselect = ["acme-no"]\n')
    assert run("rules", "--rules").status == 0
    ran = run("lint", "nginx.conf")
    assert (ran.status, 'unknown rule or category "acme-no"' in ran.err) == (3, True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('rules = ["none"]', "none: no such directory of rules"),
        ('rules = "nginx-rules"', '"rules" has a value of the wrong type'),
        ('rules = ["nginx-rules", "nginx-rules"]', "have the same id"),
    ],
)
def test_wrong_folders(run: Any, own: Path, settings: str, message: str) -> None:
    """A folder that is not there, and one that is named twice, are errors."""
    (own.parent / "nginxopt.toml").write_text(f"{settings}\n")
    ran = run("rules", "--rules")
    assert (ran.status, message in ran.err) == (3, True)


# --- rules test


def test_rules_test(run: Any, own: Path) -> None:
    """Each rule has a line, and what fails has its reasons."""
    ran = run("rules", "test")
    assert (ran.status, ran.out, ran.err) == (0, b"ok    acme-no-autoindex: 3 examples\n", "1 rule\n")
    module = own / "acme_no_autoindex.py"
    module.write_text(module.read_text().replace('"off"', '"false"'))
    ran = run("rules", "test", "nginx-rules")
    assert (ran.status, ran.err) == (1, "1 rule, 1 failed\n")
    assert ran.out.decode() == (
        "FAIL  acme-no-autoindex (nginx-rules/acme_no_autoindex.py)\n"
        "  bad 1: the fix does not make the first good example of it\n"
        "    --- example\n    +++ example\n    @@ -1,1 +1,1 @@\n    -autoindex off;\n    +autoindex false;\n"
    )
    assert run("rules", "test", "-q").err == ""


def test_rules_test_of_what_raises(run: Any, own: Path) -> None:
    """A module that cannot be loaded has its traceback, and the status is 7."""
    (own / "acme_broken.py").write_text("def f():\n    1 / 0\nf()\n")
    ran = run("rules", "test")
    assert (ran.status, ran.err) == (7, "2 rules, 1 cannot be loaded\n")
    assert b"FAIL  nginx-rules/acme_broken.py:2:5: rule acme-broken of nginx-rules cannot be loaded: Zero" in ran.out
    assert b'acme_broken.py", line 3, in <module>\n' in ran.out


def test_rules_test_of_nothing(run: Any) -> None:
    """Without a rule of one's own, the command says how to write one."""
    assert run("rules", "test").err == "no rules of your own: see nginxopt rules new --help\n"


# --- rules new


def test_rules_new(run: Any, tmp_path: Path) -> None:
    """The rule that is written passes its test, and finds what its page says."""
    ran = run("rules", "new", "acme-listing")
    assert ran.out.decode() == ('wrote nginx-rules/acme_listing.py\nadd to nginxopt.toml: rules = ["nginx-rules"]\n')
    (tmp_path / "nginxopt.toml").write_text('rules = ["checks", "nginx-rules"]\n')
    (tmp_path / "checks").mkdir()
    assert run("rules", "test").out == b"ok    acme-listing: 3 examples\n"
    assert run("rules", "new", "acme-other").out == b"wrote checks/acme_other.py\n"
    ran = run("rules", "new", "acme-third", "--folder", "a/b")
    assert ran.out == b'wrote a/b/acme_third.py\nadd to nginxopt.toml: rules = ["a/b"]\n'
    assert run("rules", "test", "checks", "a/b").err == "2 rules\n"


@pytest.mark.parametrize("name", ["Acme-x", "acme", "acme_x", "../x", "acme--x", "-x", "1-x", ""])
def test_rules_new_refuses_invalid_ids(run: Any, tmp_path: Path, name: str) -> None:
    """An id is words with dashes, the first of which is a name."""
    assert run("rules", "new", "--", name).status == 2
    assert list(tmp_path.iterdir()) == []


def test_rules_new_overwrites_nothing(run: Any, own: Path) -> None:
    """An id that a rule has, and a file that is there, are refused."""
    assert run("rules", "new", "gzip-level").err == 'there is a rule with the id "gzip-level"\n'
    assert run("rules", "new", "acme-no-autoindex").status == 2
    other = own.parent / "other"
    other.mkdir()
    (other / "acme_x.py").write_text("mine")
    ran = run("rules", "new", "acme-x", "--folder", "other")
    assert (ran.status, (other / "acme_x.py").read_text()) == (3, "mine")


def test_the_template_is_a_rule_of_its_own() -> None:
    """The rule that is written names none of this project's machinery but what is public."""
    imports = [line for line in rules_new._MODULE.splitlines() if line.startswith(("from", "import"))]
    assert imports == [
        "from __future__ import annotations",
        "from collections.abc import Iterator",
        "from nginxopt.config import layout",
        "from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule",
    ]
