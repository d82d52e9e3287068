#!/usr/bin/env bash
# Runs all tests, from a bare machine with the Swift toolchain: set-up, build, every test on the system's libcurl and again on the
# current one, the leaf packages, some fuzzing, a package from outside, formatting. Ends with a line that summarises the result.
#
#   Tests/run.sh                     everything
#   Tests/run.sh --quick             build and test on the system's libcurl, for the everyday loop
#   Tests/run.sh --sanitize thread   the tests under a sanitizer (thread or address), on both libcurls, and nothing else
#   … --soak-only                    only the requests with cancellations: 100,000 each with one, two and four engines on the system's
#                                    libcurl, and 30 % of that on the current one; TRELLIS_SOAK_REQUESTS sets another number than 100,000
#   Tests/run.sh --set-up            only installs what the tests need, for several runs at once
#   … --filter PATTERN               only the tests that match, as `swift test --filter` has it
#
# The soak over origins sends 20,000 requests to 500 origins; TRELLIS_SOAK_ORIGINS_REQUESTS sets another number, forty to an
# origin.
#
# Of the 517 Autobahn cases for WebSockets, 498 run in CI, each with at least one libcurl. TRELLIS_AUTOBAHN=all runs all of them with each
# libcurl, which takes some eight minutes.
#
# A cache's folder is shared by 500 processes that are killed; TRELLIS_TEST_CACHE_KILLS sets another number.
#
# Suites whose servers are missing are skipped with a line about that; with CI=true they fail instead.
set -uo pipefail
cd "$(dirname "$0")/.."

quick=false soak_only=false set_up_only=false sanitizer='' filter=()
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=true ;;
        --sanitize) sanitizer=${2:?thread or address}; shift ;;
        --soak-only) soak_only=true ;;
        --set-up) set_up_only=true ;;
        --filter) filter=(--filter "${2:?a pattern}"); shift ;;
        -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
        *) echo "unknown option $1" >&2; exit 64 ;;
    esac
    shift
done

ci=false
[ "${CI:-}" = true ] && ci=true
# Two runs with different sanitizers may be in progress at once.
logs=$PWD/.build-peers/logs${sanitizer:+/$sanitizer}
mkdir -p "$logs"
started=$SECONDS
passed=() failed=() skipped=() verdicts=()

log_of() { echo "$logs/${1//[^A-Za-z0-9.]/-}.log"; }

# step NAME COMMAND…: runs a step under a heading, and records its result.
step() {
    local name=$1 log begun=$SECONDS status
    log=$(log_of "$name")
    shift
    printf '\n=== %s\n' "$name"
    "$@" </dev/null 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    printf -- '--- %s: exit status %d after %d s\n' "$name" "$status" $((SECONDS - begun))
    if [ "$status" -eq 0 ]; then passed+=("$name"); else failed+=("$name"); fi
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

finish() {
    printf '\n'
    [ ${#verdicts[@]} -eq 0 ] || printf '%s\n' "${verdicts[@]}"
    local summary="${#passed[@]} steps passed, ${#failed[@]} failed, ${#skipped[@]} skipped in $((SECONDS - started)) s"
    [ ${#skipped[@]} -eq 0 ] || summary+="; skipped: $(IFS=,; echo "${skipped[*]}")"
    [ ${#failed[@]} -eq 0 ] || summary+="; failed: $(IFS=,; echo "${failed[*]}")"
    if [ ${#failed[@]} -eq 0 ]; then echo "Tests passed: $summary"; exit 0; fi
    local name
    for name in "${failed[@]}"; do
        printf '\n=== again, what %s said\n' "$name"
        # The details of a known issue (━) would push those of a failure out of the last lines.
        awk '/━ Test / { known = 1; next } !/↳/ { known = 0 } !known' "$(log_of "$name")" 2>/dev/null |
            grep -E '✘|✗|↳|error:|Fatal|\[error\]|FAILED|rose by more|is not recorded|was not counted' | cut -c1-400 | tail -30
        # A step that does not name its failure with one of these words tells it in its last lines.
        [ "${PIPESTATUS[1]}" -eq 0 ] || tail -10 "$(log_of "$name")" 2>/dev/null | cut -c1-400
    done
    echo "Tests failed: $summary"
    exit 1
}

# Runs a command that uses the network, and repeats it once, because its first failure may be that of the network.
twice() { "$@" || { echo "(once more)"; "$@"; }; }

# test_on NAME FOLDER: runs every test on the libcurl of that folder or, without one, on the system's. Tests run one after the
# other: all at once, tests that compute would keep tests that wait from being resumed in time. The tests of the sources' text do not
# depend on libcurl, and run once.
test_on() {
    local name="tests on $1" folder=${2:-} skipped_tests=() line_buffered=()
    [ -z "$folder" ] || [ ${#filter[@]} -gt 0 ] || skipped_tests=(--skip ConventionTests)
    # The library path is for the tests alone; an empty entry in the path would mean the current folder.
    # Each line is written at once: the last lines of a test that hangs name it. A sanitizer must be the first library.
    [ -n "$sanitizer" ] || line_buffered=(stdbuf -oL)
    TRELLIS_TEST_LIBCURL=$folder step "$name" watched "$(log_of "$name")" ${line_buffered[@]+"${line_buffered[@]}"} \
        env ${folder:+"LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"} \
        swift test --skip-build --disable-xctest --no-parallel ${build_options[@]+"${build_options[@]}"} ${filter[@]+"${filter[@]}"} \
        ${skipped_tests[@]+"${skipped_tests[@]}"}
    local verdict
    verdict=$(grep -E '^.{0,4}Test run with' "$(log_of "$name")" | tail -1)
    verdicts+=("$1: ${verdict:-no closing line: the test process ended early}")
}

# end_session SESSION: kills all processes of a session. The tests have a process group of their own.
end_session() {
    local stat pid session
    for stat in /proc/[0-9]*/stat; do
        # The name of the command, which may have blanks, ends with the last parenthesis.
        read -r _ _ _ session _ <<<"$(sed 's/^.*) //' "$stat" 2>/dev/null)"
        if [ "$session" = "$1" ]; then
            pid=${stat#/proc/}
            kill -9 "${pid%/stat}" 2>/dev/null
        fi
    done
}

# watched LOG COMMAND…: runs a command that writes to LOG, and ends it with its whole process group when it has written nothing for the
# longest time that one test may take. Then the tests that did not end are printed.
watched() {
    local log=$1 size=-1 silent=0 limit=300 status=0
    shift
    [ -z "$sanitizer" ] || limit=1200
    setsid "$@" &
    local child=$!
    # Ends the servers too that a killed test process has left.
    trap "end_session $child" EXIT
    while kill -0 "$child" 2>/dev/null; do
        sleep 2
        if [ "$(stat -c %s "$log")" = "$size" ]; then silent=$((silent + 2)); else silent=0; fi
        size=$(stat -c %s "$log")
        if [ "$silent" -ge "$limit" ]; then
            echo "error: the tests wrote nothing for $limit s, and are ended"
            end_session "$child"
            break
        fi
    done
    wait "$child" || status=$?
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

libcurl_version() {
    LD_LIBRARY_PATH=${1:-${LD_LIBRARY_PATH:-}} python3 -c \
        'import ctypes; f = ctypes.CDLL("libcurl.so.4").curl_version; f.restype = ctypes.c_char_p; print(f().decode().split()[0])' \
        2>/dev/null || echo libcurl
}

# --- Set-up

system_libcurl() {
    # A machine that has the headers from elsewhere needs no package.
    if echo '#include <curl/curl.h>' | clang -E -xc - >/dev/null 2>&1; then
        echo "The headers of libcurl are there."
    else
        .scripts/install.sh libcurl4-openssl-dev
    fi
}
step "system libraries" system_libcurl || finish

python_peers() { .scripts/python-peers.sh || { .scripts/install.sh python3 python3-venv && .scripts/python-peers.sh; }; }
if optional_step "Python peers" "the suites with TLS, HTTP/2, HTTP/3 and compressed bodies" python_peers; then
    TRELLIS_TEST_PYTHON=$(tail -1 "$logs/Python-peers.log")
    export TRELLIS_TEST_PYTHON
fi

# The servers are installed without their services, because the tests start the servers.
real_servers() {
    RUNLEVEL=1 .scripts/install.sh caddy nghttp2-server nginx-light tinyproxy-bin dnsmasq-base unbound && echo "The servers are there."
}
optional_step "real servers" "tests with caddy, dnsmasq, nghttpd, nginx, tinyproxy and unbound" real_servers

namespaces() {
    if command -v ip >/dev/null && command -v ss >/dev/null; then
        echo "ip and ss are there."
    else
        .scripts/install.sh iproute2
    fi
}
optional_step "network tools" "tests in network namespaces" namespaces
certificates() { command -v openssl || .scripts/install.sh openssl; }
optional_step "certificates" "tests with certificates that openssl makes" certificates
proxies() { RUNLEVEL=1 .scripts/install.sh squid dante-server microsocks socat openssh-server openssh-client libpacparser1 && echo "The proxies are there."; }
optional_step "real proxies" "tests with squid, dante, microsocks, OpenSSH and PAC scripts" proxies

if $set_up_only; then finish; fi

# --- Build and test

build_options=()
# The soak needs none of the products that have dependencies of their own.
$soak_only || build_options=(--enable-all-traits)
case $sanitizer in
    '') ;;
    thread)
        build_options+=(--sanitize=thread --scratch-path .build-tsan)
        export TSAN_OPTIONS="exitcode=66:${TSAN_OPTIONS:-}"
        ;;
    address)
        build_options+=(--sanitize=address --scratch-path .build-asan)
        export ASAN_OPTIONS="detect_leaks=1:${ASAN_OPTIONS:-}"
        ;;
    *) echo "no sanitizer $sanitizer here: thread or address" >&2; exit 64 ;;
esac

# The other tests are not built for the soak.
if $soak_only; then export TRELLIS_SOAK_ALONE=1; fi
step "dependencies" twice swift package resolve || finish
step "build" swift build --build-tests ${build_options[@]+"${build_options[@]}"} || finish
# The memory of a sanitizer would count as the client's.
if ! $quick && [ -z "$sanitizer" ]; then export TRELLIS_SOAK_ORIGINS_REQUESTS=${TRELLIS_SOAK_ORIGINS_REQUESTS:-20000}; fi
# Other builds run beside the tests, which leave a processor idle most of the time.
if ! $quick && [ -z "$sanitizer" ]; then
    fuzzers=
    if Tests/Fuzzing/run.sh --available; then fuzzers=--fuzzers; fi
    .scripts/other-builds.sh $fuzzers </dev/null >"$logs/other-builds.log" 2>&1 &
    other_builds=$!
    trap 'kill "$other_builds" 2>/dev/null' EXIT
fi
$soak_only || test_on "the system's $(libcurl_version)"
$quick && finish

if optional_step "current libcurl" "tests on the current libcurl" .scripts/current-libcurl.sh; then
    current=$(tail -1 "$logs/current-libcurl.log")
    $soak_only || test_on "the current $(libcurl_version "$current")" "$current"
fi
if [ -n "$sanitizer" ]; then
    # Requests with cancellations at random moments, in a process of their own so that descriptors can be counted.
    export TRELLIS_SOAK_REQUESTS=${TRELLIS_SOAK_REQUESTS:-100000}
    filter=(--filter CancellationSoakTests)
    test_on "soak on the system's $(libcurl_version)"
    # Under the thread sanitizer, the current libcurl takes twice the time for a request. The number is the same under both.
    TRELLIS_SOAK_REQUESTS=$((TRELLIS_SOAK_REQUESTS * 3 / 10))
    [ -z "${current:-}" ] || test_on "soak on the current $(libcurl_version "$current")" "$current"
    finish
fi

# --- Packages, programs and formatting around the library

waiting_since=$SECONDS other_builds_status=0
wait "$other_builds" || other_builds_status=$?
said_of_other_builds() {
    cat "$logs/other-builds.log"
    echo "The tests had ended $waited s before."
    return "$other_builds_status"
}
waited=$((SECONDS - waiting_since))
step "leaf packages Examples and Benchmarks, package from outside, fuzzers" said_of_other_builds
if [ -n "$fuzzers" ]; then
    step "fuzzing, a few seconds each" Tests/Fuzzing/run.sh --smoke
else
    leave_out "fuzzing" "the toolchain has no libFuzzer"
fi
step "the client" env TRELLIS_EXAMPLES_BIN="$PWD/Examples/.build/debug" Examples/test.sh
# The sections in which libcurl's version matters.
client_on_current() {
    TRELLIS_EXAMPLES_BIN="$PWD/Examples/.build/debug" LD_LIBRARY_PATH=$current Examples/test.sh 'Proxies' 'Hosts that ask' 'The cache' \
        'Certificates and pins' 'Trust' 'Names and addresses' 'WebSockets' 'The gateway' 'A chain of three'
}
[ -z "${current:-}" ] || step "the client on the current libcurl" client_on_current
step "the tour" Examples/run.sh
step "instructions" Benchmarks/run.sh --no-build --check-instructions
# The rows whose work depends on libcurl.
[ -z "${current:-}" ] ||
    step "instructions on the current libcurl" Benchmarks/run.sh --no-build --libcurl "$current" --check-instructions \
        instructions/{small-get,observed-get,json-post,headers,tls-h2-get}
step "documentation" .scripts/documentation.sh "$PWD/.build-peers/documentation"
formatting() {
    find Package.swift Sources Tests Benchmarks Examples -path '*/.build*' -prune -o -name '*.swift' -print0 |
        xargs -0 swift format lint --strict --parallel && echo "All files are formatted."
}
step "formatting" formatting
finish
