"""Fixes on the real nginx: the same is asked of a configuration before and after `nginxopt lint --fix`.

    python -m tests.fuzz.fixes --configs 1000 --seed 1 --nginx /usr/sbin/nginx
    python -m tests.fuzz.fixes --configs 1000 --seed 1 --nginx /usr/sbin/nginx --assume http11-backends,idle-connections
    python -m tests.fuzz.fixes --corpus DIR --nginx /usr/sbin/nginx

`generate` makes whole configurations with the requests for them, `corpus` makes those of a folder run, `play` runs
one on a real nginx in front of `origins`, `compare` tells what differs, and `minimise` makes what is found small.
"""
