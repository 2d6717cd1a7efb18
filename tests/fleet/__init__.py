"""Tests of many configurations at once."""
