"""Chains of `if`s on one variable become one look-up.

planned = plan(config, stem, files)      which chains can, and why conditions stay
edits(planned.compiled, name)            the `if`s replaced by the statements that look them up
prove(...)                               that each chain answers every request as before
"""
