"""What is the same to nginx is equivalent however it is written, and what only looks so is not."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.facts.table import declarations, names
from nginxopt.request.model import SiteModel
from nginxopt.semantics.site import Build
from nginxopt.verify import Verification, verify
from nginxopt.verify.canonical import access, canonical_words, default_words, folded, variables
from nginxopt.version import Version
from tests.rows import every_row
from tests.verify.pairs.form import Forms
from tests.verify.pairs.forms import ALIKE, IN_DOUBT, IN_DOUBT_OF_HOSTS, UNLIKE, http

VERSIONS = ("1.22.1", "1.31.3")


def compared(old: str, new: str, version: str = "1.22.1") -> Verification:
    """What `verify` says of what stands in http."""
    before, after = (
        SiteModel(
            load_text(f"events {{}} http {{ {text} }}".encode(), "nginx.conf", missing_ok=True),
            Build(Version.parse(version)),
        )
        for text in (old, new)
    )
    return verify(before, after)


def verdict(forms: Forms, version: str) -> str:
    """What `verify` says of a pair."""
    old, new = (http(text, 1, 8080, 9001, "/srv") for text in (forms.old, forms.new))
    return compared(old, new, version).verdict


@every_row("version", VERSIONS)
@every_row("forms", ALIKE, ids=lambda forms: forms.name)
def test_two_forms_of_the_same(forms: Forms, version: str) -> None:
    """Both are equivalent, on the versions of nginx that take them for the same."""
    assert (verdict(forms, version) == "equivalent") == version.startswith(forms.versions)


@every_row("version", VERSIONS)
@every_row("forms", [*UNLIKE, *IN_DOUBT, *IN_DOUBT_OF_HOSTS], ids=lambda forms: forms.name)
def test_what_only_looks_the_same(forms: Forms, version: str) -> None:
    """They are not equivalent."""
    assert (verdict(forms, version) != "equivalent") == version.startswith(forms.versions)


@pytest.mark.parametrize(("page", "expected"), [("", "equivalent"), ("error_page 497 /x;", "unknown")])
def test_a_request_without_tls(page: str, expected: str) -> None:
    """Only the page of an error is sent to a client that speaks no TLS where nginx does."""
    text = "listen 443 ssl; ssl_certificate a; ssl_certificate_key b;"
    old, new = (
        f"server {{ {text} {page} {test} return 200 a; }}" for test in ("if ($https = '') { return 301 /b; }", "")
    )
    assert compared(old, new).verdict == expected


@given(st.binary())
def test_only_letters_of_ascii_have_a_case(word: bytes) -> None:
    """A word in lower case is what nginx makes of its bytes (`ngx_strlow`)."""
    assert folded(word.decode("latin-1")) == word.lower().decode("latin-1")


def test_how_many_headers_a_request_may_have() -> None:
    """A limit that nginx checks before the script of a server is compared, too."""
    old, new = (f"server {{ listen 80; max_headers {most}; return 200; }}" for most in (2, 3))
    assert compared(old, new, "1.31.3").verdict == "different"


def test_a_body_that_is_read_early() -> None:
    """The limit of the server counts if nginx reads the body before it chooses a location, otherwise it does not."""
    old, new = (
        "server {{ listen 80; {} client_max_body_size 5; location / {{ root /r; }} }}",
        "server {{ listen 80; {} location / {{ root /r; client_max_body_size 5; }} }}",
    )
    for stated, expected in (("", "equivalent"), ("client_body_early_read 1;", "unknown")):
        assert compared(old.format(stated), new.format(stated), "1.31.5").verdict == expected, stated


def test_a_host_by_http2() -> None:
    """Beside a Host, nginx sends no :authority, which is its default there."""
    text = "server { listen 80; proxy_http_version %s; location / { %s proxy_pass http://127.0.0.1:9001; } }"
    for version, expected in (("2", "unknown"), ("1.1", "equivalent")):
        old, new = (text % (version, stated) for stated in ("", "proxy_set_header Host $proxy_host;"))
        assert compared(old, new, "1.31.3").verdict == expected


def test_http2_in_capitals() -> None:
    """The flag says which protocol an address speaks, in any case."""
    old, new = (f"server {{ listen 80; http2 {flag}; return 200; }}" for flag in ("on", "ON"))
    assert compared(old, new, "1.31.3").verdict == "equivalent"
    assert compared(old, "server { listen 80; return 200; }", "1.31.3").verdict != "equivalent"


_PASS = "proxy_pass http://127.0.0.1:9001;"
_SERVER = "server {{ listen 80; {} }}"


@every_row(
    ("old", "new", "expected"),
    [
        # A file that was not read may state a setting in the block, or around it.
        ("include nx; location / { %s }", "include nx; location / { proxy_buffering on; %s }", "unknown"),
        ("location / { include nx; %s }", "include nx; location / { %s }", "unknown"),
        ("location / { include nx; %s }", "location / { include nx; proxy_set_header Host $proxy_host; %s }",
         "unknown"),
        ("proxy_buffering off; location / { include nx; %s }", "location / { include nx; proxy_buffering off; %s }",
         "equivalent"),  # it is stated once in either, and counts nowhere else
        ("proxy_buffering off; location / { include nx; %s } location /a { include ny; }",
         "location / { include nx; proxy_buffering off; %s } location /a { include ny; }", "unknown"),
        ("proxy_buffering off; location / { include nx; %s } location /a { include nx; }",
         "proxy_buffering off; location / { include nx; %s } location /a { include nx; proxy_buffering off; }",
         "equivalent"),
        ("proxy_buffering off; include nx; location / { %s }",
         "proxy_buffering off; include nx; location / { proxy_buffering off; %s }", "equivalent"),
        ("location / { include nx; add_header A 1; add_header B 2; %s }",
         "location / { include nx; add_header B 2; add_header A 1; %s }", "equivalent"),
        ("location / { add_header A 1; include nx; add_header B 2; %s }",
         "location / { add_header B 2; include nx; add_header A 1; %s }", "unknown"),
        # It does not state what nginx would then refuse as a duplicate.
        ("location / { include nx; %s }", "location / { include nx; proxy_buffering on; %s }", "equivalent"),
        ("location / { include nx; %s }", "location / { include nx; proxy_read_timeout 1m; %s }", "equivalent"),
        ("location / { include nx; %s }", "location / { include nx; etag on; %s }", "equivalent"),
        ("location / { include nx; %s }", "location / { include nx; proxy_intercept_errors off; %s }", "equivalent"),
        ("location / { include nx; %s }", "location / { include nx; proxy_read_timeout 2m; %s }", "unknown"),
        ("location / { include fastcgi_params; %s }", "location / { include fastcgi_params; proxy_buffering on; %s }",
         "equivalent"),
    ],
)  # fmt: skip
def test_beside_what_was_not_read(old: str, new: str, expected: str) -> None:
    """A setting is known as far as the file cannot state it: `both-start`, which is taken as given and named."""
    texts = [_SERVER.format(text % _PASS) for text in (old, new)]
    for result in (compared(*texts), compared(*reversed(texts))):
        assert result.verdict == expected


def test_a_setting_around_what_was_not_read() -> None:
    """A setting of http may be another one below an include of the server; below the setting it is not."""
    old = f"proxy_buffering off; server {{ listen 80; include nx; location / {{ {_PASS} }} }}"
    new = f"server {{ listen 80; include nx; location / {{ proxy_buffering off; {_PASS} }} }}"
    assert compared(old, new).verdict == "unknown"


def test_premises_are_named() -> None:
    """What is taken as given is printed where it made a difference, and not elsewhere."""
    texts = [
        _SERVER.format(f"location / {{ {headers} {_PASS} }}")
        for headers in ("add_header A 1; add_header B 2;", "add_header B 2; add_header A 1;")
    ]
    assert any("field-order" in given for given in compared(*texts).given)
    assert not any("field-order" in given for given in compared(texts[1], texts[1]).given)
    texts = [_SERVER.format(f"location / {{ include nx; {each} {_PASS} }}") for each in ("", "proxy_buffering on;")]
    assert any("both-start" in given and "proxy_buffering" in given for given in compared(*texts).given)
    zone = "limit_req_zone $uri zone={0}:1m rate=1r/s; server {{ listen 80; limit_req zone={0}; }}"
    assert any("state-restart" in given for given in compared(zone.format("a"), zone.format("b")).given)


_NETWORKS = st.tuples(st.sampled_from(["10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.128"]), st.integers(24, 32))
_RULES = st.lists(
    st.tuples(
        st.sampled_from(["allow", "deny"]),
        st.one_of(
            st.sampled_from(["all", "unix:", "2001:db8::/32", "::ffff:10.0.0.0/120"]),
            _NETWORKS.map(lambda each: str(ipaddress.ip_network(f"{each[0]}/{each[1]}", strict=False))),
        ),
    ),
    max_size=5,
)


def decided(rules: list[tuple[str, str]], client: str, *, is_any: bool) -> str:
    """What nginx decides about a client (`ngx_http_access_handler`)."""
    address = None if client == "unix:" else ipaddress.ip_address(client)
    mapped = getattr(address, "ipv4_mapped", None)
    has_inet = any(word == "all" or ("." in word and ":" not in word) for _, word in rules)
    if mapped is not None and has_inet:
        address = mapped
    for action, word in rules:
        if word == "all" or word == client:
            return "" if action == "allow" and not is_any else action
        if word != "unix:" and address is not None and address in ipaddress.ip_network(word):
            return "" if action == "allow" and not is_any else action
    return ""


_CLIENTS = (
    *("unix:", "10.0.0.0", "10.0.0.1", "10.0.0.3", "10.0.0.130", "11.0.0.1", "2001:db8::1", "fe80::1"),
    "::ffff:10.0.0.1",
)


@given(_RULES, _RULES, st.booleans())
def test_equal_rules_of_access_decide_alike(
    old: list[tuple[str, str]], new: list[tuple[str, str]], is_any: bool
) -> None:
    """Rules with equal forms decide the same about each client."""
    if access(old, is_any=is_any) == access(new, is_any=is_any):
        for client in _CLIENTS:
            assert decided(old, client, is_any=is_any) == decided(new, client, is_any=is_any)


@given(_RULES, st.booleans())
def test_rules_of_access_that_never_count(rules: list[tuple[str, str]], is_any: bool) -> None:
    """A rule that is there twice, or behind all, changes nothing."""
    assert access([*rules, *rules], is_any=is_any) == access(rules, is_any=is_any)
    ended = [*rules, ("deny", "all")]
    assert access([*ended, *rules], is_any=is_any) == access(ended, is_any=is_any)


@pytest.mark.parametrize("version", VERSIONS)
def test_defaults_are_in_canonical_form(version: str) -> None:
    """The canonical form of each default is itself, and equal to the canonical form of how it is declared."""
    target = Version.parse(version)
    for name in names():
        default = default_words(name, target)
        if default is not None:
            assert canonical_words(name, default, target) == default
            rows = [row for row in declarations(name) if row.is_in(target) and row.module.startswith("ngx_http_")]
            declared = {row.default for row in rows} - {""}
            assert all(canonical_words(name, tuple(each.split()), target) == default for each in declared)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("$query_string-${DOCUMENT_URI}", "${args}-${uri}"),
        ("$http_X_Y$1", "${http_x_y}$1"),
        ("a$", "a$"),
        ("$arg_", "${arg_}"),
    ],
)
def test_variables_have_one_spelling(text: str, canonical: str) -> None:
    """Names of variables are in small letters and braces; a capture stays."""
    assert variables(text) == canonical


def test_a_group_takes_the_name_of_a_variable() -> None:
    """`$args` is then not `$query_string`."""
    assert variables("$query_string$uri", {"args"}) == "${query_string}${uri}"
