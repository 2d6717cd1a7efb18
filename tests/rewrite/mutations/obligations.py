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
    BLOCK_IN_A_MAP = "a map contains a block"
    STATEMENT_BEHIND_A_MAP = "a statement follows a map"
    MORE_THAN_MAPS = "the maps file contains more than maps and hash table sizes"
    NOT_VOLATILE = "${} is not volatile, so an internal redirect would not change it"
    TWO_MAPS = "two maps define ${}"
    NOT_A_MAP = "a block of the maps file is not a map of $uri"
    THREE_WORDS = "${}: a row with more than two words"
    ONE_WORD = "${}: a row with only one word"
    PARAMETER_FOR_A_KEY = "${}: a parameter in place of a key"
    REGEX_FOR_A_KEY = "${}: a regex in place of a key"
    KEY_BESIDE_A_REGEX = "${}: a key next to a regex"
    DEFAULT_BESIDE_A_REGEX = "${}: a default next to a regex"
    KEY_TWICE = "${}: a duplicate key, which nginx rejects"
    # Their sizes, and where they are included.
    HASH_NOT_OPTIMAL = "${}: nginx would warn that it could not build an optimal hash"
    KEY_BEYOND_A_BUCKET = "${}: a key does not fit a hash bucket, so nginx would not start"
    SEARCH_TOO_LONG = "${}: nginx would take too long to find a hash table size"
    SIZE_NOT_PLAIN = "a hash table size is set twice or is not a plain number"
    SIZE_TWICE = "a hash table size is set twice"
    SIZE_IN_A_FILE_OF_MAPS = "the maps file sets hash table sizes, which another maps file would set again"
    VARIABLES_DO_NOT_FIT = "nginx would fail to build the variables hash, or warn"
    INCLUDED_TWICE = "the maps are included twice"
    NOT_INCLUDED = "the maps are not included"
    SIZE_BEHIND_THE_MAPS = "a map hash size may be set after the maps"
    MISSING_SIZE_BEHIND_THE_MAPS = "a missing file may set a map hash size after the maps"
    MAP_BEFORE_THE_SIZES = "a map may precede the map hash sizes"
    # Names.
    NAME_IN_CAPITALS = "${} is not a plain lowercase name, and nginx ignores the case of variable names"
    NAME_OF_NGINX = "${} is a built-in variable"
    NAME_IN_USE = "the original uses ${}"
    SET_AND_MAPPED = "a `set` assigns to the variable of a map"
    # What is no rule.
    UNCHANGED_DOES_NOT_PARSE = "an unchanged file does not parse: {}"
    ORIGINAL_DOES_NOT_PARSE = "the original does not parse: {}"
    EMITTED_DOES_NOT_PARSE = "the emitted text does not parse: {}"
    STATEMENT_CHANGED = "a statement other than a compiled rule has changed{}"
    # The emitted statements.
    IF_IN_A_LOCATION = "an `if` in a location would replace the location's configuration"
    BREAK_TOO_EARLY = "a `break` ends the script before its last statement"
    NEITHER_GUARD_NOR_CLASS = "an emitted statement is neither a guard nor a class"
    NOT_AN_EXACT_GUARD = "a condition is not an exact guard"
    SETS_NO_CLASS = "a guard sets a variable that no class reads"
    TARGETS_NOT_TEXTS = "a target is read that is not one text for each key"
    TARGET_OF_MANY = "a target guards more than one rewrite"
    TARGET_SPELLED = "a target fires on other spellings of its keys, or not on a key"
    TARGET_CAPTURED_ELSEWHERE = "a condition captures a target in a variable that something else sets"
    NOT_A_MAP_OF_THE_URI = "a map looks up something other than the URI"
    NOT_A_REWRITE_WITH_A_FLAG = "a guard contains something other than rewrites with a flag"
    NEWLINE_NOT_TAKEN_OFF = "the final newline of the URI is not removed correctly"
    NEW_RULE_LISTS_NOTHING = "the new rule {} has a pattern that does not list strings"
    NEW_RULE_WITHOUT_A_FLAG = "the new rule {} has no flag"
    NEW_RULE_NOT_READ = "the new rule {} cannot be read"
    NEW_RULE_ASKS_ANOTHER_MAP = "the new rule {} looks up something other than the URI in a map"
    # Captures.
    CAPTURES_NOT_EMPTIED = "a URI that no rule matches keeps $1 to $9, which the original rules would clear"
    CAPTURES_EMPTIED = "$1 to $9 are cleared before the first rule, which may fail and keep them"
    # The rules that stay, and those that are gone.
    KEPT_RULE_CHANGED = "the kept rule {} differs from the original or is out of order"
    GONE_NOT_READ = "the rule {} was removed, but it cannot be read"
    GONE_NOT_PORTABLE = "the rule {} was removed, but PCRE versions read its pattern differently"
    GONE_SETS_A_NAME = "the rule {} was removed, but it has a named group"
    GONE_HAS_SPACES = "the rule {} was removed, but PCRE versions disagree about which bytes are spaces"
    GONE_MAY_GIVE_UP = "the rule {} was removed, but PCRE may give up on a URI that it does not match"
    GONE_MATCHES_TOO_MANY = "the rule {} was removed, but it matches too many strings to list"
    GONE_DOES_NOT_COMPILE = "the rule {} was removed, but PCRE2 does not compile it"
    GONE_GIVES_UP = "the rule {} was removed, but PCRE2 gives up on one of its strings"
    # What both texts do with a URI.
    EARLIER_RULE_UNKNOWN = "it is unknown whether an earlier kept rule matches the URI"
    EARLIER_RULE_ON_SOME_SPELLING = "an earlier kept rule may match the URI in another letter case"
    FIRES_NO_MORE = "a rule that fired no longer fires"
    FIRES_ANEW = "a rule fires that did not fire before"
    GUARDED_NAME = "a rewrite behind a guard sets a variable by a named group"
    TRUE_IN_VAIN = "a guard is true for a URI for which no rule fires"
    DOES_SOMETHING_ELSE = "the rule that fires has a different effect"
    CANNOT_BE_TOLD = "the effect of the rules is unknown"
    # Groups of rules.
    LOOK_UP_READ_OTHERWISE = "a lookup is read in another way than into an empty variable"
    LOOK_UP_NAMED = "a group in a map has the name of a variable of a lookup"
    GROUPS_DO_NOT_PARSE = "the groups do not parse: {}"
    GROUPS_WITH_ONE_NUMBER = "two groups of rules have the same number"
    GROUP_OF_OTHERS = "a group contains something other than rules that end the script"
    GROUP_MAY_GIVE_UP = "a group contains a rule on which PCRE may give up"
    BREAK_LOSES_TRY_FILES = "a `break` in an `if` would lose the location's try_files"
    GROUP_OF_A_URI = "the group of a URI: {}"
    # Kinds of rules.
    KIND_IN_THE_TARGET = "the kind of a rule and its target have one variable"
    KIND_TWICE = "a lookup tells two kinds or targets of one rule"
    KIND_NOT_TOLD = "a lookup tells no kind of a rule"
    KIND_OF_NO_RULE = "a lookup of a kind tells the number of no rule"
    KIND_TARGET_WITH_VARIABLE = "a target of a kind of rules has a variable"
    KINDS_WITH_ONE_NUMBER = "two statements are of the same kind of rules"
    KIND_WITHOUT_STATEMENTS = "a kind of rules has no statements"
    KIND_OF_OTHERS = "the statements of a kind are neither its rules nor one rewrite for all"
    KIND_MAY_GIVE_UP = "PCRE may give up on the pattern of a kind of rules"
    KIND_DOES_SOMETHING_ELSE = "the rewrite of a kind has another effect than one of its rules"
    KIND_CAPTURES = "the rewrite of a kind may capture something else than one of its rules"
    # Filters.
    FILTER_OF_OTHERS = "a filter has something other than rewrites behind it"
    FILTER_TURNS_AWAY = "a filter turns away what a rule behind it may match"
    FILTER_SETS_A_NAME = "a filter sets a variable by a named group"
    FILTER_LEAVES_CAPTURES = "PCRE may give up on the first rule behind a filter, which leaves its captures"
    FILTER_UNKNOWN = "it is unknown what a filter matches, or PCRE may give up on it"
    FILTER_FIRES_NOTHING = "a filter lets pass what no rule behind it may match"
    FILTER_GOES_ON = "a rule in an `if` goes on without the location's try_files"
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
