"""Groups consecutive regex locations in a location with one pattern, so that most requests try only that pattern.

The pattern of a group matches exactly the URIs that one of its locations matches.
"""
