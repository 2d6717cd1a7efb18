"""Compiles chains of `if`s that compare the same variable to one lookup in a map."""
