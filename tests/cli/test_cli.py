"""The command line: help, completion, pipes, and the options of `rewrite-to-map`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nginxopt.rewrite import premises
from tests.cli.compiling import RULES, snapshot
from tests.support import nginx_test


def test_names(run: Any, rules: Path) -> None:
    """--name starts the names of the variables, with a number where it is taken."""
    assert b"map $uri $pages_to {" in run("rewrite-to-map", rules.name, "--name", "pages").out
    rules.write_bytes(RULES + b"set $pages_to 1;\n")
    assert b"map $uri $pages2_to {" in run("rewrite-to-map", rules.name, "--name", "pages").out


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


@pytest.mark.parametrize(
    "words", [("check", "a.conf"), ("lint",), ("trace", "a.conf", "http://a/"), ("format", "a.conf")]
)
def test_a_directory_that_is_gone(tmp_path: Path, words: tuple[str, ...]) -> None:
    """No relative path has a meaning in a directory that was removed meanwhile."""
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; from nginxopt.cli import main; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])"
    code += "; sys.argv[:2] = ['nginxopt']; main()"
    ended = subprocess.run([sys.executable, "-c", code, gone, *words], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (3, "the current directory no longer exists\n")


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


@pytest.mark.nginx
@pytest.mark.parametrize(
    "rule", [b"rewrite ^/a$;", b"rewrite ^/a$ /b Last;", b"rewrite ^/a$ /b$;", b"rewrite ^/a$ /${b last;"]
)
def test_refusals_are_in_the_words_of_nginx(run: Any, rules: Path, rule: bytes, tmp_path: Path) -> None:
    """What is said that nginx says is what it says."""
    rules.write_bytes(rule)
    ran = run("rewrite-to-map", rules.name)
    message = nginx_test(tmp_path, b"events {} http { server { %s } }" % rule).message.decode()
    assert ran.status == 3
    assert message
    assert f"as nginx words it: {message} in rules.conf:1" in ran.err


def test_several_files_are_checked(run: Any, rules: Path, tmp_path: Path) -> None:
    """Each of several files is compiled for itself, and the worst status counts."""
    (tmp_path / "other.conf").write_text("rewrite ^/a/(.*)$ /b/$1 last;\n")
    assert run("rewrite-to-map", "--check", "other.conf", "other.conf").status == 0
    ran = run("rewrite-to-map", "--check", "other.conf", str(rules))
    assert ran.status == 1
    assert "other.conf: 1 rewrite" in ran.err
    assert "rules.conf: 8 rewrites" in ran.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--check --plan-only", "--check and --plan-only cannot be used together"),
        ("--plan-only --write", "--write and --plan-only cannot be used together"),
        ("--check --diff", "--diff and --check cannot be used together"),
        ("--diff --write", "--write and --diff cannot be used together"),
        ("-o out --write", "-o and --write cannot be used together"),
        ("--plan-only -o out", "-o and --plan-only cannot be used together"),
        ("--plan-only --verify", "--plan-only and --verify cannot be used together"),
        ("--plan-only --nginx /x", "--plan-only and --nginx cannot be used together"),
        ("--at-least 3", "--at-least needs --check, --diff or --write"),
        ("--skip-rows", "--skip-rows is for tables of redirects, and rules.conf is not one"),
        ("--from csv --max-strings 3", "--max-strings is for rewrites, not for tables of redirects"),
    ],
)
def test_options_that_contradict_each_other(run: Any, rules: Path, options: str, message: str) -> None:
    """Of options that contradict each other, or have no effect, none is ignored in silence."""
    before = snapshot(rules.parent)
    ran = run("rewrite-to-map", rules.name, *options.split())
    assert (ran.status, ran.out) == (2, b"")
    assert message in ran.err
    assert snapshot(rules.parent) == before


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
    out = run("rewrite-to-map", "--plan-only", str(rules)).out.decode()
    moved, filtered = re.search(r"moved +(\d+)", out), re.search(r"(\d+)  of them behind a pattern", out)
    assert moved
    assert filtered
    count = int(moved[1]) + int(filtered[1])
    assert run("rewrite-to-map", "--check", "--at-least", str(count), str(rules)).status == 1
    before = rules.read_bytes()
    ran = run("rewrite-to-map", "--write", "--at-least", str(count + 1), str(rules))
    assert ran.status == 0
    assert f"skipped, as only {count} of 8 rules would move (--at-least {count + 1})" in ran.err
    assert rules.read_bytes() == before


def test_what_was_compiled_can_be_measured(run: Any, rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--bench hands the file to `nginxopt bench rewrites`, whose table is the result, and whose status counts."""
    calls: list[list[str]] = []

    def main(args: list[str], **_: Any) -> int:
        calls.append(args)
        return 1

    monkeypatch.setattr("nginxopt.cli.bench.command.main", main)
    ran = run("rewrite-to-map", "--bench", str(rules))
    assert calls == [["rewrites", str(rules)]]
    assert ran.status == 1
    assert ran.out == b""
    assert "8 rewrites" in ran.err
    for args in (["--bench", "--write", str(rules)], ["--bench", "-"]):
        refused = run("rewrite-to-map", *args)
        assert refused.status == 2
        assert "--bench needs a file that stays unchanged" in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lnt",), "No such command 'lnt'. (Did you mean 'lint'?)"),
        (("fleet", "repot"), "No such command 'repot'. (Did you mean 'report'?)"),
        (("site.conf",), "No such command 'site.conf'. (Did you mean 'nginxopt lint site.conf'?)"),
        (("xyzzy",), "No such command 'xyzzy'."),
        (("test",), "Missing argument 'CONFIG'."),
        (("test", "--live", "http://127.0.0.1:1"), "Missing argument 'TABLE'."),
    ],
)
def test_a_word_that_is_no_command(run: Any, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """The error says what may be meant: a command of a like name, or lint for a file."""
    (tmp_path / "site.conf").write_text("events {}\n")
    ran = run(*words)
    assert ran.status == 2
    assert ran.err.splitlines()[-1] == f"Error: {said}"


@pytest.mark.parametrize("group", [(), ("bench",), ("fleet",)])
def test_no_arguments(run: Any, group: tuple[str, ...]) -> None:
    """A command of commands without one shows its help, as a usage error."""
    ran = run(*group)
    assert ran.status == 2
    assert ran.err == run(*group, "--help").out.decode()


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        (
            "keepalive",
            "names with this word: client-keepalive, keepalive-before-lb, keepalive-local-fanout, "
            "upstream-keepalive-missing",
        ),
        ("gzip_level", 'did you mean "gzip-level"?'),
        ("gzip-lvel", 'did you mean "gzip-level"?'),
        ("xyzzy", "`nginxopt rules` lists the rules"),
    ],
)
def test_a_word_that_is_no_rule(run: Any, word: str, hint: str) -> None:
    """The error names the rules of a directive, or one of a like name."""
    assert run("explain", word).err.splitlines() == [f'unknown rule or premise "{word}"', f"  hint: {hint}"]


WITHOUT_EXTRAS = """
import sys
from importlib.metadata import packages_distributions
needed = {"nginxopt", "click", "crossplane", "jinja2", "markupsafe"}
for name, owners in packages_distributions().items():
    if needed.isdisjoint(owner.lower() for owner in owners):
        sys.modules[name] = None
from nginxopt.cli import _COMMANDS, _run
manifest, = sys.argv[1:]
helps = [[], *([name] for name in _COMMANDS), ["test", manifest, manifest, "--live", "http://127.0.0.1:1"]]
print(*(_run([*words, "--help"]) for words in helps), file=sys.stderr)
fleet = [["lint", manifest], ["report", manifest], ["query", "SELECT 1"], ["diff"]]
for words in (["ingress", manifest], ["lsp"], ["mcp"], *(["fleet", *words] for words in fleet)):
    print(_run(words), file=sys.stderr)
"""


def test_without_extras(tmp_path: Path) -> None:
    """As pip installs nginxopt alone, every command has its help, and one that needs more says what to install."""
    manifest = tmp_path / "ingress.yaml"
    manifest.write_text("kind: Ingress\n")
    done = subprocess.run([sys.executable, "-c", WITHOUT_EXTRAS, str(manifest)], capture_output=True, text=True)
    statuses, *said = done.stderr.splitlines()
    assert set(statuses.split()) == {"0"}
    extras = ("ingress", "lsp", "mcp", *["fleet"] * 4)
    assert [line for line in said if line.isdigit()] == ["4" for _ in extras]
    assert re.findall("install it with pip install '(.*)'", done.stderr) == [f"nginxopt[{extra}]" for extra in extras]


def test_no_line_of_help_is_cut(run: Any) -> None:
    """On a terminal of 80 columns, the list of commands says what each is for, to the end."""
    listed = run("--help").out.decode().partition("Commands:\n")[2].partition("\n\n")[0]
    assert listed
    assert [line for line in listed.splitlines() if not line.endswith(".") or line.endswith("...")] == []
