"""The table of facts: every directive has a line of words with a meaning, and no list stands elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.facts import GROUPS, fact, group, having, known, script, vendors
from nginxopt.facts.table import GATEWAYS, declarations, names

ROOT = Path(__file__).parents[2]

EFFECTS = {"script", "access", "content", "header", "body", "upstream", "connection", "log", "none"}
MODELS = {
    *("", "read", "structure", "opaque"),
    *("log", "size", "connection", "encoding", "parameter", "header", "variable", "state", "upstream"),
    *("first", "in order", "after", "content", "body", "headers", "response"),
}
VARIABLES = {"", "all", "first", "later", "passed", "name", "source", "condition", "format"}


def test_every_directive_has_a_line() -> None:
    """Of each directive of each release, something is known: add a line to facts.tsv for those that are missing."""
    assert sorted(names() - known()) == []


def test_every_line_is_read() -> None:
    """Each cell has a word of its column, each group a meaning and a member, each line its place in the order."""
    lines = (ROOT / "nginxopt/facts/facts.tsv").read_text().splitlines()
    stated = [line.split("\t")[0] for line in lines[1:]]
    assert stated == sorted(set(stated))
    for row in map(fact, sorted(known())):
        assert row is not None
        assert row.effect in EFFECTS, row
        assert row.model in MODELS, row
        assert row.inherited in ("", "no", "handler", "list", "added"), row
        assert row.variables in VARIABLES, row
        assert row.code in ("", "variables", "upstreams", "everything", "nothing"), row
        assert row.hidden in ("", "yes"), row
        assert set(row.groups.split()) <= GROUPS.keys(), row
        assert row.default != "declared" or any(each.default for each in declarations(row.name)), row
    assert all(group(name) for name in GROUPS)


def test_a_line_of_all_gateways() -> None:
    """`@_buffering` stands for each gateway that has it; a line of its own takes the sentence from there."""
    shared, own = fact("scgi_buffering"), fact("proxy_buffering")
    assert shared == fact("uwsgi_buffering")._replace(name="scgi_buffering")  # type: ignore[union-attr]
    assert fact("grpc_buffering") is None
    assert own is not None
    assert shared is not None
    assert own.default == "declared"
    assert own.description == shared.description
    for name in names():
        gateway, _, rest = name.partition("_")
        others = [each for each in GATEWAYS if f"{each}_{rest}" in names()]
        if gateway in GATEWAYS and len(others) == len(GATEWAYS):
            assert len({fact(f"{each}_{rest}").description for each in others}) <= 2  # type: ignore[union-attr]


def test_what_is_known_by_the_columns() -> None:
    """The lists that everything asks for have the directives that nginx's sources say."""
    assert script() == {"break", "if", "return", "rewrite", "set"}
    assert having("inherited", "handler") >= {"proxy_pass", "grpc_pass", "stub_status", "empty_gif"}
    assert group("pass") == {f"{name}_pass" for name in GATEWAYS if name != "tunnel"}
    assert group("root") == {"root", "alias"}


@pytest.mark.parametrize("vendor", [vendors.OLDER, vendors.PLUS, vendors.MODULES])
def test_what_others_declare(vendor: str) -> None:
    """Each line of a vendor is read, and its names are none of nginx's."""
    for name in vendors.names(vendor):
        assert vendors.declarations(vendor, name)
        assert not declarations(name)


FEWEST = 4
"""The directives in one literal from which on it is a list."""

ELSEWHERE = {
    "nginxopt/bench/isolation.py": "what a benchmark leaves out, or replaces",
    "nginxopt/config/templates/lines.py": "samples of text for placeholders",
    "nginxopt/config/templates/values.py": "samples of text for placeholders",
    "nginxopt/lint/queries/load.py": "what operators of busy servers set",
    "nginxopt/profile/terms.py": "parts of requests, by what they take",
    "nginxopt/profile/work.py": "parts of requests, by the directive that adds them",
    "nginxopt/lsp/outline.py": "how an editor shows blocks and definitions",
    "nginxopt/request/trace.py": "what a trace shows, in this order",
    "nginxopt/request/model.py": "kinds of steps, not directives",
    "nginxopt/request/trace_sentences.py": "kinds of steps, not directives",
    "nginxopt/request/transplant.py": "what a private nginx leaves out, or has of its own",
    "nginxopt/semantics/inherit.py": "what a file of Certbot contains",
    "nginxopt/config/recognition.py": "words of other languages",
    "nginxopt/system/nginx/permission.py": "sentences about what programs do",
    "nginxopt/verify/canonical.py": "values that nginx has by default and no declaration has",
    "nginxopt/verify/influences.py": "its keys are variables",
    "nginxopt/verify/premises.py": "what a premise says that a file has not",
    "nginxopt/verify/witnesses.py": "what an error shows that nginx answers as it reads a request",
    "rust/src/prove/tables.rs": "sizes of tables, by their place in an array",
    "rust/src/request/handler.rs": "the members of an enumeration, with their names",
}
"""Where literals name several directives and are no list of what nginx does, with the reason."""

DIRECTIVES = names() - group("block")
"""The names that count: those of blocks are also the names of places."""


def literals(path: Path) -> Iterator[tuple[int, set[str]]]:
    """Yield the literals of a file of Python with their lines: sets, lists, tuples, keys of dicts, words of strings."""
    tree = ast.parse(path.read_text())
    documented = (getattr(node, "body", ()) for node in ast.walk(tree))
    texts = {
        id(statement.value)
        for body in documented
        for statement in (body if isinstance(body, list) else ())
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Set | ast.Tuple | ast.List):
            yield node.lineno, {str(each.value) for each in node.elts if isinstance(each, ast.Constant)}
        elif isinstance(node, ast.Dict):
            yield node.lineno, {str(each.value) for each in node.keys if isinstance(each, ast.Constant)}
            yield node.lineno, {str(each.value) for each in node.values if isinstance(each, ast.Constant)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            words = set(node.value.split())
            if len(words & DIRECTIVES) * 2 > len(words):
                yield node.lineno, words


_RUST = re.compile(r'(?:b?"\w+"[\s,|)]*(?:\(\w+(?:::\w+)?, )?){4,}')


def lists_of_rust(path: Path) -> Iterator[tuple[int, set[str]]]:
    """Yield what a file of Rust lists or matches, outside of its tests."""
    text, _, _ = path.read_text().partition("#[cfg(test)]")
    for found in _RUST.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, set(re.findall(r'"(\w+)"', found[0]))


def listed() -> Iterator[tuple[str, int, set[str]]]:
    """Yield each literal with at least four directives, with its file and line."""
    folders = (ROOT / "nginxopt", ROOT / "rules")
    for path in (path for folder in folders for path in folder.rglob("*.py") if path.parent.name != "facts"):
        yield from ((str(path.relative_to(ROOT)), line, words) for line, words in literals(path))
    for path in (path for path in (ROOT / "rust/src").rglob("*.rs") if "tests" not in path.parts):
        yield from ((str(path.relative_to(ROOT)), line, words) for line, words in lists_of_rust(path))


def test_no_list_stands_elsewhere() -> None:
    """A list of directives is a column or a group of facts.tsv; the few that are none have a reason."""
    found = [(file, line, words & DIRECTIVES) for file, line, words in listed() if len(words & DIRECTIVES) >= FEWEST]
    assert [each for each in found if each[0] not in ELSEWHERE] == []
    assert {file for file, _, _ in found} == ELSEWHERE.keys()
