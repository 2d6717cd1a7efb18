"""Compiles rewrites to maps, which nginx looks up instead of trying rules in sequence.

A rule that matches few URIs becomes keys of a map, which gives its target. Rules that match infinitely many URIs are
divided into groups: a map gives the group of the first rule that matches, and nginx tries only the rules of that group.
`docs/design/rewrite-to-map.md` has the forms, and the theorem that the proof uses.
"""
