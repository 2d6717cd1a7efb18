"""Random searches for faults, to run for hours: `python -m tests.fuzz.NAME --help`.

    configs    `lint` on mutated configurations: no crash, no invalid report, no fix that nginx refuses
    fixes      nginx before and after `lint --fix`
    rewrites   nginx before and after `rewrite-to-map`
    maps       nginx before and after a map with regular expressions is compiled
    sites      the model of requests beside nginx
    verify     pairs of sites beside what `verify` says of them
    refusals   what `check` refuses beside what nginx refuses
    hostile    every command on hostile configurations, in little memory and time
    native     the native core with hostile values

A few cases of each run in the suite: `tests/nginx/test_*_fuzz.py` and others. `minimise` makes what is found small.
"""
