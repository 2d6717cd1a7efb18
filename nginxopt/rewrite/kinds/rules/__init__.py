"""Compiles rewrites to maps, which nginx looks up instead of trying rules in sequence."""
