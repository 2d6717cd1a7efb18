"""Settings of the whole suite, and what tests have to report."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from nginxopt.config import roots
from tests.support import IN_CI, ROOT, the_nginx

if os.geteuid() == 0:
    # Each session of pytest closes the common folder of its user to others, and so to the nginx of another session,
    # which root runs as nobody: each checkout has one of its own.
    _OWN = Path(tempfile.gettempdir(), f"nxo-{zlib.crc32(bytes(ROOT)):x}")
    _OWN.mkdir(exist_ok=True)
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_OWN))


@pytest.fixture
def tmp_path(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the test, which an nginx that root runs as nobody can enter."""
    if os.geteuid() == 0:
        base = tmp_path_factory.getbasetemp()
        for folder in (tmp_path, base, base.parent, base.parent.parent):
            if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
                folder.chmod(0o755)
    return tmp_path


# A busy machine makes an example slow; that is no failure. In CI, each run has the same examples, and so fewer: more of
# the same find nothing new, while every other run draws its own.
settings.register_profile(
    "nginxopt",
    max_examples=50 if IN_CI else 100,
    deadline=None,
    derandomize=IN_CI,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("nginxopt"), max_examples=10)
settings.load_profile("nginxopt")

# Commands in the background of a shell ignore Ctrl-C, and so would all processes that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measure no coverage of laws, and of tests that ask nginx only the first case: the others ask the same again.

    A line that only a random example reaches is not covered.
    """
    measured: set[str] = set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        is_law = isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
        if is_law or (item.get_closest_marker("nginx") and function in measured):
            item.add_marker(pytest.mark.no_cover)
        measured.add(function)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what asks nginx where there is none."""
    if item.get_closest_marker("nginx"):
        the_nginx()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from going through all tests again and again, while they are collected and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that leaves the folder it was started in: the tests after it would look for files elsewhere.

    pytest-cov goes back after each test, which hides it from all runs that measure coverage.
    """
    result = yield
    roots.forget()  # what a command named is inside for that command
    folder = item.config.invocation_params.dir
    try:
        now = str(Path.cwd())
    except FileNotFoundError:  # it is gone already
        now = ""
    if now != str(folder):
        os.chdir(folder)
        pytest.fail(f"{item.nodeid} has left {folder} for {now or 'a folder that is gone'}", pytrace=False)
    return result


@pytest.fixture(autouse=True, scope="session")
def _nginx_leaves_nothing_here() -> Iterator[None]:
    """An nginx that a test runs writes nothing into the repository, even one that is built for the current folder."""
    before = _written_by_nginx()
    yield
    assert _written_by_nginx() == before


def _written_by_nginx() -> set[str]:
    """Return what is in the root of the repository that has the name of a file that nginx writes."""
    names = ("*.log", "*.pid", "*.lock", "*_temp", "logs")
    return {path.name for name in names for path in ROOT.glob(name)}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded as properties."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
