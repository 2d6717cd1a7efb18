"""The load generators: vegeta and wrk.

Input is a `Load` and its targets; output is the command that generates the load, and the parsed results.
"""
