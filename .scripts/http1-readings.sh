#!/usr/bin/env bash
# http1-readings.sh FOLDER: has Go's client and Node's read the responses of Tests/Peers/http1, for PeerReadingTests, and writes what they
# find to FOLDER. Both are installed where that can be done with apt-get.
set -euo pipefail
folder=$(mkdir -p "${1:?a folder}" && cd "$1" && pwd)
cd "$(dirname "$0")/.."

command -v go >/dev/null || .scripts/install.sh golang-go
command -v node >/dev/null || .scripts/install.sh nodejs
export GOCACHE=$PWD/.build-peers/go
cp Tests/Peers/http1/responses.json "$folder"
go run Tests/Peers/http1/read.go <"$folder/responses.json" >"$folder/go"
node Tests/Peers/http1/read.js <"$folder/responses.json" >"$folder/node"
echo "$(wc -l <"$folder/go") responses read by $(go version | cut -d' ' -f3), $(wc -l <"$folder/node") by Node $(node --version)"
