"""Runs experiments on this machine, in containers, or against an existing host.

Input is an `Experiment` and its folder; output is a `Site`, where all variants run.
"""
