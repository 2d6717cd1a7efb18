"""The kinds of lists that rewrite-to-map compiles, a package each."""
