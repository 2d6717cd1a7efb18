"""All side effects: writing files, running processes, HTTP, reading the limits of the host, and running nginx.

Input is what to write, run or request; output is what happened: bytes, exit statuses, responses, limits. `files` writes
several files atomically, and `nginx` finds, checks and starts nginx.
"""
