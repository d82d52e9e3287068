#!/usr/bin/env bash
# Fuzzes the machines that read what a server sends, with libFuzzer, which comes with Swift's toolchain.
#
#   Tests/Fuzzing/run.sh                    each for a minute
#   Tests/Fuzzing/run.sh 600                each for so many seconds
#   Tests/Fuzzing/run.sh 600 events lines   some of them
#
# What was found to be interesting is kept between runs in .build-fuzzing/corpus, inputs that crash in
# .build-fuzzing/crashes; `.build-fuzzing/release/fuzz NAME FILE` runs one again. Corpus/ has what a run begins with.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(cd "$here/../.." && pwd)/.build-fuzzing

seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 64; }
shift || true
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(lines events multipart text cookies dates)

# Optimised, because speed finds more. Gold, the default linker, and dead-stripping lose the instrumentation.
swift build --package-path "$here" --scratch-path "$scratch" -c release --disable-dead-strip \
    -Xswiftc -enable-testing -Xswiftc -sanitize=address,fuzzer -Xswiftc -use-ld=lld

# The runtime's own crash report would come before libFuzzer's, which keeps the input.
export SWIFT_BACKTRACE=enable=no
failed=()
mkdir -p "$scratch/crashes"
for name in "${names[@]}"; do
    mkdir -p "$scratch/corpus/$name"
    echo "=== $name, $seconds s"
    "$scratch/release/fuzz" "$name" -max_total_time="$seconds" -max_len=1024 -timeout=10 -rss_limit_mb=1024 \
        -artifact_prefix="$scratch/crashes/$name-" -print_final_stats=1 -verbosity=0 \
        "$scratch/corpus/$name" "$here/Corpus/$name" || failed+=("$name")
done
[ ${#failed[@]} -eq 0 ] || { echo "Fuzzing failed: ${failed[*]}"; exit 1; }
echo "Fuzzing found nothing."
