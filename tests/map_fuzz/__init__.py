"""A differential fuzzer of maps with regular expressions, before and after: `python -m tests.map_fuzz --help`."""
