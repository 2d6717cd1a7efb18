"""The nginx binary that the tests of this folder run."""

import pytest

from nginxopt import nginx


@pytest.fixture(scope="session")
def binary() -> nginx.Binary:
    """The nginx on PATH or at its usual place; without one these tests fail: they decide what is correct."""
    return nginx.find()
