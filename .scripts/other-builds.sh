#!/usr/bin/env bash
# Builds the leaf package Examples with its tests, and builds and runs the packages outside the repository, on processor time that nothing
# else wants. Ends with what it runs when it gets a signal.
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
{ echo 19 >/proc/self/autogroup; } 2>/dev/null
renice -n 19 $$ >/dev/null

# Repeats a command that uses the network once, because its first failure may be the network's.
twice() { "$@" || { echo "(again)"; "$@"; }; }

status=0
{ twice swift package --package-path Examples resolve && swift build --package-path Examples --build-tests; } || status=1
.scripts/outside-package.sh || status=1
exit "$status"
