"""Directives that nginx refuses, for want of arguments or for wrong ones: no rule fails on them."""

from __future__ import annotations

from nginxopt.config import load_text
from nginxopt.facts import lexicon
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.queries.model import Model
from nginxopt.lint.run import Selected, lint
from tests.lintcheck import TARGET
from tests.rows import every_row

_SITE = """events {{ }}
http {{ {http}
    upstream app {{ server 10.0.0.1; }}
    server {{ listen 443 ssl; root /srv; {server}
        location / {{ proxy_pass http://app; {location} }}
        location ~ \\.php$ {{ fastcgi_pass 10.0.0.2:9000; {location} }}
    }}
}}
"""


@every_row("form", ["{};", '{} "";'])
@every_row("place", ["http", "server", "location"])
@every_row("names", ["all", "allow", "deny", "listen", "return", "set_real_ip_from", "limit_req_zone"])
def test_no_rule_fails(place: str, form: str, names: str) -> None:
    """All rules read a site with a directive that has no argument or an empty one, and one with all of them."""
    added = "\n".join(form.format(name) for name in (sorted(lexicon.NAMES) if names == "all" else [names]))
    added = "\n".join(line for line in added.split("\n") if not line.startswith(("include", "load_module")))
    parts = {"http": "", "server": "", "location": ""} | {place: added}
    config = load_text(_SITE.format(**parts).encode(), "nginx.conf", missing_ok=True)
    assert lint(Model(config, TARGET), [Selected(rule, rule.severity) for rule in catalogue().values()]).diagnostics
