"""Makes load from several processes or machines: each worker runs vegeta with a share of the load.

`shares` divides a load, `clock` compares the clocks of machines, `worker` runs on the workers, `team` calls it, `merge`
combines the results, and `attack` uses all of these.
"""
