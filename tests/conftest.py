"""Settings of the whole suite, and what tests have to report."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, is_hypothesis_test, settings
from xdist.remote import Producer

from nginxopt.config import roots
from tests.dealing import Dealing, is_of_group, tell_less
from tests.extended import is_extended
from tests.measuring import UNMEASURED, Measure
from tests.support import IN_CI, NO_NGINX, ROOT

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


# A busy machine makes an example slow; that is no failure. In CI, each run has the same examples.
settings.register_profile(
    "nginxopt",
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

# jsonschema imports it for IRIs as it is imported, and it takes a second to prepare its grammars, in each process.
_IRIS = ModuleType("rfc3987_syntax")
sys.modules.setdefault(_IRIS.__name__, _IRIS)


def _is_valid_syntax(term: str, text: str) -> bool:
    """Ask the module itself whether a text is an IRI, now that a test wants to know."""
    sys.modules.pop(_IRIS.__name__, None)
    _IRIS.is_valid_syntax = importlib.import_module(_IRIS.__name__).is_valid_syntax  # type: ignore[attr-defined]
    return bool(_IRIS.is_valid_syntax(term, text))


_IRIS.is_valid_syntax = _is_valid_syntax  # type: ignore[attr-defined]

# Python keeps the frames of its calls in blocks of 16 KiB, and gives a block back as soon as it is empty: a call that
# needs a new one costs two system calls and a page fault, each time. A frame that asks for more than half of 1 MiB gets
# a block with room for all calls of a test (push_chunk in Python/pystate.c).
_WIDE_FRAME = 70_000
_call = pytest.CallInfo.from_call.__func__  # type: ignore[attr-defined]  # a class method
_call.__code__ = _call.__code__.replace(co_stacksize=_WIDE_FRAME)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, object, object]:
    """Mark what asks nginx and what is extended, and measure no coverage where a test covers little and takes long.

    Laws are left out: a line that only a random example reaches is not covered. So are the files of `UNMEASURED`, and,
    of the tests that ask nginx, all cases but the first: they ask it the same of another text. Other tests with random
    examples, and those of commands that are measured elsewhere, are marked where they stand.

    Groups of tests, which take longest, come first in a process of xdist, once pytest has put those with the same nginx
    next to each other.
    """
    measured: set[str] = set()
    for item in items:
        asks_nginx = _asks_nginx(item)
        if asks_nginx:
            item.add_marker(pytest.mark.nginx)
        if is_extended(item.nodeid):
            item.add_marker(pytest.mark.extended)
        function = item.nodeid.partition("[")[0]
        is_law = isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
        is_slow = function.partition("::")[0] in UNMEASURED
        if is_law or is_slow or (asks_nginx and function in measured):
            item.add_marker(pytest.mark.no_cover)
        measured.add(function)
    result = yield
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not is_of_group(item.nodeid))
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> Generator[None, object, object]:
    """Let pytest-cov alone measure a process of xdist: where others do, too, they measure what `no_cover` leaves out.

    Coverage starts in such a process by itself, as in the commands that tests run, and pytest-cov as in the process
    that deals the tests.
    """
    if hasattr(session.config, "workerinput"):
        while coverage := Coverage.current():
            coverage.stop()
        tell_less(session.config)
    result = yield
    if plugin := session.config.pluginmanager.getplugin("_cov"):
        session.config.pluginmanager.register(Measure(plugin.cov_controller), "measure")
    return result


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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Dealing:
    """Return what deals the tests to several processes."""
    return Dealing(config, log)


def _asks_nginx(item: pytest.Item) -> bool:
    needs_nginx = any(mark.kwargs.get("reason") == NO_NGINX for mark in item.iter_markers("skipif"))
    return needs_nginx or item.path.parent.name == "nginx"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded as properties."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
