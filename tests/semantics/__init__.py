"""Tests of what nginx makes of a configuration."""
