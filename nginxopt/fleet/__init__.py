"""Many configurations: each host's is read and checked once, by workers, and the result is a database.

Input is names of folders, archives and URLs, which `sources` turns into hosts; `content` is what a host has, `judging`
what is found in it, `running` asks workers, and `result` keeps what they say. `report/` is made of a result alone.
"""
