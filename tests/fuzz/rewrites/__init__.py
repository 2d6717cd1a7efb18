"""A differential fuzzer of rewrite-to-map over whole configurations: `python -m tests.fuzz.rewrites --help`."""
