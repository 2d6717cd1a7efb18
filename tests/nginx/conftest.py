"""The nginx binary that the tests of this folder run."""

import pytest

from nginxopt import nginx
from tests.support import the_nginx


@pytest.fixture(scope="session")
def binary() -> nginx.Binary:
    """The nginx on PATH or at its usual place."""
    return the_nginx()
