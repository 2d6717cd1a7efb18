#!/bin/sh
# The script of `make demo`: findings and fixes for a slow site, then the redirects of a real site as maps, with the proof.
# Run it from the root of the repository.
set -eu

site=fixtures/slow-site
exact=fixtures/fec/exact.conf
published=fixtures/fec/redirects-transition.conf
out=build/demo

say() { printf '\n%s\n' "$@"; }

# run FILTER COMMAND...: print a command and its output, filtered by a sed script; fail if its status exceeds $most.
most=0
run() {
    filter=$1
    shift
    printf '\n$ %s\n' "$*"
    status=0
    "$@" >"$out/said" 2>&1 || status=$?
    if [ $status -le $most ]; then sed "$filter" "$out/said"; else cat "$out/said"; fi
    [ $status -le $most ]
}

# show FILE PATTERN LINES: print lines of a file, starting at the first match.
show() {
    printf '\n%s, %s lines, in part:\n\n' "$1" "$(wc -l <"$1")"
    sed -n "/$2/,\$p" "$1" | head -n "$3" | cut -c-150 | sed 's/^/    /'
}

rm -rf "$out"
mkdir -p "$out"

say "1. lint finds what makes a shop slow. Two of the findings in its five files:"
most=1 # lint reports findings
run '/keepalive-missing upstream/,/fix:/!{/buffering proxy/,/fix:/!{/findings in/!{/ with --fix/!d;};};}' \
    nginxopt lint "$site/nginx.conf" --target-version 1.28.0
cp -R "$site" "$out/slow-site"
say "   The configuration does not show whether the upstream servers handle HTTP/1.1 like HTTP/1.0 and can hold idle
   connections (nginxopt explain idle-connections). With --assume, --fix adds the pool as well. One of the changed files,
   and the remaining findings:"
run '/^--- .*upstreams/,/^ }/!d' nginxopt lint "$out/slow-site/nginx.conf" --target-version 1.28.0 --diff \
    --assume http11-backends,idle-connections
run '/^fixed/,/findings in/!d' nginxopt lint "$out/slow-site/nginx.conf" --target-version 1.28.0 --fix \
    --assume http11-backends,idle-connections
most=0

say "2. rewrite-to-map: for the redirects of fec.gov, nginx tries 1,410 patterns one after the other on every request."
show "$exact" '^rewrite' 4
run '' nginxopt rewrite-to-map "$exact" -o "$out/exact"
show "$out/exact/http.conf" '^map \$' 6
show "$out/exact/server.conf" '^#.*maps' 7

if PATH="$PATH:/usr/sbin" command -v nginx >/dev/null; then
    say "3. The same requests to a real nginx, with the rules and with the maps:"
    run '/requests/!d' nginxopt rewrite-to-map "$exact" -o "$out/asked" --nginx
else
    say "3. nginx is not installed. With it, --nginx compares its responses."
fi

say "4. The published patterns are like ^/about.shtml, which also matches /aboutXshtml and /about.shtml.old. By default,
   these rules keep their patterns, behind a tree of lookups. Two options declare the difference, and the rules become keys:"
run '/^  dead/,/^  declared/{/^  declared/!d;}' \
    nginxopt rewrite-to-map "$published" --literal-dots --literal-ends -o "$out/published"

say "The results are in $out. Next: README.md, or nginxopt rewrite-to-map --help."
