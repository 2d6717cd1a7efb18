"""The parts of `nginxopt.system.files`, which writes all files or none."""

DONE: dict[str, None] = {}
"""The paths that this process has written, in order, for messages about a later failure."""
