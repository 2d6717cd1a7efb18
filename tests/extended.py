"""What `make test` leaves to continuous integration and to `make test EXTENDED=1`: half of the time of all tests.

These tests put many cases to what a few cases check elsewhere, or concern what few changes touch. Whoever changes that
runs them: `.venv/bin/python -m pytest` runs all that it is given. Each module of nginxopt is tested without them.

Of tests that take `each_binary`, those with the newer nginx are left out as well (`tests/nginx/conftest.py`).
"""

from __future__ import annotations

_SEARCHES = """\
tests/format/test_laws.py
tests/lint/test_templates.py::test_what_is_found_holds_in_every_file
tests/nginx/test_composed.py
tests/nginx/test_format_nginx.py
tests/nginx/test_map_fuzz.py
tests/nginx/test_rules_redirect.py::test_nginx_takes_the_steps_of_random_chains
tests/nginx/test_site_fuzz.py
tests/nginx/test_verify_fuzz.py
tests/verify/test_mutants.py
tests/verify/test_verify_fuzz.py
tests/rewrite/tables/test_table_proof.py::test_random_apache
tests/rewrite/tables/test_table_proof.py::test_random_csv
tests/test_hostile.py
"""

_EVERY_CASE = """\
tests/lint/test_lint_corpus.py::test_messages_are_short
tests/lint/test_lint_corpus.py::test_messages_are_whole
tests/nginx/test_arguments.py
tests/nginx/test_chains.py
tests/nginx/test_filters.py
tests/nginx/test_groups.py
tests/nginx/test_groups_in_locations.py
tests/nginx/test_map_trees.py
tests/nginx/test_missing_includes.py
tests/nginx/test_refusals.py
tests/nginx/test_request_framing.py
tests/nginx/test_rules_security.py::test_pcre_gives_up
tests/nginx/test_tables.py
tests/nginx/test_verify.py::test_nginx_answers_a_witness_differently
tests/request/test_bounds.py
"""

_CLUSTERS = """\
tests/bench/test_load_workers.py
tests/fleet/test_faults.py
tests/fleet/test_lint_nginx.py
tests/fleet/test_query.py::test_a_query_of_hours_is_interrupted
tests/fleet/test_result.py::test_a_file_of_64_megabytes_is_written
tests/fleet/test_result.py::test_findings_of_any_size_are_written
tests/nginx/test_bench_load_workers.py
tests/system/test_cluster.py
"""

_EDITORS = """\
tests/lsp/test_editors.py
tests/lsp/test_neovim.py
tests/lsp/test_server.py
"""

_BUILDS = """\
tests/cli/test_bench_target.py::test_a_load
tests/cli/test_bench_target.py::test_no_byte_is_sent
tests/nginx/test_bench_runs.py::test_instructions_of_a_map
tests/project/test_benchmarks.py::test_regex_map
tests/project/test_ci.py::test_redirects_are_a_gate
tests/project/test_ci_settings.py::test_a_branch_has_any_name
tests/project/test_installed_rules.py
tests/project/test_make.py::test_make_check_asks_neither_nginx_nor_containers
tests/project/test_make.py::test_what_both_run
tests/project/test_packaging.py::test_a_bare_python_needs_no_compiler
tests/project/test_packaging.py::test_the_image
tests/project/test_security.py::test_a_fleet
tests/project/test_security.py::test_with_an_option
tests/project/test_site.py
tests/project/test_vscode.py
"""

EXTENDED = {
    name: reason
    for reason, names in {
        "a search at random, for what the cases of other files have": _SEARCHES,
        "every case, often in nginx, of what other tests check with a few": _EVERY_CASE,
        "workers on other machines and how they fail, large results": _CLUSTERS,
        "the language server as a process and in editors, which other tests call": _EDITORS,
        "the site, the extension for VS Code, other environments, long measurements": _BUILDS,
    }.items()
    for name in names.split()
}
"""Files and tests, each with the reason why few changes need it."""


def is_extended(nodeid: str) -> bool:
    """Return whether a test, or the file that it is in, is left out."""
    function = nodeid.partition("[")[0]
    return function in EXTENDED or function.partition("::")[0] in EXTENDED
