"""Maps with regular expressions become trees of look-ups.

planned = plan(config, stem, files)      which maps can, and why the others stay
edits(planned.compiled, name)            the rows gone from their files, the default going on to the tree
prove(...)                               that each map answers every subject as before
"""
