"""Checks the configurations of many hosts in parallel, and stores the results in a database.

Input is the names of folders, archives and URLs, in which `sources` finds hosts. `content` has the files of a host,
`judging` checks it in a worker process, `running` distributes hosts to workers, and `result` stores their findings in a
DuckDB file. The formats in `report/` read only that file.

The number of hosts has no limit, so the work is divided by content. Many hosts have the same configuration: workers
first read only a digest of each, and each distinct configuration is checked once. Results are written in batches, so
that a run that is interrupted can go on.

"""
