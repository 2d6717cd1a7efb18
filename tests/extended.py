"""What `make test` leaves to continuous integration and to `make test EXTENDED=1`: half of the time of all tests.

These tests put many cases to what a few cases check elsewhere, or concern what few changes touch. Whoever changes that
runs them: `.venv/bin/python -m pytest` runs all that it is given. Each module of nginxopt is tested without them.

Of tests that take `each_binary`, those with the newer nginx are left out as well (`tests/nginx/conftest.py`).
"""

from __future__ import annotations

_SEARCHES = """\
tests/format/test_laws.py
tests/lint/test_templates.py::test_what_is_found_holds_in_every_file
tests/nginx/test_format_nginx.py
tests/nginx/test_map_fuzz.py
tests/nginx/test_rules_redirect.py::test_nginx_takes_the_steps_of_random_chains
tests/nginx/test_site_fuzz.py
tests/nginx/test_verify_fuzz.py
tests/project/test_fuzz.py::test_nginx_accepts_fixed_mutations
tests/request/verify/test_verify_fuzz.py
"""

_EVERY_CASE_IN_NGINX = """\
tests/nginx/test_arguments.py
tests/nginx/test_chains.py
tests/nginx/test_filters.py
tests/nginx/test_groups.py
tests/nginx/test_groups_in_locations.py
tests/nginx/test_map_trees.py
tests/nginx/test_missing_includes.py
tests/nginx/test_refusals.py
tests/nginx/test_tables.py
"""

_CLUSTERS = """\
tests/bench/test_load_workers.py
tests/fleet/test_faults.py
tests/fleet/test_lint_nginx.py
tests/nginx/test_bench_load_workers.py
tests/system/test_cluster.py
"""

_BUILDS = """\
tests/nginx/test_bench_runs.py::test_instructions_of_a_map
tests/project/test_benchmarks.py::test_regex_map
tests/project/test_installed_rules.py
tests/project/test_packaging.py::test_a_bare_python_needs_no_compiler
tests/project/test_site.py
tests/project/test_vscode.py
"""

EXTENDED = {
    name: reason
    for reason, names in {
        "a search at random, for what the cases of other files have": _SEARCHES,
        "nginx is asked about every case of what other files check without it": _EVERY_CASE_IN_NGINX,
        "workers on other machines, and how they fail": _CLUSTERS,
        "the site, the extension for VS Code, other environments, long measurements": _BUILDS,
    }.items()
    for name in names.split()
}
"""Files and tests, each with the reason why few changes need it."""


def is_extended(nodeid: str) -> bool:
    """Return whether a test, or the file that it is in, is left out."""
    function = nodeid.partition("[")[0]
    return function in EXTENDED or function.partition("::")[0] in EXTENDED
