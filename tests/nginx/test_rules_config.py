"""Rules about the configuration on the real nginx."""

from __future__ import annotations

import pytest

from nginxopt.system import nginx
from tests.lintcheck import fixed

pytestmark = pytest.mark.nginx

LOCATIONS = {
    "proxy_buferring": "proxy_buferring off;\nproxy_pass http://127.0.0.1:8080;\n",
    "retrun": "retrun 301 /a;\n",
    "try_file": "try_file $uri /index.html;\n",
    "sendfile#": "sendfile# on;\n",
}


@pytest.mark.parametrize("name", LOCATIONS)
def test_nginx_refuses_the_name_and_takes_what_is_meant(binary: nginx.Binary, name: str) -> None:
    """nginx does not start with the wrong name, and does with the one that the fix writes."""
    before = LOCATIONS[name]
    after = fixed("unknown-directive", before, context="location").decode()
    refused = binary.test(_with(before))
    assert not refused.ok
    assert f'unknown directive "{name}"' in str(refused)
    assert binary.test(_with(after)).ok


def _with(location: str) -> bytes:
    return nginx.configuration([f"location / {{\n{location}}}".encode()])
