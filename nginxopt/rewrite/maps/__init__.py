"""Compiles maps with regular expressions into trees of look-ups.

planned = plan(config, stem, files)      the maps that become trees, and why others stay
edits(planned.compiled, name)            the rows gone from their files, the default going on to the tree
prove(...)                               that each map answers every subject as before
"""
