"""What strangers write into a configuration neither runs, nor writes, nor leaves the machine when it is tried."""

from __future__ import annotations

import ast
import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from nginxopt import cli
from nginxopt.config import load
from nginxopt.errors import InputError
from nginxopt.system import confinement, exchange, network, nginx, process
from nginxopt.system.confinement import Confinement
from nginxopt.system.http import RequestBytes
from nginxopt.system.network import own_network
from nginxopt.system.nginx import Allowed, permission, trial
from tests.support import PATIENCE, ROOT, the_nginx

pytestmark = pytest.mark.nginx

IS_ROOT = os.geteuid() == 0
CONSTRUCTOR = '#include <stdio.h>\n__attribute__((constructor)) static void run(void) { fopen("%s", "w"); }\n'
SITE = "events { }\nhttp {\n    server {\n        listen 127.0.0.1:1;\n        location / { return 200; }\n    }\n}\n"

WRITES = {
    "error_log": ("error_log {out}/x;", "", ""),
    "error_log of http": ("", "error_log {out}/x;", ""),
    "error_log of a server": ("", "", "error_log {out}/x debug;"),
    "pid": ("pid {out}/x;", "", ""),
    "lock_file": ("lock_file {out}/x;", "", ""),
    "access_log": ("", "access_log {out}/x;", ""),
    "access_log of a location": ("", "", "location /a { access_log {out}/x combined buffer=1k; }"),
    "access_log named by the request": ("", "", "root {out}; access_log {out}/$arg_name;"),
    "client_body_temp_path": ("", "client_body_temp_path {out}/x 1 2;", ""),
    "proxy_temp_path": ("", "", "proxy_temp_path {out}/x;"),
    "proxy_cache_path": ("", "proxy_cache_path {out}/x levels=1:2 keys_zone=a:1m;", ""),
    "fastcgi_cache_path": ("", "fastcgi_cache_path {out}/x keys_zone=b:1m;", ""),
    "a socket": ("", "", "listen unix:{out}/x;"),
    "quoted": ('"error_log" "{out}/\\x";', "", ""),
    "above": ("error_log {out}/../out/x;", "", ""),
    "a process model": ("daemon on; master_process on; user root; worker_processes 1; pid {out}/x;", "", ""),
    "a core": ("working_directory {out}; worker_rlimit_core 1g; debug_points abort;", "", ""),
}
"""What makes nginx write a file at `{out}`: in main, in http, and in a server."""

PROGRAMS = {
    "env LD_PRELOAD=/tmp/x.so;": "env sets a variable",
    "env OPENSSL_ENGINES=/tmp;": "env sets a variable",
    "ssl_engine ../../tmp/x;": "ssl_engine loads a library",
    "http { perl_require x.pm; }": "perl_require runs Perl",
    "http { perl_set $x 'sub { system(q(id)) }'; }": "perl_set runs Perl",
    "http { server { location / { perl x::handler; } } }": "perl runs Perl",
    "http { server { xslt_stylesheet x.xslt; } }": "xslt_stylesheet runs XSLT",
    "http { server { ssl_certificate a; ssl_certificate_key engine:../x:k; } }": "ssl_certificate_key loads a library",
    "http { upstream a { server 127.0.0.1; } server { proxy_ssl_certificate_key store:x; } }": "loads a library",
}
"""Configurations that run programs, and what is said of each."""


@pytest.fixture
def _started_without_a_copy() -> None:
    """Start nginx as commands do: what confines it is tested here."""


@pytest.fixture
def _one_network() -> None:
    """Give each nginx a network of its own, as commands do."""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder in which everybody may write."""
    folder = tmp_path / "out"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The folder of a configuration."""
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture
def library(tmp_path: Path, out: Path) -> Path:
    """A library that makes the file `ran` as soon as it is loaded."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        pytest.skip("no compiler")
    source, built = tmp_path / "x.c", tmp_path / "x.so"
    source.write_text(CONSTRUCTOR % (out / "ran"))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(built), str(source)], check=True, timeout=PATIENCE)
    return built


def written(site: Path, text: str) -> Path:
    """The main file of a site with a text."""
    path = site / "nginx.conf"
    path.write_text(text)
    return path


def attacked(site: Path, out: Path, parts: tuple[str, str, str]) -> Path:
    """The main file of a site with texts in main, in http and in a server."""
    main, http, server = (part.replace("{out}", str(out)) for part in parts)
    return written(
        site,
        f"{main}\nevents {{ }}\nhttp {{\n    {http}\n    gzip on;\n    gzip_comp_level 9;\n    server {{\n"
        f"        listen 127.0.0.1:1;\n        {server}\n        location / {{ return 200; }}\n    }}\n}}\n",
    )


Called = Callable[..., tuple[int, str]]


@pytest.fixture
def called(capfd: pytest.CaptureFixture[str]) -> Called:
    """A function that runs a command, and returns its status and its messages."""

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main([*arguments, "--nginx", the_nginx().path])
        assert isinstance(ended.value.code, int)
        return ended.value.code, capfd.readouterr().err

    return call


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_elsewhere(site: Path, out: Path, name: str) -> None:
    """`nginx -t` accepts a copy of a configuration, and makes none of the files, folders and sockets that it names."""
    main = attacked(site, out, WRITES[name])
    before = sorted(site.rglob("*"))
    verdict = trial.test(load(main), the_nginx())
    assert verdict.ok, str(verdict)
    assert not list(out.iterdir())
    assert sorted(site.rglob("*")) == before


@pytest.mark.parametrize("name", WRITES)
def test_the_kernel_keeps_what_a_directive_names(
    site: Path, out: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if no directive were known to write, nginx writes nowhere else: Landlock forbids it."""
    if not confinement._writes():
        pytest.skip("a kernel without Landlock")
    monkeypatch.setattr(trial, "written", lambda _: None)
    trial.test(load(attacked(site, out, WRITES[name])), the_nginx())
    assert not list(out.iterdir())


def test_relative_paths_lead_where_they_did(site: Path) -> None:
    """Files beside and below the main file are found. A missing one is reported with its path."""
    (site / "sub").mkdir()
    (site / "sub" / "types").write_text("types { a/b c; }\n")
    (site / "ranges.geo").write_text("10.0.0.0/8 1;\n")
    main = written(site, "events { } http { include sub/types; geo $a { include ranges.geo; } include none.conf; }")
    verdict = trial.test(load(main, missing_ok=True), the_nginx())
    assert f'open() "{site}/none.conf" failed (2: No such file or directory)' in str(verdict)
    (site / "none.conf").write_text("")
    assert trial.test(load(main), the_nginx()).ok


def test_what_was_read_is_tried(site: Path) -> None:
    """A file that changes after it was read is not tried: a race gains nothing."""
    (site / "part").write_text("")
    config = load(written(site, "events { } http { include part; include later*; }"))
    (site / "part").write_text("nonsense on;")
    (site / "later.conf").write_text("nonsense on;")
    assert trial.test(config, the_nginx()).ok
    assert "nonsense" in str(trial.test(load(site / "nginx.conf"), the_nginx()))


def test_names_of_hosts_are_not_asked(site: Path) -> None:
    """Where there is a network of its own, names of hosts stand for 127.0.0.1, and any address can be bound."""
    if not has_own_network():
        pytest.skip("no namespaces")
    text = "events { } http { upstream a { server app_1.invalid:81; } server { listen 192.0.2.7:80; %s } }"
    passes = "location / { proxy_pass http://a; } location /b { proxy_pass http://b.invalid; }"
    verdict = trial.test(load(written(site, text % passes)), the_nginx())
    assert verdict.ok, str(verdict)


def has_own_network() -> bool:
    """Whether the kernel gives networks."""
    with own_network() as made:
        return made.is_own


def at(folder: Path) -> Confinement:
    """The confinement of `nginx -t`."""
    return Confinement(folder)


@pytest.mark.parametrize("how", ["absolute", "relative", "link", "beside"])
def test_a_strange_module_is_not_loaded(site: Path, out: Path, library: Path, how: str) -> None:
    """A module outside the folder of nginx is refused with its place, by whatever name, and its code does not run."""
    own = the_nginx().modules[0]
    (site / "modules").symlink_to(library.parent)
    name = {
        "absolute": str(library),
        "relative": os.path.relpath(library, the_nginx().prefix),
        "link": f"{site}/modules/x.so",
        "beside": f"{own}/../../../..{library}",
    }[how]
    main = written(site, f"# a comment\nload_module {name};\n{SITE}")
    with pytest.raises(InputError) as refused:
        trial.test(load(main), the_nginx())
    assert refused.value.render().startswith(f"{main}:2:1: not loaded: the module is outside {own}")
    assert not (out / "ran").exists()


def test_a_link_in_the_folder_of_modules_is_followed(site: Path, out: Path, library: Path, tmp_path: Path) -> None:
    """A named folder is allowed, not what a link in it leads to."""
    named = tmp_path / "named"
    named.mkdir()
    (named / "x.so").symlink_to(library)
    binary = nginx.find(the_nginx().path, Allowed(modules=(str(named),)))
    with pytest.raises(InputError, match="not loaded"):
        trial.test(load(written(site, f"load_module {named}/x.so;\n{SITE}")), binary)
    assert not (out / "ran").exists()


def test_a_module_of_a_named_folder_is_confined(site: Path, out: Path, library: Path) -> None:
    """A module of a folder that was named is loaded: its code runs, as the user of trials, and writes nothing."""
    binary = nginx.find(the_nginx().path, Allowed(modules=(str(library.parent),)))
    verdict = trial.test(load(written(site, f"load_module {library};\n{SITE}")), binary)
    assert "undefined symbol" in str(verdict)  # it was opened
    if confinement._writes():
        assert not (out / "ran").exists()


def test_modules_of_nginx_are_loaded(site: Path) -> None:
    """A module in the folder of nginx is loaded, by a relative path as well as by an absolute one."""
    found = list(the_nginx().modules[0].glob("ndk_http_module.so"))
    if not found:
        pytest.skip("no modules")
    assert trial.test(load(written(site, f"load_module {found[0]};\n{SITE}")), the_nginx()).ok
    relative = os.path.relpath(found[0], the_nginx().prefix)
    assert trial.test(load(written(site, f"load_module {relative};\n{SITE}")), the_nginx()).ok


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_are_refused(site: Path, text: str) -> None:
    """A directive that runs a program is refused with its place, unless that is allowed: then nginx decides."""
    main = written(site, f"{text}\nevents {{ }}\n")
    with pytest.raises(InputError) as refused:
        trial.test(load(main), the_nginx())
    assert f"{main}:1:" in refused.value.render()
    assert "not run: " in refused.value.render()
    assert PROGRAMS[text] in refused.value.message
    assert refused.value.hint == "--allow-code allows it"
    trial.test(load(main), nginx.find(the_nginx().path, Allowed(code=True)))


def test_what_a_module_would_run_is_refused(site: Path) -> None:
    """A directive that only a loaded module has is refused; without the module, nginx itself says that none has it."""
    folder = the_nginx().modules[0]
    if not (folder / "ngx_http_lua_module.so").exists():
        pytest.skip("no module for Lua")
    lua = "http { init_by_lua_block { os.execute('id') } }\nevents { }\n"
    assert 'unknown directive "init_by_lua_block"' in str(trial.test(load(written(site, lua)), the_nginx()))
    loads = f"load_module {folder}/ndk_http_module.so;\nload_module {folder}/ngx_http_lua_module.so;\n"
    with pytest.raises(InputError, match="init_by_lua_block is of a module that is not nginx's own"):
        trial.test(load(written(site, loads + lua)), the_nginx())


def test_a_row_is_no_directive(site: Path) -> None:
    """The rows of maps and types may have the names of programs."""
    rows = "map $uri $a { perl 1; ssl_engine 2; } types { perl pl; }"
    assert trial.test(load(written(site, f"events {{ }} http {{ {rows} }}")), the_nginx()).ok


def test_all_places_are_told(site: Path) -> None:
    """The first place is the error, further ones are below it."""
    main = written(site, "env A=1;\nenv B=2;\nenv C;\nevents { }\n")
    with pytest.raises(InputError) as refused:
        trial.test(load(main), the_nginx())
    assert refused.value.below == (f"also {main}:2:1: not run: env sets a variable, by which libraries are loaded",)


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
def test_root_is_nobody_and_reads_keys(site: Path) -> None:
    """As root, nginx is another user, and still reads a key that only root can read."""
    _, key = exchange.certificate(site)
    os.chmod(key, 0o600)  # noqa: PTH101
    text = "events { } http { server { listen 443 ssl; ssl_certificate cert.pem; ssl_certificate_key cert.key; } }"
    verdict = trial.test(load(written(site, text)), the_nginx())
    assert verdict.ok, str(verdict)
    who = process.run(["id", "-un"], cwd=site, seconds=PATIENCE, confinement=at(site))
    assert who.output == b"nobody\n"


def test_the_environment_is_not_passed_on(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No secret of a pipeline reaches nginx, nor sockets of another."""
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("NGINX", "3;")
    printed = process.run(["env"], cwd=site, seconds=PATIENCE, confinement=at(site)).output
    assert b"secret" not in printed
    assert b"NGINX" not in printed


def test_limits(site: Path) -> None:
    """A confined process has limits, writes no core, and cannot raise them again."""
    command = (
        "import resource as r; print([r.getrlimit(each) for each in (r.RLIMIT_CORE, r.RLIMIT_DATA, r.RLIMIT_FSIZE)])"
    )
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin")
    if python is None:
        pytest.skip("no python3 that everybody can run")
    printed = process.run([python, "-c", command], cwd=site, seconds=PATIENCE, confinement=at(site)).output
    assert printed.startswith(b"[(0, 0), (2147483648, 2147483648), (1073741824, 1073741824)]")


def test_memory_ends(site: Path) -> None:
    """A configuration that takes more memory than there may be is refused, and harms nothing."""
    zones = "\n".join(f"limit_req_zone $uri zone=z{number}:8g rate=1r/s;" for number in range(4))
    assert not trial.test(load(written(site, f"events {{ }} http {{ {zones} }}")), the_nginx()).ok


def test_a_confined_server_reaches_nothing_by_its_variables(site: Path) -> None:
    """A configuration cannot set the variable that leads to the echo."""
    from nginxopt.request.model import World
    from nginxopt.request.private import PrivateNginx

    text = "events { } http { server { listen 1; set $nginxopt_echo 192.0.2.1; proxy_pass http://$host; } }"
    with (
        pytest.raises(InputError, match="is that of --nginx"),
        PrivateNginx(load(written(site, text)), "/", World(), the_nginx(), tls=False),
    ):
        pass


@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_files_that_are_served_stay(site: Path, out: Path, method: str, called: Called) -> None:
    """Neither DAV nor a store changes the files of `--root`."""
    text = (
        "events { } http { server { listen 80; root /; location / { dav_methods PUT DELETE; create_full_put_path on; }"
        " location /s { proxy_store on; proxy_pass http://127.0.0.1:9; } } }"
    )
    path = "/x" if method == "PUT" else "/s"
    called("trace", str(written(site, text)), method, f"http://a{path}", "--root", str(out))
    assert not list(out.iterdir())


@pytest.mark.parametrize("options", [["--fix"], ["--diff"], ["--fix", "--isolated"]], ids=" ".join)
def test_lint_runs_no_module(site: Path, out: Path, library: Path, called: Called, options: list[str]) -> None:
    """`lint --nginx` refuses a strange module with the place, and changes nothing."""
    main = attacked(site, out, (f"load_module {library};", f"error_log {out}/x;", ""))
    before = main.read_bytes()
    status, said = called("lint", str(main), *options)
    assert status == 3
    assert f"{main}:1:1: not loaded" in said
    assert "--modules DIR" in said
    assert not list(out.iterdir())
    assert main.read_bytes() == before


def test_lint_fixes_what_it_has_tried(site: Path, out: Path, called: Called) -> None:
    """`lint --fix --nginx` writes the fixes of a configuration that names files elsewhere, and nothing there."""
    main = attacked(site, out, ("error_log {out}/x; pid {out}/y;", "access_log {out}/z;", "listen unix:{out}/s;"))
    before = main.read_bytes()
    called("lint", str(main), "--fix", "--unsafe-fixes", "--isolated")
    assert not list(out.iterdir())
    assert main.read_bytes() != before


@pytest.mark.parametrize("name", WRITES)
def test_bench_writes_nothing_elsewhere(
    site: Path, out: Path, name: str, called: Called, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`bench compare --runner local` starts both configurations, and makes none of the files that they name."""
    if name == "a socket":
        pytest.skip("load goes to no socket")
    main = attacked(site, out, WRITES[name])
    compared(main, tmp_path, called, monkeypatch)
    assert not list(out.iterdir())


def test_bench_loads_no_module(
    site: Path, out: Path, library: Path, called: Called, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`bench compare --runner local` refuses a strange module."""
    main = attacked(site, out, (f"load_module {library};", "", ""))
    status, said = compared(main, tmp_path, called, monkeypatch)
    assert status == 3
    assert "not loaded: the module is outside" in said
    assert not list(out.iterdir())


@pytest.mark.parametrize(
    ("options", "alone"), [([], True), (["--allow-network"], False), (["--listen", "127.0.0.2"], False)], ids=str
)
def test_bench_is_alone(
    site: Path, called: Called, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], alone: bool
) -> None:
    """A benchmark on this machine, its load included, has a network of its own, unless an option needs another."""
    if not has_own_network():
        pytest.skip("no namespaces")
    compared(written(site, SITE), tmp_path, called, monkeypatch, *options)
    assert ((tmp_path / "network").read_text().strip() != str(Path("/proc/self/ns/net").readlink())) == alone


def compared(
    main: Path, folder: Path, called: Called, monkeypatch: pytest.MonkeyPatch, *options: str
) -> tuple[int, str]:
    """Compare a configuration with itself, with a load generator that notes its network, and does nothing."""
    programs = folder / "programs"
    programs.mkdir()
    (programs / "vegeta").write_text(f"#!/bin/sh\nreadlink /proc/self/ns/net >{folder}/network\nexit 1\n")
    (programs / "vegeta").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    (folder / "paths").write_text("/\n")
    what = [str(main), str(main), "--targets", str(folder / "paths"), "--runner", "local", "--rounds", "1"]
    return called("bench", "compare", *what, "--load", "vegeta", *options)


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
def test_another_user_is_confined_too(site: Path, out: Path) -> None:
    """A user who may write elsewhere does not through nginx."""
    python, setpriv = shutil.which("python3", path="/usr/bin"), shutil.which("setpriv")
    if python is None or setpriv is None or not confinement._writes():
        pytest.skip("no python3 that everybody can run, or no setpriv")
    site.chmod(0o777)
    text = (
        "from pathlib import Path; from nginxopt.system import process; from nginxopt.system.confinement import *;"
        "from nginxopt.system.network import own_network; held = own_network(); network = held.__enter__();"
        f"done = process.run(['sh', '-c', 'id -u; echo x > {out}/x; echo y > {site}/y'], cwd=Path('{site}'),"
        f" seconds=100, confinement=Confinement(Path('{site}'), network=network)); print(done.output, done.errors)"
    )
    user = [setpriv, "--reuid", "12345", "--regid", "12345", "--clear-groups"]
    ran = subprocess.run(
        [*user, python, "-c", text],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        cwd="/",
    )
    assert "b'12345" in ran.stdout, ran.stderr
    assert not list(out.iterdir())
    assert (site / "y").exists()


PASSES = {
    "proxy_pass http://192.0.2.1;": True,
    "proxy_pass http://127.0.0.1:1;": False,
    "proxy_pass http://localhost/a;": False,
    "proxy_pass http://[::1]:1;": False,
    "proxy_pass http://127.0.0.1.example.com;": True,
    "proxy_pass http://app;": False,
    "proxy_pass http://app/b/;": False,
    "proxy_pass http://app$request_uri;": False,
    "proxy_pass http://1$arg_rest;": True,
    "proxy_pass http://1;": False,
    "proxy_pass http://$host;": True,
    "proxy_pass $arg_url;": True,
    "proxy_pass http://unix:/var/run/docker.sock:/containers/json;": True,
    "fastcgi_pass unix:/run/php.sock;": True,
    "fastcgi_pass localhost:9000;": False,
    "grpc_pass grpcs://other.example:443;": True,
    "memcached_pass 10.0.0.1:1;": True,
    "resolver 192.0.2.1;": True,
}


@pytest.mark.parametrize("directive", PASSES)
def test_bench_passes_to_no_other_machine(site: Path, directive: str) -> None:
    """A benchmark connects to this machine alone, unless other machines are allowed."""
    upstreams = "upstream app { server 127.0.0.1; } upstream 1 { server 127.0.0.1; }"
    text = f"events {{ }} http {{ {upstreams} server {{ location / {{ {directive} }} }} }}"
    main = written(site, text)
    if not PASSES[directive]:
        permission.hold(main, the_nginx())
        return
    with pytest.raises(InputError, match="not connected"):
        permission.hold(main, the_nginx())
    permission.hold(main, nginx.find(the_nginx().path, Allowed(network=True)))


LEAVING = {
    "a service of this machine": ("", "proxy_pass http://127.0.0.1:{port};"),
    "a service by the name of a request": ("", "proxy_pass http://$arg_host:{port};"),
    "a service by an address of this machine": ("", "proxy_pass http://{address}:{port};"),
    "an upstream": ("upstream a {{ server {address}:{port}; server 127.0.0.1:{port}; }}", "proxy_pass http://a;"),
    "a resolver": ("resolver 127.0.0.1:{port} {address}:{port};", "proxy_pass http://$arg_name:{port};"),
    "a log": ("access_log syslog:server=127.0.0.1:{port};", "return 200;"),
    "another protocol": ("", "fastcgi_pass {address}:{port};"),
    "a mirror": ("", "mirror /m; return 200;"),
    "metadata of a cloud": ("", "proxy_pass http://169.254.169.254/;"),
}
"""What leads out of nginx, in http and in a location, to a port of this machine."""


@pytest.mark.parametrize("what", LEAVING)
def test_nginx_that_answers_reaches_nothing(what: str) -> None:
    """Nothing of this machine is asked by an nginx in a network of its own, over TCP or UDP: it answers."""
    if not has_own_network():
        pytest.skip("no namespaces")
    with socket.create_server(("0.0.0.0", 0)) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        port = tcp.getsockname()[1]
        udp.bind(("0.0.0.0", port))
        http, place = (text.format(port=port, address=own_address()) for text in LEAVING[what])
        server = f"proxy_connect_timeout 2s; resolver_timeout 2s; location / {{ {place} }}"
        server += f" location /m {{ proxy_pass http://127.0.0.1:{port}; }}"
        head = b"GET /?host=127.0.0.1&name=example.com HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        with (
            nginx.Instance(the_nginx(), servers=[server.encode()], http=http.encode(), alone=True) as instance,
            instance.client() as client,
        ):
            (answer,) = client.ask([RequestBytes(head, alone=True)])
        assert answer.split()[1] in ((b"200",) if "return" in place else (b"502", b"504"))
        for listening in (tcp, udp):
            listening.setblocking(False)
            with pytest.raises(BlockingIOError):
                listening.accept() if listening is tcp else listening.recv(1)


def own_address() -> str:
    """An address of this machine that others reach; without one that of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.2"
        return str(probe.getsockname()[0])


SOCKETS = {
    "proxy_pass http://unix:/run/a.sock;": "proxy_pass may lead to a socket",
    "proxy_pass http://unix:a.sock;": "proxy_pass may lead to a socket",
    "fastcgi_pass unix:/run/a.sock;": "fastcgi_pass may lead to a socket",
    "set $a unix:/run/a.sock; proxy_pass http://$a/;": "proxy_pass may lead to a socket",
    "if ($uri ~ b) { proxy_pass $arg_url; }": "proxy_pass may lead to a socket",
    "perl x::y;": "perl runs Perl",
    "proxy_pass http://127.0.0.1:9;": None,
    "proxy_pass http://127.0.0.1:9/$uri;": None,
}
"""What rules have beside them in a location, and why nginx is not asked about them."""


@pytest.mark.parametrize("text", SOCKETS)
def test_rules_lead_to_no_socket(site: Path, text: str, called: Called) -> None:
    """A socket of the file system is in no network: what leads to one is refused before nginx gets it."""
    rules = "".join(f"rewrite ^/a{number}$ /b{number} break;\n" for number in range(9))
    (site / "rules.conf").write_text(f"{text}\n{rules}")
    status, said = called("rewrite-to-map", str(site / "rules.conf"), "--context", "location")
    why = SOCKETS[text]
    assert status == (0 if why is None else 3), said
    assert why is None or why in said


PASSING = "events { } http { server { listen 80; location / { proxy_pass http://127.0.0.1:9; } } }"


@pytest.mark.parametrize("is_own", [True, False], ids=["alone", "shared"])
def test_a_shared_network_is_told(site: Path, called: Called, is_own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without namespaces, commands say that nginx shares the network, and answer the same."""
    if is_own and not has_own_network():
        pytest.skip("no namespaces")

    def refused(_: int) -> None:
        raise PermissionError

    if not is_own:
        monkeypatch.setattr(network, "_unshare", refused)
    network.is_to_be_had.cache_clear()
    status, said = called("trace", str(written(site, PASSING)), "http://a/")
    network.is_to_be_had.cache_clear()
    assert status == 0, said
    assert ("shares that of this machine" in said) == (not is_own)


def test_every_trial_is_alone() -> None:
    """Where a command runs nginx to ask it, it says in which network."""
    for path in (ROOT / "nginxopt").rglob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] in ("Instance", "running"):
                assert {"alone", "network"} & {keyword.arg for keyword in call.keywords}, ast.unparse(call)
