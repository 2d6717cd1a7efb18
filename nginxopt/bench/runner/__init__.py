"""Runners for experiments: on this machine, or in containers."""
