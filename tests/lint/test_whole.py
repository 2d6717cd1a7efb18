"""Whether all of http was read, which decides what a rule may call missing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from nginxopt.config import layout, load, load_text
from nginxopt.lint import WHOLE_CONFIGURATION, Fix, Model, Premise, Reach, Rule, Safety
from nginxopt.lint.catalogue import Catalogue, catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.conformance import HOST
from nginxopt.lint.diagnostic import Grade
from nginxopt.lint.examples import examples, wrapped
from nginxopt.lint.queries import whole
from nginxopt.lint.run import Selected
from nginxopt.settings.file import Settings
from nginxopt.settings.vocabulary import PREMISES
from nginxopt.version import Version
from tests.lintrules import about, run_rules
from tests.rows import every_row

# What is claimed -> what stands in http, whether that is all.
PARTS = {
    "no include": ("server { }", True),
    "types come with nginx": ("include mime.types;", True),
    "a file that is not there": ("include gone.conf;", False),
    "a file that is there": ("include there/a.conf;", True),
    "a folder with files": ("include there/*.conf;", True),
    "an empty folder": ("include empty/*.conf;", False),
    "a folder that is not there": ("include gone/*.conf;", False),
    "a folder beside that of the main file": ("include PARENT/elsewhere/*.conf;", False),
    "a folder of another machine": ("include /etc/nginx/conf.d/*.none;", False),
}


@every_row(("part", "expected"), PARTS.values(), ids=PARTS)
def test_what_was_read(tmp_path: Path, part: str, *, expected: bool) -> None:
    """A wildcard is believed if it finds files below the main file; other parts fill an empty folder."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there/a.conf").write_text("gzip on;\n")
    main = tmp_path / "nginx.conf"
    (tmp_path.parent / "elsewhere").mkdir(exist_ok=True)
    (tmp_path.parent / "elsewhere/a.conf").write_text("gzip on;\n")
    main.write_text(
        f"include modules/*.conf;\nevents {{ }}\nhttp {{\n{part.replace('PARENT', str(tmp_path.parent))}\n}}\n"
    )
    assert whole.is_known(Model(load(main, missing_ok=True), Version(1, 28, 0))) is expected


def test_a_fragment_is_never_all(tmp_path: Path) -> None:
    """Nobody knows what stands around a fragment."""
    fragment = tmp_path / "site.conf"
    fragment.write_text("server { }\n")
    assert not whole.is_known(Model(load(fragment), Version(1, 28, 0)))


# The include -> where it leads: it opens the level that it is in.
OPENING = ["include gone.conf;", "include gone/*.conf;", "include /gone/nginx/conf.d/*.conf;"]
ASSUMED = frozenset(PREMISES.values()) - {WHOLE_CONFIGURATION}
FIXING = [rule for rule in catalogue().values() if any(safety.grade is not Grade.UNSAFE for safety in rule.fixes)]


def opened(text: bytes) -> Iterator[tuple[str, bytes]]:
    """The part of a configuration (`main`, `events`, `http` ...) that an include opens, and the text with the include.

    There is one for the main level and for each block, except those whose statements are no directives.
    """
    root = load_text(text, "nginx.conf").main.block
    places = [("main", 0)]
    for block in root.directives():
        inner = [block, *(block.block.walk() if block.block else ())]
        places += [(str(block.name), one.block.span.start + 1) for one in inner if one.block and one.name != "types"]
    for number, (part, place) in enumerate(places):
        include = OPENING[number % len(OPENING)]
        yield part, text[:place] + f" {include} ".encode() + text[place:]


def safe_fixes(rule: Rule, text: bytes, assumed: frozenset[Premise] = ASSUMED) -> list[Fix]:
    """The fixes of a rule that `--fix` makes, if all premises but `whole-configuration` are declared."""
    example = next(example for example in examples(rule.page) if example.kind == "bad")
    alone = Catalogue({rule.id: rule})
    target = example.target or Version(1, 28, 0)
    judge = Judge((Selected(rule, None),), target, Settings(), HOST, assumed, catalogue=alone)
    found = judge(load_text(text, "/nowhere/nginx.conf", missing_ok=True)).diagnostics
    return [one.fix for one in found if one.fix and one.fix.safety.grade is Grade.SAFE]


@every_row("rule", FIXING, ids=attrgetter("id"))
def test_no_safe_fix_where_something_else_may_stand(rule: Rule) -> None:
    """An include that was not read, at any level of the first bad example, leaves no safe fix that it may matter to."""
    example = next(example for example in examples(rule.page) if example.kind == "bad")
    text = wrapped(example.text, example.context)
    read = {change for fix in safe_fixes(rule, text) for change in parts(text, fix)}
    for part, data in opened(text):
        may_matter = {
            Reach.EVERYTHING: part in read or not read & {"http", "stream"},
            Reach.PROCESS: part in ("main", "events"),
            Reach.WORDS: False,
        }[rule.reach]
        assert not (may_matter and safe_fixes(rule, data)), f"{part} is open:\n{data.decode()}"
        if rule.reach is Reach.PROCESS and not may_matter and read:
            assert safe_fixes(rule, data), f"{part} is open, which is no matter:\n{data.decode()}"


def parts(text: bytes, fix: Fix) -> set[str]:
    """The blocks of the main level that a fix changes, and `main`."""
    blocks = [one for one in load_text(text, "nginx.conf").main.block.directives() if one.block]
    found = set()
    for change in fix.changes:
        inside = (
            str(one.name)
            for one in blocks
            if one.block and one.block.span.start < change.edit.span.start and change.edit.span.end < one.block.span.end
        )
        found.add(next(inside, "main"))
    return found


def test_some_rules_have_safe_fixes_where_everything_was_read() -> None:
    """The law above is about most of the rules with fixes that are safe, or safe under premises."""
    first = {rule: next(one for one in examples(rule.page) if one.kind == "bad") for rule in FIXING}
    safe = [rule.id for rule, one in first.items() if safe_fixes(rule, wrapped(one.text, one.context))]
    assert len(safe) > len(FIXING) * 2 / 3


@every_row("rule", FIXING, ids=attrgetter("id"))
def test_the_premise_restores_every_fix(rule: Rule) -> None:
    """With the premise, a wildcard without matches makes no difference to a rule that judges everything it reads."""
    example = next(example for example in examples(rule.page) if example.kind == "bad")
    text = wrapped(example.text, example.context)
    declared = frozenset(PREMISES.values())
    wild = text.replace(b"http {", b"http { include gone/*.conf; ", 1)
    titles = [[fix.title for fix in safe_fixes(rule, data, declared)] for data in (text, wild)]
    assert titles[0] == titles[1]


ADDS = about("gzip", lambda node: Fix("add a line", (layout.after(node, ["tcp_nopush on;"]),), Safety.SAFE))
CHANGES = about("gzip", lambda node: Fix("change it", (layout.replace(node, node.args[0], "off"),), Safety.SAFE))
WORDS = [replace(rule, reach=Reach.WORDS) for rule in (ADDS, CHANGES)]
PROCESS = [replace(rule, reach=Reach.PROCESS) for rule in (ADDS, CHANGES)]
OPEN = "include gone/*.conf;"
# The configuration -> whether the fixes of rules need the premise: those that add and those that change, by reach.
REACHES = {
    "everything was read": ("http { gzip on; }", "...", "...", "..."),
    "its level is open": (f"http {{ gzip on; {OPEN} }}", "yes", "add", "yes"),
    "a level around it": (f"http {{ {OPEN} server {{ gzip on; }} }}", "yes", "add", "yes"),
    "a level in it": (f"http {{ gzip on; server {{ location / {{ {OPEN} }} }} }}", "yes", "add", "yes"),
    "a level beside it": (f"http {{ server {{ gzip on; }} server {{ {OPEN} }} }}", "yes", "add", "yes"),
    "stream": (f"http {{ gzip on; }} stream {{ {OPEN} }}", "...", "...", "..."),
    "the main level": (f"{OPEN} http {{ gzip on; }}", "...", "...", "..."),
    "a main directive and http": (f"events {{ }} gzip on; http {{ {OPEN} }}", "yes", "add", "..."),
    "a main directive and main": (f"gzip on; {OPEN} http {{ }}", "yes", "add", "yes"),
    "events": (f"events {{ gzip on; }} http {{ {OPEN} }}", "yes", "add", "..."),
    "a main directive in a file without events": ("gzip on; http { }", "yes", "add", "yes"),
    "a fragment": ("server { gzip on; }", "yes", "add", "yes"),
    "types are no matter": ("http { gzip on; include mime.types; }", "...", "...", "..."),
    "modules are no matter": ("include modules-enabled/*.conf; events { } gzip on; http { }", "...", "...", "..."),
}


@every_row("case", REACHES.values(), ids=REACHES)
def test_what_a_fix_depends_on(case: tuple[str, ...]) -> None:
    """A fix needs the premise if its part is open; a rule says what it depends on, but no rule may add lines safely."""
    text, *expected = case
    config = load_text(text.encode(), "/nowhere/nginx.conf", missing_ok=True)
    needs = []
    for rules in ((ADDS, CHANGES), WORDS, PROCESS):
        found = [run_rules(config, rule).diagnostics[0] for rule in rules]
        conditional = [one.fix is None or one.fix.safety == Safety.under(WHOLE_CONFIGURATION) for one in found]
        needs.append({(True, True): "yes", (True, False): "add", (False, False): "..."}[conditional[0], conditional[1]])
    assert needs == expected


def test_words_of_a_file_of_this_machine(tmp_path: Path) -> None:
    """A file outside of the main file's folder, found by an absolute include, is not changed without the premise."""
    (tmp_path / "repo").mkdir()
    (tmp_path / "machine.conf").write_text("gzip on;\n")
    (tmp_path / "repo/nginx.conf").write_text(f"http {{ include {tmp_path}/*.conf; server {{ gzip on; }} }}\n")
    found = run_rules(load(tmp_path / "repo/nginx.conf"), WORDS[1]).diagnostics
    assert [one.fix and one.fix.safety for one in found] == [Safety.SAFE, Safety.under(WHOLE_CONFIGURATION)]
