"""The gate in continuous integration: the tests run what GitHub and GitLab run, and check docs/guide/ci.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from nginxopt.lint.report import FORMATS
from tests.lint.report.test_report_sarif import official
from tests.project.action import ACTION, STEPS, expanded, step
from tests.rows import every_row
from tests.support import PATIENCE, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.no_cover]

PROJECT = "nginxopt/nginxopt"
GITLAB: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "gitlab-ci.yml").read_text())["nginxopt"]
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
TEXT = (ROOT / "docs" / "guide" / "ci.md").read_text()

UPSTREAM = "    upstream app { server 127.0.0.1:1; }\n    server { location / { proxy_pass http://app; } }\n"
SLOW = f"events {{}}\nhttp {{\n{UPSTREAM}}}\n"
CLEAN = "events {}\nhttp {\n}\n"
BROKEN = "events {}\nhttp {\n"
OPTIONS = "--isolated --target-version 1.22.1 --select upstream-keepalive-missing"


def blocks(language: str) -> list[str]:
    """The examples of docs/guide/ci.md in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def holds(condition: str, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> bool:
    """Whether the `if` of a step holds: comparisons joined by `&&`, numbers compared as numbers."""
    python = re.sub(r"inputs\.([\w-]+)", lambda match: repr(inputs[match[1]]), condition)
    python = re.sub(r"steps\.lint\.outputs\.(\w+)", lambda match: outputs[match[1]], python)
    return bool(eval(python.replace("&&", "and"), {"__builtins__": {}}))


@dataclass(frozen=True)
class Ran:
    """What the steps of the action did: the status of the last, what they printed, and whether they would upload."""

    status: int
    out: str
    uploads: bool
    sarif: Path


@pytest.fixture
def act(machine: dict[str, str], tmp_path: Path) -> Any:
    """A function that runs the steps of the action behind the first in a folder with one nginx.conf."""

    def run(text: str, **given: str) -> Ran:
        (tmp_path / "nginx.conf").write_text(text)
        inputs = (
            {name: str(input_["default"]) for name, input_ in ACTION["inputs"].items()} | {"options": OPTIONS} | given
        )
        environment = {**machine, "GITHUB_OUTPUT": str(tmp_path / "output"), "REVISION": ""}
        environment |= {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_SHA": "c0ffee"}
        environment |= {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r"}
        lint = STEPS["Lint"]
        names = {name: expanded(value, inputs, {}) for name, value in lint["env"].items() if name != "REVISION"}
        linted = step("Lint", tmp_path, {**environment, **names})
        assert linted.returncode == 0, linted.stdout
        outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
        names = {name: expanded(value, inputs, outputs) for name, value in STEPS["Gate"]["env"].items()}
        gate = step("Gate", tmp_path, {**environment, **names})
        uploads = holds(STEPS["Upload"]["if"], inputs, outputs)
        sarif = Path(expanded(STEPS["Upload"]["with"]["sarif_file"], inputs, outputs))
        assert expanded(ACTION["outputs"]["sarif"]["value"], inputs, outputs) == str(sarif)
        return Ran(gate.returncode, linted.stdout, uploads, sarif)

    return run


def nested(folder: Path) -> None:
    """Make two files of one name, of which the slow one is so deep that only nginxopt's own `**` finds it."""
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "site.conf").write_text(CLEAN)
    (folder / "a" / "b" / "site.conf").write_text(SLOW)


def test_the_action_reports_and_fails(act: Any) -> None:
    """Findings are annotated at their lines, uploaded as SARIF with paths of the repository, and fail the last step."""
    ran = act(SLOW)
    assert (ran.status, ran.uploads) == (1, True)
    assert re.search(r"^::warning file=nginx\.conf,line=3,", ran.out, re.MULTILINE)
    report = json.loads(ran.sarif.read_text())
    official().validate(report)
    (result,) = report["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "nginx.conf"


def test_the_summary_of_the_job(act: Any, tmp_path: Path) -> None:
    """The page of the job has the findings, the worst first, with links to their lines."""
    act(SLOW)
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("### nginxopt: 1 warning\n")
    assert "(https://github.com/o/r/blob/c0ffee/nginx.conf#L3)" in summary


def test_the_action_passes(act: Any) -> None:
    """Nothing is found in a clean configuration; that is uploaded, so that old alerts are closed."""
    ran = act(CLEAN)
    assert (ran.status, ran.uploads, "::warning" in ran.out) == (0, True, False)
    assert json.loads(ran.sarif.read_text())["runs"][0]["results"] == []


def test_the_action_uploads_no_half_report(act: Any) -> None:
    """A file that cannot be read is marked and fails with its own status; nothing is uploaded."""
    ran = act(BROKEN)
    assert (ran.status, ran.uploads) == (3, False)
    assert re.search(r"^::error file=nginx\.conf,line=", ran.out, re.MULTILINE)
    wrong = act(SLOW, options="--no-such-option")
    assert (wrong.status, wrong.uploads) == (2, False)


def test_the_inputs_of_the_action_are_used(act: Any, tmp_path: Path) -> None:
    """Each input of the action has its effect, and patterns among the paths reach nginxopt."""
    assert act(SLOW, **{"fail-on": "error"}).status == 0
    assert act(SLOW, sarif="false").uploads is False
    assert act(SLOW, options=OPTIONS.replace("1.22.1", "1.30.0")).status == 0
    assert (
        act(SLOW, options=OPTIONS.replace(" --target-version 1.22.1", ""), **{"target-version": "1.30.0"}).status == 0
    )
    nested(tmp_path)
    assert act(SLOW, paths="a/site.conf").status == 0
    assert act(SLOW, paths="a/site.conf **/site.conf").status == 1


def gitlab(folder: Path, text: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the GitLab job as its runner does, in one shell, with nginxopt installed."""
    (folder / "nginx.conf").write_text(text)
    lines = [line for line in GITLAB["before_script"] if line.startswith("set")] + GITLAB["script"]
    names = {**GITLAB["variables"], "NGINXOPT_OPTIONS": OPTIONS, "CI_COMMIT_REF_PROTECTED": "true", **variables}
    return subprocess.run(
        ["sh", "-e", "-c", "\n".join(lines)],
        cwd=folder,
        env={**os.environ, **names, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(("text", "status", "findings"), [(SLOW, 1, 1), (CLEAN, 0, 0), (BROKEN, 3, 1)])
def test_the_gitlab_job_reports_and_fails(tmp_path: Path, text: str, status: int, findings: int) -> None:
    """The report is written whatever the status is, and the log has the findings, too."""
    done = gitlab(tmp_path, text)
    assert done.returncode == status, done.stdout
    report = json.loads((tmp_path / GITLAB["artifacts"]["reports"]["codequality"]).read_text())
    assert [entry["location"]["path"] for entry in report] == ["nginx.conf"] * findings
    assert ("nginx.conf:3" in done.stdout) == bool(findings)
    assert GITLAB["artifacts"]["when"] == "always"


def test_the_variables_of_the_gitlab_job_are_used(tmp_path: Path) -> None:
    """Each variable of the job has its effect, and patterns among the paths reach nginxopt."""
    assert gitlab(tmp_path, SLOW, NGINXOPT_OPTIONS=f"{OPTIONS} --fail-on error").returncode == 0
    nested(tmp_path)
    assert gitlab(tmp_path, SLOW, NGINXOPT_PATHS="a/site.conf").returncode == 0
    assert gitlab(tmp_path, SLOW, NGINXOPT_PATHS="a/site.conf **/site.conf").returncode == 1
    assert 'pip install --quiet "$NGINXOPT_PACKAGE"' in "\n".join(GITLAB["before_script"])


@every_row(
    ("schema", "name"),
    [
        ("vendor.github-actions", "action.yml"),
        ("vendor.dependabot", ".github/dependabot.yml"),
        ("vendor.github-workflows", ".github/workflows/audit.yml"),
        ("vendor.github-workflows", ".github/workflows/release.yml"),
        ("vendor.github-workflows", ".github/workflows/site.yml"),
        ("vendor.gitlab-ci", "docs/gitlab-ci.yml"),
    ],
)
def test_the_schema_holds(schema: str, name: str) -> None:
    """The files are what the published schemas of GitHub and GitLab ask for."""
    from check_jsonschema import main as check_jsonschema  # imports jsonschema, see `tests.schemas`

    done = CliRunner().invoke(check_jsonschema, ["--builtin-schema", schema, str(ROOT / name)])
    assert done.exit_code == 0, done.output


def scripts() -> Iterator[tuple[str, str, str]]:
    """Each script: its name, its shell, its text."""
    for name, part in STEPS.items():
        if "run" in part:
            yield name, part["shell"], part["run"]
    yield "GitLab", "sh", "\n".join(GITLAB["before_script"] + GITLAB["script"])
    yield "demo.sh", "sh", (ROOT / "docs" / "demo.sh").read_text()
    for name in ("cargo-zig", "image/collect", "rustup"):
        yield name, "sh", (ROOT / "release" / name).read_text()
    for name in ("run", "install-packages"):
        text = (ROOT / ".ci" / name).read_text()
        yield name, "bash" if "bash" in text.partition("\n")[0] else "sh", text


# Of the job of GitLab words are split on purpose, and no line may stand beside them that shellcheck reads.
SPLIT = {"GitLab": "--exclude=SC2086"}


@every_row(("name", "shell", "text"), list(scripts()), ids=[name for name, *_ in scripts()])
def test_shellcheck_finds_nothing(name: str, shell: str, text: str) -> None:
    """The scripts are sound shell."""
    command = [
        str(Path(sys.executable).parent / "shellcheck"),
        f"--shell={shell}",
        *filter(None, [SPLIT.get(name)]),
        "-",
    ]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="no actionlint: install it to check a workflow")
def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    """A workflow that uses the action as docs/guide/ci.md says is sound, and so is the action."""
    (uses,) = yaml.safe_load(blocks("yaml")[0])
    (tmp_path / "nginxopt").mkdir()
    shutil.copy(ROOT / "action.yml", tmp_path / "nginxopt")
    steps = [{"uses": "actions/checkout@v4"}, {**uses, "uses": "./nginxopt"}]
    permissions = {"contents": "read", "security-events": "write"}
    job = {"runs-on": "ubuntu-24.04", "permissions": permissions, "steps": steps}
    workflow = tmp_path / ".github" / "workflows" / "ci.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(yaml.safe_dump({"name": "CI", "on": "pull_request", "jobs": {"nginx": job}}))
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    done = subprocess.run(["actionlint"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="no actionlint: install it to check a workflow")
def test_actionlint_finds_nothing_in_the_release() -> None:
    """The workflow that publishes is sound."""
    workflow = str(ROOT / ".github" / "workflows" / "release.yml")
    done = subprocess.run(["actionlint", workflow], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_zizmor_finds_nothing(tmp_path: Path) -> None:
    """Our workflows and the action let nobody do what he may not, and neither does the workflow that others copy.

    That one pushes a branch, so the credentials of its checkout stay, which zizmor reports with little confidence.
    """
    (workflow,) = (text for text in blocks("yaml") if text.startswith("name: "))
    copied = tmp_path / ".github" / "workflows" / "fix.yml"
    copied.parent.mkdir(parents=True)
    copied.write_text(workflow)
    zizmor = [str(Path(sys.executable).parent / "zizmor"), "--offline", "--no-progress"]
    for options in ([".github", "action.yml"], ["--no-config", "--min-confidence=medium", str(copied)]):
        done = subprocess.run(
            [*zizmor, *options], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stdout


def test_the_gate_is_five_lines() -> None:
    """Each gate of docs/guide/ci.md is five lines at most; the workflow that proposes fixes is a whole one."""
    examples = [text for text in (*blocks("yaml"), *blocks("sh")) if not text.startswith("name: ")]
    assert len(examples) == 4
    assert [text for text in examples if len(text.splitlines()) > 5] == []


def test_the_examples_are_of_what_there_is() -> None:
    """The examples name the project, and inputs, variables and hooks that exist; permissions and options, too."""
    github, _, include, pre_commit = map(yaml.safe_load, blocks("yaml"))
    assert github[0]["uses"].startswith(f"{PROJECT}@")
    assert set(github[0]["with"]) <= set(ACTION["inputs"])
    (remote,) = include["include"]
    path = re.fullmatch(rf"https://github\.com/{PROJECT}/raw/HASH/(.*)", remote["remote"])
    assert path is not None
    assert (ROOT / path[1]).exists()
    assert set(include["variables"]) <= set(GITLAB["variables"])
    (repo,) = pre_commit["repos"]
    assert repo["repo"] == f"https://github.com/{PROJECT}"
    assert {hook["id"] for hook in repo["hooks"]} <= {hook["id"] for hook in HOOKS}


def test_a_pull_request_that_fixes(tmp_path: Path) -> None:
    """The script of the workflow fixes, proves and proposes, with both in the body; without a fix it does nothing."""
    (workflow,) = (text for text in blocks("yaml") if text.startswith("name: "))
    script = yaml.safe_load(workflow)["jobs"]["fix"]["steps"][-1]["run"]
    folder, temp = tmp_path / "project", tmp_path / "temp"
    (folder / "nginx").mkdir(parents=True)
    (temp / "venv").mkdir(parents=True)
    (temp / "venv" / "bin").symlink_to(Path(sys.executable).parent)
    commands = tmp_path / "commands"
    commands.mkdir()
    (commands / "gh").write_text('#!/bin/sh\necho "$@" >>"$RUNNER_TEMP/asked"\n')
    (commands / "gh").chmod(0o755)
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "server")], check=True, timeout=PATIENCE)
    config = folder / "nginx" / "nginx.conf"
    config.write_text(
        "events {}\nhttp {\n    gzip on;\n    gzip_types text/css;\n    gzip_comp_level 9;\n    server { }\n}\n"
    )
    for words in (
        ["init", "--quiet"],
        ["add", "."],
        ["commit", "--quiet", "-m", "a"],
        ["remote", "add", "origin", "../server"],
    ):
        subprocess.run([*git, *words], cwd=folder, check=True, timeout=PATIENCE)
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(temp),
        "GITHUB_RUN_ID": "1",
        "PATH": f"{commands}:{os.environ['PATH']}",
    }

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", script], cwd=folder, env=environment, timeout=PATIENCE, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    done = run()
    assert done.returncode == 0, done.stdout
    body = (temp / "body.md").read_text()
    assert "gzip-level" in body
    assert "equivalent" in body.partition("### Proof")[2]
    assert "gzip_comp_level 6" in config.read_text()
    assert "pr create" in (temp / "asked").read_text()
    (temp / "asked").unlink()
    shutil.rmtree(temp / "old")
    assert run().returncode == 0
    assert not (temp / "asked").exists()


def test_everything_is_told() -> None:
    """The text names every input, variable and hook."""
    names = [*ACTION["inputs"], *GITLAB["variables"], *(hook["id"] for hook in HOOKS)]
    assert [name for name in names if name not in TEXT] == []


def test_others_get_a_file(tmp_path: Path) -> None:
    """The command for other servers writes its report, in a format that there is, and fails if something is found."""
    (command,) = blocks("sh")
    (tmp_path / "nginx").mkdir()
    (tmp_path / "nginx" / "nginx.conf").write_text(SLOW)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert "<testsuites" in (tmp_path / "nginxopt.xml").read_text()
    assert set(command.partition("# or ")[2].replace(",", "").split()) <= set(FORMATS)


def test_a_comment_has_what_is_new(tmp_path: Path) -> None:
    """The command for a pull request writes what the branch brings, and nothing of what was there."""
    (command,) = re.findall(r"^    (nginxopt lint .* --diff-base .*)$", TEXT, re.MULTILINE)
    config = tmp_path / "nginx" / "nginx.conf"
    config.parent.mkdir()
    config.write_text(SLOW)
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@example.com", "-c", "commit.gpgsign=false"]
    for words in (
        ["init", "--quiet"],
        ["add", "."],
        ["commit", "--quiet", "-m", "a"],
        ["update-ref", "refs/remotes/origin/main", "HEAD"],
    ):
        subprocess.run([*git, *words], cwd=tmp_path, check=True, timeout=PATIENCE)
    config.write_text(SLOW.replace("http {", "http {\n    gzip maybe;", 1))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    comment = (tmp_path / "comment.md").read_text()
    assert comment.startswith("### nginxopt: 1 error\n")
    assert "[wrong-arguments]" in comment


@pytest.mark.extended
def test_redirects_are_a_gate(tmp_path: Path) -> None:
    """The commands for tables record one that passes, and fail once the configuration answers otherwise."""
    record, github, junit = re.findall(r"^    (nginxopt test .*)$", TEXT, re.MULTILINE)
    conf = tmp_path / "nginx" / "nginx.conf"
    conf.parent.mkdir()
    site = "events {{ }} http {{ server {{ server_name h; rewrite ^/old$ {} permanent; }} }}\n"
    conf.write_text(site.format("/new"))
    (tmp_path / "urls.txt").write_text("/old\n")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def status(command: str) -> int:
        return subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environment, timeout=PATIENCE, check=False, capture_output=True
        ).returncode

    assert [status(command) for command in (record, github, junit)] == [0, 0, 0]
    assert (tmp_path / "redirects.csv").read_text() == "from,to,status\nhttp://h/old,http://h/new,301\n"
    conf.write_text(site.format("/other"))
    assert [status(command) for command in (github, junit)] == [1, 1]
    assert "<failure " in (tmp_path / "redirects.xml").read_text()
    assert "id: nginxopt-test" in TEXT
    assert "nginxopt-test" in {hook["id"] for hook in HOOKS}
