"""`nginxopt ingress`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from nginxopt.budget import limited
from nginxopt.cli import options, stdout
from nginxopt.config.includes import source
from nginxopt.errors import InputError, UsageError
from nginxopt.ingress import convert, files_of, ingresses, is_printed, listed, settings_of, without_lua
from nginxopt.settings.target import choose
from nginxopt.system import files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.ingress import Converted, Ingress
    from nginxopt.version import Version

_EXAMPLES = """\b
Examples:
  nginxopt ingress manifests/ --output old.conf
  kubectl get ingress -A -o yaml | nginxopt ingress - > old.conf
  kubectl get configmap -n ingress-nginx ingress-nginx-controller -o yaml > config.yaml
  nginxopt ingress manifests/ --config-map config.yaml --output old.conf
  kubectl exec -n ingress-nginx deploy/ingress-nginx-controller -- nginx -T | nginxopt ingress - --tls all
  nginxopt ingress manifests/ --annotations     what an HTTPRoute has for each annotation
  nginxopt trace old.conf https://shop.example/cart

\b
Exit status: 0 success, 1 an annotation has no counterpart (--annotations), 2 usage error, 3 unreadable input,
4 the package of nginxopt[ingress] is missing.
"""


@click.command("ingress", epilog=_EXAMPLES, short_help="Turn Kubernetes Ingresses into an nginx.conf.")
@click.argument("manifests", metavar="MANIFESTS...", nargs=-1, required=True)
@click.option("--config-map", type=options.FILE, metavar="FILE", help="Manifest with the ConfigMap of the controller.")
@click.option("--class", "class_", metavar="NAME", help="Read only Ingresses of this class, or without a class.")
@click.option(
    "--annotations", "lists", is_flag=True, help="List what an HTTPRoute of the Gateway API has for each annotation."
)
@click.option(
    "--no-validation",
    is_flag=True,
    help="Take values of annotations that the controller refuses unless it has --enable-annotation-validation=false.",
)
@click.option(
    "--tls",
    multiple=True,
    metavar="HOST",
    help="Host with a certificate, or all, or none: the controller's nginx.conf does not say.",
)
@options.TARGET_VERSION
@click.option("-o", "--output", type=options.FILE, metavar="FILE", help="Write the configuration to FILE.")
@options.QUIET
def command(
    manifests: tuple[str, ...],
    config_map: str | None,
    class_: str | None,
    lists: bool,
    no_validation: bool,
    tls: tuple[str, ...],
    target_version: Version | None,
    output: str | None,
    quiet: bool,
) -> int:
    """Turn Kubernetes Ingresses into the nginx.conf that answers as ingress-nginx does.

    MANIFESTS are files or directories with YAML or JSON, or - for standard input; or the nginx.conf of a controller,
    alone or as nginx -T prints it. The result has none of the controller's Lua, so that trace, test, lint and verify
    can say what it answers. Notes on standard error name what is left out.
    """
    settings = limited(lambda: settings_of(config_map), path=config_map)
    text = source(manifests[0]) if len(manifests) == 1 and not os.path.isdir(manifests[0]) else None
    if text is not None and is_printed(text.data):
        if lists:
            raise UsageError("--annotations is for manifests: the nginx.conf of a controller has no annotations")
        printed = limited(lambda: without_lua(text, settings, tls or None), path=text.path)
        return _finish(printed, output, [*manifests, config_map], quiet)
    if tls:
        raise UsageError("--tls is for the nginx.conf of a controller; manifests say which hosts have a certificate")
    files = files_of(manifests)  # once: a folder may have others by the time that the output is written
    found = limited(lambda: ingresses(files, text))
    found = [ingress for ingress in found if class_ is None or ingress.ingress_class in ("", class_)]
    if not found:
        of_class = f" of class {class_}" if class_ else ""
        raise InputError(f"no Ingress{of_class}", path=manifests[0] if len(manifests) == 1 else None)
    if lists:
        return _list(found)
    version = choose(target_version, None).version
    converted = limited(lambda: convert(found, settings, version, validates=not no_validation))
    return _finish(converted, output, [*files, config_map], quiet)


def _finish(converted: Converted, output: str | None, inputs: Sequence[str | None], quiet: bool) -> int:
    _write(converted.text.encode(errors="surrogateescape"), output, inputs)
    for note in () if quiet else converted.notes:
        stdout.say(f"note: {note}")
    return 0


def _list(found: Sequence[Ingress]) -> int:
    rows = listed(found)
    stdout.write_lines(f"{row.line}\n" for row in rows)
    return int(any(not row.route for row in rows))


def _write(text: bytes, output: str | None, inputs: Sequence[str | None]) -> None:
    """Print the configuration, or write it to a file that is not one of the inputs."""
    if output is None:
        stdout.write([text])
        return
    options.refuse_overwriting("--output", output, inputs)
    files.write_all({output: text})
