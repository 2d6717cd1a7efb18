"""A run: its probes, the pages of its rounds, and its start."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from nginxopt.bench import probe, run_folder
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.runner.local import directives
from nginxopt.bench.scenario import (
    Attack,
    ExpectedResponse,
    Target,
    Variant,
)
from nginxopt.errors import RunError
from tests.bench.samples import experiment


class Answers:
    """A site whose nodes answer with fixed bytes."""

    def __init__(self, **answers: bytes) -> None:
        self.answers = answers

    def address(self, variant: Variant, role: str) -> str:
        """The address of a node."""
        return f"{variant.name}.test:80" if role == "edge" else role

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:  # noqa: ARG002
        """The answer of a variant."""
        return self.answers.get(variant.name, b"HTTP/1.1 200 OK\r\nX-Node: a\r\n\r\nok")


@pytest.mark.parametrize(
    ("answer", "expected", "why"),
    [
        (b"", ExpectedResponse(), "no response"),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", ExpectedResponse(), "502 instead of 200"),
        (b"HTTP/1.1 301 Moved\r\nLocation: /b\r\n\r\n", ExpectedResponse(301, "/a"), "301 to /b instead of 301 to /a"),
        (b"HTTP/1.1 200 OK\r\n\r\nno", ExpectedResponse(body="ok"), "the body does not contain 'ok'"),
        (
            b"HTTP/1.1 200 OK\r\nX-Node: b\r\n\r\n",
            ExpectedResponse(header=("X-Node", "a")),
            "the header X-Node is 'b', not 'a'",
        ),
    ],
)
def test_probes(answer: bytes, expected: ExpectedResponse, why: str) -> None:
    """A variant that does not answer as it must ends the run with the reason."""
    original = experiment()
    attacks = tuple(Attack(item.variant, item.case, (Target("/", expected),), item.load) for item in original.attacks)
    changed = replace(original, attacks=attacks)
    with pytest.raises(RunError, match=re.escape(f"none: wrong response of edge for /: {why}")):
        probe.probe(Answers(none=answer), changed)  # type: ignore[arg-type]


def test_variants_must_answer_alike() -> None:
    """Variants must give equal responses, but for addresses, to targets without a stated response."""
    original = experiment()
    attacks = tuple(Attack(item.variant, item.case, (Target("/", None),), item.load) for item in original.attacks)
    changed = replace(original, attacks=attacks)
    redirects = {
        name: f"HTTP/1.1 302 Found\r\nLocation: http://{name}.test:80/x\r\n\r\n".encode() for name in ("none", "before")
    }
    assert probe.probe(Answers(**redirects, after=redirects["none"].replace(b"none", b"after")), changed) == {  # type: ignore[arg-type]
        (name, "case"): frozenset({"302"}) for name in ("none", "before", "after")
    }
    with pytest.raises(RunError, match=r"after: .* 200 instead of 302"):
        probe.probe(Answers(**redirects), changed)  # type: ignore[arg-type]


def test_a_private_port_behind_any_host_is_no_difference() -> None:
    """nginx adds its port to the host of the request, and each variant has ports of its own; another port differs."""

    class Ports(Answers):
        def address(self, variant: Variant, role: str) -> str:  # noqa: ARG002
            return f"127.0.0.1:{ports[variant.name]}"

    ports = {"none": 4001, "before": 4002, "after": 4003}

    def answers(to: str) -> Ports:
        redirect = f"HTTP/1.1 301 Moved\r\nLocation: http://shop.example:{to}/new?x=:4001/\r\n\r\n"
        return Ports(**{name: redirect.replace("PORT", str(port)).encode() for name, port in ports.items()})

    original = experiment()
    attacks = tuple(Attack(item.variant, item.case, (Target("/", None),), item.load) for item in original.attacks)
    changed = replace(original, attacks=attacks)
    assert set(probe.probe(answers("PORT"), changed).values()) == {frozenset({"301"})}  # type: ignore[arg-type]
    with pytest.raises(RunError, match=r"before: .* 301 to http://shop.example:4001/new"):
        probe.probe(answers("4001"), changed)  # type: ignore[arg-type]


def test_rounds_have_their_own_pages() -> None:
    """A page that nobody has asked for before is another one in each round."""
    assert [target.path for target in probe.in_round([Target("/p?@round@"), Target("/q")], 3)] == ["/p?3", "/q"]


def test_directives_of_the_command_line() -> None:
    """A profiled nginx is one process whose clock does not tick."""
    assert "daemon off; pid nginx.pid;" in directives()
    assert "master_process off; timer_resolution 1d;" in directives(single=True)


def test_the_script_quotes() -> None:
    """Words of commands that mean something to a shell are quoted in the script; its variable is not."""
    script = run_folder.files(experiment(), Vegeta("/opt/my tools/vegeta"), 1)["run"].decode()
    command = next(line for line in script.splitlines() if "-targets=" in line)
    words = shlex.split(command)
    assert words[:2] == ["/opt/my tools/vegeta", "attack"]
    assert words[2] == "-targets=results/$round/none.case.targets"
