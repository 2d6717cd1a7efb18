"""What the measure of coverage leaves out: it doubles the time of a test."""

UNMEASURED = frozenset(
    {
        "tests/bench/test_html_browser.py",
        "tests/bench/test_html_page.py",
        "tests/config/test_corpus.py",
        "tests/config/test_templating.py",
        "tests/format/test_laws.py",
        "tests/lint/test_lint_corpus.py",
        "tests/lint/test_rules.py",
        "tests/nginx/test_format_nginx.py",
        "tests/nginx/test_map_fuzz.py",
        "tests/nginx/test_rewrite_fuzz.py",
        "tests/nginx/test_rules_cache.py",
        "tests/nginx/test_rules_redirect.py",
        "tests/nginx/test_verify_fuzz.py",
        "tests/request/verify/test_verify_fuzz.py",
        "tests/rewrite/test_corpus_rewrites.py",
        "tests/rewrite/test_mutations.py",
        "tests/rewrite/test_rewrite_lines.py",
        "tests/rewrite/test_rewrite_pcre.py",
        "tests/rewrite/test_verification.py",
    }
)
"""Files whose tests take long and reach hardly a line that no others reach.

Together they are 40 % of the time of what would be measured, and reach 0.5 % of it alone. `--cov-context=test` shows
which test reaches what.
"""
