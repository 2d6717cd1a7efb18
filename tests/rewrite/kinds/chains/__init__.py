"""Chains of `if`s that become lookups."""
