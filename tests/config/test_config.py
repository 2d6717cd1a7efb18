"""The tree of a configuration: directives with their spans, comments, and runs of rewrites."""

from __future__ import annotations

import threading

from nginxopt.config import Bulk, Comment
from nginxopt.config.tree import FOLD, parse
from nginxopt.text import Source
from tests.config.texts import rewrites, texts, tree
from tests.rows import every_row


def test_a_directive_knows_its_place() -> None:
    """Name, arguments, block and the directive itself have the spans they are written in, and a line."""
    text = b'http {\r\n  server_name "a b" c\\;d; # e\r\n}\r\n'
    http, name = tree(text)
    assert http.block is not None
    assert (http.span.start, http.span.end, http.line) == (0, text.rindex(b"}") + 1, 1)
    assert (http.block.span.start, http.block.span.end) == (5, http.span.end)
    assert (name.name, name.args, name.line) == ("server_name", ("a b", "c\\;d"), 2)
    assert texts(name) == ['"a b"', "c\\;d"]
    assert [arg.quoted for arg in name.args] == [True, False]
    assert name.source.text(name.span) == 'server_name "a b" c\\;d;'


def test_comments_are_kept() -> None:
    """Comments between directives are nodes, those between words belong to their directive."""
    block = parse(Source("f", b'# a\n"#b" c # d\n ; # e\nf { # g\n}'))
    kinds = [type(node).__name__ for node in block.nodes]
    assert kinds == ["Comment", "Directive", "Comment", "Directive"]
    directive, last = block.directives()
    assert (directive.name, directive.args) == ("#b", ("c",))
    assert [comment.text for comment in directive.comments] == ["# d"]
    assert last.block is not None
    assert [block.source.text(node.span) for node in last.block.nodes] == ["# g"]


CONDITIONS = {
    b"if ($a = b) {}": ["$a", "=", "b"],
    b"if ( $a ~ b ) {}": ["$a", "~", "b"],
    b"if ($a) {}": ["$a"],
    b'if ($a = "b") {}': ["$a", "=", '"b"'],
    b"if ($a = 'b)' ) {}": ["$a", "=", "'b)'"],
    b"if ('($a' = 'b)') {}": ["'($a'", "=", "'b)'"],
    b"if () {}": [],
    b"if ( ) {}": [],
    b"if (($a)) {}": ["($a)"],
    b"if $a {}": ["$a"],
    b"if (\xc2\xa0$a\xc2\xa0) {}": ["\xa0$a\xa0"],
}


@every_row("text", CONDITIONS)
def test_conditions_lose_their_parentheses(text: bytes) -> None:
    """One parenthesis is taken off each end of a condition, as nginx does, and the spans follow."""
    (condition,) = tree(text)
    assert texts(condition) == CONDITIONS[text]
    unquoted = [arg for arg in condition.args if not arg.quoted]
    assert [condition.source.text(arg.span) for arg in unquoted] == unquoted


def test_long_runs_are_one_node() -> None:
    """A run is one `Bulk` from `FOLD` rewrites on, and a walk makes the same directives either way."""
    for count, nodes in [(FOLD - 1, FOLD - 1), (FOLD, 1), (1000, 1)]:
        block = parse(Source("f", b"server {\n" + rewrites(count) + b"\nset $a b;\n" + rewrites(2) + b"\n}"))
        (server,) = block.directives()
        assert server.block is not None
        nodes_ = [node for node in server.block.nodes if not isinstance(node, Comment)]
        assert len(nodes_) == nodes + 3
        directives = list(server.block.directives())
        assert len(directives) == count + 3
        assert [directive.line for directive in directives[:count]] == list(range(2, count + 2))
        assert directives[count - 1].args[0] == f"^/a{count - 1}$"
        assert directives[0].source.text(directives[0].span) == "rewrite ^/a0$ /b last;"


def test_a_bulk_is_iterated_again_and_again() -> None:
    """A `Bulk` has a length and makes equal directives each time it is asked."""
    (bulk,) = (node for node in parse(Source("f", rewrites(100))).nodes if isinstance(node, Bulk))
    assert len(bulk) == 100
    first, second = ([(d.args, d.span, d.line) for d in bulk] for _ in range(2))
    assert first == second
    assert len(first) == 100


def test_reading_is_thread_safe() -> None:
    """Files read at the same time by several threads do not get each other's tokens."""
    failures: list[int] = []

    def read(number: int) -> None:
        for _ in range(50):
            names = {directive.name for directive in tree(b"a%d;" % number * 20)}
            if names != {f"a{number}"}:
                failures.append(number)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
