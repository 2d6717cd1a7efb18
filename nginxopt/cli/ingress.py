"""`nginxopt ingress`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nginxopt.cli import options, overwriting, stdout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.ingress import Ingress
    from nginxopt.version import Version

_EXAMPLES = """\b
Examples:
  nginxopt ingress manifests/ --output old.conf
  kubectl get ingress -A -o yaml | nginxopt ingress - > old.conf
  kubectl get configmap -n ingress-nginx ingress-nginx-controller -o yaml > config.yaml
  nginxopt ingress manifests/ --config-map config.yaml --output old.conf
  nginxopt ingress manifests/ --annotations     what an HTTPRoute has for each annotation
  nginxopt trace old.conf https://shop.example/cart

\b
Exit status: 0 success, 1 an annotation has no counterpart (--annotations), 2 usage error, 3 unreadable input,
4 the package of nginxopt[ingress] is missing.
"""


@click.command("ingress", epilog=_EXAMPLES)
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
@options.TARGET_VERSION
@click.option("--output", type=options.FILE, metavar="FILE", help="Write the configuration to FILE.")
@options.QUIET
def command(
    manifests: tuple[str, ...],
    config_map: str | None,
    class_: str | None,
    lists: bool,
    no_validation: bool,
    target_version: Version | None,
    output: str | None,
    quiet: bool,
) -> int:
    """Turn Kubernetes Ingresses into the nginx.conf that answers as ingress-nginx does.

    MANIFESTS are files or directories with YAML or JSON, or - for standard input. The result has no Lua, so that trace,
    test, lint and verify can say what the controller answers. Notes on standard error name what is left out.
    """
    from nginxopt.ingress import ingresses
    from nginxopt.timelimit import limited

    found = limited(lambda: ingresses(manifests))
    found = [ingress for ingress in found if class_ is None or ingress.ingress_class in ("", class_)]
    if lists:
        return _list(found)
    from nginxopt.ingress import convert, settings_of
    from nginxopt.settings.target import choose

    settings = limited(lambda: settings_of(config_map), path=config_map)
    version = choose(target_version, None).version
    converted = limited(lambda: convert(found, settings, version, validates=not no_validation))
    _write(converted.text.encode(), output, [*manifests, config_map])
    for note in () if quiet else converted.notes:
        stdout.say(f"note: {note}")
    return 0


def _list(found: Sequence[Ingress]) -> int:
    from nginxopt.ingress import listed

    rows = listed(found)
    stdout.write_lines(f"{row.line}\n" for row in rows)
    return int(any(not row.route for row in rows))


def _write(text: bytes, output: str | None, inputs: Sequence[str | None]) -> None:
    """Print the configuration, or write it to a file that is not one of the inputs."""
    from nginxopt.system import files

    if output is None:
        stdout.write([text])
        return
    overwriting.refuse("--output", output, inputs)
    files.write_all({output: text})
