"""A differential fuzzer of maps with regular expressions, before and after: `python -m tests.fuzz.maps --help`."""
