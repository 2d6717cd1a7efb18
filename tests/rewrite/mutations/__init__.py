"""Seeded faults of a compiler: each damages an emitted text that is right, and the proof has to refute all.

A mutation replaces bytes of the maps, of one changed file, or of what the emission says about itself, and names the
obligation that refutes it. It has to change something, and the text it starts from has to be proved: so no fault is
found by accident.
"""
