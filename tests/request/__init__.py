"""Tests of requests, and of what becomes of many."""
