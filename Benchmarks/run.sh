#!/usr/bin/env bash
# Compares Trellis and its peers on the same work, in turns. See README.md in this folder.
set -euo pipefail

usage() {
    cat <<'TEXT'
Benchmarks/run.sh [OPTION…] [NAME…]

  NAME                    benchmarks to run: small-get/64, or small-get for all of them; default: all
  --quick                 three short rounds, without the slow benchmarks unless named: under a minute after the build
  --json FILE             write the figures
  --svg FOLDER            draw the comparison: cpu.svg and throughput.svg
  --clients A,B           only these of trellis, libcurl, async-http-client, urlsession, go, curl
  --rounds N              rounds instead of 5 (3 with --quick)
  --libcurl current       on a current libcurl instead of the system's (downloaded once, into .build-libcurl)
  --libcurl FOLDER        on the libcurl.so.4 in this folder; LD_LIBRARY_PATH does the same
  --check-instructions    only instructions/…, or those of them that are named, together with instructions/small-get, with which
                          the others are compared; fails if one rose by more than 5 % over instructions.json
  --record-instructions   all of instructions/…; writes instructions.json
  --build-only            build what the names need, and run nothing
  --no-build              run what the last call has built
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
library_path=${LD_LIBRARY_PATH:-}
unset LD_LIBRARY_PATH # The path is for the clients alone, not for the compiler, git and nginx.
builds=1
build_only=
names=()
passed=()
needs_peers=
needs_static=

say() { echo "run.sh: $*" >&2; }

select_name() {
    names+=("$1")
    case $1 in
        instructions*) needs_static=1 ;;
        *) needs_peers=1 ;;
    esac
}

while [ $# -gt 0 ]; do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --libcurl | --json | --svg | --clients | --rounds)
            [ $# -ge 2 ] || { say "$1 needs a value"; exit 64; }
            if [ "$1" != --libcurl ]; then
                passed+=("$1" "$2")
            elif [ "$2" = current ]; then
                library_path=$("$here/../.scripts/current-libcurl.sh")
            else
                library_path=$(cd "$2" && pwd)
            fi
            shift 2 ;;
        --check-instructions | --record-instructions) passed+=("$1"); only_instructions=1; shift ;;
        --quick) passed+=("$1"); quick=1; shift ;;
        --build-only) build_only=1; shift ;;
        --no-build) builds=; shift ;;
        -*) say "unknown option $1"; usage >&2; exit 64 ;;
        *) select_name "$1"; shift ;;
    esac
done
if [ ${#names[@]} = 0 ] && [ -n "${only_instructions:-}" ]; then
    select_name instructions
elif [ ${#names[@]} = 0 ]; then
    needs_peers=1
    [ -n "${quick:-}" ] || needs_static=1
fi

# Installs Debian packages for commands that are missing. If one is not installed: peers that need it are left out, nginx must be
# there.
install_packages() {
    local missing=()
    [ -e /usr/include/curl/curl.h ] || compgen -G '/usr/include/*/curl/curl.h' >/dev/null || missing+=(libcurl4-openssl-dev)
    [ -x /usr/sbin/nginx ] || command -v nginx >/dev/null || missing+=(nginx-light)
    command -v openssl >/dev/null || missing+=(openssl)
    [ -z "$needs_peers" ] || command -v curl >/dev/null || missing+=(curl)
    [ -z "$needs_peers" ] || command -v go >/dev/null || missing+=(golang-go)
    [ -z "$needs_static" ] || command -v valgrind >/dev/null || missing+=(valgrind)
    [ ${#missing[@]} -gt 0 ] || return 0
    local sudo=()
    if [ "$(id -u)" != 0 ]; then sudo=(sudo -n); fi
    if ! command -v apt-get >/dev/null || ! "${sudo[@]}" true 2>/dev/null; then
        say "not installed, and cannot be installed here: ${missing[*]}"
        return 0
    fi
    say "installing ${missing[*]}"
    # The package starts nginx on all interfaces unless a policy forbids that. A policy that exists already stays.
    local policy=/usr/sbin/policy-rc.d
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee $policy >/dev/null
        "${sudo[@]}" chmod +x $policy
        installed_policy=("${sudo[@]}" rm -f $policy)
    fi
    "${sudo[@]}" apt-get update -qq >&2 || true
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >&2 ||
        say "some packages could not be installed"
}

child=
temporary=$(mktemp -d "${TMPDIR:-/tmp}/trellis-benchmarks.XXXXXX")
chmod 755 "$temporary"
# Ends the orchestrator, and removes its files. The servers and clients end with the orchestrator: their supervisors notice its
# end.
clean_up() {
    trap - EXIT INT TERM HUP
    [ -z "$child" ] || kill "$child" 2>/dev/null || true
    [ -z "$child" ] || wait "$child" 2>/dev/null || true
    "${installed_policy[@]:-true}"
    rm -rf "$temporary" "/dev/shm/${temporary##*/}"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

PATH="$PATH:/usr/sbin:/sbin"
install_packages
command -v nginx >/dev/null || { say "nginx is needed (Debian: nginx-light)"; exit 1; }
command -v openssl >/dev/null || { say "openssl is needed"; exit 1; }

# Runs a command in the background, because a shell that waits for a command in the foreground handles no signal.
run_child() {
    local status=0
    "$@" &
    child=$!
    wait "$child" || status=$?
    child=
    return "$status"
}

build() { run_child swift build --package-path "$here" -c release "$@" >&2; }

# Builds the clients. If only instructions are counted, one build is enough. Otherwise all are built as users build them,
# dynamically linked.
build_all() {
    if [ -n "$needs_peers" ] && ! build; then
        say "the peers cannot be built: they are left out"
        scratch=$here/.build-alone
        TRELLIS_BENCHMARKS_WITHOUT_PEERS=1 build --scratch-path "$scratch"
    fi
    if [ -n "$needs_peers" ] && command -v go >/dev/null; then
        (cd "$here/Go" && GOFLAGS=-mod=mod GOPROXY=off go build -o "$here/.build-go/client-go" .) >&2 ||
            say "the Go client cannot be built"
    fi
    [ -n "$needs_static" ] || return 0
    # Valgrind 3.19 crashes on a dynamically linked Swift program, and on clang's debug information.
    TRELLIS_BENCHMARKS_WITHOUT_PEERS=1 build --scratch-path "$static" --static-swift-stdlib
    mkdir -p "$static/stripped"
    for client in trellis libcurl; do
        strip -o "$static/stripped/client-$client" "$static/release/client-$client"
    done
}

static=$here/.build-static
if [ -n "$needs_peers" ]; then scratch=$here/.build; else scratch=$static; fi
if [ -n "$builds" ]; then build_all; fi
if [ -n "$build_only" ]; then exit 0; fi
options=(--programs "$scratch/release" --stripped-programs "$static/stripped"
    --temporary-folder "$temporary" --instruction-record "$here/instructions.json")
if [ -x "$here/.build-go/client-go" ]; then options+=(--go-client "$here/.build-go/client-go"); fi
if [ -n "$library_path" ]; then options+=(--library-path "$library_path"); fi

# Root may raise the hard limit where the system allows that; the orchestrator reports a limit that remains too low.
ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)"
run_child "$scratch/release/compare" "${options[@]}" "${passed[@]}" "${names[@]}"
