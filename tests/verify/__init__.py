"""Tests of `nginxopt.verify`."""
