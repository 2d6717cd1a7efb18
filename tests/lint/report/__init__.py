"""Tests of the formats of reports."""
