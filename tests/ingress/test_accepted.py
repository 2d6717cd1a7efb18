"""nginx accepts what annotations become that no answer of `cases` shows: other servers decide what they do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from nginxopt.config import load_text
from nginxopt.ingress import ControllerSettings, convert, ingresses
from nginxopt.request import build as builds
from nginxopt.system import nginx
from nginxopt.system.nginx import trial
from tests.ingress.cases import ingress
from tests.support import the_nginx

AUTH = "http://127.0.0.1:9/check"
# Annotations, what the ConfigMap says, and lines that stand in the result.
FORMS: dict[str, tuple[dict[str, Any], dict[str, str], tuple[str, ...]]] = {
    "an auth server": (
        {
            "auth_url": AUTH,
            "auth_method": "POST",
            "auth_response_headers": "X-User, X-Mail",
            "auth_signin": "http://127.0.0.1:9/login",
        },
        {},
        ("auth_request_set $authHeader1 $upstream_http_x_mail;", "proxy_method POST;", "error_page 401 = @"),
    ),
    "a login that knows the way back": (
        {"auth_url": AUTH, "auth_signin": "http://127.0.0.1:9/login?rd=/home"},
        {},
        ("return 302 http://127.0.0.1:9/login?rd=/home;",),
    ),
    "an exempt location": ({"auth_url": AUTH}, {"no-auth-locations": "/"}, ('location "/" {',)),
    "a password": (
        {"auth_type": "basic", "auth_secret": "users", "auth_realm": "Staff only"},
        {},
        ('auth_basic "Staff only";', "auth_basic_user_file /etc/ingress-controller/auth/test-users.passwd;"),
    ),
    "limits": (
        {"limit_connections": "2", "limit_rps": "5", "limit_rpm": "60", "limit_rate": "64", "limit_rate_after": "8"},
        {},
        ("limit_conn test_web_conn 2;", "limit_req zone=test_web_rps burst=25 nodelay;", "limit_rate 64k;"),
    ),
    "pages of errors": (
        {"custom_http_errors": "404,503", "default_backend": "pages"},
        {},
        ("proxy_intercept_errors on;", "proxy_set_header X-Code 404;"),
    ),
    "pages of errors everywhere": ({}, {"custom-http-errors": "502"}, ("proxy_set_header X-Code 502;",)),
    "a mirror": ({"mirror_target": "http://127.0.0.1:9/copy"}, {}, ("mirror /_mirror-test-web;", "internal;")),
    "gRPC": ({"backend_protocol": "GRPC"}, {}, ("grpc_pass grpc://",)),
    "redirects of the balancer": ({"proxy_redirect_from": "default"}, {}, ("proxy_redirect off;",)),
    "an upstream host": ({"upstream_vhost": "app.internal"}, {}, ('proxy_set_header Host "app.internal";',)),
    "origins": (
        {"enable_cors": "true", "cors_allow_origin": "https://*.shop.example, https://b.example"},
        {},
        ("Access-Control-Allow-Origin",),
    ),
}


@pytest.mark.nginx
@pytest.mark.parametrize("form", FORMS)
def test_what_annotations_become(form: str, tmp_path: Path) -> None:
    """The lines are those of the controller's template, and nginx accepts the whole."""
    annotations, settings, lines = FORMS[form]
    binary: nginx.Binary = the_nginx()
    (tmp_path / "web.json").write_text(json.dumps(ingress("web", **annotations)))
    read = ingresses([str(tmp_path / "web.json")])
    text = convert(read, ControllerSettings(settings), builds.probe(binary).version, validates=False).text
    for line in lines:
        assert line in text, text
    # The controller's own certificate is not here.
    text = re.sub(r"ssl_certificate\S* .*;", "", text).replace(" ssl http2", "")
    verdict = trial.test(load_text(text.encode(), str(tmp_path / "nginx.conf")), binary)
    assert verdict.ok, verdict.messages
