"""Faults of the sizes of nginx's hash tables, and of the include of the maps."""

from __future__ import annotations

from dataclasses import replace

from nginxopt.rewrite import Emission
from tests.rewrite.mutations.fault import Mutation, both, maps, text
from tests.rewrite.mutations.obligations import Refutation


def says_no_include(emission: Emission) -> Emission:
    """Take the include of the maps away, and the claim that there is one."""
    emission = without_include(emission)
    return replace(emission, changes=tuple(replace(change, adds=None) for change in emission.changes))


def without_include(emission: Emission) -> Emission:
    """Take the include of the maps away."""
    return text(b"    include m.conf;\n", b"")(emission)


MUTATIONS = (
    # The sizes of the tables.
    Mutation(
        "small buckets",
        "A key is longer than a bucket: nginx does not start.",
        "whole",
        Refutation.KEY_BEYOND_A_BUCKET,
        text(b"map_hash_bucket_size 512", b"map_hash_bucket_size 64"),
    ),
    Mutation(
        "one size only",
        "A key is longer than nginx's own buckets.",
        "long",
        Refutation.KEY_BEYOND_A_BUCKET,
        maps(b"map_hash_bucket_size 512;\n", b""),
    ),
    Mutation(
        "small table",
        "nginx would warn, and walk long chains.",
        "long",
        Refutation.KEY_BEYOND_A_BUCKET,
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 0"),
    ),
    Mutation(
        "no sizes",
        "The tables have the sizes that nginx sets by default.",
        "long",
        Refutation.KEY_BEYOND_A_BUCKET,
        maps(b"map_hash_max_size 16384;\nmap_hash_bucket_size 512;\n", b""),
    ),
    Mutation(
        "a size of letters",
        "nginx refuses a size with a unit.",
        "long",
        Refutation.SIZE_NOT_PLAIN,
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 16k"),
    ),
    Mutation(
        "a size beyond all numbers",
        "nginx refuses a number that it cannot hold.",
        "long",
        Refutation.SIZE_NOT_PLAIN,
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 9223372036854775808"),
    ),
    Mutation(
        "a size beyond all memory",
        "nginx cannot take the memory for its search.",
        "long",
        Refutation.SEARCH_TOO_LONG,
        maps(b"map_hash_max_size 16384", b"map_hash_max_size 9223372036854775807"),
    ),
    Mutation(
        "sizes twice",
        "nginx refuses a size that is set twice.",
        "whole",
        Refutation.SIZE_NOT_PLAIN,
        text(b"map_hash_max_size 16384;\n", b"map_hash_max_size 16384;\n    map_hash_max_size 16384;\n"),
    ),
    Mutation(
        "sizes in a file of maps",
        "Another file of maps would set them once more.",
        "whole",
        Refutation.SIZE_IN_A_FILE_OF_MAPS,
        both(
            text(b"    map_hash_max_size 16384;\n", b""),
            lambda e: replace(e, maps=b"map_hash_max_size 16384;\n" + e.maps),
        ),
    ),
    Mutation(
        "size behind a map",
        "nginx refuses a size behind the first map.",
        "long",
        Refutation.STATEMENT_BEHIND_A_MAP,
        lambda e: replace(
            e,
            maps=e.maps.replace(b"map_hash_max_size 16384;\n", b"") + b"map_hash_max_size 16384;\n",
        ),
    ),
    Mutation(
        "new size behind a map",
        "nginx refuses a size behind the first map.",
        "whole",
        Refutation.MAP_BEFORE_THE_SIZES,
        both(
            text(b"    map_hash_max_size 16384;\n", b""),
            text(b"default main; }\n", b"default main; }\n    map_hash_max_size 16384;\n"),
        ),
    ),
    Mutation(
        "size in a server",
        "nginx takes no size of tables there.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        text(b"        listen 80;\n", b"        listen 80;\n    variables_hash_max_size 2048;\n"),
    ),
    Mutation(
        "no room for variables",
        "nginx would warn that it could not build its table of variables.",
        "whole",
        Refutation.VARIABLES_DO_NOT_FIT,
        text(b"    map_hash_max_size 16384;\n", b"    map_hash_max_size 16384;\n    variables_hash_max_size 20;\n"),
    ),
    Mutation(
        "table of one bucket",
        "nginx would warn, and walk one long chain.",
        "many",
        Refutation.HASH_NOT_OPTIMAL,
        lambda e: replace(e, maps=b"map_hash_max_size 1;\n" + e.maps),
    ),
    Mutation(
        "size twice in a file",
        "nginx refuses a size that the fragment sets, too.",
        "sized",
        Refutation.SIZE_TWICE,
        lambda e: replace(e, maps=b"map_hash_max_size 16384;\n" + e.maps),
    ),
    # The include of the maps.
    Mutation("no include", "The maps are nowhere.", "whole", Refutation.NOT_INCLUDED, without_include),
    Mutation(
        "no include, well claimed",
        "The maps are nowhere, and nobody says where they should be.",
        "whole",
        Refutation.NOT_INCLUDED,
        says_no_include,
    ),
    Mutation(
        "two includes",
        "The maps are there twice.",
        "whole",
        Refutation.INCLUDED_TWICE,
        text(b"    include m.conf;\n", b"    include m.conf;\n    include m.conf;\n"),
    ),
    Mutation(
        "include of another file",
        "The maps are in another file.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        text(b"include m.conf;", b"include n.conf;"),
    ),
    Mutation(
        "include before a size",
        "nginx refuses a size behind the first map.",
        "whole",
        Refutation.SIZE_BEHIND_THE_MAPS,
        both(without_include, text(b"    map_hash_bucket", b"    include m.conf;\n    map_hash_bucket")),
    ),
    Mutation(
        "include in a server",
        "nginx knows no maps there.",
        "whole",
        Refutation.STATEMENT_CHANGED,
        both(without_include, text(b"        listen 80;\n", b"        listen 80;\n    include m.conf;\n")),
    ),
)
