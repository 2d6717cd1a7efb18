"""Tests of linting and fixing."""
