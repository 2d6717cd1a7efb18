"""Builds what is published: wheels that run on old systems, with the licences of what is in them, and an image."""
