"""What compressing texts takes, counted by callgrind, beside the terms of `nginxopt.profile.terms.gzip`.

    python -m benchmarks.gzip_terms docs/guide/*.md site/assets/*.js

Each file is cut to several sizes and compressed by the zlib of this machine at each level, with the window that nginx
takes for a response of a known length (`ngx_http_gzip_filter_memory`). Needs valgrind with its headers, zlib's, and cc.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from nginxopt.profile import terms

_SIZES = (1_000, 4_000, 16_000, 50_000, 100_000, 200_000)
_NEAR = 0.15
_PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <valgrind/callgrind.h>
int main(int count, char **words) {
    long most = atol(words[2]);
    unsigned char *text = malloc(most), *sent = malloc(8192);
    long size = fread(text, 1, most, fopen(words[1], "rb"));
    int bits = 15, memory = 8;
    while (size < (1 << (bits - 1)) - 262) { bits--; memory--; if (memory < 1) memory = 1; }
    for (int level = 1; level <= 9; level++) {
        z_stream stream;
        long after = 0;
        memset(&stream, 0, sizeof stream);
        CALLGRIND_ZERO_STATS;
        CALLGRIND_START_INSTRUMENTATION;
        deflateInit2(&stream, level, Z_DEFLATED, bits + 16, memory, 0);
        for (long from = 0; from < size; from += 32768) {
            stream.next_in = text + from;
            stream.avail_in = size - from > 32768 ? 32768 : size - from;
            do {
                stream.next_out = sent;
                stream.avail_out = 8192;
                deflate(&stream, size - from > 32768 ? Z_NO_FLUSH : Z_FINISH);
                after += 8192 - stream.avail_out;
            } while (stream.avail_out == 0);
        }
        deflateEnd(&stream);
        CALLGRIND_STOP_INSTRUMENTATION;
        char about[100];
        sprintf(about, "%d %ld %ld", level, size, after);
        CALLGRIND_DUMP_STATS_AT(about);
    }
    return 0;
}
"""
_COUNTED = re.compile(r"^desc: Trigger: Client Request: (\d+) (\d+) (\d+)$.*^totals: (\d+)$", re.MULTILINE | re.DOTALL)


def counted(program: Path, text: Path, size: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield each level, the bytes before and after, and the instructions."""
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as folder:
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/out"]
        subprocess.run([*command, program, text, str(size)], check=True, capture_output=True)
        for dump in Path(folder).iterdir():
            if found := _COUNTED.search(dump.read_text()):
                level, before, after, instructions = map(int, found.groups())
                yield level, before, after, instructions


def main(arguments: Sequence[str] | None = None) -> int:
    """Count and print, by level."""
    parser = argparse.ArgumentParser(prog="benchmarks.gzip_terms", description="Count what compressing texts takes.")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="text to compress")
    options = parser.parse_args(arguments)
    errors: dict[int, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="nginxopt-") as folder:
        source, program = Path(folder, "deflate.c"), Path(folder, "deflate")
        source.write_text(_PROGRAM)
        try:
            subprocess.run(["cc", "-O2", source, "-o", program, "-lz"], check=True)
            for path in options.files:
                for size in (size for size in _SIZES if size <= path.stat().st_size):
                    for level, before, after, instructions in counted(program, path, size):
                        told = terms.gzip(level, before, after).instructions
                        errors.setdefault(level, []).append(told / instructions - 1)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"gzip_terms: {error}", file=sys.stderr)
            return 70
    print("level  texts  median error  within 15 %  lowest  highest")
    for level, found in sorted(errors.items()):
        near = sum(abs(error) <= _NEAR for error in found) / len(found)
        middle = median(map(abs, found))
        print(f"{level:>5}  {len(found):>5}  {middle:>12.1%}  {near:>11.0%}  {min(found):>6.0%}  {max(found):>7.0%}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
