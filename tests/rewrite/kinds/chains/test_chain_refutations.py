"""The proof refutes each fault of the lookup of a chain of `if`s by the obligation that it breaks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from nginxopt.config import Config, Directive, load_text
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.rewrite.kinds.chains.planning import Chain
from nginxopt.rewrite.kinds.chains.proof import prove
from nginxopt.rewrite.kinds.kind import Refutation
from nginxopt.text import apply
from tests.rows import every_row

WHOLE = "events {{}}\nhttp {{\nserver {{\n{reads}set $before 1;\n{chain}set $behind 1;\n}}\n}}\n"
FEW = "".join(f"if ($uri ~ ^/{number}) {{ return {401 if number % 2 else 403}; }}\n" for number in range(8))
MANY = "".join(f"if ($uri ~ ^/{number}) {{ return 30{number % 2 + 1} /{number}; }}\n" for number in range(8))
SETS = "".join(f"if ($uri ~ ^/.*{number}) {{ set $bad {number % 2 or number}; }}\n" for number in range(8))
FEW_SETS = "".join(f"if ($uri ~ ^/.*{number}) {{ set $bad {number % 2}; }}\n" for number in range(8))
REWRITES = "".join(
    f"if ($uri ~ ^/.*{number}) {{ rewrite ^ {'/even?a=1 last' if number % 2 else 'https://odd.test'}; }}\n"
    for number in range(8)
)
STRINGS = "".join(f"if ($uri = /{number}{'Ab'[number % 2]}) {{ return 301 /to/{number}; }}\n" for number in range(16))
HOSTS = "".join(f"if ($host = {number}.test) {{ rewrite ^ https://{number}.new permanent; }}\n" for number in range(16))
READS = "add_header X-1 $1;\n"


def compiled(chain: str, reads: str = "") -> Emission:
    """Compile a chain, which is right."""
    config = load_text(WHOLE.format(chain=chain, reads=reads).encode())
    return emit(plan(config, Options(name="m", groups=True)))


def proof(emission: Emission, text: bytes, maps: bytes) -> Refutation | None:
    """Prove an emission with another text in place of the main file, and other maps."""
    return prove(emission.plan.config, emission.plan.chains, {emission.plan.config.main: text}, maps)


def text_of(emission: Emission) -> bytes:
    """Return the main file with the edits of chains only."""
    [change] = emission.changes
    return apply(change.file.source.data, change.of["chains"])


@dataclass(frozen=True)
class Fault:
    """A fault in the statements (`old`, `new`) or, if they are not there, in the maps of a chain."""

    says: str
    old: bytes
    new: bytes
    refuted: str
    chain: str = MANY
    reads: str = ""


CLEAR = b'rewrite "^a(?!)" /;\n'
LOOK_UP = b"""set $m_c1_answer "";
# A `set` would look it up twice: for the length, and for the text.
if ($m_c1_pattern ~ "^(?<m_c1_answer>[0-9]+)") {
}
"""
NUMBER = "the number of the answer"
FAULTS = (
    Fault("A statement before it is another.", b"$before 1", b"$before 2", "is not as it was"),
    Fault("A statement behind it is gone.", b"set $behind 1;\n", b"", "is not as it was"),
    Fault("A statement behind it is new.", b"set $behind 1;\n", b"set $behind 1;\nbreak;\n", "that was not there"),
    Fault("A status is another.", b"return 301", b"return 308", "is returned no more"),
    Fault("A text is another.", b" /3;", b" /33;", "is returned no more"),
    Fault("Two numbers have one text.", b" /3;", b" /1;", "is returned no more"),
    Fault("A text is gone.", b"    4 /3;\n", b"", "a text is empty"),
    Fault("A number has another class.", b"    4 2;\n", b"    4 1;\n", "is returned no more"),
    Fault("A number has no class.", b"    4 2;\n", b"", "is returned no more"),
    Fault("A class has no status.", b"_class = 2)", b"_class = 3)", "a number has no answer"),
    Fault("A class is that of no condition.", b'default "";\n    1 1;', b"default 1;\n    1 1;", "a map of answers is"),
    Fault("A text is that of no condition.", b'default "";\n    1 /0;', b"default /0;\n    1 /0;", "a map of answers"),
    Fault("A map of classes keeps its value.", b"class {\n    volatile;\n", b"class {\n", "a map of answers is"),
    Fault("A map of texts keeps its value.", b"text {\n    volatile;\n", b"text {\n", "a map of answers is"),
    Fault("A map of classes looks up the URI.", b"map $m_c1_answer $m_c1_class", b"map $uri $m_c1_class", "a map of"),
    Fault("A map of classes has a pattern.", b"    1 1;\n", b"    1 1;\n    ~. 1;\n", "a map of answers is"),
    Fault("A map of classes has a number twice.", b"    1 1;\n", b"    1 1;\n    1 2;\n", "a key twice"),
    Fault("An `if` is true without a number.", b"_answer = 1)", b'_answer = "")', "may be true where", FEW),
    Fault("An `if` compares what is sent.", b"($m_c1_answer = 1)", b"($arg_x = 1)", "is returned no more", FEW),
    Fault("The lookup is gone.", LOOK_UP, b"", "nothing looks them up"),
    Fault("The lookup does more.", b'")' + b" {\n}", b'")' + b" {\nset $before 1;\n}", "nothing looks them up"),
    Fault("The lookup is of another map.", b"($m_c1_pattern", b"($uri", "reads no map of ours"),
    Fault("The lookup is a map's.", b'set $m_c1_answer ""', b'set $m_c1_class ""', "is read in another way"),
    Fault("The lookup ignores case.", b"_pattern ~", b"_pattern ~*", "is read in another way"),
    Fault("The lookup reads a part of the number.", b">[0-9]+)", b">[0-9])", "is read in another way"),
    Fault("An answer is there from the start.", b'set $m_c1_answer "";', b"set $m_c1_answer 1;", "nothing looks them"),
    Fault("An answer stays from another URI.", b'set $m_c1_answer "";\n', b"", "nothing looks them up"),
    Fault("A name is too long for a group.", b"m_c1_answer", b"m" * 33, "nothing looks them up", FEW),
    Fault("A map has the name of the answer.", b"m_c1_answer", b"m_c1_pattern", "sets its variable", FEW),
    Fault("A name is the configuration's.", b"m_c1_answer", b"before", "is in use", FEW),
    Fault("A name is nginx's.", b"m_c1_answer", b"arg_x", "is in use", FEW),
    Fault("A name has capitals.", b"m_c1_answer", b"Answer", "is not plain", FEW),
    Fault("A group is a map.", b"(?<m_c1_p_key>", b"(?<m_c1_text>", "a group sets the variable"),
    Fault("A map is there twice.", b"map $m_c1_answer $m_c1_class", b"map $m_c1_answer $m_c1_text", "one variable"),
    Fault("A number of the lookup is another.", b' "3";', b' "4";', NUMBER),
    Fault("The lookup keeps its value.", b"    volatile;\n", b"", NUMBER),
    Fault("A row is gone.", b'    "/3" "4";\n', b"", NUMBER),
    Fault("A hit keeps what the lookup captures.", b"    " + CLEAR, b"", "$1 to $9 may be kept", FEW, READS),
    Fault("A miss keeps it.", b"did.\n" + CLEAR, b"did.\n", "$1 to $9 may be kept", FEW, READS),
    Fault("A variable is another.", b"set $bad ", b"set $bed ", "is returned no more", FEW_SETS),
    Fault("A value is another.", b"set $bad 1", b"set $bad 2", "is returned no more", FEW_SETS),
    Fault("A value is gone.", b"set $bad 1", b'set $bad ""', "is returned no more", FEW_SETS),
    Fault("A set is a return.", b"set $bad 1", b"return 403", "is returned no more", FEW_SETS),
    Fault("A number sets twice.", b"_answer = 2)", b"_answer = 1)", "two answers", FEW_SETS),
    Fault("A number is not set.", b"    set $bad 1;\n", b"", "is returned no more", FEW_SETS),
    Fault("A number sets and does more.", b"set $bad 1;", b"set $bad 1; break;", "is returned no more", FEW_SETS),
    Fault("A value in a map is another.", b"    2 1;\n    3 2;", b"    2 1;\n    3 3;", "is returned no more", SETS),
    Fault("A class sets twice.", b"_class = 1)", b"_answer = 1) { set $bad 1; }\nif ($m_c1_class = 1)", "two a", SETS),
    Fault("A miss keeps captures behind a set.", b"did.\n" + CLEAR, b"did.\n", "may be kept", FEW_SETS, READS),
    Fault("A target is another.", b"/even?a=1", b"/even?a=2", "is returned no more", REWRITES),
    Fault("A target has no arguments.", b"/even?a=1", b"/even", "is returned no more", REWRITES),
    Fault("A flag is another.", b"a=1 last", b"a=1 break", "is returned no more", REWRITES),
    Fault("A flag is gone.", b"a=1 last", b"a=1", "is returned no more", REWRITES),
    Fault("A pattern does not match each URI.", b"rewrite ^ /even", b"rewrite ^/a /even", "no more", REWRITES),
    Fault("A redirect is one inside.", b"https://odd.test", b"/odd", "is returned no more", REWRITES),
    Fault(
        "A string is compared with a number.", b"= $m_c1_key)", b"= $m_c1_class)", "a map of answers is", STRINGS, READS
    ),
    Fault("Another variable is compared.", b"($uri = $m", b"($args = $m", "or another variable", STRINGS, READS),
    Fault("A string is found as another.", b"    /2A /2A;", b"    /2A /2a;", "a string is not found", STRINGS, READS),
    Fault("A string is not found.", b"    /2A /2A;\n", b"", "a string is not found", STRINGS, READS),
    Fault("A string has no number.", b"    /2A 3;\n", b"", "a string is not found", STRINGS, READS),
    Fault("A string has another number.", b"    /2A 3;", b"    /2A 4;", "a string is not found", STRINGS, READS),
    Fault("A string more is found.", b"    /2A 3;", b"    /2A 3;\n    /3A 3;", "a string is not found", STRINGS, READS),
    Fault("A miss is equal.", b"default /0A;", b'default "";', "may be equal", STRINGS, READS),
    Fault("A miss is equal to what it is.", b"default /0A;", b"default /0;", "may be equal", STRINGS, READS),
    Fault("A map of strings has a pattern.", b"    /2A 3;", b"    /2A 3;\n    ~x 3;", "a map of answers", STRINGS),
    Fault("A map of strings keeps its value.", b"_number {\n    volatile;", b"_number {", "a map of answers", STRINGS),
    Fault("A map of strings looks up another.", b"map $uri $m_c1_key", b"map $args $m_c1_key", "a map of", STRINGS),
    Fault(
        "What is found is no number.", b"answer $m_c1_number", b"answer $m_c1_key", "a map of answers", STRINGS, READS
    ),
    Fault("What is found is not kept.", b"    set $m_c1_answer $m_c1_number;\n", b"", "another way", STRINGS),
    Fault("A hit loses $1.", b"    return 301 $m", b"    " + CLEAR + b"    return 301 $m", "no more", STRINGS, READS),
    Fault("A miss loses $1.", b"set $behind 1;", CLEAR + b"set $behind 1;", "is not as it was", STRINGS, READS),
    Fault("A host has another site.", b"    3 https://2.new;", b"    3 https://3.new;", "is returned no more", HOSTS),
    Fault("A redirect is another.", b"_text permanent", b"_text redirect", "is returned no more", HOSTS),
    Fault("A redirect has no text.", b"    3 https://2.new;\n", b"", "a text is empty", HOSTS),
)


@every_row("chain", [FEW, MANY, FEW_SETS, SETS, REWRITES, STRINGS, HOSTS])
@every_row("reads", ["", READS], ids=["captures unread", "captures read"])
def test_the_look_up_without_a_fault(chain: str, reads: str) -> None:
    """The emissions that the faults are put into are proved."""
    right = compiled(chain, reads)
    assert right.plan.chains.moved == chain.count("if (")
    assert proof(right, text_of(right), right.trees) is None


@every_row("fault", FAULTS, ids=lambda fault: fault.says)
def test_a_fault_is_refuted(fault: Fault) -> None:
    """Each fault changes the statements or the maps, and is refuted by the obligation that it breaks."""
    right = compiled(fault.chain, fault.reads)
    text, maps = text_of(right), right.trees
    assert (fault.old in text) or (fault.old in maps), (text.decode(), maps.decode())
    count = -1 if b"answer" in fault.old and b" " not in fault.old else 1
    if fault.old not in text:
        maps = maps.replace(fault.old, fault.new, 1)
    refutation = proof(right, text.replace(fault.old, fault.new, count), maps)
    assert refutation is not None
    assert fault.refuted in refutation.what


FORGED = {
    "one does more": ("return 403; }", "set $x 1; return 403; }", "does something else"),
    "one sets a variable": ("return 403; }", "set $x 1; }", "set several variables, or only some do"),
    "one rewrites some URIs": ("return 403; }", "rewrite ^/a /b last; }", "does something else"),
    "one rewrites and goes on": ("return 403; }", "rewrite ^ /b; }", "does something else"),
    "one rewrites to a capture": ("return 403; }", "rewrite ^ /$1 last; }", "is not stable"),
    "one is a comparison that is negated": ("$uri ~ ^/4", "$uri !~ ^/4", "does something else"),
    "one compares another variable": ("$uri ~ ^/4", "$args ~ ^/4", "several variables"),
    "one may give up": ("^/4", "^/4(a+)+$", "PCRE may give up"),
    "one is not read": ("^/4", r"^/4\p", "PCRE may give up"),
    "one sets a group by name": ("^/4", "^/4(?<x>.)", "leaves captures"),
    "one returns a capture": ("return 403; }", "return 403 $1; }", "is not stable"),
    "one returns the time": ("return 403; }", "return 403 $msec; }", "is not stable"),
    "one compares with a variable": ("~ ^/4", "= $args", "compares with a variable"),
    "one is for a URI that is longer": ("^/4", "^/44", NUMBER),
    "one is for any case": ("~ ^/4", "~* ^/4a", NUMBER),
    "one is for the empty string": ("~ ^/4", "~ ^", NUMBER),
    "one returns something else": ("^/4) { return 403; }", "^/4) { return 404; }", "is returned no more"),
}


@every_row("forged", FORGED)
def test_a_forged_look_up_is_refuted(forged: str) -> None:
    """A chain that may not move is not proved, whoever moves it; the lookup of one that looks like it is."""
    old, new, what = FORGED[forged]
    assert old in FEW
    alike = compiled(FEW)
    config = load_text(WHOLE.format(chain=FEW.replace(old, new, 1), reads="").encode())
    refutation = _moved(alike, config)
    assert refutation is not None
    assert what in refutation.what


def test_a_chain_whose_groups_are_read_is_refuted() -> None:
    """Groups, and comparisons that leave captures alone, are refuted where captures may be read."""
    for chain in (FEW.replace("^/4", "^/4(a)?", 1), FEW.replace("~ ^/4", "= /4", 1)):
        config = load_text(WHOLE.format(chain=chain, reads=READS).encode())
        refutation = _moved(compiled(FEW, READS), config)
        assert refutation is not None
        assert "leaves captures" in refutation.what


FORGED_SETS = {
    "they set another variable of nginx": ("$bad", "$args", "may have other values"),
    "they set a limit, which nginx checks": ("$bad", "$limit_rate", "may have other values"),
    "they set what a map defines": ("$bad", "$mapped", "may have other values"),
    "they set a header": ("$bad", "$http_x", "may have other values"),
    "they compare what they set": ("$uri", "$bad", "may depend on what is set"),
    "they compare what a map makes of it": ("$uri", "$of_bad", "may depend on what is set"),
    "they compare what was set": ("$uri", "$before", "may depend on what is set"),
}


@every_row("forged", FORGED_SETS)
def test_a_forged_look_up_of_sets_is_refuted(forged: str) -> None:
    """Conditions on what is set, and sets of what has other values, are not proved, whoever moves them."""
    old, new, what = FORGED_SETS[forged]
    maps = "map $host $mapped { a b; }\nmap $bad $of_bad { volatile; 0 /1; 1 /2; }\n"
    with_maps = WHOLE.replace("http {{\n", "http {{\n" + maps.replace("{", "{{").replace("}", "}}"))
    config = load_text(with_maps.format(chain=FEW_SETS.replace(old, new), reads="").encode())
    assert plan(config, Options(groups=True)).chains.reasons() == {"set-variable": 8}
    right = load_text(with_maps.format(chain=FEW_SETS, reads="").encode())
    refutation = _moved(emit(plan(right, Options(name="m", groups=True))), config)
    assert refutation is not None
    assert what in refutation.what


def test_one_of_several_sets_is_of_another_variable() -> None:
    """Conditions that set two variables are not one chain, for the planner and for the proof."""
    config = load_text(WHOLE.format(chain=FEW_SETS.replace("$bad 0", "$bed 0", 1), reads="").encode())
    assert plan(config, Options(groups=True)).chains.total == 0
    refutation = _moved(compiled(FEW_SETS), config)
    assert refutation is not None
    assert "set several variables" in refutation.what


@pytest.mark.parametrize("chain", [FEW_SETS, SETS])
def test_the_first_of_several_sets_does_not_decide(chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup of the first true condition that sets a variable is refuted, with a URI on which they differ."""
    monkeypatch.setattr(Chain, "by_precedence", property(lambda chain: chain.conditions))
    wrong = compiled(chain)
    refutation = proof(wrong, text_of(wrong), wrong.trees)
    assert refutation is not None
    assert NUMBER in refutation.what
    assert refutation.counterexample is not None


@pytest.mark.parametrize("chain", [FEW, REWRITES])
def test_the_last_of_several_returns_does_not_decide(chain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup of the last true condition that ends the script is refuted, where two can be true."""
    monkeypatch.setattr(Chain, "by_precedence", property(lambda chain: chain.conditions[::-1]))
    wrong = compiled(chain.replace("^/", "^/.*") if chain is FEW else chain)
    refutation = proof(wrong, text_of(wrong), wrong.trees)
    assert refutation is not None
    assert NUMBER in refutation.what


def _moved(alike: Emission, config: Config) -> Refutation | None:
    """Return what the proof says of the lookup of another chain, said to be that of `config`."""
    [chain] = alike.plan.chains.compiled
    ifs = [directive for directive, _ in config.walk() if _is_if(directive)]
    pairs = zip(chain.chain.conditions, ifs, strict=True)
    claimed = Chain(config.main, tuple(replace(condition, directive=directive) for condition, directive in pairs))
    claim = replace(alike.plan.chains, compiled=(replace(chain, chain=claimed),))
    return prove(config, claim, {config.main: text_of(alike)}, alike.trees)


def _is_if(directive: Directive) -> bool:
    return directive.name == "if"
