"""`ssl_verify_client optional` without a check: requests without a certificate are answered as well

Flags `ssl_verify_client optional` and `optional_no_ca` where nothing reads `$ssl_client_verify` or another variable of
the certificate, apart from logs.

Does not flag `on`, configurations that were not read as a whole, and those with Lua, njs or Perl.

## Why it matters
`optional` asks for a certificate, and lets clients without one pass; `optional_no_ca` also accepts one that anybody has
signed. The decision is left to a test of `$ssl_client_verify`, or to the upstream, which has to get the variable in a
header or parameter. Without it, the certificates protect nothing.

## Bad
```nginx http
server {
    listen 443 ssl;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    ssl_client_certificate staff.pem;
    ssl_verify_client optional;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    ssl_client_certificate staff.pem;
    ssl_verify_client on;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
```nginx http
server {
    listen 443 ssl;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    ssl_client_certificate staff.pem;
    ssl_verify_client optional;
    location / {
        proxy_set_header X-Client-Verify $ssl_client_verify;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Fix safety
May change: responses.

Clients without a certificate are refused with 400.

## When to ignore it
If the certificates are only logged.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_verify_client
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.facts import having
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import whole

_OPTIONAL = ("optional", "optional_no_ca")
_NAMES = (
    "ssl_client_verify", "ssl_client_s_dn", "ssl_client_i_dn", "ssl_client_s_dn_legacy", "ssl_client_i_dn_legacy",
    "ssl_client_serial", "ssl_client_fingerprint", "ssl_client_cert", "ssl_client_raw_cert", "ssl_client_escaped_cert",
)  # fmt: skip
_LOGS = ("log_format", "access_log")
_PARAMS = having("variables", "passed")


@rule(severity=Severity.WARNING, category="security", fix=Safety.UNSAFE, about=("ssl_verify_client",))
def check(model: Model) -> Iterator[Finding]:
    """Find certificates that nginx requests and nothing checks."""
    stated = [at for at in model.each("ssl_verify_client") if at[0].args[:1] and at[0].args[0] in _OPTIONAL]
    if not stated or not model.is_whole or _is_read(model):
        return
    for directive, _ in stated:
        fix = Fix("refuse the others", (layout.replace(directive, directive.args[0], "on"),), Safety.UNSAFE)
        yield Finding(
            directive.source,
            directive.args[0].span,
            "clients without a certificate pass: nothing reads $ssl_client_verify",
            fix if directive.args[0] == "optional" else None,
            "" if directive.args[0] == "optional" else "test $ssl_client_verify, or send it to the upstream",
        )


def _is_read(model: Model) -> bool:
    """Return whether anything but a log may read the certificate."""
    passes = [pass_.level for pass_ in model.passes]
    is_hidden = any(not level.setting(name).known for level in passes for name in _PARAMS)
    is_used = any(reader.name not in _LOGS for reader in whole.readers(model, _NAMES))
    return is_hidden or is_used or whole.is_read_by_code(model)
