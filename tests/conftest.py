"""Settings of the whole suite, and what tests have to report."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from xdist.remote import Producer

from tests.dealing import Dealing
from tests.support import NO_NGINX

# A busy machine makes an example slow; that is no failure.
settings.register_profile("nginxopt", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("nginxopt"), max_examples=10)
settings.load_profile("nginxopt")


def pytest_collection_modifyitems(items: Iterable[pytest.Item]) -> None:
    """Mark what asks nginx, and leave laws out of the measure of coverage.

    A line that only a random example reaches is not covered, and the measure makes an example take twice as long.
    """
    for item in items:
        if _asks_nginx(item):
            item.add_marker(pytest.mark.nginx)
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.no_cover)


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
