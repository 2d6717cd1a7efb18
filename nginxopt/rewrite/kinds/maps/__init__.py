"""Compiles maps with regular expressions to trees of maps, so that few expressions are tried for each value.

nginx tries the expressions of a map one after the other. In a tree, the only expression of the first map captures the
longest known prefix of the value. A map with plain keys selects a leaf by this prefix, and the leaf has the few rows
that can still match, in their order. `docs/design/maps.md` has further forms, and proves that they give the same
values.
"""
