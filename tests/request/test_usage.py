"""The use of servers, locations and rules."""

from __future__ import annotations

import json

from nginxopt.config import load_text
from nginxopt.request.usage import usage
from nginxopt.semantics.site import Build, lower
from nginxopt.version import Version

CONF = b"""
events { }
http {
    server {
        rewrite ^/a /b;
        if ($arg_x) {
            return 403;
        }
        location / {
            set $a b;
            location = /exact { }
        }
        location @named { return 404; }
    }
    server {
        server_name b.example;
%s
    }
}
"""


def test_what_is_counted() -> None:
    """Servers, locations and the statements that choose or answer are counted, in folded runs each rule."""
    many = "".join(f"rewrite ^/{number}$ /n;\n" for number in range(100)).encode()
    lowered = lower(load_text(CONF % many, "nginx.conf"), Build(Version(1, 22, 1)))
    table = usage(json.loads(lowered.form), {})
    lines = {part: [lowered.nodes.place(use.node).line for use in table.of(part)] for part in ("server", "location")}
    assert lines == {"server": [4, 15], "location": [9, 11, 13]}
    rules = [lowered.nodes.place(use.node).text for use in table.of("rule")]
    assert rules[:4] == ["rewrite ^/a /b", "if ($arg_x)", "return 403", "return 404"]
    assert rules[4:] == [f"rewrite ^/{number}$ /n" for number in range(100)]
    assert table.unused("rule") == list(table.of("rule"))
    assert table.by_use("rule") == []


def test_the_order_is_that_of_use() -> None:
    """The most used come first, equal ones in the order of reading."""
    lowered = lower(load_text(CONF % b"", "nginx.conf"), Build(Version(1, 22, 1)))
    form = json.loads(lowered.form)
    nodes = [use.node for use in usage(form, {}).of("rule")]
    table = usage(form, {nodes[1]: 5, nodes[2]: 7, nodes[3]: 5})
    assert [(use.node, use.requests) for use in table.by_use("rule")] == [(nodes[2], 7), (nodes[1], 5), (nodes[3], 5)]
    assert [use.node for use in table.unused("rule")] == [nodes[0]]


TABLES = b"""
http {
    map $uri $a {
        hostnames;
        volatile;
        default 0;
        /x 1;
        ~^/y 2;
        volatile 3;
    }
    geo $b {
        ranges;
        proxy 10.0.0.1;
        delete 10.0.0.9-10.0.0.9;
        default 0;
        10.0.0.0-10.0.0.7 1;
    }
    split_clients $uri $c {
        50% 1;
        * 2;
    }
    server { listen 80; return 200 "$a$b$c"; }
}
"""


def test_rows_of_tables_are_rules() -> None:
    """Each row of a `map`, `geo` or `split_clients` is a rule; parameters and defaults are none."""
    lowered = lower(load_text(b"events { }" + TABLES, "nginx.conf"), Build(Version(1, 29, 3)))
    rules = [lowered.nodes.place(use.node).text for use in usage(json.loads(lowered.form), {}).of("rule")]
    assert rules == [
        *("/x 1", "~^/y 2", "volatile 3", "10.0.0.0-10.0.0.7 1", "50% 1", "* 2"),
        'return 200 "$a$b$c"',
    ]
