"""Asks a real nginx about a witness: whether both sides answer it as the model says, and not alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.config import Config, load_text
from nginxopt.errors import UsageError
from nginxopt.request.model import SiteModel, World
from nginxopt.request.private import Exchange, PrivateNginx, source_of
from nginxopt.request.real import differences
from nginxopt.semantics.site.lowering import placed
from nginxopt.system.echo import EchoedRequest
from nginxopt.system.nginx import Binary
from nginxopt.verify.emptied import beside, packaged
from nginxopt.verify.expiry import FIXED_DATES
from nginxopt.verify.observation import SENT, ObservedOutcome
from nginxopt.verify.verdict import Confirmation, RequestWitness

_Observed = dict[str, object]
"""What a client and upstreams got, by the name of the part."""

_TIMED = ("date", "expires")  # whose dates change from second to second


def confirm(
    witness: RequestWitness, old: tuple[Config, SiteModel], new: tuple[Config, SiteModel], binary: Binary
) -> Confirmation:
    """Return what nginx makes of a witness. Raises as `PrivateNginx`."""
    world = World(existing=witness.existing, missing=witness.missing, accel=witness.accel)
    traces = witness.old, witness.new
    (mine, before), (theirs, after) = (
        _ask(witness, side, world, binary, is_refused=trace["outcome"]["kind"] == "refused")
        for side, trace in zip((old, new), traces, strict=True)
    )
    is_shown = not _is_hidden(witness, old[1], new[1])
    return Confirmation(str(binary), (mine, theirs), is_alike=is_shown and _are_alike(before, after))


def _is_hidden(witness: RequestWitness, old: SiteModel, new: SiteModel) -> bool:
    """Return whether the private nginx cannot show the difference: all servers are echoes there, which do not
    understand gRPC, and clients are on this machine."""
    connection = witness.request["connection"]
    if connection["client"] not in (None, source_of(connection)):
        return True
    outcomes = witness.old["outcome"], witness.new["outcome"]
    mine, theirs = (
        ObservedOutcome.of(outcome, model.site) for outcome, model in zip(outcomes, (old, new), strict=True)
    )
    return mine.is_elsewhere(theirs) or any(outcome["kind"] == "grpc" for outcome in outcomes)


def _ask(
    witness: RequestWitness, side: tuple[Config, SiteModel], world: World, binary: Binary, *, is_refused: bool
) -> tuple[tuple[str, ...], tuple[_Observed, _Observed]]:
    """Return how nginx differs from the model, and its answers to the same request sent twice."""
    config, model = side
    if witness.passing is not None:
        config = _within(config, witness.passing)
    if witness.beside is not None:
        config = beside(config, witness.beside)
    if witness.defined:
        config = _defining(config, witness.defined)
    config = packaged(config)
    prefix, tls = model.site.site["build"]["prefix"], witness.request["connection"]["tls"]
    sent = tuple((name, SENT) for name in witness.sent)
    with PrivateNginx(
        config, prefix, world, binary, tls=tls, answers=witness.is_answered, sent=sent, failing=witness.failing
    ) as nginx:
        if is_refused:
            return _refused(witness, nginx), ({}, {})
        moved = nginx.moved(witness.request)
        first, second = nginx.ask(moved), nginx.ask(moved)
        told = tuple(differences(nginx.expected(moved), first)) if witness.failing is None else ()
        return told, (observed(first, nginx), observed(second, nginx))


def _within(config: Config, passing: str) -> Config:
    """Return a part of a configuration within a location that passes requests on."""
    text = b"location / {\n%s\n%s\n}" % (config.main.source.data, passing.encode())
    return load_text(text, config.main.path, prefix=config.prefix, context="server", missing_ok=True)


def _defining(config: Config, values: Sequence[tuple[str, str]]) -> Config:
    """Return a configuration that defines variables; as it is if no place is found."""
    maps = b"".join(b'map "" $%s { default "%s"; }\n' % (name.encode(), value.encode()) for name, value in values)
    data, http = config.main.source.data, config.http
    if http is not None and http.source is config.main.source:
        start = data.index(b"{", http.start) + 1
        text = b"%s\n%s%s" % (data[:start], maps, data[start:])
    elif http is None:
        context = placed(config).candidates[0] if placed(config).candidates else ()
        text = maps + (b"server {\n%s\n}" % data if context[-1:] == ("server",) else data)
    else:
        return config
    return load_text(
        text, config.main.path, prefix=config.prefix, context="http" if http is None else None, missing_ok=True
    )


def _refused(witness: RequestWitness, nginx: PrivateNginx) -> tuple[str, ...]:
    """Return what is wrong if nginx listens where a request goes, although the model says that nothing does."""
    try:
        nginx.moved(witness.request)
    except UsageError:
        return ()
    return ("nginx listens there",)


def observed(exchange: Exchange, nginx: PrivateNginx) -> _Observed:
    """Return what a client and upstreams got, by the name of the part."""
    observed: _Observed = {}
    if exchange.response is not None:
        response = exchange.response
        observed = {"status": response.status, "body": nginx.original(response.body)}
        for name, _ in response.headers:
            values = [nginx.original(value.encode("latin-1")) for value in response.values(name)]
            if name.lower() in _TIMED:
                values = [b"" if value.endswith(b"GMT") and value not in FIXED_DATES else value for value in values]
            observed[f"header {name.lower()}"] = values
    for number, asked in enumerate(exchange.asked):
        observed |= {f"{part} of request {number}": value for part, value in _passed(asked, nginx)}
    return observed


def _passed(asked: EchoedRequest, nginx: PrivateNginx) -> Iterator[tuple[str, object]]:
    """Yield the parts of a request that an upstream got: of HTTP, each header for itself."""
    if asked.protocol != "proxy":
        yield "all", (asked.protocol, nginx.original(asked.data))
        return
    yield "line", nginx.original(asked.data.partition(b"\r\n")[0])
    yield "body", nginx.original(asked.data.partition(b"\r\n\r\n")[2])
    names = dict.fromkeys(line.partition(b":")[0].decode("latin-1") for line in asked.headers)
    for name in names:
        yield f"header {name}", [nginx.original(value) for value in asked.values(name)]


def _are_alike(old: tuple[_Observed, _Observed], new: tuple[_Observed, _Observed]) -> bool:
    """Return whether both sides certainly answered alike. Parts that change from one answer of a side to the next, such
    as `$request_id`, are left out."""
    names = {name for answer in (*old, *new) for name in answer}
    changing = [{name for name in names if first.get(name) != second.get(name)} for first, second in (old, new)]
    if changing[0] != changing[1]:
        return False
    steady = {name for name in names if all(first.get(name) == second.get(name) for first, second in (old, new))}
    is_known = all(name.startswith("header ") for name in names - steady)
    return is_known and all(old[0].get(name) == new[0].get(name) for name in steady)
