"""`nginxopt trace`."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nginxopt.cli import options, stdout
from nginxopt.errors import UsageError

if TYPE_CHECKING:
    from nginxopt.config import Config
    from nginxopt.request import Request
    from nginxopt.semantics.site import Build
    from nginxopt.version import Version

_EXAMPLES = """\b
Examples:
  nginxopt trace /etc/nginx/nginx.conf https://shop.example/old/page?x=1
  nginxopt trace nginx.conf POST http://shop.example/cart -H 'Cookie: id=7'
  nginxopt trace nginx.conf http://shop.example/a.html --root /       look for files on this machine
  nginxopt trace nginx.conf http://shop.example/a.html --assume exists=/srv/www/a.html
  nginxopt trace nginx.conf http://shop.example/ --client 10.0.0.1 --assume geoip_country_code=FR
  nginx -T | nginxopt trace - http://shop.example/ --format json

\b
Exit status: 0 success, also if the outcome is unknown, 1 nginx answers otherwise (--nginx), 2 usage error,
3 unreadable input, 4 nginx is missing.
"""


@click.command("trace", epilog=_EXAMPLES)
@click.argument("config", metavar="CONFIG")
@click.argument("request", nargs=-1, metavar="[METHOD] URL")
@click.option("-H", "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="Send a header, like curl -H.")
@click.option("--client", metavar="ADDRESS", help="Address of the client.")
@click.option("--sni", metavar="NAME", help="Name in the TLS handshake, if it is not the host of the URL.")
@click.option("--connect", metavar="HOST:PORT", help="Address of nginx to connect to, whatever the URL says.")
@click.option("--root", metavar="DIR", help="Look for files in DIR by their absolute paths; / for this machine's.")
@click.option(
    "--assume",
    multiple=True,
    metavar="FACT",
    help="Assume exists=PATH, missing=PATH (a folder with a / at its end) or VARIABLE=VALUE.",
)
@options.TARGET_VERSION
@options.CONTEXT
@options.PREFIX
@options.MAIN
@options.format_of(["text", "json"], "text")
@click.option("-v", "--verbose", is_flag=True, help="List all servers and locations that were passed over.")
def command(
    config: str,
    request: tuple[str, ...],
    headers: tuple[str, ...],
    client: str | None,
    sni: str | None,
    connect: str | None,
    root: str | None,
    assume: tuple[str, ...],
    target_version: Version | None,
    context: str | None,
    prefix: str | None,
    main: str | None,
    format_: str,
    verbose: bool,
) -> int:
    """Show what becomes of a request, and why.

    CONFIG is a main configuration, a file that one includes, or - for standard input, such as the output of nginx -T.
    Shows the response, or where the request is passed on to, then the server, rules and location that decide it, and
    the settings in force. Nothing is sent. What the configuration does not decide is unknown, with the reason.
    """
    from nginxopt.lint.target import choose
    from nginxopt.request import trace_json, trace_text
    from nginxopt.request.model import Model
    from nginxopt.request.trace import Circumstances, trace
    from nginxopt.request.world import World

    asked = _request(request, headers, client)
    world = World.assume(assume, root)
    target = choose(target_version, None)
    loaded, notes = load(config, context, prefix, main)
    model = Model(loaded, build_of(target.version, prefix))
    known = Circumstances(world, model.gate(_address(connect)), target.origin, sni, notes)
    result = trace(model, asked, known)
    if format_ == "json":
        stdout.write([trace_json.render(result).encode()])
    else:
        lines = trace_text.render(result, color=stdout.colored(), verbose=verbose)
        stdout.write(line.encode(errors="backslashreplace") for line in lines)
    return 0


def _request(words: tuple[str, ...], headers: tuple[str, ...], client: str | None) -> Request:
    """Return the request of the command line. Raises `UsageError` for what is none."""
    from nginxopt.request import UrlError, read_request

    if not 1 <= len(words) <= 2:
        raise UsageError("expected a URL, or a method and a URL", hint="nginxopt trace CONFIG [METHOD] URL")
    text = " ".join(words)
    try:
        request = read_request(text, headers=headers)
    except UrlError as error:
        raise UsageError(f"{error.message}\n    {text}\n    {' ' * (error.column - 1)}^") from None
    return replace(request, client=None if client is None else _client(client))


def _client(address: str) -> bytes:
    try:
        return str(ipaddress.ip_address(address)).encode()
    except ValueError:
        raise UsageError(f"--client {address}: not an IP address") from None


def _address(text: str | None) -> tuple[str, int] | None:
    """Return the host and port of `--connect`."""
    if text is None:
        return None
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageError(f"--connect {text}: not HOST:PORT", hint="for example 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def load(path: str, context: str | None, prefix: str | None, main: str | None) -> tuple[Config, tuple[str, ...]]:
    """Return the configuration that a file is part of, and what was taken as given for it."""
    from nginxopt.config import surroundings
    from nginxopt.config.inputs import InputOptions, read
    from nginxopt.config.surroundings import Surroundings

    inputs = read([path], InputOptions(prefix, lambda _: context))
    if inputs.errors:
        raise inputs.errors[0]
    if len(inputs.configs) != 1:
        raise UsageError(f"{path} has {len(inputs.configs)} configurations", hint="name one of them")
    (config,) = inputs.configs
    if config.http is not None or context is not None or path == "-":
        return config, ()
    around = surroundings.find(path, prefix=prefix, main=main)
    if isinstance(around, Surroundings):
        return around.config, ()
    return config, (f"nothing is around {path}: {around.because}",)


def build_of(target: Version, prefix: str | None) -> Build:
    """Return the nginx of a version, with a prefix other than the usual."""
    from nginxopt.semantics.site import Build

    return Build(target) if prefix is None else Build(target, prefix=f"{Path(prefix).absolute()}/")
