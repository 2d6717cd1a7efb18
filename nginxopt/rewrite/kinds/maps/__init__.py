"""Compiles maps with regular expressions to trees of maps, so that few expressions are tried for each value.

planned = plan(config, stem, files)      which maps become trees, and why others stay
edits(planned.compiled, name)            the edits that remove the expressions and make the tree the default
prove(...)                               whether each map returns the same value for every subject as before
"""
