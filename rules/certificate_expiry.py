"""Certificate that has expired or expires within a month

With `--host` or `--root`, flags a certificate of a server that expires within 30 days (a warning), has expired, or is
not valid yet (errors), and an expired one that follows it in its file.

## Why it matters
Browsers and other clients refuse an expired certificate, and a page with `Strict-Transport-Security` lets nobody click
through. nginx itself starts with any date. What renews certificates usually does so 30 days before: a certificate that
is closer to its end was not renewed, or nginx was not reloaded since.

## Bad
The examples assume the date 2026-01-01, and a certificate that ends 20 days later:
```nginx http
server {
    listen 443 ssl;
    server_name example.com;
    ssl_certificate /etc/ssl/old.pem;
    ssl_certificate_key /etc/ssl/old.key;
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    server_name example.com;
    ssl_certificate /etc/ssl/example.com.pem;
    ssl_certificate_key /etc/ssl/example.com.key;
}
```

## Silent
No server presents it:
```nginx http
ssl_certificate /etc/ssl/old.pem;
ssl_certificate_key /etc/ssl/old.key;
```

## When to ignore it
If certificates live for a few days and are renewed in time, or nobody but a test uses the server.

## References
- RFC 5280, section 4.1.2.5 (validity)
- https://letsencrypt.org/docs/integration-guide/#when-to-renew
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from nginxopt.lint import Finding, Model, Severity, count, rule
from nginxopt.lint.hosted import ServedCertificate, served

SOON = timedelta(days=30)
"""The remaining time of a certificate below which it should have been renewed."""


@rule(severity=Severity.WARNING, highest=Severity.ERROR, category="tls", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find certificates that are not valid, or not for long."""
    if model.host is None or model.host.machine is None:
        return
    now = model.host.machine.now
    for found in served(model):
        for number, certificate in enumerate(found.chain):
            what = "the certificate" if number == 0 else f"certificate {number + 1} of the file, {certificate.subject},"
            left = certificate.not_after - now
            if left < timedelta():
                yield _finding(found, f"{what} expired on {certificate.not_after:%Y-%m-%d}", Severity.ERROR)
            elif certificate.not_before > now:
                message = f"{what} is not valid before {certificate.not_before:%Y-%m-%d}"
                yield _finding(found, message, Severity.ERROR)
            elif number == 0 and left < SOON:
                days = count(left.days, "day")
                message = f"{what} expires in {days}, on {certificate.not_after:%Y-%m-%d}"
                yield _finding(found, message, Severity.WARNING)


def _finding(found: ServedCertificate, message: str, severity: Severity) -> Finding:
    place = found.directive.args[0]
    return Finding(found.directive.source, place.span, message, help="renew it, and reload nginx", severity=severity)
