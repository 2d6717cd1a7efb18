"""Tests of tables of redirects."""
