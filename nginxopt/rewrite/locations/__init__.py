"""Runs of regex locations come behind one pattern, which matches what they do and nothing else.

planned = plan(config, files)            which runs can, and why locations stay
edits(planned.compiled)                  the locations in a location of that pattern
prove(...)                               that nginx finds for every URI the location that it found before
"""
