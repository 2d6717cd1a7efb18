"""`quic` without `reuseport` and with several workers: packets reach workers that do not know their connection

Flags addresses with `quic` and without `reuseport`, where there is more than one worker process. Also flags, as an
info, `quic_bpf on` with `reuseport`. Does not flag configurations whose number of workers is not stated.

## Why it matters
All workers read from one UDP socket, and a packet goes to the worker that is first, while only one of them has the
connection: handshakes fail, and connections break off. With `reuseport` each worker has a socket of its own, and the
system sends the packets of a client to the same one. One `listen` of an address states it for all; a second one is
refused with `duplicate listen options`.

With `quic_bpf on`, the map of sockets in the kernel is not updated when the old workers go: after a reload, new
connections are sent to workers that no longer accept any (nginx issue 425, open in 1.31.3).

## Bad
```nginx 1.25.1
worker_processes auto;
events {
}
http {
    server {
        listen 443 quic;
        listen 443 ssl;
        ssl_certificate shop.pem;
        ssl_certificate_key shop.key;
    }
}
```

```nginx 1.25.1
worker_processes auto;
quic_bpf on;
events {
}
http {
    server {
        listen 443 quic reuseport;
        ssl_certificate shop.pem;
        ssl_certificate_key shop.key;
    }
}
```

## Good
```nginx 1.25.1
worker_processes auto;
events {
}
http {
    server {
        listen 443 quic reuseport;
        listen 443 ssl;
        ssl_certificate shop.pem;
        ssl_certificate_key shop.key;
    }
}
```

## Silent
```nginx 1.25.1
worker_processes 4;
events {
}
http {
    server {
        listen 443 quic;
        ssl_certificate shop.pem;
        ssl_certificate_key shop.key;
    }
    server {
        listen 443 quic reuseport;
        server_name shop.example.com;
        ssl_certificate shop.pem;
        ssl_certificate_key shop.key;
    }
}
```

## Fix safety
May change: responses, connections.

Connections over QUIC that failed before work. Each worker has a socket of its own.

## When to ignore it
If the master hands packets to workers in another way, such as with a patched nginx.

## References
- https://nginx.org/en/docs/quic.html
- https://nginx.org/en/docs/http/ngx_http_core_module.html#reuseport
- https://github.com/nginx/nginx/issues/425
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, Edit, Span
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import tls


@rule(severity=Severity.INFO, highest=Severity.WARNING, category="tls", fix=Safety.UNSAFE, since="1.25.0")
def check(model: Model) -> Iterator[Finding]:
    """Find sockets that several workers share."""
    workers = model.root.setting("worker_processes")
    if workers.directive is None or workers.value in ("0", "1"):
        return
    bpf = next((directive for directive, _ in model.each("quic_bpf") if directive.args[:1] == ("on",)), None)
    if bpf is not None and any(at.has("quic") and at.has("reuseport") for at in tls.endpoints(model)):
        yield Finding(
            bpf.source,
            bpf.name.span,
            "after a reload, quic_bpf sends new connections to workers that accept none any more",
            help="leave quic_bpf off, or restart nginx instead of reloading it",
            severity=Severity.INFO,
        )
    for endpoint in tls.endpoints(model):
        first = next((listen for listen in endpoint.listens if listen.has("quic")), None)
        if first is None or first.directive is None or endpoint.has("reuseport"):
            continue
        end = first.directive.args[-1].span.end
        change = Change(first.directive.source, Edit(Span(end, end), b" reuseport"))
        yield Finding(
            first.directive.source,
            first.span,
            f"the workers share the socket {endpoint.address}: packets reach the wrong one",
            Fix("add `reuseport`", (change,), Safety.UNSAFE),
            severity=Severity.WARNING,
        )
