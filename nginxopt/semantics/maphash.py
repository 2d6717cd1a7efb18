"""Simulates the hash tables of maps, and finds sizes that fit their keys."""

from __future__ import annotations

from collections.abc import Sequence

from nginxopt import _native

Verdict = _native.MapVerdict
MOST_BUCKET = 65_536 - 64
"""The largest bucket that `ngx_hash_init` accepts, in bytes."""
_MOST_NUMBER = 2**63 - 1
"""The largest number that `ngx_atoi` accepts."""


def verdict(keys: Sequence[bytes], max_size: int, bucket_size: int) -> Verdict:
    """Return what nginx does with a map of these literal keys.

    `FITS`; `WARNS` ("could not build optimal map_hash"); `REFUSED`; or `SLOW`, if the search of `ngx_hash_init`, which
    is simulated, takes more than about a second of nginx's start.
    """
    if max(max_size, bucket_size) > _MOST_NUMBER:
        return Verdict.REFUSED
    return _native.map_verdict(keys, max_size, bucket_size)


def suitable(maps: Sequence[Sequence[bytes]], max_size: int, bucket_size: int) -> tuple[int, int] | None:
    """Return a `map_hash_max_size` and `map_hash_bucket_size` that fit all maps; None if none do.

    They are at least the given sizes, and powers of two if they are larger. First the bucket grows until it has room
    for the longest key, then the table until it has a bucket for each key, then the bucket again.
    """
    most = max((len(keys) for keys in maps), default=0)
    size = _power_of_two(most) if max_size < most else max_size
    bucket = bucket_size
    while bucket <= MOST_BUCKET:
        if all(verdict(keys, size, bucket) == Verdict.FITS for keys in maps):
            return size, bucket
        if size < 2 * most and all(verdict(keys, size, bucket) != Verdict.REFUSED for keys in maps):
            size = _power_of_two(size + 1)
        else:
            bucket = _power_of_two(bucket + 1)
    return None


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()
