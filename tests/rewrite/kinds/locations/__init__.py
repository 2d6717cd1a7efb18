"""Regex locations that are put into groups."""
