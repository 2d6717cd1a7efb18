"""The configuration that a controller printed (`nginx -T`), with directives of nginx in place of the controller's Lua.

The Lua is known by the names of its files (rootfs/etc/nginx/lua), and what it does is in them: `lua_ingress.lua`
redirects to https, `ngx_srv_redirect.lua` to the name with or without www, `balancer.lua` passes requests on to the
pods of the Service that `$proxy_upstream_name` names. Releases before 1.12 have the same code in blocks, which call
modules of these names. Other code stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from nginxopt import budget
from nginxopt.config.filesystem import Dump
from nginxopt.config.tree import Block, Directive, parse
from nginxopt.errors import InputError, UsageError
from nginxopt.ingress.conversion import Converted
from nginxopt.ingress.settings import ControllerSettings
from nginxopt.text import Source, Span, encode
from nginxopt.text.source import Edit, apply

_BALANCER = "upstream_balancer"
_FORWARDED = ("pass_access_scheme", "best_http_host", "pass_port")
_DROPPED = (
    *("init_by_lua_file", "init_worker_by_lua_file", "ssl_certificate_by_lua_file", "log_by_lua_file"),
    *("header_filter_by_lua_file", "lua_package_path", "lua_shared_dict", "more_clear_headers"),
)
"""Directives that change no answer, where they are the controller's; `more_clear_headers` only for `IngressServer`."""

_HTTP = re.compile(rb"^http[ \t]*\{", re.MULTILINE)
"""What a manifest does not have: not even its snippets begin in the first column."""
_CALLS = re.compile(r"(?:\s*(?:lua_ingress|balancer|certificate|monitor|plugins)\.\w+\([^()]*\))*\s*")
_OF_ANSWERS = ("access_by_lua_block", "balancer_by_lua_block", "content_by_lua_block", "rewrite_by_lua_block")
"""Blocks whose calls of these modules make answers; those of other blocks change none."""
_REWRITE = re.compile(
    r"\s*lua_ingress\.rewrite\(\{(.*)\}\)\s*balancer\.rewrite\(\)\s*(?:plugins\.run\(\)\s*)?", re.DOTALL
)
_STATE = re.compile(r"(\w+) = (true|false),")
_OWN = {
    "ngx_conf_is_dynamic_lb_initialized.lua": "return 200;",
    "configuration.get_backends_data()": "return 200;",
    "ngx_conf_configuration.lua": "return 404;",
    "configuration.call()": "return 404;",
    "ngx.exit(ngx.HTTP_NOT_FOUND)": "return 404;",
}
"""What a controller answers itself, on a port that only it can reach; its API of settings counts as absent."""
_CAPTURE = re.compile(r"\s*local res = ngx\.location\.capture\('([^']+)', \{ method = ngx\.HTTP_GET, body = '' ?[,}]")
_KEY = "ngx.var.cache_key = ngx.encode_base64(ngx.sha1_bin(ngx.var.tmp_cache_key))"
_TARGET = re.compile(r'string\.format\("%s://%s%s(?:%s)?", redirectScheme, "([^"]+)", (?:"(:[0-9]+)", )?request_uri\)')

_MAPS = """
    map $http_host $ingress_host {
        default $http_host;
        "" $host;
    }
    map $http_x_forwarded_proto $ingress_scheme {
        default $http_x_forwarded_proto;
        "" $scheme;
    }
    map $http_x_forwarded_port $ingress_port {
        default $http_x_forwarded_port;
        "" $server_port;
    }
    map $http_x_forwarded_host $ingress_forwarded_host {
        "" $ingress_host;
        "~^(?<first_forwarded_host>[^,]*)" $first_forwarded_host;
    }
    map $best_http_host $ingress_redirect_host {
        "~^(?<redirect_host>[^:]*)" $redirect_host;
    }
    map $request_uri $ingress_redirect_uri {
        default $request_uri;
        "~^(?<redirect_uri>.*)/$" $redirect_uri;
    }
"""
"""The variables that Lua computes, for `http`."""


def is_printed(data: bytes) -> bool:
    """Return whether a text is a controller's nginx.conf, or what its `nginx -T` prints."""
    has_lua = b"lua/nginx/" in data or b"lua_ingress.rewrite(" in data
    return has_lua and (_HTTP.search(data) is not None or Dump.of("-", data) is not None)


def without_lua(source: Source, settings: ControllerSettings, certificates: Sequence[str] | None) -> Converted:
    """Return a controller's nginx.conf, alone or the main file of what `nginx -T` prints, without the controller's Lua.

    `certificates` are the hosts that have one, or `all` or `none`; None if nobody says. Raises `UsageError` if a
    redirect depends on it, and `InputError` for a text that is no such configuration.
    """
    dump = Dump.of(source.path, source.data)
    main = Source(dump.main, dump.read(dump.main)) if dump is not None else source
    root = parse(main)
    http = next((each for each in root.directives() if each.name == "http" and each.block), None)
    if http is None:
        raise InputError("no http block", path=source.path)
    work = _Work(main, settings, certificates)
    work.whole(root, http)
    return Converted(apply(main.data, work.edits).decode("utf-8", "surrogateescape"), tuple(work.notes))


class _Work:
    """Collects the edits of a configuration."""

    def __init__(self, main: Source, settings: ControllerSettings, certificates: Sequence[str] | None) -> None:
        self.edits: list[Edit] = []
        self.notes: list[str] = []
        self._main = main
        self._settings = settings
        self._certificates = certificates
        self._forwarded = settings.flag("use-forwarded-headers")

    def whole(self, root: Block, http: Directive) -> None:
        """Edit everything: drop what is not http, and go through servers."""
        for directive in root.directives():
            if directive.name in ("stream", "load_module", "daemon", "pid"):
                self._drop(directive)
        assert http.block is not None
        self._insert(http.block.span.end - 1, _MAPS)  # behind map_hash_*, which must precede all maps
        if not self._settings.is_stated and any(each.name == "real_ip_header" for each in http.block.directives()):
            self.notes.append("without --config-map, headers X-Forwarded-* are taken to be ignored")
        names = {name for each in http.block.walk() if (name := _service(each))}
        for directive in http.block.directives():
            if directive.name == "upstream" and directive.args and directive.args[0] == _BALANCER:
                self._replace(directive, self._upstreams(directive, names))
            elif directive.name == "server" and directive.block is not None:
                self._server(directive.block)
            elif self._is_dropped(directive):
                self._drop(directive)

    def _upstreams(self, directive: Directive, names: Collection[str]) -> str:
        """Return an upstream for each Service, with the settings of the one that stood for all."""
        assert directive.block is not None
        kept = [
            self._text(each)
            for each in directive.block.directives()
            if each.name != "server" and not str(each.name).startswith("balancer_by_lua")
        ]
        inner = "".join(f"\n        {each}" for each in kept)
        budget.check("result-bytes", sum(len(name) + len(inner) for name in names), path=self._main.path)
        return "\n    ".join(
            f"upstream {name} {{\n        server 0.0.0.1; # in place of the pods{inner}\n    }}"
            for name in sorted(names)
        )

    def _server(self, block: Block) -> None:
        hosts = [str(arg) for each in block.directives() if each.name == "server_name" for arg in each.args]
        for directive in block.directives():
            if directive.name == "location" and directive.block is not None:
                self._location(directive.block, hosts)
            elif directive.name == "set_by_lua_block" and (found := _TARGET.search(str(directive.args[-1]))):
                scheme = "$ingress_scheme" if "http_x_forwarded_proto" in str(directive.args[-1]) else "$scheme"
                url = f"{scheme}://{found[1]}{found[2] or ''}$ingress_redirect_uri"
                self._replace(directive, f'set {directive.args[0]} "{url}";')
            elif _is_redirect(directive):
                scheme, port = ("$ingress_scheme", "$ingress_port") if self._forwarded else ("$scheme", "$server_port")
                url = f"{scheme}://{directive.args[2]}:{port}$ingress_redirect_uri"
                self._replace(directive, f'set {directive.args[0]} "{url}";')
            elif self._is_dropped(directive):
                self._drop(directive)

    def _location(self, block: Block, hosts: Sequence[str]) -> None:
        """Put directives in the place of what Lua does in a location."""
        directives = [*block.directives()]
        states = {
            str(each.args[0]): str(each.args[1]) for each in directives if each.name == "set" and len(each.args) > 1
        }
        service = states.get("$proxy_upstream_name", "")
        redirects = False
        for directive in directives:
            name, last = str(directive.name), str(directive.args[-1]) if directive.args else ""
            if name == "rewrite_by_lua_file" and last.endswith("/ngx_rewrite.lua"):
                redirects = True
                self._drop(directive)
            elif name == "rewrite_by_lua_block" and (called := _REWRITE.fullmatch(last)):
                redirects = True
                states |= {f"${key}": value for key, value in _STATE.findall(called[1])}
                self._drop(directive)
            elif name == "rewrite_by_lua_block" and last.strip() == _KEY:
                self._replace(directive, "set $cache_key $tmp_cache_key;")
            elif name == "access_by_lua_block" and (captured := _CAPTURE.match(last)):
                self._replace(directive, f"auth_request {captured[1]};")
            elif name == "rewrite_by_lua_file" and last.endswith("/ngx_conf_rewrite_auth.lua"):
                self._replace(directive, "set $cache_key $tmp_cache_key;")
            elif name == "access_by_lua_file" and last.endswith("/ngx_conf_external_auth.lua"):
                self._replace(directive, f"auth_request {states.get('$auth_path', '')};")
            elif name == "set_escape_uri" and directive.args:
                self._replace(directive, f"set {directive.args[0]} {last};")
                note = "auth-signin: the address to return to is not escaped, which takes a module (set_escape_uri)"
                self.notes += [] if note in self.notes else [note]
            elif name.startswith("content_by_lua_") and (own := _own(last)):
                self._replace(directive, own)
            elif last.endswith(f"://{_BALANCER}") and service:
                self._replace(directive, f"{name} {last.removesuffix(_BALANCER)}{service};")
            elif self._is_dropped(directive):
                self._drop(directive)
        if redirects:
            self._insert(_before_answer(directives, block), "".join(self._redirect(states, hosts)))

    def _redirect(self, states: Mapping[str, str], hosts: Sequence[str]) -> Iterator[str]:
        """Yield what `rewrite` of lua_ingress.lua does: the variables of a proxy in front, and the redirect."""
        if self._forwarded:
            values = ("$ingress_scheme", "$ingress_forwarded_host", "$ingress_port")
            yield from (f"set ${name} {value}; " for name, value in zip(_FORWARDED, values, strict=True))
        is_forced = states.get("$force_ssl_redirect") == "true"
        if states.get("$force_no_ssl_redirect") == "true" or not (is_forced or self._has_certificate(states, hosts)):
            return
        port = ":443" if states.get("$use_port_in_redirects") == "true" else ""
        keeps = states.get("$preserve_trailing_slash") == "true" or port
        uri = "$request_uri" if keeps else "$ingress_redirect_uri"
        code = self._settings.number("http-redirect-code")
        yield f"if ($pass_access_scheme = http) {{ return {code} https://$ingress_redirect_host{port}{uri}; }} "

    def _has_certificate(self, states: Mapping[str, str], hosts: Sequence[str]) -> bool:
        """Return whether a redirect that depends on a certificate is made."""
        if states.get("$ssl_redirect") != "true" or hosts == ["_"]:
            return False
        if self._certificates is None:
            raise UsageError(
                "redirects to https depend on which hosts have a certificate, which nginx -T does not print",
                hint="name them with --tls HOST, or use --tls all or --tls none",
            )
        named = {host.lower() for host in self._certificates}
        return "all" in named or any(_is_among(host, named) for host in hosts)

    def _is_dropped(self, directive: Directive) -> bool:
        """Return whether a directive is the controller's and changes no answer."""
        if directive.name == "more_clear_headers":
            return [*map(str, directive.args)] == ["Server"]
        name = str(directive.name)
        if name.endswith("_by_lua_block") and name not in _OF_ANSWERS:
            code = str(directive.args[-1])
            is_start = name == "init_by_lua_block" and 'require, "lua_ingress"' in code
            return is_start or _CALLS.fullmatch(code) is not None
        return name in _DROPPED

    def _text(self, directive: Directive) -> str:
        return self._main.text(directive.span)

    def _drop(self, directive: Directive) -> None:
        self.edits.append(Edit(directive.span, b""))

    def _replace(self, directive: Directive, text: str) -> None:
        self.edits.append(Edit(directive.span, encode(text)))

    def _insert(self, at: int, text: str) -> None:
        self.edits.append(Edit(Span(at, at), encode(text)))


def _is_redirect(directive: Directive) -> bool:
    """Return whether a directive sets the URL to redirect to the name with or without www."""
    is_set = directive.name == "set_by_lua_file" and len(directive.args) > 2
    return is_set and str(directive.args[1]).endswith("ngx_srv_redirect.lua")


def _own(code: str) -> str:
    """Return what stands for the code, or the file of code, of an answer of the controller itself."""
    found = (answer for text, answer in _OWN.items() if text in code)
    return next(found, "")


def _service(directive: Directive) -> str:
    """Return the Service that a directive makes requests go to."""
    if directive.name != "set" or len(directive.args) < 2 or directive.args[0] != "$proxy_upstream_name":
        return ""
    name = str(directive.args[1])
    return "" if name in ("", "-", "internal") else name


def _is_among(host: str, named: Iterable[str]) -> bool:
    r"""Return whether a host has a certificate, by its name or that of a wildcard (`get_pem_cert_uid`).

    The name of a server for a wildcard is `~^(?<subdomain>[\w-]+)\.example\.com$`.
    """
    if host.startswith("~"):
        rest = host.partition(r"[\w-]+)")[2].removesuffix("$").replace("\\", "")
        return f"*{rest}" in named
    return host.lower() in named or f"*.{host.lower().partition('.')[2]}" in named


def _before_answer(directives: Sequence[Directive], block: Block) -> int:
    """Return the place where Lua runs: behind the script of a location, but before what ends it early.

    Lua runs after a `break`, too; a redirect there comes before it, as neither changes what the other does.
    """
    for directive in directives:
        ends = directive.name == "break" or (directive.name == "rewrite" and "break" in map(str, directive.args[-1:]))
        if ends or str(directive.name).endswith("_pass"):
            return directive.span.start
    return block.span.end - 1
