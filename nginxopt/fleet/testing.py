"""Compares one configuration with the table of expectations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nginxopt.fleet.plan import FleetOptions
from nginxopt.request.batch import Batch
from nginxopt.request.client import read_url
from nginxopt.request.expectations import Results, run
from nginxopt.request.model import SiteModel, World
from nginxopt.request.table import read_table
from nginxopt.semantics.site import Build

if TYPE_CHECKING:
    from nginxopt.config import Config


def test(config: Config, plan: FleetOptions) -> Results:
    """Return the results of all rows. Raises `InputError` for what nginx refuses, and for a broken row."""
    assert plan.table is not None
    model = SiteModel(config, Build(plan.target), reads_lua=True)
    gate = model.gate(None)
    batch = Batch(model, gate, World())
    base = gate.base if plan.base is None else read_url(plan.base)
    rows = read_table(plan.table.source, base, follow=plan.follows).rows
    return run(rows, batch, batch.answers, follows=plan.follows)
