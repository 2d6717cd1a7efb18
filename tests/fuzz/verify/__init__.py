"""Pairs of sites: one of them is the other after an edit. What `verify` calls equivalent must answer alike."""
