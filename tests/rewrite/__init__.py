"""Tests of rewrite-to-map."""
