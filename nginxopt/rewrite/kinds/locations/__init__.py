"""Groups consecutive regex locations in a location with one pattern, so that most requests try only that pattern.

The pattern of a group matches exactly the URIs that one of its locations matches.

planned = plan(config, files)            which locations are grouped, and why others stay
edits(planned.compiled)                  the edits that put locations into groups
prove(...)                               whether nginx finds the same location as before for every URI
"""
