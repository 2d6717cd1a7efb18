"""Lowers a configuration to the site that the model of requests reads (`rust/src/request`).

Input is a `Config`; output is a `LoweredSite`: the site as JSON, the bytes of folded runs, and the directives by
number.
"""
