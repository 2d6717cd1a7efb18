"""Each directive that the model does not read is known to change no outcome, or not understood with a reason."""

from __future__ import annotations

from crossplane import analyzer

from nginxopt.facts import having, vendors
from nginxopt.facts.lexicon import NAMES, NGINX
from nginxopt.semantics.site.levels import STRUCTURE, effect, listed, names
from nginxopt.semantics.site.lowering import _GEOIP, _MODULE_VALUES
from tests.rows import every_row

HTTP = (
    analyzer.NGX_HTTP_MAIN_CONF
    | analyzer.NGX_HTTP_SRV_CONF
    | analyzer.NGX_HTTP_LOC_CONF
    | analyzer.NGX_HTTP_LIF_CONF
    | analyzer.NGX_HTTP_LMT_CONF
)

OF_HTTP = {name for name, masks in analyzer.DIRECTIVES.items() if any(mask & HTTP for mask in masks)}
"""The directives of http up to 1.17, those of NGINX Plus among them."""


def test_each_directive_of_http_is_one_of_these() -> None:
    """What is known of http is read by the model, has an effect with a reason, or changes nothing."""
    for name in sorted(OF_HTTP - STRUCTURE - names()):
        what = effect(name)
        assert what is None or what.when != "first", name


def test_the_model_reads_what_the_table_says() -> None:
    """The settings that the model reads, and the definitions that it does not, are those of the table."""
    assert having("model", "read") == names()
    assert having("model", "opaque") == {*_MODULE_VALUES, _GEOIP}
    assert names() <= NGINX
    without = {name for name in listed() - NAMES if effect(name) is None}
    assert all(name.startswith(OTHERS) for name in without)


OTHERS = ("brotli", "zstd", "fancyindex", "vhost_", "opentracing", "modsecurity_", "subs_")
"""Prefixes of directives of modules that are in no list of names."""


@every_row(
    ("directive", "when"),
    [
        ("gzip on", None),
        ("proxy_read_timeout 5s", None),
        ("lua_package_path x", None),
        ("ssl_certificate x", None),
        ("nobody_knows 1", "first"),
        ("proxy_nobody_knows 1", "first"),
        ("app_protect_enable on", "first"),
        ("app_protect_policy_file x", None),
        ("modsecurity on", "first"),
        ("modsecurity off", None),
        ("ssl_verify_client on", "first"),
        ("ssl_verify_client optional", None),
        ("access_by_lua x", "after"),
        ("content_by_lua x", "after"),
        ("set_by_lua $x y", "in order"),
        ("sub_filter a b", "body"),
        ("ssi on", "body"),
        ("ssi off", None),
        ("slice 0", None),
        ("slice 1m", None),
        ("header_filter_by_lua x", "response"),
        ("more_set_headers X-A:1", "headers"),
        ("more_clear_headers Location", "response"),
        ("js_content x", "after"),
        ("auth_jwt off", None),
    ],
)
def test_effects(directive: str, when: str | None) -> None:
    """A directive acts at a time of its own, unless it is switched off."""
    name, *args = directive.split()
    what = effect(name, tuple(args))
    assert (what and what.when) == when


def test_reasons() -> None:
    """A reason names the language of a module, or the directive."""
    reasons = [
        what.reason for name in ("js_content", "access_by_lua", "perl", "image_filter", "x") if (what := effect(name))
    ]
    assert reasons == [
        "JavaScript (js_content)",
        "Lua (access_by_lua)",
        "Perl (perl)",
        "image_filter is not modelled",
        'unknown directive "x"',
    ]
    assert not {name for name in vendors.names(vendors.PLUS) if name.startswith("proxy_") and effect(name)}
