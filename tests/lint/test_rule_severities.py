"""Rules whose severity depends on what is known: a finding that may be moot is an info."""

from __future__ import annotations

from nginxopt.lint import Severity
from tests.lintcheck import diagnose
from tests.rows import every_row

_CACHE = "proxy_cache_path /c keys_zone=pages:10m;\n"

# What is claimed -> rule, the text of http or of a whole configuration, severity.
SEVERITIES = {
    "a limit that is too low": (
        "worker-rlimit-nofile",
        "worker_rlimit_nofile 512;\nevents {\n    worker_connections 1024;\n}\n",
        Severity.WARNING,
    ),
    "a limit that the service manager may set": (
        "worker-rlimit-nofile",
        "events {\n    worker_connections 4096;\n}\n",
        Severity.INFO,
    ),
    "a cache that is used": (
        "cache-unbounded",
        f"events {{ }} http {{ {_CACHE} include conf.d/gone.conf; server {{ location / {{ proxy_cache pages; }} }} }}",
        Severity.WARNING,
    ),
    "a cache that a missing file may use": (
        "cache-unbounded",
        f"events {{ }} http {{ {_CACHE} include conf.d/gone.conf; }}",
        Severity.INFO,
    ),
    "a cipher that few libraries have": ("weak-tls", "events { } http { ssl_ciphers HIGH:DH+3DES; }", Severity.INFO),
    "a setting of a location that sends files": (
        "foreign-setting",
        "events { } http { server { location / { root /srv; proxy_set_header A b; } } }",
        Severity.INFO,
    ),
    "anonymous clients": ("weak-tls", "events { } http { ssl_ciphers ALL@SECLEVEL=0; }", Severity.WARNING),
    "a loop of what a page is below": (
        "redirect-loop",
        "events { } http { server { location ~ ^/blog/ { rewrite ^/blog/(old/)?(.*)$ /blog/$2 last; } } }",
        Severity.ERROR,
    ),
    "a loop of a URI that ends in an optional group": (
        "redirect-loop",
        r"events { } http { server { location ~ ^/a/v { rewrite ^/a/(v\d*/)?(.*)$ /a/$2 last; } } }",
        Severity.INFO,
    ),
    "a prohibited protocol": ("weak-tls", "events { } http { ssl_protocols TLSv1 TLSv1.2; }", Severity.WARNING),
}


@every_row(("rule", "text", "severity"), SEVERITIES.values(), ids=SEVERITIES)
def test_severity(rule: str, text: str, severity: Severity) -> None:
    """A finding has the severity that its certainty allows."""
    (diagnostic,) = diagnose(rule, text)
    assert diagnostic.severity == severity
