"""What a configuration costs under its own traffic: `nginxopt profile`.

A log is read piece by piece (`reading`); the native core asks the model once for each different request and adds every
line to the cell of its outcome. The sums are a `Profile` (`sums`), which knows directives by their place, so that
profiles of several days or machines add up, and reports need nothing else.
"""
