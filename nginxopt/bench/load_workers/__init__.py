"""Load from several processes or machines: each worker runs vegeta at its share, and all results become one.

`shares` divides a load, `clock` compares clocks, `worker` runs on the workers, `team` asks them, `merge` puts their
results together, and `attack` uses all of these.
"""
