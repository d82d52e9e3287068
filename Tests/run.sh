#!/usr/bin/env bash
# Runs the tests, from a bare machine with the Swift toolchain. Ends with lines that summarise the result.
#
#   Tests/run.sh            set-up, build, and every test on the system's libcurl
#   Tests/run.sh --quick    the everyday loop: build, formatting, and the tests that open no socket
#   Tests/run.sh --ci       in addition the public symbols, the current libcurl, the client, and packages outside the repository
#   Tests/run.sh --all      in addition the large cases of tests, sanitizers, soaks, fuzzers, instruction counts, and the documentation
#   Tests/run.sh --sanitize thread    the tests and the soaks under a sanitizer (thread or address), on both libcurls, and nothing else
#   … --filter PATTERN      only the tests that match, as `swift test --filter` has it
#
# The soak sends 100,000 requests with each number of engines; TRELLIS_SOAK_REQUESTS sets another number. The soak over origins sends
# TRELLIS_SOAK_ORIGINS_REQUESTS requests, 20,000 unless set. The soak over an unkind server of HTTP/2 sends 20,000 requests, or as many as it
# can in TRELLIS_SOAK_HTTP2_SECONDS, for example 900.
#
# Suites whose servers are missing are skipped with a line about that; with CI=true they fail.
set -uo pipefail
cd "$(dirname "$0")/.."

level=tests sanitizer='' filter=''
while [ $# -gt 0 ]; do
    case $1 in
        --quick | --ci | --all) level=${1#--} ;;
        --sanitize) level=sanitize sanitizer=${2:?thread or address}; shift ;;
        --filter) filter=${2:?a pattern}; shift ;;
        -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
        *) echo "unknown option $1" >&2; exit 64 ;;
    esac
    shift
done
# Succeeds if the level of this call is one of these.
is() { [[ " $* " == *" $level "* ]]; }

ci=false
[ "${CI:-}" = true ] && ci=true
logs=$PWD/.build-peers/logs
mkdir -p "$logs"
work=$(mktemp -d "${TMPDIR:-/tmp}/trellis.XXXXXX")
started=$SECONDS
passed=() failed=() skipped=()
other_builds=''

# --- Steps

log_of() { echo "$logs/${1//[^A-Za-z0-9.]/-}.log"; }

record() { # NAME STATUS
    if [ "$2" -eq 0 ]; then passed+=("$1"); else failed+=("$1"); fi
}

# step NAME COMMAND…: runs a step under a heading, and records its result.
step() {
    local name=$1 begun=$SECONDS status
    shift
    printf '\n=== %s\n' "$name"
    "$@" </dev/null 2>&1 | tee "$(log_of "$name")"
    status=${PIPESTATUS[0]}
    printf -- '--- %s: exit status %d after %d s\n' "$name" "$status" $((SECONDS - begun))
    record "$name" "$status"
    return "$status"
}

# optional_step NAME WHAT COMMAND…: runs a step. If the step fails, WHAT is left out, except in CI.
optional_step() {
    local name=$1 what=$2
    shift 2
    step "$name" "$@" && return
    if ! $ci; then
        unset 'failed[-1]'
        leave_out "$what" "$name cannot be had here"
    fi
    return 1
}

# leave_out NAME WHY: reports a step that cannot run here, which is a failure in CI.
leave_out() {
    printf '\n=== %s\n--- skipped: %s\n' "$1" "$2"
    if $ci; then failed+=("$1"); else skipped+=("$1"); fi
}

# Repeats a command that uses the network once, because its first failure may be the network's.
twice() { "$@" || { echo "(again)"; "$@"; }; }

finish() {
    local name summary="${#passed[@]} steps passed, ${#failed[@]} failed, ${#skipped[@]} skipped in $((SECONDS - started)) s"
    [ ${#skipped[@]} -eq 0 ] || summary+="; skipped: $(IFS=,; echo "${skipped[*]}")"
    [ ${#failed[@]} -eq 0 ] || summary+="; failed: $(IFS=,; echo "${failed[*]}")"
    for name in ${failed[@]+"${failed[@]}"}; do
        printf '\n=== %s failed\n' "$name"
        failures "$(log_of "$name")"
    done
    printf '\n'
    if [ -f "$work/counts" ]; then
        awk '{ tests += $1; failures += $2 } END { printf "%d passed, %d failed\n", tests - failures, failures }' "$work/counts"
    fi
    if [ ${#failed[@]} -eq 0 ]; then echo "Tests passed: $summary"; exit 0; fi
    echo "Tests failed: $summary"
    exit 1
}

# failures LOG: prints the lines of a log that tell a failure, or its last lines.
failures() {
    # The details of a known issue (━) would push those of a failure out of the last lines.
    awk '/━ Test / { known = 1; next } !/↳/ { known = 0 } !known' "$1" 2>/dev/null |
        grep -E '✘|✗|error:|Fatal|\[error\]|FAILED|rose by more|is not recorded|was not counted' | cut -c1-400 | tail -30
    [ "${PIPESTATUS[1]}" -eq 0 ] || tail -10 "$1" 2>/dev/null | cut -c1-400
}

# end_session SESSION: kills all processes of a session, servers that a killed test process has left included.
end_session() {
    local stat pid session
    for stat in /proc/[0-9]*/stat; do
        # The name of the command, which may have blanks, ends with the last parenthesis.
        read -r _ _ _ session _ <<<"$(sed 's/^.*) //' "$stat" 2>/dev/null)"
        pid=${stat#/proc/}
        [ "$session" != "$1" ] || kill -9 "${pid%/stat}" 2>/dev/null
    done
}

clean_up() {
    local session
    [ -z "$other_builds" ] || kill "$other_builds" 2>/dev/null
    for session in "$work"/session-*; do [ ! -e "$session" ] || end_session "${session##*-}"; done
    rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# --- Tests

# The tests that open no socket and run no other program, except these suites.
features='Trellis(Caching|Core|Diagnostics|Downloads|Events|NameServices|OAuth|Redis|Signatures|Upgrades|WebSockets)?Tests'
pure="^(ConventionTests|$features|TrellisConfigurationTests)\."
impure="^$features\.(AlternativeServiceStore|BlockedEngine|CURLBody|CURLDescription|CURLEquivalence|CacheShortcut|CookieCURL|CookieFile|"
impure+='CallWithoutActorStages|EventSource|EventSourceWire|HSTSFile|Isolation|MultipartStream|OAuthTokenFile|ParkedCallSize|RequestCompression|SessionCURL|'
impure+='ShellQuoting|StreamValidation)Tests/'
# Each of these runs in a process of its own, one test after the other: all at once in one process, tests that compute would keep tests that
# wait from being resumed. Several processes run side by side. The soaks count descriptors, and so need a process of their own anyway.
shards=('^IntegrationTests\.[A-G]' '^IntegrationTests\.[H-P]' '^IntegrationTests\.[Q-Z]' '^CurlEngineTests\.' '^SoakTests\.' "$impure")

tests='' order=--no-parallel names=() processes=() other_builds=

# all_tests VERSION FOLDER: begins every test on the libcurl of a folder or, without one, on the system's. The pure tests do not depend on
# libcurl, and run before.
all_tests() {
    local shard skipping=(--skip "$pure") number=0
    printf '\n=== tests on %s\n' "$1"
    if [ -n "$filter" ]; then
        start_tests "tests on $1" "$2" --filter "$filter"
        return
    fi
    for shard in "${shards[@]}"; do
        number=$((number + 1))
        skipping+=(--skip "$shard")
        start_tests "tests on $1, $number" "$2" --filter "$shard"
    done
    start_tests "tests on $1, the others" "$2" "${skipping[@]}"
}

# start_tests NAME FOLDER OPTION…: begins a process with tests, once no more are in progress than there are processors.
start_tests() {
    while [ "$(jobs -rp | grep -cvx "$other_builds")" -gt "$(nproc)" ]; do wait -n; done
    run_tests "$@" &
    names+=("$1") processes+=($!)
}

# Waits for the processes that were begun, and records their results.
wait_for_tests() {
    local index status
    for index in "${!names[@]}"; do
        status=0
        wait "${processes[index]}" || status=$?
        record "${names[index]}" "$status"
    done
    names=() processes=()
}

run_tests() {
    local name=$1 folder=$2 log begun=$SECONDS status=0 verdict buffering=(stdbuf -oL)
    shift 2
    log=$(log_of "$name")
    # The last lines of a test that hangs name it, and so each line is written at once. A sanitizer must be the first library.
    [ -z "$sanitizer" ] || buffering=()
    # The library path is for the tests alone; an empty entry in the path would mean the current folder.
    TRELLIS_TEST_LIBCURL=$folder watched "$log" ${buffering[@]+"${buffering[@]}"} \
        env ${folder:+"LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"} \
        "$tests" --testing-library swift-testing ${order:+"$order"} "$@" >"$log" 2>&1 || status=$?
    verdict=$(grep -oE 'Test run with .*' "$log" | tail -1)
    printf -- '--- %s: %s (%d s)\n' "$name" "${verdict:-no closing line: the process ended early}" $((SECONDS - begun))
    # A process without a closing line counts as one test that failed.
    echo "${verdict:-Test run with 1} $(grep -E '✘ Test .* failed after ' "$log" | grep -cvE 'Test (run|case) ')" |
        awk -v ended="${verdict:+yes}" '{ print $4, ended ? $NF : 1 }' >>"$work/counts"
    return "$status"
}

# watched LOG COMMAND…: runs a command that writes to LOG in a session of its own, and ends it when it has written nothing for the longest
# time that one test may take. Then the tests that did not end are printed.
watched() {
    local log=$1 child size=-1 silent=0 limit=600 status=0
    shift
    [ -z "$sanitizer" ] || limit=1200
    setsid "$@" &
    child=$!
    : >"$work/session-$child"
    while kill -0 "$child" 2>/dev/null; do
        sleep 1
        if [ "$(stat -c %s "$log")" = "$size" ]; then silent=$((silent + 1)); else silent=0; fi
        size=$(stat -c %s "$log")
        if [ "$silent" -ge "$limit" ]; then
            echo "error: the tests wrote nothing for $limit s, and are ended"
            break
        fi
    done
    [ "$silent" -lt "$limit" ] || end_session "$child"
    wait "$child" || status=$?
    end_session "$child"
    rm -f "$work/session-$child"
    [ "$status" -eq 0 ] || tests_without_end "$log"
    return "$status"
}

# tests_without_end LOG: prints the tests that began and did not end.
tests_without_end() {
    # Arguments of a test may contain the end of a line, or none before the line of the result.
    awk '/◇ Test .* started\.$/ && !/Test (case|run) / { sub(/^.*◇ Test /, ""); sub(/ started\.$/, ""); open[$0] = 1 }
        / Test .* (passed|failed) after / {
            sub(/^.*(✔|✘|━) Test /, ""); sub(/ (passed|failed) after .*$/, ""); sub(/ with [0-9]+ test cases?$/, "")
            delete open[$0]
        }
        END { for (name in open) print "error: did not end: " name }' "$1"
}

libcurl_version() { # FOLDER
    LD_LIBRARY_PATH=${1:-${LD_LIBRARY_PATH:-}} python3 -c \
        'import ctypes; f = ctypes.CDLL("libcurl.so.4").curl_version; f.restype = ctypes.c_char_p; print(f().decode().split()[0])' \
        2>/dev/null || echo libcurl
}

# --- Set-up

headers() {
    local missing=()
    # A machine that has the headers from elsewhere needs no package.
    echo '#include <curl/curl.h>' | clang -E -xc - >/dev/null 2>&1 || missing+=(libcurl4-openssl-dev)
    echo '#include <hiredis/hiredis.h>' | clang -E -xc - >/dev/null 2>&1 || missing+=(libhiredis-dev)
    if [ ${#missing[@]} -eq 0 ]; then
        echo "The headers of libcurl and hiredis are there."
    else
        .scripts/install.sh "${missing[@]}"
    fi
}
# The servers are installed without their services, because the tests start them.
servers() {
    RUNLEVEL=1 .scripts/install.sh caddy nghttp2-server nginx-light tinyproxy-bin dnsmasq-base unbound squid dante-server microsocks \
        redis-server curl socat openssh-server openssh-client libpacparser1 openssl iproute2 && echo "The servers are there."
}
python_peers() { .scripts/python-peers.sh || { .scripts/install.sh python3 python3-venv && .scripts/python-peers.sh; }; }
current=
current_libcurl() {
    if optional_step "current libcurl" "tests on the current libcurl" .scripts/current-libcurl.sh; then
        current=$(tail -1 "$(log_of "current libcurl")")
    fi
}

step "headers of libraries" headers || finish
if ! is quick; then
    if optional_step "Python peers" "the suites with TLS, HTTP/2, HTTP/3 and compressed bodies" python_peers; then
        TRELLIS_TEST_PYTHON=$(tail -1 "$(log_of "Python peers")")
        export TRELLIS_TEST_PYTHON
    fi
    optional_step "servers" "tests with servers, proxies and tools from Debian's packages" servers
    is tests || current_libcurl
    if is all && optional_step "HTTP/1.1 of Go and Node" "the comparison of HTTP/1.1 with other clients" \
        .scripts/http1-readings.sh "$work/http1"; then
        export TRELLIS_TEST_HTTP1_READINGS=$work/http1
    fi
fi

# --- Build and test

options=(--enable-all-traits)
build() { swift build --build-tests "${options[@]}"; }
step "dependencies" twice swift package resolve || finish
formatting() {
    find Package.swift Sources Tests Benchmarks Examples -path '*/.build*' -prune -o -name '*.swift' -print0 |
        xargs -0 swift format lint --strict --parallel && echo "All files are formatted."
}

# The tests and the soaks under a sanitizer, on both libcurls.
sanitized() { # thread | address
    local options=("${options[@]}")
    sanitizer=$1
    options+=("--sanitize=$1" --scratch-path ".build-$1")
    # Leaks are not looked for: the leak sanitizer does not see the pointers that Swift keeps tagged, such as the one in a global `Data`.
    export TSAN_OPTIONS="exitcode=66:${TSAN_OPTIONS:-}" ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
    export TRELLIS_SOAK_REQUESTS=${TRELLIS_SOAK_REQUESTS:-100000}
    unset TRELLIS_TEST_ALL TRELLIS_SOAK_ORIGINS_REQUESTS
    step "build with the $1 sanitizer" build || return
    tests=$(swift build "${options[@]}" --show-bin-path)/trellisPackageTests.xctest
    start_tests "pure tests, $1 sanitizer" '' --filter "$pure" --skip "$impure"
    all_tests "the system's $(libcurl_version), $1 sanitizer" ''
    [ -z "$current" ] || all_tests "the current $(libcurl_version "$current"), $1 sanitizer" "$current"
    wait_for_tests
}

if is sanitize; then
    sanitized "$sanitizer"
    finish
fi

step "build" build || finish
tests=$(swift build "${options[@]}" --show-bin-path)/trellisPackageTests.xctest
if is all; then export TRELLIS_TEST_ALL=1 TRELLIS_SOAK_ORIGINS_REQUESTS=${TRELLIS_SOAK_ORIGINS_REQUESTS:-20000}; fi

step "formatting" formatting
if $ci || command -v python3 >/dev/null; then step "figures of the house" .scripts/house.py --check; fi
if is ci all; then step "public symbols" .scripts/api.sh --no-build; fi
[ -n "$filter" ] || start_tests "pure tests" '' --filter "$pure" --skip "$impure"
wait_for_tests
is quick && finish

# The other packages are built beside the tests, which leave processors idle now and then.
if is ci all; then
    .scripts/other-builds.sh </dev/null >"$logs/other-builds.log" 2>&1 &
    other_builds=$!
fi
all_tests "the system's $(libcurl_version)" ''
[ -z "$current" ] || all_tests "the current $(libcurl_version "$current")" "$current"
wait_for_tests
is tests && finish

# --- The packages and programs around the library

wait "$other_builds"
other_builds_status=$?
other_builds_said() { cat "$logs/other-builds.log"; return "$other_builds_status"; }
step "Examples, and packages outside the repository" other_builds_said
tests=$(swift build --package-path Examples --show-bin-path)/trellis-examplesPackageTests.xctest order=
start_tests "the client on the system's $(libcurl_version)" ''
[ -z "$current" ] || start_tests "the client on the current $(libcurl_version "$current")" "$current"
wait_for_tests
step "the tour" Examples/run.sh
is ci && finish

if Tests/Fuzzing/run.sh --available; then
    step "fuzzing, a few seconds each" Tests/Fuzzing/run.sh --smoke
else
    leave_out "fuzzing" "the toolchain has no libFuzzer"
fi
# Without AsyncHTTPClient, whose build takes longer than all others here.
step "instructions" Benchmarks/run.sh --check-instructions
# The rows whose work depends on libcurl.
[ -z "$current" ] ||
    step "instructions on the current libcurl" Benchmarks/run.sh --no-build --libcurl "$current" --check-instructions \
        instructions/{small-get,observed-get,json-post,headers,tls-h2-get}
step "documentation" .scripts/documentation.sh "$PWD/.build-peers/documentation"
order=--no-parallel
sanitized thread
sanitized address
finish
