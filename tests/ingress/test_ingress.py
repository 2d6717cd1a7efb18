"""`nginxopt ingress`: what is read, what is refused, and what is left out with a note."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from nginxopt.errors import InputError, UsageError
from nginxopt.ingress import ControllerSettings, Converted, convert, ingresses, listed, settings_of
from nginxopt.ingress.annotations import _KINDS, _WHY, known
from nginxopt.version import Version
from tests.ingress.cases import ANY, CASES, HOST, ingress
from tests.rows import every_row

VERSION = Version(1, 28, 0)


def written(folder: Path, *objects: object) -> str:
    """The path of a file with documents."""
    file = folder / "a.yaml"
    file.write_text(yaml.safe_dump_all(objects))
    return str(file)


def made(
    folder: Path, *objects: object, settings: Mapping[str, str] | None = None, validates: bool = True
) -> Converted:
    """What Ingresses become; with `settings`, those of a ConfigMap."""
    of_map = ControllerSettings({}) if settings is None else ControllerSettings(settings, is_stated=True)
    return convert(ingresses([written(folder, *objects)]), of_map, VERSION, validates=validates)


def test_documents_lists_and_folders(tmp_path: Path) -> None:
    """A folder has the Ingresses of all its files, of any form; other objects and files are skipped."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "list.json").write_text(json.dumps({"kind": "List", "items": [ingress("one"), {"kind": "Pod"}]}))
    (tmp_path / "two.yml").write_text(yaml.safe_dump_all([{"kind": "Service"}, ingress("two"), None]))
    (tmp_path / "notes.txt").write_text("{{ no YAML")
    found = ingresses([str(tmp_path)])
    assert [(each.key, each.place.rpartition("/")[2]) for each in found] == [
        ("test/one", "list.json:1"),
        ("test/two", "two.yml:3"),
    ]


def test_lists_of_lists(tmp_path: Path) -> None:
    """A list may be in a list; what is no list of items has none."""
    inner = {"kind": "IngressList", "items": [ingress("a")]}
    (tmp_path / "a.yaml").write_text(f"{json.dumps({'kind': 'List', 'items': [inner]})}\n---\nkind: List\nitems: 5\n")
    assert [found.name for found in ingresses([str(tmp_path / "a.yaml")])] == ["a"]


def test_the_old_form(tmp_path: Path) -> None:
    """v1beta1 named Services otherwise, and the class in an annotation."""
    old = {
        "apiVersion": "extensions/v1beta1",
        "kind": "Ingress",
        "metadata": {"name": "a", "annotations": {"kubernetes.io/ingress.class": "nginx"}},
        "spec": {"rules": [{"http": {"paths": [{"backend": {"serviceName": "s", "servicePort": "web"}}]}}]},
    }
    (found,) = ingresses([written(tmp_path, old)])
    assert found.ingress_class == "nginx"
    assert "proxy_pass http://default-s-web;" in made(tmp_path, old).text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1\n", "a.yaml:1:6: not YAML"),
        ("kind: {{ .Values.kind }}\n", "hint: render templates first"),
        ("\xff", "not YAML"),
        ("[" * 5000, "not"),
        ("a: &a [*a]\n", "an alias stands for itself"),
    ],
)
def test_what_is_no_manifest(tmp_path: Path, text: str, message: str) -> None:
    """A file that is no YAML is an error with its place."""
    file = tmp_path / "a.yaml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        ingresses([str(file)])
    assert message in caught.value.render() or "not UTF-8" in caught.value.render()


@every_row(
    ("path", "value", "message"),
    [
        (("metadata", "annotations", "nginx.ingress.kubernetes.io/ssl-redirect"), False, 'write it as "false"'),
        (("metadata", "name"), "a; }", "'a; }' is not a name"),
        (("metadata", "namespace"), ["x"], "the namespace is not a text"),
        (("spec", "rules"), "x", "rules is not a list"),
        (("spec", "rules", 0, "host"), 'a" ;', "is not a host"),
        (("spec", "rules", 0, "http", "paths", 0, "path"), "a", "is not a path: it begins with /"),
        (("spec", "rules", 0, "http", "paths", 0, "backend", "service", "name"), "a b", "is not a name of a Service"),
    ],
)
def test_what_kubernetes_would_refuse(tmp_path: Path, path: tuple[str | int, ...], value: object, message: str) -> None:
    """An object that cannot be in a cluster is refused, with the place of its document."""
    found: object = ingress("a")
    inner = found
    for key in path[:-1]:
        inner = inner[key]  # type: ignore[index]
    inner[path[-1]] = value  # type: ignore[index]
    with pytest.raises(InputError) as caught:
        ingresses([written(tmp_path, found)])
    assert "a.yaml:1: Ingress " in caught.value.render()
    assert message in caught.value.message


def test_notes_name_what_is_left_out(tmp_path: Path) -> None:
    """Each annotation without a part in the result is named with the reason, and so is an unknown one."""
    result = made(tmp_path, ingress("a", affinity="cookie", canray="true", proxy_read_timeout="1h"))
    assert [note.partition(": ")[2] for note in result.notes] == [
        "test/a: canray: the controller has no such annotation",
        "test/a: proxy-read-timeout: has no effect, as the controller does not take '1h'",
        "test/a: affinity: left out, as it keeps a client at its pod, and beside a canary at its Service",
    ]
    assert "proxy_read_timeout 60s;" in result.text


def test_validation(tmp_path: Path) -> None:
    """Today's controller drops an Ingress with a redirect to a variable; one that does not validate takes it."""
    found = ingress("a", permanent_redirect="https://new.example$request_uri")
    (note,) = made(tmp_path, found).notes
    assert "this Ingress has no effect" in note
    assert "new.example" not in made(tmp_path, found).text
    assert "return 301 https://new.example$request_uri;" in made(tmp_path, found, validates=False).text


def test_snippets_need_permission(tmp_path: Path) -> None:
    """Without a ConfigMap snippets count, as somebody had to allow them; with one, only if it does."""
    found = ingress("a", configuration_snippet="return 418;")
    assert "return 418;" in made(tmp_path, found).text
    refused = made(tmp_path, found, settings={})
    assert "return 418;" not in refused.text
    assert "has no effect without allow-snippet-annotations" in refused.notes[0]
    assert "return 418;" in made(tmp_path, found, settings={"allow-snippet-annotations": "true"}).text


def test_the_older_one_wins(tmp_path: Path) -> None:
    """Of two Ingresses with the same path the older one counts; the other is named."""
    first, second = ingress("first", [("/a", ANY)]), ingress("second", [("/a", ANY)])
    result = made(tmp_path, first, second)
    assert "proxy_pass http://test-second-80;" in result.text
    assert "test/first: shop.example/a: test/second has it, too, and wins" in result.notes[0]
    first["metadata"]["creationTimestamp"] = "2020-01-01T00:00:00Z"
    second["metadata"]["creationTimestamp"] = "2021-01-01T00:00:00Z"
    assert "proxy_pass http://test-first-80;" in made(tmp_path, first, second).text


def test_a_config_map(tmp_path: Path) -> None:
    """The keys of a ConfigMap are followed; one without a part in the result is named."""
    file = tmp_path / "config.yaml"
    data = {"use-forwarded-headers": "true", "proxy-body-size": "5m", "enable-brotli": "true", "hsts": "false"}
    file.write_text(yaml.safe_dump({"kind": "ConfigMap", "data": data}))
    settings = settings_of(str(file))
    assert settings.notes == ("enable-brotli of the ConfigMap: left out",)
    text = convert(ingresses([written(tmp_path, ingress("a"))]), settings, VERSION).text
    for line in ("client_max_body_size 5m;", "real_ip_header X-Forwarded-For;", "map $http_x_forwarded_proto "):
        assert line in text
    assert "Strict-Transport-Security" not in text


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([{"kind": "Pod"}], "no ConfigMap in the file"),
        ([{"kind": "ConfigMap"}, {"kind": "ConfigMap"}], "2 ConfigMaps in the file"),
        ([{"kind": "ConfigMap", "data": {"hsts": False}}], "hsts is not a text"),
        ([{"kind": "ConfigMap", "data": {"keep-alive": "1; }"}}], "keep-alive has characters that no value has"),
    ],
)
def test_what_is_no_config_map(tmp_path: Path, found: list[object], message: str) -> None:
    """A file without the one ConfigMap, or with values that it cannot have, is refused."""
    with pytest.raises(InputError, match=message):
        settings_of(written(tmp_path, *found))


def test_what_the_server_says_does_not_reach_locations(tmp_path: Path) -> None:
    """A setting of a snippet for the server is hidden by that of each location, as the controller writes it there."""
    text = made(tmp_path, ingress("a", server_snippet="proxy_read_timeout 9s;\nadd_header X-A b;")).text
    server = text.partition(f'server_name "{HOST}"')[2]
    location = server.partition('location "/" {')[2].partition("}")[0]
    assert "proxy_read_timeout 60s;" in location
    assert "add_header Strict-Transport-Security" in location


def test_annotations_are_listed(tmp_path: Path) -> None:
    """Those without a counterpart come first, with where they are."""
    rows = listed(
        ingresses([written(tmp_path, ingress("a", app_root="/x", satisfy="any"), ingress("b", satisfy="all"))])
    )
    assert [row.line for row in rows] == [
        "satisfy: no counterpart in HTTPRoute (test/a and 1 more)",
        "app-root: a rule for the path / with the filter RequestRedirect (test/a)",
    ]


def test_the_table_of_annotations() -> None:
    """Each row has a kind and a state that are known; cases use many of them."""
    rows = known()
    assert {row.value for row in rows.values()} - {"addresses"} <= _KINDS.keys()
    assert {row.state for row in rows.values()} == {"used", *_WHY}
    assert {row.invalid for row in rows.values()} == {"ignored", "denied", "dropped"}
    used = {name for case in CASES.values() for each in case.ingresses for name in each["metadata"]["annotations"]}
    assert len(used) > 15


@every_row(
    ("state", "annotations"),
    [
        ("dropped", {"custom_http_errors": "abc"}),
        ("dropped", {"default_backend": "10m"}),
        ("dropped", {"client_body_buffer_size": "true"}),
        ("dropped", {"connection_proxy_header": "abc"}),
        ("dropped", {"auth_type": "abc", "auth_secret": "users"}),
        ("dropped", {"limit_allowlist": "abc"}),
        ("denied", {"auth_type": "basic"}),
        ("denied", {"auth_url": "auth/check"}),
        ("denied", {"allowlist_source_range": "10"}),
        ("denied", {"denylist_source_range": "10.0.0.1, abc"}),
        ("kept", {"auth_realm": 'a "b"'}),
        ("kept", {"auth_method": "abc"}),
        ("kept", {"auth_response_headers": "a/b"}),
        ("kept", {"temporal_redirect_code": "abc"}),
        ("kept", {"upstream_vhost": "$x"}),
        ("kept", {"allowlist_source_range": "10.0.0.1/8, ::1"}),
    ],
)
def test_what_the_controller_does_with_values(state: str, annotations: dict[str, Any], tmp_path: Path) -> None:
    """An Ingress is dropped, its paths answer 503, or it is kept, as the code of the controller itself did for each."""
    read = ingresses([written(tmp_path, ingress("a", **annotations))])
    result = convert(read, ControllerSettings({}), Version(1, 28, 0)).text
    found = "dropped" if HOST not in result else "denied" if "return 503;" in result else "kept"
    assert found == state


def run(*args: str) -> tuple[int, str]:
    """The exit status of a command, and its output."""
    result = CliRunner().invoke(nginxopt, ["ingress", *args], standalone_mode=False)
    if result.exception:
        raise result.exception
    return result.return_value, result.output


def test_the_command(tmp_path: Path) -> None:
    """It prints or writes the configuration, for a class, and lists annotations with a status."""
    other = ingress("b", host="b.example")
    other["spec"]["ingressClassName"] = "other"
    file = written(tmp_path, ingress("a", satisfy="any"), other)
    status, output = run(file, "-q", "--class", "nginx", "--target-version", "1.28.0")
    assert status == 0
    assert f'server_name "{HOST}";' in output
    assert "b.example" not in output
    out = tmp_path / "out.conf"
    assert run(file, "--output", str(out), "--target-version", "1.28.0") == (0, "")
    assert "http2 on;" in out.read_text()
    assert run(file, "--output", str(out), "-q", "--target-version", "1.22.1")[0] == 0
    assert "listen 443 ssl http2;" in out.read_text()
    assert run(file, "--annotations")[0] == 1
    assert run(written(tmp_path, ingress("a", app_root="/x")), "--annotations")[0] == 0
    with pytest.raises(UsageError):
        run(file, "--output", file)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no Ingress") as raised:
        run(str(tmp_path / "empty"))
    assert raised.value.path == str(tmp_path / "empty")


def test_standard_input() -> None:
    """Manifests are read from standard input, once."""
    text = yaml.safe_dump(ingress("a"))
    result = CliRunner().invoke(nginxopt, ["ingress", "-", "-q", "--target-version", "1.28.0"], input=text)
    assert "upstream test-a-80 {" in result.output


def test_health_checks_and_monitors(tmp_path: Path) -> None:
    """Requests without a host of an Ingress get what balancers and monitors expect, beside an Ingress of that path."""
    default = made(tmp_path, ingress("a")).text.partition('server_name "_"')[2].partition("server_name")[0]
    assert "location /healthz {\n            access_log off;\n            return 200;" in default
    assert "location /nginx_status {\n            access_log off;\n            return 403;" in default
    for kind in ("Exact", "Prefix", "ImplementationSpecific"):
        text = made(tmp_path, ingress("a", paths=[("/healthz", kind)], host="")).text
        assert 'location = "/healthz" {' in text
        assert text.count("location /healthz {") == 1
