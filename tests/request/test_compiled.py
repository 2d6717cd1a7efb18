"""What `rewrite-to-map` writes is read like any configuration: no request is unknown, and none has another answer."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

from benchmarks.mixes import example, wild
from nginxopt.bench.rewrite_rules import fragment
from nginxopt.config import load_text
from nginxopt.request.model import OutcomeForm, SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.verify.hosts import ListenAddress
from nginxopt.verify.path_condition import Candidate
from nginxopt.verify.witnesses import request_of
from tests.lintcheck import TARGET

SERVER = b"events {}\nhttp {\n%s\nserver {\nlisten 80;\n%s\nlocation / { return 200 $uri; }\n}\n}\n"
ADDRESS = ListenAddress("inet", "0.0.0.0", 80, quic=False)
RULES = 1_200  # enough for tables of families


def outcomes(http: bytes, server: bytes, paths: Sequence[bytes]) -> list[OutcomeForm]:
    """What becomes of requests for these paths."""
    model = SiteModel(load_text(SERVER % (http, server), "nginx.conf"), Build(TARGET))
    candidates = [Candidate(path=path, host="h") for path in paths]
    requests = [json.dumps(request_of(each, ADDRESS, is_tls=False)) for each in candidates]
    return [json.loads(answer) for answer in model.native.answers(requests, json.dumps(World().form()))]


def test_a_compiled_list() -> None:
    """Requests that one rule matches, or two, of which the first answers."""
    rules = list(wild(RULES))
    examples = [example(rule) for rule in rules]
    ends = [path for path in examples if path.endswith(b".php")]
    draw = random.Random(RULES)
    both = [path + draw.choice(ends) for path in examples for _ in range(3)]
    paths = examples + both + [path.replace(b".", b"-") for path in examples]
    compiled = fragment(rules)
    assert b"_lower {" in compiled.http  # one of two answers is that of the first rule
    before, after = outcomes(b"", b"".join(rules), paths), outcomes(compiled.http, compiled.server, paths)
    told = [
        [(each["unknown"], each["status"], each["location"], each["body"]) for each in side] for side in (before, after)
    ]
    assert told[0] == told[1]
    assert not any(unknown for unknown, *_ in told[1])
