"""Settings of the whole suite, and what tests have to report."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A busy machine makes an example slow; that is no failure.
settings.register_profile("nginxopt", deadline=None, print_blob=True)
settings.load_profile("nginxopt")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the figures that tests recorded as properties."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            terminalreporter.write_line(f"{name}: {value}")
