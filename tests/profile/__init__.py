"""Tests of `nginxopt.profile`."""
