"""Side effects: files, processes, HTTP, the host, and nginx.

Input is what to write, run or request; output is what happened: bytes, exit statuses, responses, limits. `files` writes
all files or none, `inplace` writes the files of a configuration, `nginx` finds, checks and starts nginx.
"""
