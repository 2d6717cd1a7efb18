"""What others could change behind our back is pinned: actions, images, tools of the release, and what documents say."""

from __future__ import annotations

import re
import runpy
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from tests.support import ROOT, tracked

WORKFLOWS = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
RELEASE = ROOT / "release"
LOCKS = ["tools", "audit", "runtime"]
DEPENDABOT: list[dict[str, Any]] = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def used() -> Iterator[tuple[str, str]]:
    """Yield each `uses:` with its file."""
    for path in WORKFLOWS:
        for line in path.read_text().splitlines():
            found = re.match(r"\s*(?:- )?uses: (.*)", line)
            if found:
                yield path.name, found[1]


def test_actions_are_pinned_by_commit() -> None:
    """Each is named by its full hash, with the tag as comment, and one action has one hash."""
    assert len(list(used())) > 10
    loose = [use for use in used() if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use[1])]
    assert loose == []
    names = {text.partition("@")[0] for _, text in used()}
    assert len({text for _, text in used()}) == len(names)


def test_images_are_pinned_by_digest() -> None:
    """What the image is built from, and what the GitLab job runs in; a multi-stage name is none."""
    dockerfile = (RELEASE / "image" / "Dockerfile").read_text()
    assert re.search(r"^ARG BASE=debian:12-slim@sha256:[0-9a-f]{64}$", dockerfile, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) == {"${BASE}", "scratch"}
    image = yaml.safe_load((ROOT / "docs" / "gitlab-ci.yml").read_text())["nginxopt"]["image"]
    assert re.fullmatch(r"rust:1-bookworm@sha256:[0-9a-f]{64}", image)


def locked(name: str) -> dict[str, str]:
    """Return the versions in a list with hashes. Every entry has one version and at least one hash."""
    text = (RELEASE / f"{name}.txt").read_text().replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    found = {}
    for entry in entries:
        match = re.match(r"([a-z0-9.-]+)==([^ ;]+)(?: ; [^-]+)? +--hash=sha256:[0-9a-f]{64}", entry)
        assert match, entry
        found[match[1]] = match[2]
    return found


@pytest.mark.parametrize("name", LOCKS)
def test_tools_are_pinned_by_hash(name: str) -> None:
    """The lists have what they are made of, in a version that is asked for."""
    versions = locked(name)
    if name == "runtime":
        asked = PROJECT["dependencies"]
    else:
        lines = (RELEASE / f"{name}.in").read_text().splitlines()
        asked = [line for line in lines if line and not line.startswith("#")]
    for requirement in map(Requirement, asked):
        assert requirement.specifier.contains(versions[requirement.name.lower()]), requirement
    assert not re.search("index|https?:", (RELEASE / f"{name}.txt").read_text())


def test_workflows_install_only_what_is_pinned() -> None:
    """pip with hashes, the wheel that was built, and crates with a version; no script is piped to a shell."""
    for path in WORKFLOWS:
        text = path.read_text()
        assert not re.search(r"(curl|wget)[^\n]*\|\s*(ba|da|z)?sh\b", text), path.name
        for line in text.splitlines():
            if "pip install" in line:
                assert re.search(r"--require-hashes|--no-index|GITHUB_ACTION_PATH", line), line
            if "cargo install" in line:
                assert re.search(r"--locked \S+@\d+\.\d+\.\d+$", line), line
            assert "pipx" not in line


def test_rustup_is_known_by_its_hash() -> None:
    """Where wheels are built, it is compared before it runs."""
    script = (RELEASE / "rustup").read_text()
    assert len(set(re.findall(r"hash=([0-9a-f]{64}) ;;", script))) == 4
    assert script.index("sha256sum -c") < script.index("chmod +x")


def test_dependabot_knows_all() -> None:
    """All ecosystems, and folders that exist."""
    by = {entry["package-ecosystem"]: entry for entry in DEPENDABOT}
    assert set(by) == {"github-actions", "pip", "cargo", "npm", "docker"}
    for entry in DEPENDABOT:
        for folder in entry.get("directories", [entry.get("directory")]):
            assert (ROOT / folder.strip("/")).is_dir(), folder
        assert entry["cooldown"]["default-days"] >= 7


def documents() -> Iterator[Path]:
    """Yield the documents that people copy from."""
    for name in sorted(tracked("docs", "README.md", "SECURITY.md", "editors", "action.yml")):
        if name.endswith((".md", ".yml", ".yaml")) and not name.startswith("docs/rules/"):
            yield ROOT / name


def test_documents_recommend_a_release() -> None:
    """No example runs what a branch has: it names the commit of a release, with its tag."""
    for path in documents():
        text = path.read_text()
        assert not re.search(r"@(main|master)\b", text), path
        assert not re.search(r"rev: (main|master)\b|raw(\.githubusercontent\.com/[\w-]+/[\w-]+)?/main/", text), path
    text = (ROOT / "docs" / "guide" / "ci.md").read_text()
    tag = f"v{PROJECT['version']}"
    assert f"uses: nginxopt/nginxopt@HASH # {tag}" in text
    assert f"rev: HASH # {tag}" in text
    assert f"git ls-remote https://github.com/nginxopt/nginxopt {tag}" in text
    gitlab = yaml.safe_load((ROOT / "docs" / "gitlab-ci.yml").read_text())["nginxopt"]["variables"]
    assert gitlab["NGINXOPT_PACKAGE"].endswith(f"@{tag}")


def test_every_python_is_tried() -> None:
    """The classifiers, and the matrix that installs the one wheel in each."""
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    tried = release["jobs"]["python"]["strategy"]["matrix"]["python"]
    named = [found[1] for line in PROJECT["classifiers"] if (found := re.fullmatch(r".*:: (3\.\d+)", line))]
    assert tried == named == ["3.11", "3.12", "3.13", "3.14"]
    assert "python" in release["jobs"]["pypi"]["needs"]


def test_a_free_threaded_python_is_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wheel fits one, so pip builds it there, and shows what setup.py says."""
    monkeypatch.setattr("sysconfig.get_config_var", lambda name: int(name == "Py_GIL_DISABLED"))
    with pytest.raises(SystemExit, match=r"does not run in free-threaded builds of Python.*install it in python3\.14"):
        runpy.run_path(str(ROOT / "setup.py"))
