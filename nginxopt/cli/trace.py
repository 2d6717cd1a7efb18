"""`nginxopt trace`."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from nginxopt.budget import limited
from nginxopt.cli import options, site, stdout, trace_requests
from nginxopt.errors import UsageError
from nginxopt.request import UrlError, read_request, trace_json, trace_sentences
from nginxopt.request.client import LOCAL
from nginxopt.request.trace import Circumstances, render, trace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nginxopt.request import Request, Url
    from nginxopt.request.trace import Trace
    from nginxopt.system.nginx import Binary

_EXAMPLES = """\b
Examples:
  nginxopt trace /etc/nginx/nginx.conf https://shop.example/old/page?x=1
  nginxopt trace nginx.conf POST http://shop.example/cart -H 'Cookie: id=7'
  nginxopt trace nginx.conf http://shop.example/a.html --root /       look for files on this machine
  nginxopt trace nginx.conf http://shop.example/a.html --assume exists=/srv/www/a.html
  nginxopt trace nginx.conf http://shop.example/ --client 10.0.0.1 --assume geoip_country_code=FR
  nginxopt trace nginx.conf http://shop.example/ --nginx              compare with the answer of nginx
  nginxopt trace nginx.conf --requests access.log                    the use of servers, locations and rules
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
@site.of_site
@options.format_of(["text", "json"], "text")
@click.option(
    "--requests",
    type=options.FILE,
    metavar="FILE",
    help="Trace the requests in FILE: URLs, vegeta targets or an access log.",
)
@click.option("--input-format", metavar="NAME", help="Format of FILE: urls, vegeta, or name or text of a log_format.")
@options.check_with_nginx(
    "Also send the request to nginx, on 127.0.0.1 with echo servers as upstreams, and compare.", options.ALLOW_CODE
)
@click.option("-v", "--verbose", is_flag=True, help="List all servers and locations that were not chosen.")
@click.option("--explain", is_flag=True, help="Tell in sentences what the client sees, and why.")
def command(
    config: str,
    request: tuple[str, ...],
    headers: tuple[str, ...],
    client: str | None,
    sni: str | None,
    format_: str,
    requests: str | None,
    input_format: str | None,
    nginx: str | None,
    verbose: bool,
    explain: bool,
    **of_site: Any,
) -> int:
    """Show what nginx does with a request, and why.

    CONFIG is a main configuration, a file that one includes, or - for standard input, such as the output of nginx -T.
    Shows the response, or where the request is passed on to, then the server, rules and location that decide it, and
    the settings in force. Nothing is sent. What the configuration does not decide is unknown, with the reason.
    """
    if explain and (requests is not None or format_ == "json"):
        raise UsageError("--explain is for one request, as text")
    if requests is not None:
        _refuse_request(request, headers, client, sni, "-" if config == requests == "-" else None)
    elif input_format is not None:
        raise UsageError("--input-format is for --requests")
    if nginx and not request and requests is None:  # which `--nginx CONFIG URL` took for the path
        config, request, nginx = nginx, (config,), ""
    binary = None if nginx is None else options.binary(nginx)
    asked = site.load(config, binary=binary, **of_site)
    if requests is not None:
        return trace_requests.run(asked, requests, input_format, format_, binary, verbose=verbose)
    sent = _request(request, headers, client, asked.base or asked.gate.base)
    notes = (*asked.notes, *_not_asked(sent, binary))
    known = Circumstances(asked.world, asked.gate, asked.target.origin, sni, notes)
    result = limited(lambda: trace(asked.model, sent, known), path=config)
    if binary is not None:
        result = _compared(result, asked, binary)
    if format_ == "json":
        stdout.write_document(trace_json.render(result))
    elif explain:
        stdout.write_lines(trace_sentences.render(result))
    else:
        lines = render(result, color=stdout.colored(), verbose=verbose)
        stdout.write_lines(lines)
    return int(result.comparison is not None and bool(result.comparison.differences))


def _not_asked(sent: Request, binary: Binary | None) -> Iterator[str]:
    """Yield how the request to a real nginx differs from the one to the model."""
    if binary is None or sent.client is None:
        return
    if not sent.client.startswith(b"127."):
        yield f"nginx is asked by {LOCAL}, not by {sent.client.decode()} (--client)"


def _compared(trace: Trace, asked: site.AskedSite, binary: Binary) -> Trace:
    """Return a trace with what nginx answers."""
    from nginxopt.request.real import compare, compare_branches

    ask = compare_branches if trace.branches else compare
    return replace(trace, comparison=ask(asked.config, trace, asked.world, binary))


def _refuse_request(*of_one: object) -> None:
    """Raise `UsageError` if --requests is combined with options for a single request."""
    if any(of_one):
        raise UsageError("--requests takes neither a URL nor -H, --client, --sni, nor standard input twice")


def _request(words: tuple[str, ...], headers: tuple[str, ...], client: str | None, base: Url | None) -> Request:
    """Return the request of the command line. Raises `UsageError` for what is none."""
    if not 1 <= len(words) <= 2:
        raise UsageError("expected a URL, or a method and a URL", hint="nginxopt trace CONFIG [METHOD] URL")
    text = " ".join(words)
    try:
        request = read_request(text, base, headers=headers)
    except UrlError as error:
        raise site.refused_url(text, error.message, error.column) from None
    return replace(request, client=None if client is None else _client(client))


def _client(address: str) -> bytes:
    try:
        return str(ipaddress.ip_address(address)).encode()
    except ValueError:
        raise UsageError(f"--client {address}: not an IP address") from None
