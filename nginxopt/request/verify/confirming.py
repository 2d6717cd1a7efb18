"""Asks a real nginx about a witness: whether both sides answer it as the model says."""

from __future__ import annotations

from nginxopt.config import Config
from nginxopt.request.model import Model
from nginxopt.request.private import PrivateNginx
from nginxopt.request.real import differences
from nginxopt.request.verify.verdict import Confirmation, Witness
from nginxopt.request.world import World
from nginxopt.system.nginx import Binary


def confirm(witness: Witness, old: tuple[Config, Model], new: tuple[Config, Model], binary: Binary) -> Confirmation:
    """Return what nginx makes of a witness. Raises as `PrivateNginx`."""
    world = World(existing=witness.existing, missing=witness.missing)
    return Confirmation(str(binary), (_ask(witness, old, world, binary), _ask(witness, new, world, binary)))


def _ask(witness: Witness, side: tuple[Config, Model], world: World, binary: Binary) -> tuple[str, ...]:
    config, model = side
    prefix, tls = model.site.site["build"]["prefix"], witness.request["connection"]["tls"]
    with PrivateNginx(config, prefix, world, binary, tls=tls) as nginx:
        moved = nginx.moved(witness.request)
        return tuple(differences(nginx.expected(moved), nginx.ask(moved)))
