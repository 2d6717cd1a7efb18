"""What the prover refutes an emission by: each sentence of `rust/src/prove`, under a name that faults are asserted by.

A `{}` stands for what the prover puts in. `test_mutations` holds that these are all the sentences there are.
"""

from __future__ import annotations

import re
from enum import Enum


class Refutation(Enum):
    """An obligation that does not hold, in the prover's words."""

    # The maps.
    MAPS_DO_NOT_PARSE = "the maps do not parse: {}"
    BLOCK_IN_A_MAP = "a block stands inside a map"
    STATEMENT_BEHIND_A_MAP = "a statement stands behind a map"
    MORE_THAN_MAPS = "the http part holds more than maps and their sizes"
    NOT_VOLATILE = "${} is not volatile: it would answer for the URI before an internal redirect"
    TWO_MAPS = "${} is the variable of two maps"
    NOT_A_MAP = "a block of the http part is not a map of $uri"
    THREE_WORDS = "${}: a line of more than two words"
    ONE_WORD = "${}: a line of one word"
    PARAMETER_FOR_A_KEY = "${}: a parameter where a key belongs"
    REGEX_FOR_A_KEY = "${}: a regex where a key belongs"
    KEY_BESIDE_A_REGEX = "${}: a key beside a regex"
    DEFAULT_BESIDE_A_REGEX = "${}: a default beside a regex"
    KEY_TWICE = "${}: nginx refuses a key given twice"
    # Their sizes, and where they are included.
    HASH_NOT_OPTIMAL = "${}: nginx would warn that it could not build an optimal hash"
    KEY_BEYOND_A_BUCKET = "${}: nginx would not start: a key is longer than a bucket"
    SEARCH_TOO_LONG = "${}: nginx would search for a size of the table for too long"
    SIZE_NOT_PLAIN = "a size of the hash tables is set twice, or not in a plain number"
    SIZE_TWICE = "a size of the hash tables is set twice"
    SIZE_IN_A_FILE_OF_MAPS = "the sizes of the hash tables stand where another file of maps would set them, too"
    VARIABLES_DO_NOT_FIT = "nginx would not build its table of variables, or warn"
    INCLUDED_TWICE = "the maps are included twice"
    NOT_INCLUDED = "the include of the maps is missing"
    SIZE_BEHIND_THE_MAPS = "a size of the map tables may be set behind the maps"
    MISSING_SIZE_BEHIND_THE_MAPS = "a missing file may set a size of the map tables behind the maps"
    MAP_BEFORE_THE_SIZES = "a map may stand before the sizes of the map tables"
    # Names.
    NAME_IN_CAPITALS = "${} is no name in small letters, which another spelling of it could not be told from"
    NAME_OF_NGINX = "${} is a variable of nginx's own"
    NAME_IN_USE = "${} is used in the original"
    SET_AND_MAPPED = "a variable that is set is a map's"
    # What is no rule.
    UNCHANGED_DOES_NOT_PARSE = "an unchanged file does not parse: {}"
    ORIGINAL_DOES_NOT_PARSE = "the original does not parse: {}"
    EMITTED_DOES_NOT_PARSE = "the emitted text does not parse: {}"
    STATEMENT_CHANGED = "a statement that is no compiled rule is not as it was{}"
    # The emitted statements.
    IF_IN_A_LOCATION = "an `if` stands in a location, whose configuration it swaps"
    NEITHER_GUARD_NOR_CLASS = "an emitted statement is neither a guard nor a class"
    NOT_AN_EXACT_GUARD = "a condition is not an exact guard"
    SETS_NO_CLASS = "a guard sets a variable that no class reads"
    NOT_A_MAP_OF_THE_URI = "a map is asked about something else than the URI"
    NOT_A_REWRITE_WITH_A_FLAG = "a guard does something else than to rewrite with a flag"
    NEWLINE_NOT_TAKEN_OFF = "a newline is not taken off the URI as it has to be"
    NEW_RULE_LISTS_NOTHING = "the rule {} is new, and its pattern does not list what it matches"
    NEW_RULE_WITHOUT_A_FLAG = "the rule {} is new, and has no flag"
    NEW_RULE_NOT_READ = "the rule {} is new, and cannot be read"
    NEW_RULE_ASKS_ANOTHER_MAP = "the rule {} is new, and asks a map about something else than the URI"
    # Captures.
    CAPTURES_NOT_EMPTIED = "a URI that no rule matches keeps $1 to $9, which the rules would have emptied"
    CAPTURES_EMPTIED = "$1 to $9 are emptied before the first rule, which may fail and leave them"
    # The rules that stay, and those that are gone.
    KEPT_RULE_CHANGED = "the kept rule {} is not the original's, or not in its order"
    GONE_NOT_READ = "the rule {} is gone, but it cannot be read"
    GONE_NOT_PORTABLE = "the rule {} is gone, but not every PCRE reads its pattern alike"
    GONE_SETS_A_NAME = "the rule {} is gone, but it sets a variable by name"
    GONE_HAS_SPACES = "the rule {} is gone, but not every PCRE takes the same bytes for spaces"
    GONE_MAY_GIVE_UP = "the rule {} is gone, but PCRE may give up on a URI that it does not match"
    GONE_MATCHES_TOO_MANY = "the rule {} is gone, but it matches more strings than can be listed"
    GONE_DOES_NOT_COMPILE = "the rule {} is gone, but PCRE2 does not compile it"
    GONE_GIVES_UP = "the rule {} is gone, but PCRE2 gives up on it"
    # What both texts do with a URI.
    EARLIER_RULE_UNKNOWN = "whether an earlier kept rule matches it is not known"
    EARLIER_RULE_ON_SOME_SPELLING = "an earlier kept rule may match some spelling of it"
    FIRES_NO_MORE = "a rule that fired does not fire any more"
    FIRES_ANEW = "a rule fires that did not fire before"
    TRUE_IN_VAIN = "a guard is true of a URI on which nothing fires"
    DOES_SOMETHING_ELSE = "the rule that fires does something else"
    CANNOT_BE_TOLD = "what the rules do cannot be told"
    # What it takes as given.
    PREMISE_NOT_STATED = "the maps do not state the premise {}"

    @property
    def _sentence(self) -> re.Pattern[str]:
        return re.compile(".*".join(map(re.escape, self.value.split("{}"))), re.DOTALL)

    @classmethod
    def of(cls, sentence: str | None) -> Refutation | None:
        """Return the refutation that a sentence of the prover is; None if it holds."""
        if sentence is None:
            return None
        [refutation] = [refutation for refutation in cls if refutation._sentence.fullmatch(sentence)]
        return refutation
