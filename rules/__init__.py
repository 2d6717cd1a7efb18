"""The lint catalogue: one module is one rule, found by its presence; installed as `nginxopt.rules`."""
