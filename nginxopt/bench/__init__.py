"""Benchmarks nginx before and after a change: `nginxopt bench`.

    scenario (what) -> run_folder -> runner (local | compose) -> load (vegeta | wrk) -> rounds (samples)
        -> measure (statistics) -> compare, gate -> result (JSON) -> table, HTML

`scenario` and `result` are the data that all other modules exchange. `site` has the protocols for side effects: a
runner starts the nginx of every variant, and a load generator is a command and a parser of its results.
"""
