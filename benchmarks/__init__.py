"""The speed of nginxopt, and of nginx with its output: run from the top of the repository with `python -m`.

Figures are ratios within one run wherever they can be, so that they hold on another machine.
"""
