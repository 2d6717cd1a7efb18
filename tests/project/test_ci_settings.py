"""A pull request decides neither about its settings nor about what runs, in the action and in the job of GitLab.

Each test is an enemy with a fork: it changes what the check reads, and the check still says what the base says.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project.action import STEPS, expanded, step
from tests.support import PATIENCE, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "gitlab-ci.yml").read_text())["nginxopt"]

CLEAN = "events {}\nhttp {\n}\n"
SLOW = "events {}\nhttp {\n    gzip on;\n    gzip_types text/css;\n    gzip_comp_level 9;\n}\n"
SETTINGS = 'target-version = "1.22.1"\nselect = ["gzip-level"]\nfail-on = "info"\n'
INPUTS = {
    "paths": "nginx.conf",
    "fail-on": "info",
    "options": "",
    "sarif": "false",
    "settings-from": "",
    "target-version": "",
    "diff-base": "",
}

# Python imports these from the working directory if it is asked to run a module (`python -m`).
MODULES = ("venv", "ensurepip", "pip", "logging", "json", "subprocess", "shutil", "click", "nginxopt")


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it prints."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    command = ["git", *identity, "-c", "protocol.file.allow=always", *words]
    return subprocess.run(
        command, cwd=folder, check=True, capture_output=True, text=True, timeout=PATIENCE
    ).stdout.strip()


class Project:
    """A repository on a server, with a base and a pull request of somebody else; a clone is what CI checks out."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.server = home / "server"
        self.server.mkdir()
        git(self.server, "init", "--quiet", "--initial-branch=main")
        git(self.server, "config", "uploadpack.allowAnySHA1InWant", "true")  # as GitHub allows
        self.base = self.commit({"nginx.conf": CLEAN, "nginxopt.toml": SETTINGS})

    def commit(self, files: Mapping[str, str | None]) -> str:
        """Commit files, None for one that goes, and return the hash."""
        for name, text in files.items():
            path = self.server / name
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        git(self.server, "add", "--all")
        git(self.server, "commit", "--quiet", "--allow-empty", "--message", "a change")
        return git(self.server, "rev-parse", "HEAD")

    def pull_request(self, files: Mapping[str, str | None], branch: str = "change") -> Path:
        """Return a clone of depth 1 of a merge of a branch with these files, as actions/checkout makes it."""
        git(self.server, "checkout", "--quiet", "-b", branch, self.base)
        self.commit({"nginx.conf": SLOW, **files})
        git(self.server, "checkout", "--quiet", "--detach", "main")
        git(self.server, "merge", "--quiet", "--no-ff", "--message", "merge", branch)
        git(self.server, "update-ref", "refs/pull/1/merge", "HEAD")
        git(self.server, "checkout", "--quiet", "main")
        return self.clone("refs/pull/1/merge")

    def clone(self, ref: str) -> Path:
        """Return a clone of depth 1 with a ref checked out."""
        clone = self.home / "clone"
        clone.mkdir()
        git(clone, "init", "--quiet")
        git(clone, "remote", "add", "origin", f"file://{self.server}")
        git(clone, "fetch", "--quiet", "--no-tags", "--depth=1", "origin", f"+{ref}:refs/remotes/pull/1/merge")
        git(clone, "checkout", "--quiet", "--force", "refs/remotes/pull/1/merge")
        return clone


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a clean configuration and settings."""
    return Project(tmp_path)


Act = Callable[..., tuple[int, str]]


@pytest.fixture
def act(machine: dict[str, str], tmp_path: Path) -> Act:
    """A function that runs the steps Settings and Lint in a clone, and returns the status of the job and its log."""

    def run(clone: Path, event: str, base: str = "", sha: str = "", **given: str) -> tuple[int, str]:
        output = tmp_path / "output"
        output.write_text("")
        inputs = INPUTS | {name.replace("_", "-"): value for name, value in given.items()}
        environment = {**machine, "GITHUB_OUTPUT": str(output), "GITHUB_EVENT_NAME": event, "GITHUB_SHA": sha}
        environment |= {"GIT_TERMINAL_PROMPT": "0", "BASE": base, "ASKED": inputs["settings-from"]}
        settings = step("Settings", clone, environment)
        if settings.returncode:
            return settings.returncode, settings.stdout
        (revision,) = (line.removeprefix("revision=") for line in output.read_text().splitlines())
        names = {
            name: expanded(value, inputs, {}) for name, value in STEPS["Lint"]["env"].items() if "steps." not in value
        }
        linted = step("Lint", clone, {**environment, **names, "REVISION": revision})
        assert linted.returncode == 0, linted.stdout
        outputs = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return int(outputs["status"]), linted.stdout

    return run


SILENCED: dict[str, Mapping[str, str | None]] = {
    "ignored": {"nginxopt.toml": 'ignore = ["all"]\n'},
    "excluded": {"nginxopt.toml": 'exclude = ["*"]\n'},
    "less severe": {"nginxopt.toml": 'fail-on = "error"\n'},
    "deleted": {"nginxopt.toml": None, "pyproject.toml": '[tool.nginxopt]\nignore = ["all"]\n'},
    "damaged": {"nginxopt.toml": "= ["},
    "encoded": {".gitattributes": "*.toml working-tree-encoding=UTF-16\n", "nginxopt.toml": None},
    "module": {f"{name}.py": "open('ran', 'w'); raise SystemExit(0)\n" for name in MODULES},
}


@pytest.mark.parametrize("files", SILENCED.values(), ids=SILENCED.keys())
def test_a_pull_request_does_not_silence(project: Project, act: Act, files: Mapping[str, str | None]) -> None:
    """Whatever it makes of the settings, what it brings is found; in a clone that lacks the base."""
    clone = project.pull_request(files)
    status, log = act(clone, "pull_request", project.base)
    assert (status, "file=nginx.conf,line=5" in log) == (1, True), log
    assert not (clone / "ran").exists()


def test_the_pull_request_would_silence(project: Project, act: Act) -> None:
    """The same settings count on a push, which only those who may write to the repository cause, and once merged."""
    clone = project.pull_request(SILENCED["ignored"])
    assert act(clone, "push")[0] == 0
    git(project.server, "merge", "--quiet", "change")
    assert act(clone, "pull_request", git(project.server, "rev-parse", "main"))[0] == 0


def test_nothing_that_the_repository_brings_is_installed(machine: dict[str, str], project: Project) -> None:
    """The step that installs imports no module of the working directory."""
    clone = project.pull_request(SILENCED["module"])
    temp = project.home / "runner"
    temp.mkdir()
    done = step("Install nginxopt", clone, {**machine, "RUNNER_TEMP": str(temp)})
    assert done.returncode == 0, done.stdout
    assert (temp / "nginxopt/bin/nginxopt").exists()
    assert not (clone / "ran").exists()


def test_a_baseline_is_the_base_s(project: Project, act: Act) -> None:
    """A pull request that records its own findings has none recorded, whether settings or an option name the file."""
    project.base = project.commit(
        {"nginxopt.toml": SETTINGS + 'baseline = "known.json"\n', "known.json": '{"version": 1, "findings": []}'}
    )
    clone = project.pull_request({})
    subprocess.run(
        [sys.executable, "-m", "nginxopt", "lint", "--write-baseline", "known.json", "nginx.conf"],
        cwd=clone,
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert len(json.loads((clone / "known.json").read_text())["findings"]) == 1
    assert act(clone, "push")[0] == 0
    assert act(clone, "pull_request", project.base)[0] == 1
    assert act(clone, "pull_request", project.base, options="--baseline known.json")[0] == 1
    assert act(clone, "pull_request", project.base, options="--config nginxopt.toml")[0] == 1


RULE = """\
\"\"\"A title.\"\"\"

import pathlib

pathlib.Path({path!r}).write_text("")
raise RuntimeError("{name}")
"""


def test_rules_are_the_base_s(project: Project, act: Act) -> None:
    """Rules run only with --rules, and then those of the base; the pull request changes one and adds another."""
    ran = {name: str(project.home / name) for name in ("base", "changed", "added")}
    rule = {name: RULE.format(path=path, name=name) for name, path in ran.items()}
    project.base = project.commit({"nginxopt.toml": SETTINGS + 'rules = ["ci"]\n', "ci/own.py": rule["base"]})
    clone = project.pull_request({"ci/own.py": rule["changed"], "ci/more.py": rule["added"]})
    assert act(clone, "pull_request", project.base)[0] == 1
    assert [name for name in ran if Path(ran[name]).exists()] == []
    status, log = act(clone, "pull_request", project.base, options="--rules")
    assert status == 7, log
    assert [name for name in ran if Path(ran[name]).exists()] == ["base"]


def test_the_base_may_lack_settings(project: Project, act: Act) -> None:
    """Settings that the pull request adds do not count, and neither do those of a new folder."""
    project.base = project.commit({"nginxopt.toml": None})
    clone = project.pull_request({"nginxopt.toml": 'ignore = ["all"]\n'})
    assert act(clone, "pull_request", project.base)[0] == 1


def test_only_what_the_pull_request_introduces(project: Project, act: Act) -> None:
    """With diff-base, the findings of the base are neither shown nor do they fail."""
    clone = project.pull_request({})
    assert act(clone, "pull_request", project.base, diff_base="base")[0] == 1
    git(project.server, "merge", "--quiet", "change")
    status, log = act(clone, "pull_request", git(project.server, "rev-parse", "main"), diff_base="base")
    assert (status, "title=gzip-level" in log) == (0, False)
    assert act(clone, "push", settings_from=git(clone, "rev-parse", "HEAD"), diff_base="base")[0] == 1


@pytest.mark.parametrize(
    "event", ["pull_request", "pull_request_target", "pull_request_review", "merge_group", "workflow_run"]
)
def test_an_event_without_its_base_fails(project: Project, act: Act, event: str) -> None:
    """Where it is not known whose settings count, nothing is checked, and the message says what to do."""
    clone = project.pull_request(SILENCED["ignored"])
    status, log = act(clone, event, "", git(clone, "rev-parse", "HEAD"))
    assert (status, "settings-from" in log) == (1, True)


def test_the_revision_can_be_named(project: Project, act: Act) -> None:
    """`settings-from` names it for events that have no base; it is fetched."""
    clone = project.pull_request(SILENCED["ignored"])
    status, log = act(clone, "workflow_run", settings_from="refs/heads/main")
    assert (status, "file=nginx.conf,line=5" in log) == (1, True), log


def test_a_base_that_cannot_be_fetched_fails(project: Project, act: Act) -> None:
    """A clone of depth 1 without access to the server: the settings of the pull request are not used instead."""
    clone = project.pull_request(SILENCED["ignored"])
    git(clone, "remote", "set-url", "origin", f"file://{project.home}/nowhere")
    for given in ({"base": project.base}, {"settings_from": "main"}, {"settings_from": "$(touch ran)"}):
        status, log = act(clone, "pull_request", **given)
        assert (status, "fetch-depth: 0" in log) == (1, True), log
    assert not (clone / "ran").exists()


@pytest.mark.extended
@pytest.mark.parametrize("branch", ["$(touch${IFS}ran)", "a;touch${IFS}ran", "--upload-pack=touch", "main"])
def test_a_branch_has_any_name(project: Project, act: Act, branch: str) -> None:
    """The name of a branch is neither run nor taken for the base."""
    if branch == "main":
        git(project.server, "tag", "origin/main", project.base)
        branch = "origin/change"
    clone = project.pull_request(SILENCED["ignored"], f"x/{branch}")
    assert act(clone, "pull_request", project.base)[0] == 1
    assert not (clone / "ran").exists()


def test_files_have_any_name(project: Project, act: Act) -> None:
    """Names with blanks, line ends and commands of the runner are neither words of the shell nor lines of the log."""
    name = "a b$(touch ran)\n::stop-commands::x\n.conf"
    no_copy = f"# Another text than that of nginx.conf, as findings in copies have one cause.\n{SLOW}"
    clone = project.pull_request({name: no_copy, "nginxopt.toml": 'ignore = ["all"]\n'})
    status, log = act(clone, "pull_request", project.base, paths=".")
    assert status == 1, log
    assert log.count("gzip_comp_level 9") >= 2
    assert not [line for line in log.splitlines() if line.lstrip().startswith("::stop-commands")]
    assert not (clone / "ran").exists()


def test_the_inputs_of_the_step_are_those_of_the_event() -> None:
    """The base is what GitHub tells of the event, handed over in variables: no text of an event is in a script."""
    assert STEPS["Settings"]["env"] == {
        "ASKED": "${{ inputs.settings-from }}",
        "BASE": "${{ github.event.pull_request.base.sha || github.event.merge_group.base_sha }}",
    }
    assert STEPS["Lint"]["env"]["REVISION"] == "${{ steps.settings.outputs.revision }}"
    assert not [name for name, part in STEPS.items() if "${{" in part.get("run", "")]


def gitlab(clone: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the GitLab job in a clone."""
    lines = [line for line in GITLAB["before_script"] if line.startswith("set")] + GITLAB["script"]
    place = {"CI_PROJECT_ID": "1", "CI_DEFAULT_BRANCH": "main", "NGINXOPT_OPTIONS": "--fail-on info"}
    return subprocess.run(
        ["sh", "-e", "-c", "\n".join(lines)],
        cwd=clone,
        env={**os.environ, **GITLAB["variables"], **place, "NGINXOPT_PATHS": "nginx.conf", **variables}
        | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_the_gitlab_job_takes_the_settings_of_the_target(project: Project) -> None:
    """In merge requests, also of forks, and on branches that are not protected."""
    clone = project.pull_request(SILENCED["ignored"])
    target = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "CI_MERGE_REQUEST_PROJECT_ID": "1"}
    assert gitlab(clone, **target).returncode == 1
    assert gitlab(clone).returncode == 1
    assert gitlab(clone, CI_COMMIT_REF_PROTECTED="true").returncode == 0
    git(clone, "remote", "set-url", "origin", f"file://{project.home}/nowhere")
    done = gitlab(clone, **target)
    assert (done.returncode, "cannot be fetched" in done.stdout) == (2, True)
    git(project.home, "clone", "--quiet", "--bare", str(project.server), "target.git")
    forked = {"CI_MERGE_REQUEST_PROJECT_ID": "2", "CI_MERGE_REQUEST_PROJECT_URL": f"file://{project.home}/target"}
    assert gitlab(clone, **{**target, **forked}).returncode == 1
    text = "\n".join(GITLAB["before_script"])
    assert "python3 -I -m venv /" in text
    assert "/python -I -m pip" in text
