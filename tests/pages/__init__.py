"""Tests of the HTML reports in a browser."""
