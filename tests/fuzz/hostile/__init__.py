"""Hostile configurations through every command, each in a process of its own with little memory and time:

    python -m tests.fuzz.hostile --runs 10000 --seed 1

`generate` draws folders of configurations that ask for much, or are no configurations at all; `play` runs a command on
one. What must hold: a documented exit status, no traceback and no panic, an end within the limits, a message wherever
the status is 3, and no file changed or made outside of the folder.
"""
