#!/usr/bin/env bash
# install.sh PACKAGE… installs those of the Debian packages that are missing: with apt-get, through sudo when not root.
# On other systems, and where apt-get is out of reach, it says what to install and fails.
set -euo pipefail

missing=()
for package in "$@"; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
    echo "Please install what Debian calls: ${missing[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "Please install as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive ${RUNLEVEL:+RUNLEVEL="$RUNLEVEL"} apt-get -qq -o DPkg::Lock::Timeout=300 "$@" </dev/null; }

echo "Installing ${missing[*]} …"
for attempt in 1 2; do
    # The first attempt may do without fresh lists; a fresh machine has none at all.
    if [ "$attempt" = 2 ] || [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -print -quit 2>/dev/null)" ]; then
        apt update || true
    fi
    apt install -y --no-install-recommends "${missing[@]}" >/dev/null && exit 0
done
echo "apt-get could not install ${missing[*]}" >&2
exit 1
