"""What `nginx -T` of a controller prints for Ingresses: by the rules of its template, as far as cases need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nginxopt.ingress.manifests import Ingress
from nginxopt.ingress.model import IngressServer, Location
from nginxopt.ingress.servers import Merged
from nginxopt.ingress.settings import ControllerSettings

SUPPORTED = frozenset(
    {
        *("rewrite-target", "use-regex", "app-root", "permanent-redirect", "permanent-redirect-code", "server-alias"),
        *("from-to-www-redirect", "force-ssl-redirect", "ssl-redirect", "preserve-trailing-slash"),
        *("configuration-snippet", "server-snippet", "temporal-redirect"),
    }
)
"""The annotations that this follows."""

LUA = "/etc/nginx/lua/nginx"
_HTTP = f"""\
# configuration file /etc/nginx/nginx.conf:
pid /tmp/nginx/nginx.pid;
daemon off;
worker_processes 4;
events {{ worker_connections 16384; }}
http {{
    lua_package_path "/etc/nginx/lua/?.lua;;";
    lua_shared_dict balancer_ewma 10M;
    init_by_lua_file /etc/nginx/lua/ngx_conf_init.lua;
    init_worker_by_lua_file /etc/nginx/lua/ngx_conf_init_worker.lua;
    more_clear_headers Server;
    ssl_certificate /etc/ingress-controller/ssl/default-fake-certificate.pem;
    ssl_certificate_key /etc/ingress-controller/ssl/default-fake-certificate.pem;
    map_hash_bucket_size 128;
    map $http_x_request_id $req_id {{ default $http_x_request_id; "" $request_id; }}
    upstream {{balancer}} {{
        server 0.0.0.1; # placeholder
        balancer_by_lua_file {LUA}/ngx_conf_balancer.lua;
        keepalive 320;
    }}
"""


def printed(found: list[Ingress], settings: Mapping[str, str]) -> str:
    """The text that a controller prints."""
    of_map = ControllerSettings(settings)
    servers = Merged(found, of_map).servers
    text = _HTTP.replace("{balancer}", "upstream_balancer")
    for server in servers:
        if server.has_www:
            text += _www(server, of_map)
    text += "".join("\n".join(_server(server, of_map)) for server in servers)
    return text + (
        "    server { listen 8181 default_server; location / { return 404; } }\n"
        "    server { listen 127.0.0.1:10246; location /is-dynamic-lb-initialized {\n"
        f"        content_by_lua_file {LUA}/ngx_conf_is_dynamic_lb_initialized.lua; }}\n"
        f"        location /configuration {{ content_by_lua_file {LUA}/ngx_conf_configuration.lua; }} }}\n}}\n"
        'stream { server { preread_by_lua_block { ngx.var.proxy_upstream_name="tcp"; } listen 9000; } }\n'
    )


def _listen(host: str) -> str:
    default = " default_server" if host == "_" else ""
    return f"listen 80{default}; listen 443{default} ssl; ssl_certificate_by_lua_file {LUA}/ngx_conf_certificate.lua;"


def _www(server: IngressServer, settings: ControllerSettings) -> str:
    return f"""
    server {{
        server_name "www.{server.host}";
        {_listen("")}
        set_by_lua_file $redirect_to {LUA}/ngx_srv_redirect.lua {server.host};
        return {settings.number("http-redirect-code")} $redirect_to;
    }}
"""


def _server(server: IngressServer, settings: ControllerSettings) -> Iterator[str]:
    name = server.host
    if name.startswith("*"):
        rest = name[2:].replace(".", r"\\.")
        name = rf"~^(?<subdomain>[\\w-]+)\\.{rest}$"
    aliases = " ".join(f'"{alias}"' for alias in server.aliases)
    yield f'    server {{ server_name "{name}" {aliases}; {_listen(server.host)} set $proxy_upstream_name "-";'
    yield server.snippet
    are_patterns = any(location.is_pattern for location in server.locations)
    for location in server.locations:
        root = location.values.text("app-root")
        if root:
            yield f"if ($uri = /) {{ return 302 $scheme://$http_host{root}; }}"
        yield from _location(location, settings, are_patterns)
    yield "}\n"


def _location(location: Location, settings: ControllerSettings, are_patterns: bool) -> Iterator[str]:
    values, path = location.values, location.path.replace("\\", "\\\\")
    exempt = any(location.path.startswith(each) for each in settings.list("no-tls-redirect-locations"))
    opener = f'~* "^{path}"' if are_patterns else f'= "{path}"' if location.kind == "Exact" else f'"{path}"'
    yield f"location {opener} {{"
    yield f"""
        set $force_ssl_redirect "{str(values.flag("force-ssl-redirect")).lower()}";
        set $ssl_redirect "{str(values.flag("ssl-redirect", default=True)).lower()}";
        set $force_no_ssl_redirect "{str(exempt).lower()}";
        set $preserve_trailing_slash "{str(values.flag("preserve-trailing-slash")).lower()}";
        set $use_port_in_redirects "false";
        rewrite_by_lua_file {LUA}/ngx_rewrite.lua;
        header_filter_by_lua_file {LUA}/ngx_conf_srv_hdr_filter.lua;
        log_by_lua_file {LUA}/ngx_conf_log_block.lua;
        set $proxy_upstream_name "{location.upstream}";
        set $pass_access_scheme $scheme;
        set $best_http_host $http_host;
        set $pass_port $server_port;
        proxy_set_header Host $best_http_host;
    """
    yield values.text("configuration-snippet")
    for kind, code in (("temporal", 302), ("permanent", values.number("permanent-redirect-code", 301))):
        if values.text(f"{kind}-redirect"):
            yield f"return {code} {values.text(f'{kind}-redirect')};"
            break
    target = values.text("rewrite-target")
    if target and target != location.path:
        yield f'rewrite "(?i){path}" {target} break;'
    yield "proxy_pass http://upstream_balancer; }"
