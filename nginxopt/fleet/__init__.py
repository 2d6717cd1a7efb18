"""Checks the configurations of many hosts in parallel, and stores the results in a database.

Input is the names of folders, archives and URLs, in which `sources` finds hosts. `content` has the files of a host,
`judging` checks it in a worker process, `running` distributes hosts to workers, and `result` stores their findings in a
DuckDB file. The formats in `report/` need nothing but that file.
"""
