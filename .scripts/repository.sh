#!/usr/bin/env bash
# Sets the address of the repository, which stands in .github/repository, on every page: repository.sh https://example.com/owner/trellis
set -euo pipefail
address=${1:-}
if [[ ! $address =~ ^https://[^/]+/.+ ]]; then
    echo "usage: repository.sh https://example.com/owner/trellis" >&2
    exit 64
fi
cd "$(dirname "$0")/.."
former=$(cat .github/repository)
git grep -lF -- "$former" -- '*.md' .github | while read -r page; do
    FORMER=$former ADDRESS=${address%.git} perl -pi -e 's/\Q$ENV{FORMER}\E/$ENV{ADDRESS}/g' "$page"
done
cat .github/repository
