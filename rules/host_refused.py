"""File, certificate, user or host name that nginx refuses on the machine

With `--host` or `--root`, flags what nginx cannot open, read or look up where it runs, and therefore does not start:

- certificates and keys that are missing, do not parse or do not belong together, of servers and of passes over TLS, in
  http, stream and mail; keys whose password is wrong or not stated;
- certificates of authorities (`ssl_client_certificate` where clients are verified, `ssl_trusted_certificate`,
  `proxy_ssl_trusted_certificate` where upstreams are), `ssl_crl`, `ssl_dhparam`, `ssl_session_ticket_key`,
  `ssl_password_file`, `ssl_stapling_file`;
- includes that are missing, logs and temporary files in a folder that is not there;
- a `user` or group that the machine does not have;
- with `--host`, host names of upstreams, resolvers, `listen` and the like that have no address. They are looked up for
  a few seconds.

Does not flag names with variables, which nginx resolves for each request, keys of engines, names that start from the
prefix of the build (`logs/error.log`), which no text shows, and what is not loaded: a certificate without a server, the
authorities of a server that asks for no certificate. With `--root`, nothing is said of `/run`, `/tmp` and other folders
that are filled when a machine starts.

## Why it matters
nginx does not start, and a reload keeps the old configuration. `nginx -t` stops at the first of these; here all are
found at once, also for a machine or an image on which nginx does not run.

## Bad
The examples assume a machine with the users `root`, `nginx` and `www-data`, and certificates for `example.com` in
`/etc/ssl`:
```nginx http
server {
    listen 443 ssl;
    server_name example.com;
    ssl_certificate /etc/ssl/example.com.pem;
    ssl_certificate_key /etc/ssl/other.key;
}
```
```nginx
user nobody;
events {}
```
```nginx http
upstream app {
    server app.example.invalid:8080;
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
The name of the certificate is known only in the handshake, and nobody's certificate is asked for:
```nginx http
server {
    listen 443 ssl;
    ssl_certificate /etc/ssl/$ssl_server_name.pem;
    ssl_certificate_key /etc/ssl/$ssl_server_name.key;
    ssl_client_certificate /etc/ssl/missing.pem;
}
```

## When to ignore it
If nginx runs on another machine, or with files that are mounted when its container starts.

## References
- `ngx_ssl_certificate` in ngx_event_openssl.c, `ngx_http_ssl_merge_srv_conf` in ngx_http_ssl_module.c
- `ngx_set_user` and `ngx_init_cycle` in nginx.c and ngx_cycle.c
- `ngx_inet_resolve_host` in ngx_inet.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.hosted import refusals, unread


@rule(severity=Severity.ERROR, category="refused", host=True)
def check(model: Model) -> Iterator[Finding]:
    """Find what nginx refuses on the machine. What could not be inspected may be refused as well."""
    if unread(model):
        model.decline()
    for refusal in refusals(model):
        yield Finding(refusal.directive.source, refusal.word.span, f"nginx refuses it: {refusal.message}")
