"""The lint rules, one module each, installed as `nginxopt.rules`. Modules are discovered; there is no list."""
