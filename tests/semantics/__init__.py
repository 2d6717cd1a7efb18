"""Tests of the semantics of directives."""
