"""A fuzzer of whole sites: what the model of requests says, and what nginx answers. Run `python -m tests.site_fuzz`."""
