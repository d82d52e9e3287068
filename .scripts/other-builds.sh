#!/usr/bin/env bash
# Builds what the tests of the package do not need, on processor time that nothing else wants: the leaf package Examples, the benchmarks
# whose instructions are counted, the packages outside the repository and, with --fuzzers, the fuzzers. Ends with what it runs when it gets a
# signal.
set -uo pipefail
script=$(realpath "$0")
cd "$(dirname "$script")/.."

# In a session of its own, because Linux shares processor time between sessions before it looks at the niceness of processes (sched(7),
# "The autogroup feature").
if [ "${1:-}" != --in-session ]; then
    setsid "$script" --in-session "$@" &
    session=$!
    trap 'kill -- -$session 2>/dev/null' EXIT
    trap 'exit 143' INT TERM HUP
    wait "$session"
    exit
fi
shift
{ echo 19 >/proc/self/autogroup; } 2>/dev/null
renice -n 19 $$ >/dev/null

# Runs a command that uses the network, and repeats it once, because its first failure may be that of the network.
twice() { "$@" || { echo "(once more)"; "$@"; }; }

status=0
{ twice swift package --package-path Examples resolve && swift build --package-path Examples; } || status=1
# Without AsyncHTTPClient, whose build takes longer than all others here.
Benchmarks/run.sh --build-only instructions || status=1
.scripts/outside-package.sh || status=1
if [ "${1:-}" = --fuzzers ]; then Tests/Fuzzing/run.sh --build || status=1; fi
exit "$status"
