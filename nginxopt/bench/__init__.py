"""Benchmarks nginx before and after a change: `nginxopt bench`.

    scenario (what) -> run_folder -> runner (local | compose) -> load (vegeta | wrk) -> rounds (samples)
        -> measure (statistics) -> compare, gate -> result (JSON) -> table, HTML

`scenario` defines the input and `result` the output; all other modules exchange these data. `site` has the protocols
for side effects: a runner starts the nginx processes of all variants, and a load generator is a command with a parser
for its results.
"""
