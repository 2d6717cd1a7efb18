"""Tests that run a real nginx."""
