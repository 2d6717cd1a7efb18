"""Runners for experiments: on this machine, or in containers.

Input is an `Experiment` and its folder; output is a `Site`, where every variant runs.
"""
