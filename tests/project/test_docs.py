"""The documents match the program: commands and their output, exit statuses, tables generated from the code."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nginxopt import errors
from nginxopt.rewrite.kinds.chains.planning import REASONS
from nginxopt.rewrite.kinds.kind import OLDEST, Readings
from nginxopt.rewrite.kinds.locations.planning import REASONS as REASONS_OF_LOCATIONS
from nginxopt.rewrite.kinds.maps.planning import REASONS as REASONS_OF_MAPS
from nginxopt.rewrite.kinds.rules.planning import reasons
from nginxopt.rewrite.premises import PREMISES
from nginxopt.rewrite.tables import premises
from tests import origins, servers
from tests.rows import every_row
from tests.support import PATIENCE, the_nginx

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GUIDE = ROOT / "docs" / "guide"
MECHANISM = (GUIDE / "rewrite-to-map.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
DOCUMENTS = {
    path: path.read_text()
    for path in [
        *(
            ROOT / name
            for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/architecture.md")
        ),
        *GUIDE.glob("*.md"),
        *(ROOT / "docs" / "design").glob("*.md"),
    ]
}

_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def shown(text: str) -> Iterator[tuple[str, str]]:
    """Each command that a document shows, behind those of its block that make files for it, and the output below it."""
    for block in _CONSOLE.findall(text):
        files: list[str] = []
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield "\n".join([*files, command]), output
            files += [command] if command.startswith("printf ") and " > " in command else []


def as_pattern(output: str, line_pattern: Callable[[str], str] = re.escape) -> str:
    """A pattern for the output; a line of three dots stands for any lines."""
    lines = ["(?:.*\n)*?" if line == "..." else line_pattern(line) + "\n" for line in output.splitlines()]
    return "".join(lines)


def of_any_figures(line: str) -> str:
    """A pattern for a line of a benchmark: its words, with any measured figures between them."""
    parts = re.split(r"(\s*\d[\d.,]*(?: (?:us|ms|s)\b)?|\s+)", line)
    return "".join(_of_any_figure(part) if number % 2 else re.escape(part) for number, part in enumerate(parts))


def _of_any_figure(part: str) -> str:
    return r"\s*\d[\d.,]*(?: (?:us|ms|s))?" if part.strip() else r"\s+"


_PROBED = "http://127.0.0.1:8080/"


_LIVE = "--live http://127.0.0.1:8080"
_HAPROXY = re.compile(r"^```haproxy\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@contextlib.contextmanager
def with_its_server(command: str) -> Iterator[str]:
    """Yield a command with the address of a server where it asks one: the one that is shown, or for `probe` an origin.

    The origin compresses for HTTP/1.1 only.
    """
    if _LIVE in command:
        shown = _HAPROXY.findall((GUIDE / "tutorial-moving.md").read_text())[0]
        with tempfile.TemporaryDirectory() as folder, servers.haproxy(shown, Path(folder)) as port:
            yield f"({command.replace(_LIVE, f'--live http://127.0.0.1:{port}')}) " + (
                f"| sed s/127.0.0.1:{port}/127.0.0.1:8080/"
            )
        return
    if _PROBED not in command:
        yield command
        return
    with origins.serving(origins.compressing) as origin:
        yield command.replace(_PROBED, f"http://127.0.0.1:{origin.port}/")


def skip_without_its_tools(command: str) -> None:
    """Skip the test of a command that needs nginx or a load generator if there is none."""
    if "--nginx" in command or command.startswith("nginxopt bench"):
        the_nginx()
    if command.startswith("nginxopt bench") and not (shutil.which("wrk") or shutil.which("vegeta")):
        pytest.skip("no load generator: install wrk or vegeta")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like a checkout to the commands that are shown, without the files that only tests read."""
    # A link would lead out of the folder.
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures", ignore=shutil.ignore_patterns("corpus"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize(("command", "output"), [part for text in DOCUMENTS.values() for part in shown(text)])
def test_a_command_says_what_is_shown(checkout: Path, command: str, output: str) -> None:
    """A command that a document shows prints what stands below it: the result, then the summary."""
    skip_without_its_tools(command)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    with with_its_server(command) as line:
        run = subprocess.run(
            ["sh", "-c", line],
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            env=environment,
        )
    pattern = as_pattern(output, of_any_figures if command.startswith("nginxopt bench") else re.escape)
    assert re.fullmatch(pattern, run.stdout + run.stderr), run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.no_cover
def test_the_demo_ends_with_what_it_wrote(checkout: Path) -> None:
    """`make demo` is the first command of the README: all that it runs does what it says."""
    shutil.copytree(ROOT / "docs", checkout / "docs")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    run = subprocess.run(
        ["sh", "docs/demo.sh"],
        cwd=checkout,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )
    assert (run.returncode, run.stderr) == (0, ""), run.stdout
    assert "The results are in build/demo." in run.stdout


def test_every_command_is_shown() -> None:
    """The README shows each command of nginxopt, which the test above runs."""
    lines = [command.splitlines()[-1] for command, _ in shown(README)]
    commands = {line.split()[1] for line in lines if line.startswith("nginxopt ")}
    assert commands == {
        "lint",
        "check",
        "rewrite-to-map",
        "trace",
        "profile",
        "test",
        "verify",
        "bench",
        "fleet",
        "probe",
        "explain",
        "format",
    }


@pytest.mark.parametrize(
    ("page", "path"),
    [("README.md", "docs/lint.svg"), ("docs/design/maps.md", "tree.svg"), ("docs/architecture.md", "packages.svg")],
)
def test_a_picture_needs_no_network(page: str, path: str) -> None:
    """The pictures refer to nothing outside themselves, and stand on their pages."""
    file = ROOT / page
    assert f"]({path})" in file.read_text()
    picture = (file.parent / path).read_text()
    assert set(re.findall(r"url\(([^)]*)\)|href=", picture)) <= set(re.findall(r"url\((#[^)]*)\)", picture))
    assert re.findall(r"https?://[^\s\"]*", picture) == ["http://www.w3.org/2000/svg"]


def test_every_exit_status_is_listed() -> None:
    """The guide has each exit status, and no other."""
    text = (GUIDE / "exit-status.md").read_text()
    documented = {int(status) for status in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "exit_code")]
    assert documented == {0, 1} | {kind.exit_code for kind in kinds}


def test_every_declared_difference_is_listed() -> None:
    """The table of declared differences has each option with its sentence."""
    table = dict(re.findall(r"^\| `(--[\w-]+)` \| (.*) \|$", MECHANISM, re.MULTILINE))
    assert table == {Readings.flag(name): sentence for name, sentence in Readings.sentences().items()}


def test_every_reason_is_told() -> None:
    """The table of reasons has each code and its sentence, in the order of the code."""
    assert list(table_of("Why a rule stays")) == list(reasons().items())


def test_every_reason_of_chains_is_told() -> None:
    """The table of conditions that stay has each code and its sentence, in the order of the code."""
    assert list(table_of("Why a condition stays")) == list(REASONS.items())


def test_every_reason_of_maps_is_told() -> None:
    """The table of maps that stay has each code and its sentence, in the order of the code."""
    assert list(table_of("Why a map stays")) == list(REASONS_OF_MAPS.items())


def test_every_reason_of_locations_is_told() -> None:
    """The table of regex locations that stay has each code and its sentence, in the order of the code."""
    assert list(table_of("Why a location stays")) == list(REASONS_OF_LOCATIONS.items())


def test_every_premise_is_told() -> None:
    """The table of premises has each name and its sentence, in the order of the code."""
    assert list(table_of("Premises")) == [(premise.name, premise.sentence) for premise in PREMISES]


def test_every_reason_of_tables_is_documented() -> None:
    """The page on tables has each code of a rejected row, in alphabetical order, and each premise."""
    text = (GUIDE / "redirect-tables.md").read_text()
    sources = (ROOT / "nginxopt" / "rewrite" / "tables").glob("*.py")
    calls = re.compile(r"(?:CannotAnswer\(|Rejected\([\w.]+,|_reject\(number,)\s*\"([a-z-]+)\"")
    codes = {code for source in sources for code in calls.findall(source.read_text())}
    documented = re.findall(r"^\| `([\w-]+)` \| ", text, re.MULTILINE)
    assert documented == [*sorted(codes), *(premise.name for premise in premises.PREMISES)]
    assert all(f"| {premise.sentence} |" in text for premise in premises.PREMISES)


def table_of(heading: str) -> Iterator[tuple[str, str]]:
    """The rows of the table below a heading: a name in code, and a sentence."""
    section = re.split(r"^##+ ", MECHANISM.partition(f"# {heading}\n")[2], flags=re.MULTILINE)[0]
    yield from re.findall(r"^\| `([\w-]+)` \| (.*) \|$", section, re.MULTILINE)


@pytest.mark.parametrize("text", [README, MECHANISM])
def test_the_oldest_nginx_is_told(text: str) -> None:
    """Each document names the nginx that the result needs."""
    assert f"nginx {OLDEST} or later" in text


@every_row("path", sorted(DOCUMENTS), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Every link to a file of the repository has its file."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", DOCUMENTS[path])
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize(("name", "most"), [("README.md", 9_000), ("CONTRIBUTING.md", 5_000), ("CHANGELOG.md", 4_000)])
def test_the_first_documents_are_short(name: str, most: int) -> None:
    """Who opens the repository reads a page or two; the rest is in docs/."""
    assert len((ROOT / name).read_bytes()) <= most


_TARGET = ["--target-version", "1.28.0"]
_WAYS = {
    "One finding": ["lint", "old/nginx.conf", "--select", "gzip-level", "--isolated", *_TARGET],
    "One rewrite": ["rewrite-to-map", "old/snippets/moved.conf", "--diff"],
    "One trace": ["trace", "old/nginx.conf", "http://shop.example.com:8080/about.html", *_TARGET],
    "One comparison": ["verify", "old/nginx.conf", "new/nginx.conf", *_TARGET],
}
"""The commands whose ways docs/architecture.md shows, on the slow site before and after a change."""

_MOST_MODULES = {"One finding": 37, "One rewrite": 41, "One trace": 35, "One comparison": 60}
"""How many modules each way may enter: who follows it reads no more. Merge modules of one idea before you raise one."""

_MOST_FUNCTIONS = 8
"""How many functions may be called inside each other from `main` to the rule that yields a finding."""


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("way", _WAYS)
def test_the_ways_are_those_of_the_code(tmp_path: Path, way: str) -> None:
    """The modules in each table of docs/architecture.md run, for the first time in this order, among few others."""
    entered = _way(tmp_path, *_WAYS[way])
    assert len(entered) <= _MOST_MODULES[way], entered
    section = ARCHITECTURE.partition(f"### {way}\n")[2].partition("\n##")[0]
    shown = [f"nginxopt.{module}" for module in re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)]
    assert shown
    assert [module for module in shown if module not in entered] == [], entered
    assert shown == sorted(shown, key=entered.index), "another order: `python -m tests.project.way` prints it"


_MOST_OF_WRITING = 44
"""How many modules a rewrite enters that is written to its files; docs/architecture.md says why not fewer."""


@pytest.mark.slow
@pytest.mark.no_cover
def test_the_way_of_a_rewrite_that_is_written(tmp_path: Path) -> None:
    """Besides what a diff enters, only the modules that write files without losing data."""
    entered = _way(tmp_path, *_WAYS["One rewrite"][:-1], "--write")
    assert len(entered) <= _MOST_OF_WRITING, entered
    others = [module for module in entered if not module.startswith("nginxopt.system.")]
    assert len(others) < _MOST_MODULES["One rewrite"], others


@pytest.mark.slow
@pytest.mark.no_cover
def test_the_way_of_a_finding_is_short(tmp_path: Path) -> None:
    """A rule is called within a few functions from `main`."""
    functions = _way(tmp_path, "--to", "nginxopt.rules.gzip_level", *_WAYS["One finding"])
    assert (functions[0], functions[-1]) == ("nginxopt.cli.main", "nginxopt.rules.gzip_level.check")
    assert len(functions) <= _MOST_FUNCTIONS, functions


def _way(folder: Path, *arguments: str) -> list[str]:
    """Return what `python -m tests.project.way` prints, beside the slow site before and after a change."""
    for side in ("old", "new"):
        shutil.copytree(ROOT / "fixtures" / "slow-site", folder / side, dirs_exist_ok=True)
    shop = folder / "new" / "sites" / "shop.conf"
    shop.write_text(shop.read_text().replace("location /chat/", "location /talk/"))
    command = [sys.executable, "-m", "tests.project.way", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=True, env=environment)
    return run.stdout.splitlines()


def test_every_named_path_is_there() -> None:
    """Each file and folder of the repository that docs/architecture.md and the design name is there."""
    design = (text for path, text in DOCUMENTS.items() if path.parent.name == "design")
    text = "\n".join([ARCHITECTURE, *design])
    paths = set(
        re.findall(r"`((?:nginxopt|rules|rust|tests|docs|fixtures|benchmarks|release|editors)/[\w./-]*)`", text)
    )
    assert len(paths) > 30
    assert sorted(path for path in paths if not (ROOT / path).exists()) == []
