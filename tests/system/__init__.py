"""Tests of files, processes and the machine."""
