"""Ingresses, requests, and what becomes of them, as the end-to-end tests of ingress-nginx say (its folder test/e2e)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HOST = "shop.example"


def ingress(
    name: str,
    paths: Sequence[tuple[str, str]] = (("/", "Prefix"),),
    host: str = HOST,
    tls: Sequence[str] = (),
    **annotations: str,
) -> dict[str, Any]:
    """An Ingress of which each path has a Service of its own, with the name of the Ingress."""
    backend = {"service": {"name": name, "port": {"number": 80}}}
    rule: dict[str, Any] = {
        "http": {"paths": [{"path": path, "pathType": kind, "backend": backend} for path, kind in paths]}
    }
    if host:
        rule["host"] = host
    named = {f"nginx.ingress.kubernetes.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": "test", "annotations": named},
        "spec": {"rules": [rule], **({"tls": [{"hosts": list(tls), "secretName": "cert"}]} if tls else {})},
    }


@dataclass(frozen=True, slots=True)
class Case:
    """Ingresses, and for each request its answer: a status and a Location, or the upstream and the path it gets."""

    ingresses: Sequence[Mapping[str, Any]]
    answers: Mapping[str, tuple[int, str] | tuple[int] | str]
    settings: Mapping[str, str] = field(default_factory=dict)


def _to(name: str, path: str) -> str:
    return f"http://test-{name}-80{path}"


SHOP = f"http://{HOST}"
TLS = f"https://{HOST}"
EXACT, PREFIX, ANY = "Exact", "Prefix", "ImplementationSpecific"

CASES: Mapping[str, Case] = {
    "pathtype_exact": Case(
        [ingress("exact", [("/exact", EXACT)]), ingress("exact-suffix", [("/exact", ANY)])],
        {f"{SHOP}/exact": _to("exact", "/exact"), f"{SHOP}/exact/suffix": _to("exact-suffix", "/exact/suffix")},
    ),
    "pathtype_mixed": Case(
        [
            *(ingress("exact-root", [("/", EXACT)]), ingress("prefix-root", [("/", PREFIX)])),
            *(ingress("exact-foo", [("/foo", EXACT)]), ingress("prefix-foo", [("/foo", PREFIX)])),
        ],
        {
            f"{SHOP}/": _to("exact-root", "/"),
            f"{SHOP}/bar": _to("prefix-root", "/bar"),
            f"{SHOP}/foo": _to("exact-foo", "/foo"),
            f"{SHOP}/foo/bar": _to("prefix-foo", "/foo/bar"),
            f"{SHOP}/foobar": _to("prefix-root", "/foobar"),
        },
    ),
    "pathtype_prefix": Case(
        [ingress("a", [("/aaa", ANY)])],
        {
            f"{SHOP}/aaa": _to("a", "/aaa"),
            f"{SHOP}/aaacccc": (404,),
            f"{SHOP}/aaa/cccc": _to("a", "/aaa/cccc"),
            f"{SHOP}/aaa/": _to("a", "/aaa/"),
        },
    ),
    "use-regex": Case(
        [ingress("a", [("/id/[0-9]{3}$", ANY)], use_regex="true")],
        {
            f"{SHOP}/id/99": (404,),
            f"{SHOP}/id/123": _to("a", "/id/123"),
            f"{SHOP}/id/9999": (404,),
            f"{SHOP}/id/123a": (404,),
        },
    ),
    "use-regex without an end": Case(
        [ingress("a", [("/id/[0-9]+", ANY)], use_regex="true")],
        {f"{SHOP}/id/123a": _to("a", "/id/123a"), f"{SHOP}/ID/1": _to("a", "/ID/1"), f"{SHOP}/id/aaa": (404,)},
    ),
    "rewrite-target beside a longer path": Case(
        [
            ingress("kube-lego", [("/.well-known/acme/challenge", ANY)]),
            ingress("rewrite-index", [("/", ANY)], rewrite_target="/new/backend"),
        ],
        {
            f"{SHOP}/.well-known/acme/challenge": _to("kube-lego", "/.well-known/acme/challenge"),
            f"{SHOP}/x": _to("rewrite-index", "/new/backend"),
        },
    ),
    "rewrite-target makes all paths patterns": Case(
        [
            ingress("foo", [("/foo", ANY)]),
            ingress("regex", [("/foo.+", ANY)], use_regex="true", rewrite_target="/new/backend"),
        ],
        {
            f"{SHOP}/foo": _to("foo", "/foo"),
            f"{SHOP}/foo/bar": _to("regex", "/new/backend"),
            f"{SHOP}/foobar": _to("regex", "/new/backend"),
        },
    ),
    "the longest pattern first": Case(
        [
            ingress("foo", [("/foo/bar/bar", ANY)]),
            ingress("regex", [("/foo/bar/[a-z]{3}", ANY)], use_regex="true", rewrite_target="/new/backend"),
        ],
        {f"{SHOP}/foo/bar/bar": _to("regex", "/new/backend")},
    ),
    "rewrite-target with a group": Case(
        [ingress("regex", [("/foo/bar/(.+)", ANY)], use_regex="true", rewrite_target="/new/backend/$1")],
        {f"{SHOP}/foo/bar/bar": _to("regex", "/new/backend/bar"), f"{SHOP}/other": (404,)},
    ),
    "app-root": Case(
        [ingress("a", app_root="/foo")],
        {f"{SHOP}/": (302, f"{SHOP}/foo"), f"{SHOP}/foo": _to("a", "/foo")},
    ),
    "permanent-redirect": Case(
        [ingress("a", [("/something", ANY)], permanent_redirect="http://redirect.example.com")],
        {f"{SHOP}/something": (301, "http://redirect.example.com")},
    ),
    "permanent-redirect-code": Case(
        [
            ingress(
                "a",
                [("/something", ANY)],
                permanent_redirect="http://redirect.example.com",
                permanent_redirect_code="302",
            )
        ],
        {f"{SHOP}/something": (302, "http://redirect.example.com")},
    ),
    "relative-redirects": Case(
        [ingress("a", [("/something", ANY)], permanent_redirect="/else", relative_redirects="true")],
        {f"{SHOP}/something": (301, "/else")},
    ),
    "no relative-redirects": Case(
        [ingress("a", [("/something", ANY)], permanent_redirect="/else", relative_redirects="false")],
        {f"{SHOP}/something": (301, f"{SHOP}/else")},
    ),
    "from-to-www-redirect": Case(
        [ingress("a", from_to_www_redirect="true")],
        {
            f"http://www.{HOST}/foo": (308, f"http://{HOST}:80/foo"),
            f"https://www.{HOST}/": (308, f"https://{HOST}:443"),
            f"{SHOP}/foo": _to("a", "/foo"),
        },
    ),
    "force-ssl-redirect": Case(
        [ingress("a", force_ssl_redirect="true")],
        {f"{SHOP}/": (308, TLS), f"{SHOP}/a/?x": (308, f"{TLS}/a/?x"), f"{TLS}/a": _to("a", "/a")},
    ),
    "preserve-trailing-slash": Case(
        [ingress("a", tls=[HOST], ssl_redirect="true", preserve_trailing_slash="true")],
        {f"{SHOP}/": (308, f"{TLS}/"), f"{SHOP}/a/": (308, f"{TLS}/a/")},
    ),
    "ssl-redirect by a certificate": Case(
        [ingress("a", tls=[HOST])],
        {f"{SHOP}/a/": (308, f"{TLS}/a"), f"{TLS}/a/": _to("a", "/a/")},
    ),
    "no ssl-redirect": Case(
        [ingress("a", tls=[HOST], ssl_redirect="false")],
        {f"{SHOP}/a/": _to("a", "/a/")},
    ),
    "no-tls-redirect-locations": Case(
        [ingress("a", [("/check-no-tls", ANY), ("/other", ANY)], force_ssl_redirect="true")],
        {f"{SHOP}/check-no-tls": _to("a", "/check-no-tls"), f"{SHOP}/other": (308, f"{TLS}/other")},
        {"no-tls-redirect-locations": "/check-no-tls"},
    ),
    "http-redirect-code": Case(
        [ingress("a", force_ssl_redirect="true")], {f"{SHOP}/a": (301, f"{TLS}/a")}, {"http-redirect-code": "301"}
    ),
    "server-alias": Case(
        [ingress("app-a", [("/app-a", ANY)]), ingress("app-b", [("/app-b", ANY)], server_alias="bar.example")],
        {
            f"{SHOP}/app-a": _to("app-a", "/app-a"),
            "http://bar.example/app-a": _to("app-a", "/app-a"),
            "http://other.example/app-a": (404,),
        },
    ),
    "a wildcard is one label": Case(
        [ingress("a", host="*.shop.example"), ingress("b", host="")],
        {
            "http://x.shop.example/y": _to("a", "/y"),
            "http://x.y.shop.example/y": _to("b", "/y"),
            f"{SHOP}/y": _to("b", "/y"),
        },
    ),
    "configuration-snippet": Case(
        [ingress("a", configuration_snippet="if ($arg_x) {\n  return 410;\n}")],
        {f"{SHOP}/?x=1": (410,), f"{SHOP}/": _to("a", "/")},
    ),
    "a snippet goes before the redirect to https": Case(
        [ingress("a", tls=[HOST], configuration_snippet="if ($arg_x) {\n  return 410;\n}")],
        {f"{SHOP}/?x=1": (410,), f"{SHOP}/": (308, TLS)},
    ),
    "the redirect to https comes after a break, too": Case(
        [ingress("a", tls=[HOST], configuration_snippet="rewrite ^/a$ /b break;")],
        {f"{SHOP}/a": (308, f"{TLS}/a"), f"{TLS}/a": _to("a", "/b")},
    ),
    "server-snippet": Case(
        [ingress("a", server_snippet="location /own { return 418; }")],
        {f"{SHOP}/own": (418,), f"{SHOP}/": _to("a", "/")},
    ),
    "enable-cors": Case(
        [ingress("a", enable_cors="true")],
        {f"OPTIONS {SHOP}/": (204,), f"{SHOP}/": _to("a", "/")},
    ),
    "denylist-source-range": Case(
        [ingress("a", denylist_source_range="127.0.0.0/8")],
        {f"{SHOP}/": (403,)},
    ),
    "whitelist-source-range": Case(
        [ingress("a", whitelist_source_range="10.0.0.0/8")],
        {f"{SHOP}/": (403,)},
    ),
    "an allowlist of this machine": Case(
        [ingress("a", allowlist_source_range="127.0.0.1, 10.0.0.0/8")],
        {f"{SHOP}/": _to("a", "/")},
    ),
    "an allowlist that is none": Case(
        [ingress("a", allowlist_source_range="everybody")],
        {f"{SHOP}/": (503,)},
    ),
    "backend-protocol": Case(
        [ingress("a", backend_protocol="HTTPS")],
        {f"{SHOP}/x": "https://test-a-80/x"},
    ),
    "temporal before permanent": Case(
        [ingress("a", temporal_redirect="https://t.example", permanent_redirect="https://p.example")],
        {f"{SHOP}/": (302, "https://t.example")},
    ),
}
