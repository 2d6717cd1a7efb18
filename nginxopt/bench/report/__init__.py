"""Reports of a benchmark: table, charts and HTML page."""
