"""What the measure of coverage leaves out: it doubles the time of a test."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

UNMEASURED = frozenset(
    {
        "tests/bench/test_html_browser.py",
        "tests/bench/test_html_page.py",
        "tests/bench/test_statistics.py",
        "tests/config/test_corpus.py",
        "tests/config/test_templating.py",
        "tests/fleet/test_result.py",
        "tests/format/test_laws.py",
        "tests/lint/report/test_pages.py",
        "tests/lint/test_fix.py",
        "tests/lint/test_lint_corpus.py",
        "tests/lint/test_rules.py",
        "tests/lint/test_severity_by_cost.py",
        "tests/lsp/test_editors.py",
        "tests/lsp/test_neovim.py",
        "tests/nginx/test_compiler.py",
        "tests/nginx/test_filters.py",
        "tests/nginx/test_format_nginx.py",
        "tests/nginx/test_groups_in_locations.py",
        "tests/nginx/test_map_fuzz.py",
        "tests/nginx/test_pcre.py",
        "tests/nginx/test_pool_premises.py",
        "tests/nginx/test_rewrite_fuzz.py",
        "tests/nginx/test_rules_cache.py",
        "tests/nginx/test_rules_redirect.py",
        "tests/nginx/test_site_fuzz.py",
        "tests/nginx/test_verify_fuzz.py",
        "tests/project/test_reviewers.py",
        "tests/request/test_chains.py",
        "tests/verify/test_mutants.py",
        "tests/verify/test_verify_fuzz.py",
        "tests/rewrite/test_corpus_rewrites.py",
        "tests/rewrite/test_mutations.py",
        "tests/rewrite/test_rewrite_laws.py",
        "tests/rewrite/test_rewrite_lines.py",
        "tests/rewrite/test_rewrite_pcre.py",
        "tests/rewrite/test_verification.py",
        "tests/system/test_cluster.py",
    }
)
"""Files whose tests take long and reach hardly a line that no others reach.

Together they are more than 40 % of the time of what would be measured, and reach 0.7 % of it alone.
`--cov-context=test` shows which test reaches what.
"""


class Measure:
    """Measures tests, with their fixtures, and nothing between them: where coverage is measured, all Python is slower.

    pytest-cov measures what `no_cover` leaves out but for the test itself, as well as pytest, which is most of what
    short tests take. Lines that run as modules are imported are measured by the first process: all import the same.
    """

    def __init__(self, controller: Any) -> None:
        self._collector = controller.cov._collector
        controller.pause = controller.resume = lambda: None  # pytest-cov's own, within a test

    @contextmanager
    def _paused(self) -> Generator[None, None, None]:
        self._collector.stop()
        try:
            yield
        finally:
            self._collector.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Generator[None, object, object]:
        """Measure the imports of the first process."""
        if getattr(session.config, "workerinput", {}).get("workerid", "gw0") == "gw0":
            return (yield)
        with self._paused():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Measure nothing but what `pytest_runtest_protocol` does."""
        with self._paused():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Measure a test and its fixtures, and let the commands that they run measure themselves."""
        with pytest.MonkeyPatch.context() as patch:
            if item.get_closest_marker("no_cover"):
                patch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
                return (yield)
            self._collector.start()
            try:
                return (yield)
            finally:
                self._collector.stop()
