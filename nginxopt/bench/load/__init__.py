"""The load generators: vegeta and wrk.

Input is a `Load` and its targets; output is the command that makes it, and the parsed results.
"""
