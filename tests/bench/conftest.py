"""A result and its HTML page, built once for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nginxopt.bench.report import html
from nginxopt.bench.result import Result
from tests.bench.pages import experiment, result_of
from tests.browser import Page, browser


@pytest.fixture(scope="session")
def result() -> Result:
    """A result with everything a page can show."""
    return result_of(experiment())


@pytest.fixture(scope="session")
def page(result: Result) -> str:
    """Its page."""
    return html.render(result)


@pytest.fixture(scope="session")
def shown(page: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """The page in a browser."""
    folder = tmp_path_factory.mktemp("browser")
    (folder / "report.html").write_text(page)
    with browser(folder) as tab:
        tab.open(folder / "report.html")
        yield tab
