#!/usr/bin/env bash
# Prints a folder with a current libcurl.so.4 (HTTP/3, WebSocket), to be put on LD_LIBRARY_PATH:
#
#     LD_LIBRARY_PATH=$(.scripts/current-libcurl.sh) swift test
#
# The library and everything it needs come inside the PyPI wheel `pycurl`. The wheel is downloaded once, into
# .build-libcurl/ at the top of the repository, which git ignores; later calls only print the folder. Python is
# installed with apt-get where it is missing and that can be done. Everything but the folder goes to stderr.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache="$top/.build-libcurl"
folder="$cache/pycurl.libs"

fail() {
    echo "current-libcurl.sh: $*" >&2
    exit 1
}

# `python3 -m pip`, or a way to get it.
need_pip() {
    python3 -m pip --version >/dev/null 2>&1 && return
    command -v apt-get >/dev/null || fail "install python3 and its pip, then call this again"
    local sudo=()
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || fail "install python3-pip as root, then call this again"
        sudo=(sudo)
    fi
    "${sudo[@]}" apt-get update -qq >&2
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends python3 python3-pip >&2
}

# Unpacks in a folder of its own and moves it into place, so that a call that was interrupted leaves nothing half-done.
download() {
    # Not local: the trap runs when the function is left.
    work=$(mktemp -d "$cache/download.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
        --dest "$work" pycurl >&2 || fail "cannot download the wheel of pycurl"
    python3 -m zipfile -e "$work"/pycurl-*.whl "$work/wheel"
    local library
    library=$(cd "$work/wheel/pycurl.libs" && echo libcurl-*.so*)
    [ -f "$work/wheel/pycurl.libs/$library" ] || fail "the wheel holds no libcurl"
    ln -s "$library" "$work/wheel/pycurl.libs/libcurl.so.4"
    rm -rf "$folder"
    mv "$work/wheel/pycurl.libs" "$folder"
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -e "$folder/libcurl.so.4" ]; then
    need_pip
    download
fi
echo "$folder"
