"""A run of rewrite rules becomes a map, with a proof that no response changes."""
