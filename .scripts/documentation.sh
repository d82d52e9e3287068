#!/usr/bin/env bash
# Builds the documentation of all products as one static site: documentation.sh FOLDER. Warnings are errors, such as a link to a symbol that
# does not exist, or an article in no section. Needs the Swift toolchain, whose docc checks every link and symbol; libcurl's headers and Python 3,
# which writes the pages (site.py), are installed where that can be done with apt-get. The pages need neither a server nor a script: open FOLDER/index.html.
set -euo pipefail
site=$(realpath -m "${1:?the folder of the site}")
cd "$(dirname "$0")/.."
if ! command -v docc >/dev/null; then
    echo "docc of the Swift toolchain is needed" >&2
    exit 1
fi
# The folder is replaced, and so it must be a site, or empty.
if [ -n "$(ls -A "$site" 2>/dev/null)" ] && ! { [ -f "$site/index.html" ] && [ -f "$site/404.html" ]; }; then
    echo "$site has other files than those of a site, and is left as it is" >&2
    exit 64
fi
if ! echo '#include <curl/curl.h>' | clang -E -xc - >/dev/null 2>&1; then .scripts/install.sh libcurl4-openssl-dev; fi
if ! echo '#include <hiredis/hiredis.h>' | clang -E -xc - >/dev/null 2>&1; then .scripts/install.sh libhiredis-dev; fi
command -v python3 >/dev/null || .scripts/install.sh python3

swift build --enable-all-traits
. .scripts/symbols.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/trellis-documentation.XXXXXX")
trap 'rm -rf "$work"' EXIT

# module NAME DEPENDENCY…: makes the pages of a module, whose links may lead to the modules that were made before.
archives=()
module() {
    local name=$1 links=() other
    shift
    for other in "$@"; do links+=(--dependency "$work/$other.doccarchive"); done
    mkdir "$work/$name"
    symbols "$name" "$work/$name"
    # A comment describes all parameters, or none: then their names say everything.
    docc convert "Sources/$name/$name.docc" --additional-symbol-graph-dir "$work/$name" --output-path "$work/$name.doccarchive" \
        --warnings-as-errors --enable-experimental-external-link-support \
        ${links[@]+"${links[@]}"}
    archives+=("$work/$name.doccarchive")
    echo "$name: $(find "$work/$name.doccarchive/data/documentation" -name '*.json' | wc -l) pages"
}

module Trellis
for name in TrellisFoundation TrellisOAuth TrellisRedis TrellisSignatures TrellisTesting TrellisObservability TrellisService TrellisConfiguration; do module "$name" Trellis; done
module TrellisTestTraits Trellis TrellisTesting

rm -rf "$site"
mkdir -p "$site"
python3 .scripts/site.py "$site" "${archives[@]}"
echo "The documentation is in $site/index.html."
