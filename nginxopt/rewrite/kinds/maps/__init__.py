"""Compiles maps with regular expressions to trees of maps, so that few expressions are tried for each value."""
