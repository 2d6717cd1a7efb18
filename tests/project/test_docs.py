"""What the documents show is what happens: commands and their output, exit statuses, tables made from the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt import errors
from nginxopt.rewrite.options import OLDEST, Readings
from nginxopt.rewrite.planning import reasons
from nginxopt.rewrite.premises import PREMISES
from tests.support import the_nginx

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
MECHANISM = (ROOT / "docs" / "rewrite-to-map.md").read_text()
DOCUMENTS = {
    path: path.read_text() for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
}

_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown(text: str) -> Iterator[tuple[str, str]]:
    """Each command that a document shows, and the output below it."""
    for block in _CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


def as_pattern(output: str) -> str:
    """A pattern for the output; a line of three dots stands for any lines."""
    lines = ["(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in output.splitlines()]
    return "".join(lines)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a checkout to the commands that are shown."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    return tmp_path


@pytest.mark.parametrize(("command", "output"), [part for text in DOCUMENTS.values() for part in shown(text)])
def test_a_command_says_what_is_shown(checkout: Path, command: str, output: str) -> None:
    """A command that a document shows prints what stands below it: the result, then the summary."""
    if "--nginx" in command:
        the_nginx()
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    run = subprocess.run(
        ["sh", "-c", command], cwd=checkout, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert re.fullmatch(as_pattern(output), run.stdout + run.stderr), run.stdout + run.stderr


def test_commands_are_shown() -> None:
    """The documents show commands, so that the test above has something to run."""
    assert len(list(shown(README))) >= 7


def test_every_exit_status_is_told() -> None:
    """The README has each exit status, and no other."""
    told = {int(status) for status in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    kinds = errors.NginxoptError.__subclasses__()
    assert told == {0, 1} | {kind.exit_code for kind in kinds}


def test_every_declared_difference_is_told() -> None:
    """The README has each option that declares a difference, with its sentence."""
    table = dict(re.findall(r"^\| `(--[\w-]+)` \| (.*) \|$", README, re.MULTILINE))
    assert table == {Readings.flag(name): says for name, says in Readings.sentences().items()}


def test_every_reason_is_told() -> None:
    """The table of reasons has each code and its sentence, in the order of the code."""
    assert list(table_of("Why a rule stays")) == list(reasons().items())


def test_every_premise_is_told() -> None:
    """The table of premises has each name and its sentence, in the order of the code."""
    assert list(table_of("Premises")) == [(premise.name, premise.sentence) for premise in PREMISES]


def table_of(heading: str) -> Iterator[tuple[str, str]]:
    """The rows of the table below a heading: a name in code, and a sentence."""
    section = re.split(r"^#+ ", MECHANISM.partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]
    yield from re.findall(r"^\| `([\w-]+)` \| (.*) \|$", section, re.MULTILINE)


@pytest.mark.parametrize("text", [README, MECHANISM])
def test_the_oldest_nginx_is_told(text: str) -> None:
    """Each document names the nginx that the result needs."""
    assert f"nginx {OLDEST} or later" in text


@pytest.mark.parametrize("path", sorted(DOCUMENTS), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Every link to a file of the repository has its file."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", DOCUMENTS[path])
    assert [link for link in links if not (path.parent / link).exists()] == []
