"""Certificate that clients cannot verify, or that no handshake can use

With `--host` or `--root`, flags

- a key of another kind than its certificate, such as an EC key for an RSA certificate: nginx starts, and every
  handshake fails;
- certificates in a file that do not follow each other: each should be issued by the next;
- a file with only the certificate of the server, if that says where the one of its issuer is (the issuer is then no
  authority that clients have);
- an RSA key of less than 2,048 bits.

## Why it matters
A server must send the certificates between its own and one that clients have. Browsers fetch a missing one or remember
it from elsewhere; curl, Java, mobile applications and other servers refuse. OpenSSL refuses RSA keys below 2,048 bits
at its security level 2, the default of Debian, Ubuntu and OpenSSL 3.2: nginx then does not start ("ee key too small").

## Bad
The examples assume a file with a certificate that has nothing to do with the others in the middle:
```nginx http
server {
    listen 443 ssl;
    server_name example.com;
    ssl_certificate /etc/ssl/unordered.pem;
    ssl_certificate_key /etc/ssl/example.com.key;
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
A certificate that issued itself has no chain:
```nginx http
server {
    listen 443 ssl;
    server_name example.com;
    ssl_certificate /etc/ssl/old.pem;
    ssl_certificate_key /etc/ssl/old.key;
}
```

## When to ignore it
If all clients have the missing certificates.

## References
- RFC 8446, section 4.4.2; RFC 5280, section 4.2.2.1 (caIssuers)
- https://nginx.org/en/docs/http/configuring_https_servers.html#chains
- SSL_CTX_set_security_level(3)
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.hosted import ServedCertificate, served

LEAST_BITS = 2048
"""The smallest RSA key of OpenSSL's security level 2."""


@rule(severity=Severity.WARNING, highest=Severity.ERROR, category="tls", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find certificates that clients cannot verify."""
    for found in served(model):
        first = found.chain[0]
        if found.has_other_key:
            message = "the key is of another kind than the certificate: every handshake fails"
            yield _finding(found, message, "use the key that the certificate was made with", Severity.ERROR)
        broken = next((follower for one, follower in pairwise(found.chain) if one.issuer != follower.subject), None)
        if broken is not None:
            message = f"{broken.subject} did not issue the certificate before it in the file"
            yield _finding(found, message, "order them: that of the server first, and each before its issuer's")
        elif len(found.chain) == 1 and first.names_issuer and not first.is_self_issued:
            message = f"the certificate of its issuer, {first.issuer}, is not in the file: some clients refuse it"
            yield _finding(found, message, "use the file with the whole chain, often called fullchain.pem")
        if 0 < first.bits < LEAST_BITS:
            message = f"the RSA key has {first.bits} bits: OpenSSL may refuse it, and clients do"
            yield _finding(found, message, f"make a new one with {LEAST_BITS} bits or more")


def _finding(found: ServedCertificate, message: str, help_: str, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(found.directive.source, found.directive.args[0].span, message, help=help_, severity=severity)
