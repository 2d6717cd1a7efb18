"""The result of a benchmark as a table, as charts and as a page."""
