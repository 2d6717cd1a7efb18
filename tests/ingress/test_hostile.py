"""Manifests that nobody would write: each ends soon, with a result or an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nginxopt import budget
from nginxopt.errors import InputError
from nginxopt.ingress import Converted, Ingress, convert, ingresses, settings_of, without_lua
from nginxopt.ingress.documents import documents
from nginxopt.ingress.locations import _ends
from nginxopt.text import Source
from nginxopt.version import Version
from tests.rows import every_row

_HEAD = "apiVersion: networking.k8s.io/v1\nkind: Ingress\n"
_PATH = "{path: /, pathType: Exact, backend: {service: {name: s, port: {number: 1}}}}"
_BOMB = "x0: &x0 [a, a, a, a, a, a, a, a, a]\n" + "".join(
    f"x{n}: &x{n} [{','.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
_MERGES = "x0: &x0 {a: 1, b: 1}\n" + "".join(f"x{n}: &x{n} {{<<: [*x{n - 1}, *x{n - 1}]}}\n" for n in range(1, 40))
_LISTS = "x0: &x0 {kind: List, items: []}\n" + "".join(
    f"x{n}: &x{n} {{kind: List, items: [*x{n - 1}, *x{n - 1}]}}\n" for n in range(1, 31)
)

BOMBS = {
    "a name": f"{_HEAD}{_BOMB}metadata: {{name: *x11}}\n",
    "a kind": f"apiVersion: networking.k8s.io/v1\n{_BOMB}kind: *x11\n",
    "a date": f"{_HEAD}{_BOMB}metadata: {{name: a, creationTimestamp: *x11}}\n",
    "an annotation": f"{_HEAD}{_BOMB}metadata: {{name: a, annotations: {{a: *x11}}}}\n",
    "merge keys": _MERGES,
    "lists of lists": f"{_LISTS}kind: List\nitems: [*x30]\n",
    "rules and paths": f"{_HEAD}metadata: {{name: a}}\nspec:\n  rules:\n"
    f"  - &r {{host: a, http: {{paths: [&p {_PATH}{', *p' * 2_000}]}}}}\n" + "  - *r\n" * 2_000,
}


def read(tmp_path: Path, text: str) -> list[Ingress]:
    """Return the Ingresses of a text."""
    (tmp_path / "a.yaml").write_text(text)
    found: list[Ingress] = ingresses([str(tmp_path / "a.yaml")])
    return found


def made(tmp_path: Path, annotations: dict[str, str], hosts: int = 1, *, validates: bool = True) -> str:
    """Return the configuration of an Ingress with annotations and some hosts."""
    backend = {"service": {"name": "s", "port": {"number": 80}}}
    http = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    spec = {"rules": [{"host": f"h{number}.test", "http": http} for number in range(hosts)]}
    own = {f"nginx.ingress.kubernetes.io/{name}": text for name, text in annotations.items()}
    found = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "a", "annotations": own}}
    read_ = read(tmp_path, json.dumps({**found, "spec": spec}))
    converted: Converted = convert(read_, settings_of(None), Version(1, 28, 0), validates=validates)
    text: str = converted.text
    return text


@every_row("case", BOMBS)
def test_aliases_count_as_what_they_stand_for(tmp_path: Path, case: str) -> None:
    """A few hundred bytes stand for millions of values, in whatever a manifest has."""
    with pytest.raises(budget.ExceededError) as caught:
        read(tmp_path, BOMBS[case])
    assert caught.value.budget == "alias-values"


@pytest.mark.parametrize("text", ["&a [*a]", "&a {b: *a}", "&a {<<: *a}", "a: &a {b: [{c: *a}]}"])
def test_an_alias_of_itself(tmp_path: Path, text: str) -> None:
    """It stands for no value of JSON."""
    with pytest.raises(InputError, match="an alias stands for itself"):
        read(tmp_path, text)


@every_row("opening", ["[", "{a: ", "- ", "? ", "&a [", "!!a {b: ", '{"a":'])
def test_deep_nesting(tmp_path: Path, opening: str) -> None:
    """What is nested without end is an error."""
    with pytest.raises(InputError):
        read(tmp_path, opening * 100_000)


@every_row(
    ("text", "value"),
    [
        *(("80", 80), ("0x50", 80), ("0b11", 3), ("010", 8), ("1_000", 1_000), ("-5", -5), ("9" * 5_000, "9" * 5_000)),
        *(("1.5", 1.5), ("-.inf", float("-inf")), ("1:30", "1:30"), ("1:" * 50_000 + "1", "1:" * 50_000 + "1")),
        *(("yes", True), ("Off", False), ("~", None), ("2001-01-01", "2001-01-01"), ("2001-99-99", "2001-99-99")),
        *(("!!int ''", ""), ("!!float ''", ""), ("!!bool a", "a"), ("!!timestamp a", "a"), ("!!str 1", "1")),
        *(("!!python/object:os.system x", "x"), ("!!binary é", "é"), ("0x" + "f" * 5_000, "0x" + "f" * 5_000)),
        *(("{<<: {a: 1, b: 2}, a: 3}", {"a": 3, "b": 2}), ("{1: a, on: b}", {"1": "a", "on": "b"})),
    ],
)
def test_values(text: str, value: object) -> None:
    """Scalars are read as Kubernetes reads them; a value that does not fit its tag is a text."""
    ((line, found),) = documents(Source("a.yaml", text.encode()))
    assert (line, found, type(found)) == (1, value, type(value))


def test_keys_are_texts(tmp_path: Path) -> None:
    """JSON has no other keys."""
    with pytest.raises(InputError, match=r"a key is not a text"):
        read(tmp_path, "a: b\n? [c]\n: d\n")


@every_row("host", ["~^.*", "~", "_", "*", "*.*", "*.~a", "a b", "a;", "a'", "é.test", "h\x1b[8m.test"])
def test_a_host_is_a_name(tmp_path: Path, host: str) -> None:
    """Kubernetes refuses others, which nginx would take for a pattern, or for the server of all names."""
    spec = f"spec: {{rules: [{{host: {json.dumps(host)}, http: {{paths: [{_PATH}]}}}}]}}\n"
    with pytest.raises(InputError, match="is not a host"):
        read(tmp_path, f"{_HEAD}metadata: {{name: a}}\n{spec}")


def test_messages_are_short(tmp_path: Path) -> None:
    """What is no YAML is shown in part."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"a: *{'x' * 100_000}\n")
    assert len(caught.value.message) < 300


LONG = "9" * 5_000


@every_row(
    "annotations",
    [
        {"cors-allow-methods": "A" * 10_000 + "!", "enable-cors": "true"},
        {"limit-rps": LONG, "limit-burst-multiplier": LONG, "proxy-ssl-verify-depth": LONG},
        {"custom-http-errors": f"{LONG}, 404, ٤٠٤"},
        {"auth-url": "http://[a", "auth-signin": "http://[b?c=d", "mirror-target": "http://[c"},
        {"configuration-snippet": "rewrite a " * 50_000, "server-snippet": "break " * 50_000 + " " * 50_000},
        {"server-alias": ",".join(f"a{number}" for number in range(2_000))},
        {"next-upstream": "error " * 50_000 + "!", "proxy-cookie-domain": " " * 50_000},
    ],
)
@every_row("validates", [True, False])
def test_annotations(tmp_path: Path, annotations: dict[str, str], validates: bool) -> None:
    """Values that take a pattern, a number or a URL long, or that are none."""
    assert "server_name" in made(tmp_path, annotations, validates=validates)


def test_a_snippet_of_many_hosts(tmp_path: Path) -> None:
    """It stands in the configuration once for each, so the result has a limit."""
    snippet = {"configuration-snippet": "add_header A b;\n" * 1_000, "enable-cors": "true"}
    with budget.using({"result-bytes": 1_000_000}), pytest.raises(budget.ExceededError) as caught:
        made(tmp_path, snippet, hosts=200)
    assert caught.value.budget == "result-bytes"


@every_row(
    ("snippet", "ends", "answers"),
    [
        *(("break;", True, False), ("a b;break ;", True, False), ("x_break;", False, False)),
        *(("rewrite ^ /a break;", True, False), ("rewrite ^ /a last;", False, True), ("return 404;", False, True)),
        *(("if ($a) { rewrite ^ /b permanent; break; }", True, True), ("rewrite ^ /a; set $last last;", False, False)),
        *(("no_rewrite ^ /a last;", False, False), ("rewrite ^ /a last", False, False)),
    ],
)
def test_what_a_snippet_ends(snippet: str, ends: bool, answers: bool) -> None:
    """`break` ends the script of nginx, `return` and the flags of rewrites answer."""
    assert _ends(snippet) == (ends, answers)


@pytest.mark.parametrize(
    "text",
    [
        "rewrite_by_lua_file lua/nginx/ngx_rewrite.lua; rewrite;",
        "set_escape_uri;",
        "set;",
        "proxy_pass;",
        "\udcff://upstream_balancer \udcff://upstream_balancer; set $proxy_upstream_name \udcff;",
    ],
)
def test_what_a_controller_did_not_print(text: str) -> None:
    """Directives without arguments, and names that are not UTF-8."""
    server = f"server {{ set_by_lua_file; set_by_lua_file $a b/ngx_srv_redirect.lua; location / {{ {text} }} }}"
    main = f"# configuration file /etc/nginx/nginx.conf:\nhttp {{ upstream upstream_balancer {{ }} {server} }}\n"
    source = Source("-", main.encode("utf-8", "surrogateescape"))
    assert "http {" in without_lua(source, settings_of(None), None).text
