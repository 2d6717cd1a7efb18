"""Compiles chains of `if`s that compare the same variable to one lookup in a map.

planned = plan(config, stem, files)      which chains become lookups, and why other conditions stay
edits(planned.compiled, name)            the edits that replace the `if`s by a lookup
prove(...)                               whether each chain answers every request as before
"""
