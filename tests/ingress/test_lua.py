"""What a controller prints, without its Lua, answers as its Ingresses do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nginxopt.config import Config, load_text
from nginxopt.errors import InputError, UsageError
from nginxopt.ingress import ControllerSettings, convert, ingresses, is_printed, without_lua
from nginxopt.request.model import OutcomeForm
from nginxopt.semantics.site import Build
from nginxopt.text import Source
from nginxopt.version import Version
from tests.ingress.cases import CASES, HOST, Case, ingress
from tests.ingress.printed import SUPPORTED, printed
from tests.ingress.test_cases import asked
from tests.ingress.test_ingress import run
from tests.rows import every_row

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


@every_row("name", PRINTED)
def test_it_answers_as_the_manifests(name: str, tmp_path: Path) -> None:
    """Both readings of a case answer its requests alike."""
    case = PRINTED[name]
    text = text_of(case, tmp_path)
    assert is_printed(text)
    has_tls = any("tls" in each["spec"] for each in case.ingresses)
    settings = ControllerSettings(case.settings)
    result = without_lua(Source("-", text), settings, [HOST] if has_tls else ["none"])
    assert "_by_lua" not in result.text
    one = load_text(result.text.encode(), "nginx.conf")
    other = load_text(convert(ingresses([str(tmp_path / "a.json")]), settings, VERSION).text.encode(), "nginx.conf")
    for request in case.answers:
        mine, theirs = answer(one, request), answer(other, request)
        assert mine == theirs or (mine == 404 and theirs == (404, None)), request


_BLOCKS = {
    r"init_by_lua_file [^;]*;": 'init_by_lua_block { ok, res = pcall(require, "lua_ingress") lua_ingress = res }',
    r"init_worker_by_lua_file [^;]*;": "init_worker_by_lua_block { lua_ingress.init_worker() balancer.init_worker() }",
    r"ssl_certificate_by_lua_file [^;]*;": "ssl_certificate_by_lua_block { certificate.call() }",
    r"balancer_by_lua_file [^;]*;": "balancer_by_lua_block { balancer.balance() }",
    r"header_filter_by_lua_file [^;]*;": "header_filter_by_lua_block { lua_ingress.header() plugins.run() }",
    r"content_by_lua_file \S+_initialized.lua;": "content_by_lua_block { configuration.get_backends_data() }",
    r"content_by_lua_file \S+_configuration.lua;": "content_by_lua_block { configuration.call() }",
    r"log_by_lua_file [^;]*;": "log_by_lua_block { balancer.log() monitor.call() plugins.run() }",
}


def in_blocks(text: str) -> str:
    """What a controller before 1.12 prints: its code in blocks, the settings of a location in a call."""
    for pattern, block in _BLOCKS.items():
        text = re.sub(pattern, block, text)
    states = re.compile(r'((?:set \$\w+ "(?:true|false)";\s*)+)rewrite_by_lua_file [^;]*;')
    text = states.sub(lambda found: _call(re.findall(r'set \$(\w+) "(\w+)"', found[1])), text)
    return re.sub(
        r"set_by_lua_file \$redirect_to \S+ (\S+);",
        r'set_by_lua_block $redirect_to { local redirectScheme = ngx.var.scheme return string.format("%s://%s%s",'
        r' redirectScheme, "\1", request_uri) }',
        text,
    )


def _call(states: list[tuple[str, str]]) -> str:
    inner = " ".join(f"{name} = {value}," for name, value in states)
    return f"rewrite_by_lua_block {{ lua_ingress.rewrite({{ {inner} }}) balancer.rewrite() plugins.run() }}"


@every_row("name", PRINTED)
def test_blocks_answer_as_files(name: str, tmp_path: Path) -> None:
    """The code of the controller in blocks is known, too."""
    case = PRINTED[name]
    files = text_of(case, tmp_path).decode()
    blocks = in_blocks(files)
    assert "_by_lua_file" not in blocks
    assert is_printed(blocks.encode())
    hosts = [HOST] if any("tls" in each["spec"] for each in case.ingresses) else ["none"]
    one, other = (
        without_lua(Source("-", text.encode()), ControllerSettings(case.settings), hosts).text
        for text in (files, blocks)
    )
    assert "_by_lua" not in other
    there, here = (load_text(text.encode(), "nginx.conf") for text in (one, other))
    for request in case.answers:
        if not request.partition("://")[2].startswith("www."):  # those name a port in files
            assert answer(here, request) == answer(there, request), request


def test_authentication_in_blocks(tmp_path: Path) -> None:
    """Blocks that ask an auth server are a subrequest, and what it caches has a key."""
    text = text_of(Case([ingress("a")], {}), tmp_path).replace(
        b"proxy_pass http://upstream_balancer;",
        b"access_by_lua_block { local res = ngx.location.capture('/_external-auth-Lw-Prefix', { method = ngx.HTTP_GET,"
        b" body = '', share_all_vars = false }) if res.status == ngx.HTTP_OK then return end ngx.exit(res.status) }"
        b" rewrite_by_lua_block { ngx.var.cache_key = ngx.encode_base64(ngx.sha1_bin(ngx.var.tmp_cache_key)) }"
        b" proxy_pass http://upstream_balancer;",
        1,
    )
    result = without_lua(Source("-", text), ControllerSettings({}), ["none"])
    assert "auth_request /_external-auth-Lw-Prefix;" in result.text
    assert "set $cache_key $tmp_cache_key;" in result.text


def test_code_of_others_stays(tmp_path: Path) -> None:
    """A block that does more than the controller's own is not dropped."""
    blocks = in_blocks(text_of(Case([ingress("a")], {}), tmp_path).decode())
    own = blocks.replace("plugins.run() }", "plugins.run() ngx.exit(418) }")
    result = without_lua(Source("-", own.encode()), ControllerSettings({}), ["none"])
    assert result.text.count("ngx.exit(418)") == own.count("ngx.exit(418)") > 0


def test_most_cases_are_printed() -> None:
    """The comparison is of many cases."""
    assert len(PRINTED) >= 20


def test_certificates_are_asked_for(tmp_path: Path) -> None:
    """Where a redirect depends on a certificate, somebody has to say which hosts have one."""
    text = Source("-", text_of(Case([ingress("a", host="*.shop.example")], {}), tmp_path))
    with pytest.raises(UsageError, match="depend on which hosts have a certificate"):
        without_lua(text, ControllerSettings({}), None)
    made = {
        named: "return 308" in without_lua(text, ControllerSettings({}), [named]).text
        for named in ("all", "none", HOST)
    }
    assert made == {"all": True, "none": False, HOST: False}
    assert "return 308" in without_lua(text, ControllerSettings({}), [f"*.{HOST}"]).text


def test_a_proxy_in_front(tmp_path: Path) -> None:
    """With use-forwarded-headers, the scheme of a proxy in front decides."""
    text = Source("-", text_of(Case([ingress("a", force_ssl_redirect="true")], {}), tmp_path))
    result = without_lua(text, ControllerSettings({"use-forwarded-headers": "true"}), ["none"])
    assert "set $pass_access_scheme $ingress_scheme; set $best_http_host $ingress_forwarded_host;" in result.text


def test_authentication(tmp_path: Path) -> None:
    """Lua that asks an auth server is a subrequest, and what it caches has a key."""
    text = text_of(Case([ingress("a")], {}), tmp_path).replace(
        b"proxy_pass http://upstream_balancer;",
        b"set $auth_path '/_external-auth-Lw-Prefix'; set_escape_uri $escaped_request_uri $request_uri;"
        b" access_by_lua_file /etc/nginx/lua/nginx/ngx_conf_external_auth.lua; proxy_pass http://upstream_balancer;",
        1,
    )
    result = without_lua(Source("-", text), ControllerSettings({}), ["none"])
    assert "auth_request /_external-auth-Lw-Prefix;" in result.text
    assert "is not escaped" in result.notes[0]


def test_the_file_alone(tmp_path: Path) -> None:
    """The file that `kubectl exec ... cat /etc/nginx/nginx.conf` prints is read like the output of `nginx -T`."""
    whole = text_of(PRINTED["app-root"], tmp_path)
    alone = whole.partition(b":\n")[2]
    assert alone.startswith(b"pid ")
    assert is_printed(alone)
    one, other = (without_lua(Source("-", text), ControllerSettings({}), ["none"]) for text in (whole, alone))
    assert one.text.strip() == other.text.strip()


@pytest.mark.parametrize("text", [b"events {}", b"# configuration file /etc/nginx/nginx.conf:\nevents {}"])
def test_what_is_no_such_output(text: bytes) -> None:
    """A text that is not printed by nginx, or has no http, is refused."""
    with pytest.raises(InputError):
        without_lua(Source("-", text), ControllerSettings({}), ["none"])


def test_the_command(tmp_path: Path) -> None:
    """The command recognises the output, and takes hosts only for it."""
    case = Case([ingress("a")], {})
    dump = tmp_path / "dump.txt"
    dump.write_bytes(text_of(case, tmp_path))
    status, output = run(str(dump), "--tls", HOST)
    assert status == 0
    assert "upstream test-a-80 {" in output
    with pytest.raises(UsageError, match="--tls is for"):
        run(str(tmp_path / "a.json"), "--tls", HOST)
