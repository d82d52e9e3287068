#!/usr/bin/env bash
# Runs the tour, which shows Trellis on real traffic in a few seconds. With arguments: runs the command-line client.
#
#   Examples/run.sh
#   Examples/run.sh https://example.com/ -H 'Accept: text/html'
#
# Needs the Swift toolchain; libcurl's headers are installed where that can be done with apt-get. Only the client, or the
# tour, writes to stdout.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() {
    echo "run.sh: $*" >&2
    exit 1
}

if [ $# -eq 0 ]; then product=tour; else product=trellis; fi
program="$here/.build/debug/$product"

# Succeeds if the program is newer than everything that it is made of.
is_current() {
    [ -x "$program" ] && [ -z "$(find "$here/Sources" "$here/Package.swift" "$here/../Sources" "$here/../Package.swift" \
        -newer "$program" -print -quit)" ]
}

has_headers() { echo '#include <curl/curl.h>' | "$1" -E -xc - >/dev/null 2>&1; }

# Prints the last line of a log now and then, until it is ended. The pause holds no descriptor, so that it keeps no reader waiting.
report_progress() { # LOG
    while sleep 15 </dev/null >/dev/null 2>&1; do
        echo "… $SECONDS s: $(tail -n 1 "$1" | cut -c 1-100)" >&2
    done
}

build() {
    command -v swift >/dev/null || fail "the Swift toolchain is missing: see https://www.swift.org/install/linux/"
    if ! has_headers clang && ! has_headers cc; then
        "$here/../.scripts/install.sh" libcurl4-openssl-dev >&2 || fail "libcurl's headers are needed"
    fi
    local log
    log=$(mktemp "${TMPDIR:-/tmp}/trellis-build.XXXXXX")
    echo "Building $product; the first time takes two to three minutes, and more on a slow machine …" >&2
    report_progress "$log" &
    local reporter=$!
    end_report() {
        { kill "$reporter" && wait "$reporter"; } 2>/dev/null || true
        rm -f "$log"
    }
    trap end_report EXIT
    # Tried a second time, because the first build needs the network.
    if ! swift build --package-path "$here" --product "$product" </dev/null >"$log" 2>&1 &&
        ! swift build --package-path "$here" --product "$product" </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        fail "the build failed"
    fi
    # A build that had nothing to do leaves the program as it was.
    touch "$program"
    trap - EXIT
    end_report
}

is_current || build
exec "$program" "$@"
