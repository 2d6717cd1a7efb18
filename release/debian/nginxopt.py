#!/usr/bin/python3
"""The command of the Debian package, whose modules are its own."""

import sys

sys.path.insert(0, "/usr/lib/nginxopt")

from nginxopt.cli import main

main()
