#!/usr/bin/env bash
# Sets up the Python that runs Tests/Peers, in a git-ignored folder, and prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="$PWD/.build-peers/venv"
wanted=$(cksum < Tests/Peers/requirements.txt)
if [ "$(cat "$folder/complete" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder" >&2
    install() { "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r Tests/Peers/requirements.txt >&2; }
    install || install
    echo "$wanted" > "$folder/complete"
fi
echo "$folder/bin/python"
