"""A differential fuzzer of rewrite-to-map over whole configurations: `python -m tests.rewrite_fuzz --help`."""
