"""What a controller prints, without its Lua, answers as its Ingresses do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nginxopt.config import Config, load_text
from nginxopt.errors import InputError, UsageError
from nginxopt.ingress import Settings, convert, ingresses, is_printed, without_lua
from nginxopt.request.model import OutcomeForm
from nginxopt.semantics.site import Build
from nginxopt.text import Source
from nginxopt.version import Version
from tests.ingress.cases import CASES, HOST, Case, ingress
from tests.ingress.printed import SUPPORTED, printed
from tests.ingress.test_cases import asked
from tests.ingress.test_ingress import run

VERSION = Version(1, 28, 0)


def is_supported(case: Case) -> bool:
    """Whether what the controller prints for a case is known here."""
    prefix = "nginx.ingress.kubernetes.io/"
    names = {name.removeprefix(prefix) for each in case.ingresses for name in each["metadata"]["annotations"]}
    return names <= SUPPORTED


PRINTED = {name: case for name, case in CASES.items() if is_supported(case)}


def text_of(case: Case, folder: Path) -> bytes:
    """What the controller prints for a case."""
    file = folder / "a.json"
    file.write_text(json.dumps({"kind": "List", "items": case.ingresses}))
    return printed(ingresses([str(file)]), case.settings).encode()


def answer(config: Config, request: str) -> object:
    """What becomes of a request; the default backend of the controller answers 404."""
    outcome: OutcomeForm = asked(config, request, Build(VERSION)).outcome
    upstream = outcome["upstream"]
    if upstream is not None:
        is_default = upstream["server"] == "upstream-default-backend"
        return 404 if is_default else (upstream["scheme"], upstream["server"], upstream["target"])
    assert outcome["kind"] != "unknown", (request, outcome)
    return outcome["status"], outcome["location"]


@pytest.mark.parametrize("name", PRINTED)
def test_it_answers_as_the_manifests(name: str, tmp_path: Path) -> None:
    """Both readings of a case answer its requests alike."""
    case = PRINTED[name]
    text = text_of(case, tmp_path)
    assert is_printed(text)
    has_tls = any("tls" in each["spec"] for each in case.ingresses)
    settings = Settings(case.settings)
    result = without_lua(Source("-", text), settings, [HOST] if has_tls else ["none"])
    assert "_by_lua" not in result.text
    one = load_text(result.text.encode(), "nginx.conf")
    other = load_text(convert(ingresses([str(tmp_path / "a.json")]), settings, VERSION).text.encode(), "nginx.conf")
    for request in case.answers:
        mine, theirs = answer(one, request), answer(other, request)
        assert mine == theirs or (mine == 404 and theirs == (404, None)), request


def test_most_cases_are_printed() -> None:
    """The comparison is of many cases."""
    assert len(PRINTED) >= 20


def test_certificates_are_asked_for(tmp_path: Path) -> None:
    """Where a redirect depends on a certificate, somebody has to say which hosts have one."""
    text = Source("-", text_of(Case([ingress("a", host="*.shop.example")], {}), tmp_path))
    with pytest.raises(UsageError, match="depend on which hosts have a certificate"):
        without_lua(text, Settings({}), None)
    made = {named: "return 308" in without_lua(text, Settings({}), [named]).text for named in ("all", "none", HOST)}
    assert made == {"all": True, "none": False, HOST: False}
    assert "return 308" in without_lua(text, Settings({}), [f"*.{HOST}"]).text


def test_a_proxy_in_front(tmp_path: Path) -> None:
    """With use-forwarded-headers, the scheme of a proxy in front decides."""
    text = Source("-", text_of(Case([ingress("a", force_ssl_redirect="true")], {}), tmp_path))
    result = without_lua(text, Settings({"use-forwarded-headers": "true"}), ["none"])
    assert "set $pass_access_scheme $ingress_scheme; set $best_http_host $ingress_forwarded_host;" in result.text


def test_authentication(tmp_path: Path) -> None:
    """Lua that asks an auth server is a subrequest, and what it caches has a key."""
    text = text_of(Case([ingress("a")], {}), tmp_path).replace(
        b"proxy_pass http://upstream_balancer;",
        b"set $auth_path '/_external-auth-Lw-Prefix'; set_escape_uri $escaped_request_uri $request_uri;"
        b" access_by_lua_file /etc/nginx/lua/nginx/ngx_conf_external_auth.lua; proxy_pass http://upstream_balancer;",
        1,
    )
    result = without_lua(Source("-", text), Settings({}), ["none"])
    assert "auth_request /_external-auth-Lw-Prefix;" in result.text
    assert "is not escaped" in result.notes[0]


@pytest.mark.parametrize("text", [b"events {}", b"# configuration file /etc/nginx/nginx.conf:\nevents {}"])
def test_what_is_no_such_output(text: bytes) -> None:
    """A text that is not printed by nginx, or has no http, is refused."""
    with pytest.raises(InputError):
        without_lua(Source("-", text), Settings({}), ["none"])


def test_the_command(tmp_path: Path) -> None:
    """The command recognises the output, and takes hosts only for it."""
    case = Case([ingress("a")], {})
    dump = tmp_path / "dump.txt"
    dump.write_bytes(text_of(case, tmp_path))
    status, output = run(str(dump), "--tls", HOST)
    assert status == 0
    assert "upstream test-a-80 {" in output
    with pytest.raises(UsageError, match="--tls is for the output of nginx -T"):
        run(str(tmp_path / "a.json"), "--tls", HOST)
