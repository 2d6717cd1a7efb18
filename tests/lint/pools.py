"""Configurations with upstreams, for tests of the pool rules."""

from __future__ import annotations

OLD, PIVOT = "1.22.1", "1.29.7"


APP = "upstream app { server 10.0.0.1:8080; }"


POOL = "upstream app { server 10.0.0.1:8080; keepalive 32; }"


V11 = "proxy_http_version 1.1;"


CLEAR = 'proxy_set_header Connection "";'


WS = "proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection"
