"""`nginxopt lint --diff-base`: only what a change brings is reported."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from nginxopt import cli

_MAIN = "events { worker_connections 1024; }\nhttp {\n    include sites/*.conf;\n}\n"
_SITE = "server {\n    gzip_comp_level 9;\n    location / {\n        return 200;\n    }\n}\n"
_RULES = "gzip-level,wrong-arguments,misplaced-directive"
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it printed."""

    status: int
    output: str
    errors: str


Run = Callable[..., Ran]
Lint = Callable[..., Ran]
Found = Callable[..., list[tuple[str, int, str]]]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a configuration in which one thing is wrong."""
    root = tmp_path / "repository"
    (root / "sites").mkdir(parents=True)
    (root / "nginx.conf").write_text(_MAIN)
    (root / "sites/a.conf").write_text(_SITE)
    _git(root, "init", "--quiet")
    _commit(root)
    return root


def _git(root: Path, *words: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", "-C", str(root), *identity, *words], check=True, capture_output=True, text=True)
    return done.stdout


def _commit(root: Path) -> None:
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", "a state")


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """A function that runs `nginxopt lint` in a folder."""

    def call(cwd: Path, *words: str, environment: Mapping[str, str] = _NOTHING) -> Ran:
        capfd.readouterr()
        with contextlib.chdir(cwd), pytest.MonkeyPatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                cli.main(["lint", *words])
        captured = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, captured.out, captured.err)

    return call


@pytest.fixture
def lint(run: Run) -> Lint:
    """A function that runs the rules of these tests in a folder, against a revision."""

    def call(cwd: Path, *words: str, base: str = "HEAD", environment: Mapping[str, str] = _NOTHING) -> Ran:
        options = ("--isolated", "--target-version", "1.28.0", "--select", _RULES, "--diff-base", base)
        return run(cwd, *options, *words, environment=environment)

    return call


@pytest.fixture
def found(lint: Lint) -> Found:
    """A function that returns the file, line and rule of each finding."""

    def call(cwd: Path, *words: str) -> list[tuple[str, int, str]]:
        ran = lint(cwd, *words, "--format", "json")
        assert ran.errors == ""
        return [
            (finding["file"], finding["line"], finding["rule"]) for finding in json.loads(ran.output)["diagnostics"]
        ]

    return call


def test_what_was_there_is_not_reported(repository: Path, lint: Lint) -> None:
    """Without a change nothing is found, and a note counts what is not shown."""
    ran = lint(repository, "nginx.conf")
    assert ran.status == 0
    assert "1 finding is in HEAD already" in ran.output
    assert "gzip-level" not in ran.output


def test_only_what_is_new_is_reported(repository: Path, found: Found) -> None:
    """Lines that moved are the same, a second case of the same fault is not."""
    text = "# a comment\n" + _SITE.replace("return 200;", "gzip yes;\n        gzip_comp_level 9;")
    (repository / "sites/a.conf").write_text(text)
    assert found(repository, "nginx.conf") == [
        ("sites/a.conf", 5, "wrong-arguments"),
        ("sites/a.conf", 6, "gzip-level"),
    ]


def test_notes_that_were_there_are_not_repeated(repository: Path, lint: Lint) -> None:
    """A pull request gets no annotation for an include that the base lacks, too; one that it brings is noted."""
    (repository / "nginx.conf").write_text(_MAIN.replace("http {", "http {\n    include old.conf;"))
    _commit(repository)
    (repository / "sites/a.conf").write_text(f"\n{_SITE}include new.conf;\n")
    (repository / "nginx.conf").write_text(_MAIN.replace("http {", "http {\n\n    include old.conf;"))
    output = lint(repository, "nginx.conf", "--format", "github").output
    assert ("old.conf" in output, "new.conf cannot be read" in output) == (False, True)


def test_a_change_elsewhere_brings_a_finding(repository: Path, found: Found) -> None:
    """A line that did not change is reported if it is wrong only now."""
    (repository / "sites/a.conf").write_text("server {\n    location / {\n        expires 1h;\n    }\n}\n")
    _commit(repository)
    (repository / "nginx.conf").write_text(_MAIN.replace("include", "upstream u {\n    server a;\n    include"))
    (repository / "nginx.conf").write_text(
        _MAIN.replace("sites/*.conf;", "sites/*.conf;\n}\nstream {\n    include sites/*.conf;")
    )
    assert found(repository, "nginx.conf") == [("sites/a.conf", 2, "misplaced-directive")]


def test_a_renamed_file_has_no_new_findings(repository: Path, found: Found) -> None:
    """git knows which file it was."""
    _git(repository, "mv", "sites/a.conf", "sites/b.conf")
    assert found(repository, "nginx.conf") == []


def test_a_renamed_main_file(repository: Path, found: Found) -> None:
    """The revision is read by the name that the file had there."""
    _git(repository, "mv", "nginx.conf", "main.conf")
    assert found(repository, "main.conf") == []


def test_a_new_main_file(repository: Path, lint: Lint) -> None:
    """That the revision does not have it is no error, and all its findings are new."""
    (repository / "new.conf").write_text(_MAIN.replace("include", "gzip_comp_level 9; include"))
    ran = lint(repository, "new.conf")
    assert "new.conf:3:" in ran.output
    assert "cannot be read" not in ran.output


def test_a_new_file_is_new(repository: Path, found: Found) -> None:
    """A file that git does not know belongs to the change."""
    (repository / "sites/b.conf").write_text(_SITE.replace("/ {", "/b {"))
    assert found(repository, "nginx.conf") == [("sites/b.conf", 2, "gzip-level")]


def test_every_way_to_name_the_files(repository: Path, tmp_path: Path, found: Found) -> None:
    """From a folder below, by absolute paths, from outside, and without a name, the same is compared."""
    (repository / "sites/a.conf").write_text(_SITE.replace("return 200;", "gzip yes;"))
    new = "wrong-arguments"
    assert found(repository / "sites", ".") == [("a.conf", 4, new)]
    assert found(repository / "sites", "../nginx.conf") == [("../sites/a.conf", 4, new)]
    assert found(repository) == [("sites/a.conf", 4, new)]
    whole = str(repository / "nginx.conf")
    assert found(repository, whole) == [(str(repository / "sites/a.conf"), 4, new)]
    assert found(tmp_path, whole) == [(str(repository / "sites/a.conf"), 4, new)]
    link = tmp_path / "link"
    link.symlink_to(repository)
    assert found(link, "nginx.conf") == [("sites/a.conf", 4, new)]


def test_settings_count_for_both(repository: Path, run: Run) -> None:
    """The context of a fragment that the settings state is that of the revision, too."""
    (repository / "parts").mkdir()
    (repository / "parts/a.conf").write_text("gzip_comp_level 9;\n")
    (repository / "nginxopt.toml").write_text('[context]\n"parts/*" = "location"\n')
    _commit(repository)
    options = ("--target-version", "1.28.0", "--select", "gzip-level", "--diff-base", "HEAD")
    ran = run(repository, *options, "parts")
    assert (ran.status, ran.errors) == (0, "")
    assert "1 finding is in HEAD already" in ran.output


def test_a_revision_that_cannot_be_read(repository: Path, lint: Lint) -> None:
    """What a broken file of the revision has cannot be known, and is said to count as new."""
    (repository / "nginx.conf").write_text(_MAIN + "}\n")
    _commit(repository)
    (repository / "nginx.conf").write_text(_MAIN)
    ran = lint(repository, "nginx.conf")
    assert "1 file of HEAD cannot be read: all their findings count as new" in ran.output
    assert "gzip-level" in ran.output


def test_the_repository_is_not_changed(repository: Path, lint: Lint) -> None:
    """What is staged stays staged, also where git runs the command as a hook with an index of its own."""
    (repository / "sites/a.conf").write_text(_SITE + "# staged\n")
    _git(repository, "add", "--all")
    before, index = _git(repository, "status", "--porcelain=v2"), (repository / ".git/index").read_bytes()
    lint(repository, "nginx.conf", environment={"GIT_INDEX_FILE": str(repository / ".git/index")})
    assert (repository / ".git/index").read_bytes() == index
    assert _git(repository, "status", "--porcelain=v2") == before


def test_what_is_refused(repository: Path, tmp_path: Path, lint: Lint) -> None:
    """A revision that is none, a folder that is no repository, and options that do not fit end with status 2."""
    unknown = lint(repository, "nginx.conf", base="nowhere")
    assert (unknown.status, f"--diff-base nowhere: no such revision in {repository}" in unknown.errors) == (2, True)
    option = lint(repository, "nginx.conf", base="--help")
    assert option.status == 2
    (tmp_path / "nginx.conf").write_text(_MAIN)
    outside = lint(tmp_path, "nginx.conf", environment={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)})
    assert (outside.status, "not a git repository" in outside.errors) == (2, True)
    for words in (["--fix"], ["--diff"], ["--write-baseline", "b.json"]):
        refused = lint(repository, "nginx.conf", *words)
        assert (refused.status, "--diff-base cannot be used with" in refused.errors) == (2, True)


@pytest.mark.parametrize("option", ["--diff-base", "--settings-from"])
def test_no_program_of_the_repository_runs(repository: Path, tmp_path: Path, run: Run, option: str) -> None:
    """A repository from an archive has settings of a stranger: filters, hooks and what watches files. None runs."""
    (repository / ".gitattributes").write_text("*.conf filter=evil diff=evil\n")
    _commit(repository)
    _git(repository, "mv", "sites/a.conf", "sites/b.conf")
    trap = tmp_path / "trap"
    trap.mkdir()
    settings = ("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv")
    for name in (*settings, "diff.evil.command", "diff.external", "core.fsmonitor", "core.pager", "core.sshCommand"):
        _git(repository, "config", name, f"touch {trap}/{name} &&")
    for hook in ("post-index-change", "post-checkout", "reference-transaction"):
        (repository / ".git/hooks" / hook).write_text(f"#!/bin/sh\ntouch {trap}/{hook}\n")
        (repository / ".git/hooks" / hook).chmod(0o755)
    (repository / "nginx.conf").write_text(_MAIN + "# changed\n")
    ran = run(repository, "nginx.conf", "--target-version", "1.28.0", "--select", _RULES, option, "HEAD")
    assert ran.status in (0, 1), ran.errors
    assert [*trap.iterdir()] == []


def test_a_partial_clone_fetches_nothing(repository: Path, tmp_path: Path, lint: Lint) -> None:
    """What it lacks would be fetched by programs of its settings, from where they name."""
    _git(repository, "config", "uploadpack.allowFilter", "true")
    partial, trap = tmp_path / "partial", tmp_path / "trap"
    _git(tmp_path, "clone", "--quiet", "--no-checkout", "--filter=blob:none", repository.as_uri(), str(partial))
    _git(partial, "config", "remote.origin.uploadpack", f"touch {trap}; git-upload-pack")
    (partial / "nginx.conf").write_text(_MAIN)
    ran = lint(partial, "nginx.conf")
    assert (ran.status, "a partial clone lacks" in ran.errors, trap.exists()) == (2, True, False)


def test_without_git(repository: Path, tmp_path: Path, lint: Lint) -> None:
    """The command says what is missing."""
    tools = tmp_path / "tools"
    tools.mkdir()
    assert shutil.which("git", path=str(tools)) is None
    ran = lint(repository, "nginx.conf", environment={"PATH": str(tools)})
    assert (ran.status, "git is not installed" in ran.errors) == (4, True)


@pytest.mark.parametrize("option", ["--diff-base", "--settings-from"])
@pytest.mark.parametrize(("leaf", "budget"), [("040000 tree", "revision-files"), ("100644 blob", "revision-bytes")])
def test_a_repository_of_kilobytes_is_no_revision_of_terabytes(
    repository: Path, run: Run, option: str, leaf: str, budget: str
) -> None:
    """Folders with ten names of one folder, at each of twenty levels, are counted, and not written."""

    def made(*words: str, text: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(repository), *words], input=text, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    inner = made("mktree", text="") if "tree" in leaf else made("hash-object", "-w", "--stdin", text="#" * 100_000_000)
    for level in range(20):
        kind = leaf if level == 0 else "040000 tree"
        inner = made("mktree", text="".join(f"{kind} {inner}\t{name}\n" for name in range(10)))
    _git(repository, "update-ref", "refs/heads/bomb", made("commit-tree", inner, text="a state"))
    ran = run(repository, "nginx.conf", option, "bomb", environment={"NGINXOPT_BUDGET": "revision-files=20000"})
    assert (ran.status, budget in ran.errors) == (3, True), ran.errors
