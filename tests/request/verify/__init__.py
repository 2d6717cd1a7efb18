"""Tests of `nginxopt.request.verify`."""
