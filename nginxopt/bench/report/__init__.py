"""Reports of a benchmark.

Input is a `Result`; output is a table for the terminal, or an HTML page with charts.
"""
