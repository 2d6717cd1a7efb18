"""A fuzzer of whole sites: what the model of requests says, and what nginx answers: `python -m tests.fuzz.sites`."""
