#!/bin/sh
# What `make demo` shows: the redirects of a real site as maps, and the proof. Run it from the root of the repository.
set -eu

exact=fixtures/fec/exact.conf
published=fixtures/fec/redirects-transition.conf
out=build/demo

say() { printf '\n%s\n' "$@"; }

# run FILTER COMMAND...: shows a command and, through a sed script, what it says; fails if it fails.
run() {
    filter=$1
    shift
    printf '\n$ %s\n' "$*"
    status=0
    "$@" >"$out/said" 2>&1 || status=$?
    if [ $status -ne 0 ]; then filter=; fi
    sed "$filter" "$out/said"
    return $status
}

# show FILE PATTERN LINES: shows some lines of a file, from the first that matches on.
show() {
    printf '\n%s, %s lines, in part:\n\n' "$1" "$(wc -l <"$1")"
    sed -n "/$2/,\$p" "$1" | head -n "$3" | cut -c-150 | sed 's/^/    /'
}

rm -rf "$out"
mkdir -p "$out"

say "1. The redirects of fec.gov: nginx tries 1,410 patterns, one after the other, on every request."
show "$exact" '^rewrite' 4
run '' nginxopt rewrite-to-map "$exact" -o "$out/exact"
show "$out/exact/http.conf" '^map \$' 6
show "$out/exact/server.conf" '^#.*maps' 7

if PATH="$PATH:/usr/sbin" command -v nginx >/dev/null; then
    say "2. The same question put to a real nginx, with the rules and with the maps:"
    run '/requests/!d' nginxopt rewrite-to-map "$exact" -o "$out/asked" --nginx
else
    say "2. There is no nginx here. With one, --nginx asks it as well."
fi

say "3. As they were published the patterns are like ^/about.shtml, which also matches /aboutXshtml and
   /about.shtml.old. So by default these rules stay. Say that this was not meant, and they move:"
run '/^  dead/,/^  declared/{/^  declared/!d;}' \
    nginxopt rewrite-to-map "$published" --literal-dots --literal-ends -o "$out/published"

say "All of it is in $out. Next: README.md, or nginxopt rewrite-to-map --help."
