"""Tests of the repository itself: documents, packages, continuous integration."""
