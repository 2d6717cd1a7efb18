"""The client chooses the server that a request is passed on to

Flags `proxy_pass` and the like whose host or port comes from the client: from arguments, headers, cookies, the path or
`Host`, directly or through `set`, `map` and captures. The rule asks the model of `nginxopt trace` to which server nginx
passes a request that names an address.

Does not flag a host that a pattern or a map restricts, variables after the host, `internal` and named locations, and
names that nginx cannot resolve: a name made by the client needs a `resolver`, an address does not.

Does not flag a forward proxy: a pass to the `Host` of the request that is cached, or that a comment or a name calls a
forward, transparent, egress, caching or simple proxy, or a LAN cache.

## Why it matters
nginx connects from inside the network, where databases, the metadata service of the cloud and admin pages trust its
address. The client gets the response.

## Bad
```nginx server
location /fetch/ {
    proxy_pass http://$arg_host/;
}
```
```nginx server
location ~ ^/port/(\\d+)/(.*)$ {
    proxy_pass http://127.0.0.1:$1/$2;
}
```

## Good
```nginx http
map $arg_host $target {
    default 127.0.0.1:8080;
    images 127.0.0.1:8081;
}
server {
    location /fetch/ {
        proxy_pass http://$target/;
    }
}
```

## Silent
```nginx server
resolver 127.0.0.1;
location ~ ^/(app1|app2)/(.*)$ {
    proxy_pass http://$1.internal/$2;
}
location /path/ {
    proxy_pass http://127.0.0.1:8080/$arg_page;
}
location /sent/ {
    internal;
    proxy_pass $arg_url;
}
location ~ ^/port/(808\\d)/(.*)$ {
    proxy_pass http://127.0.0.1:$1/$2;
}
```

## When to ignore it
If nginx is meant to be a forward proxy, and only those who may use it reach it.

## References
- https://cwe.mitre.org/data/definitions/918.html
- https://owasp.org/Top10/A10_2021-Server-Side_Request_Forgery_%28SSRF%29/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from nginxopt.lint import FOREIGN, Finding, Model, ModelAnswer, Severity, Sign, pattern, rule
from nginxopt.lint.queries import controlled, purpose
from nginxopt.semantics import Pass

_ADDRESS = "127.0.0.1:6379"
_HOST = "evil.test"
_TEXTS = (_ADDRESS, f"http://{_ADDRESS}/", f"{_ADDRESS}/", f"{_ADDRESS}?", "6379", "61616")
_NAMES = (_HOST, f"http://{_HOST}/", f".{_HOST}/", f"{_HOST}?", f"{_HOST}/")
_PATHS = pattern(r"(?:[/?]|\$(?:request_uri|uri|document_uri|is_args)\b).*$", re.DOTALL)
_BY_HOST = {"host", "http_host"}
_FORWARD = pattern(
    r"(?:forward|transparent|egress|outbound|caching|simple)[ _-]?proxy|proxy the request|lan-?cache", re.I
)


@rule(severity=Severity.WARNING, highest=Severity.ERROR, category="security", witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find passes whose server the client chooses."""
    for pass_ in model.passes:
        server = _server(pass_)
        if "$" not in server:
            continue
        sources = controlled.sources(model, pass_.level, server)
        by_host = bool(sources) and set(sources) <= _BY_HOST
        if by_host and _is_forward_proxy(pass_):
            continue
        answer = _answer(model, pass_)
        if answer is not None:
            yield _finding(pass_, answer, by_host=by_host)


def _is_forward_proxy(pass_: Pass) -> bool:
    """Return whether a server is a forward proxy on purpose: it caches, or a name or comment says so."""
    is_cached = pass_.setting("cache").value not in (None, "off")
    return is_cached or purpose.says(pass_.directive, pass_.level, _FORWARD)


def _server(pass_: Pass) -> str:
    """Return what stands for scheme, host and port; the whole target if it begins with a variable."""
    target = str(pass_.directive.args[0])
    scheme, separator, rest = target.partition("://")
    if not separator:
        return target if target.startswith("$") or pass_.protocol != "proxy" else _PATHS.sub("", target)
    return scheme + _PATHS.sub("", rest)


def _answer(model: Model, pass_: Pass) -> ModelAnswer | None:
    """Return an answer to a request that is passed on to a server of its choice."""
    value = str(pass_.directive.args[0])
    resolver = pass_.level.setting("resolver")
    names = _NAMES if resolver.is_set or not resolver.known else ()
    is_by_address = any(model.levels("geo"))
    for text in (*_TEXTS, *names):
        for asked in controlled.requests(model, pass_.level, value, text):
            sent = replace(asked, client=FOREIGN) if is_by_address else asked
            for answer in model.requests.all(pass_.level, sent):
                if answer.directive is pass_.directive and _is_chosen(answer, value):
                    return answer
    return None


def _is_chosen(answer: ModelAnswer, value: str) -> bool:
    """Return whether a request is passed on to the server that it names."""
    upstream = answer.outcome["upstream"]
    server = upstream["server"].lower() if upstream else ""
    host, _, port = server.rpartition(":") if ":" in server else (server, "", "")
    is_port = port in ("6379", "61616") and port not in value and f"{host}:" in value.lower()
    return server == _ADDRESS or is_port or host == _HOST or host.endswith(f".{_HOST}")


def _finding(pass_: Pass, answer: ModelAnswer, *, by_host: bool) -> Finding:
    upstream = answer.outcome["upstream"]
    server = upstream["server"] if upstream else ""
    return Finding(
        pass_.directive.source,
        pass_.directive.args[0].span,
        "the client chooses the server that nginx connects to",
        help="choose the server with a map that lists the allowed ones and has a default",
        severity=Severity.WARNING if by_host else Severity.ERROR,
        witness=answer.witness(f"nginx connects to {server}", Sign(unasked="an echo stands for its upstream")),
    )
