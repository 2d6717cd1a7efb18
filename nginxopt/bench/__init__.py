"""Benchmarks before and after, on real nginx: `nginxopt bench`.

    scenario (what) -> run_folder -> runner (local | compose) -> load (vegeta | wrk) -> rounds (samples)
        -> measure (statistics) -> compare, gate -> result (JSON) -> table, HTML

`scenario` and `result` are the data that everything else exchanges; `site` has the protocols of what has effects: a
runner starts the nginx of every variant, and a load generator is a command and a reader of what it wrote.
"""
