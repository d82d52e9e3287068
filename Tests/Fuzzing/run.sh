#!/usr/bin/env bash
# Fuzzes the parsers of a server's response and the encoders of forms, with libFuzzer, which comes with Swift's toolchain.
#
#   Tests/Fuzzing/run.sh                    every fuzzer for a minute
#   Tests/Fuzzing/run.sh 600                every fuzzer for that many seconds
#   Tests/Fuzzing/run.sh 600 events lines   only these fuzzers
#   Tests/Fuzzing/run.sh --smoke            every fuzzer for 5 seconds, from Corpus/ only; inputs are not kept; as many fuzzers at once as
#                                           there are processors
#   Tests/Fuzzing/run.sh --build            only builds
#   Tests/Fuzzing/run.sh --available        only reports, by its exit status, whether libFuzzer is installed
#
#   lines, events, text, multipart   the state machines under streams: the same result however a body is cut, and bounded
#   form                             URLEncodedFormEncoder with all its settings: only characters that are allowed, the pairs
#                                    of a plain model, in the same order each time
#   form-data                        MultipartFormData: the length that was announced, and the parts that were put in, for a
#                                    strict reader of its own and for the framework's
#   cookies, cookie-dates            Set-Cookie fields and cookie files; dates of every shape
#   websocket                        frames of a server, with and without compression: the same events however they are cut
#   retry-after                      Retry-After and the dates of HTTP
#   links                            Link fields: a link that is written again is the same link
#   response, request                responses on HTTP/1.1: the same however they are cut; heads of requests: no field but their own
#   frames                           frames of a server of HTTP/2: each stream has one end, however they are cut
#   cache-fields, cache-file         the fields that decide about stored responses; the heads of a cache's files
#
# Interesting inputs are kept between runs in .build-fuzzing/corpus, the output in .build-fuzzing/logs, inputs that fail in
# .build-fuzzing/crashes; `SWIFT_BACKTRACE=enable=no .build-fuzzing/release/fuzz NAME FILE` runs one again. Corpus/ has the inputs
# that a run begins with. Exit status: 0 nothing found, 1 something found, 2 a run was ended from outside.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(cd "$here/../.." && pwd)/.build-fuzzing

# Gold, the default linker, and dead-stripping lose the instrumentation.
instrumented=(-sanitize=address,fuzzer -use-ld=lld)
available() {
    local folder status=0
    folder=$(mktemp -d)
    echo '@_cdecl("LLVMFuzzerTestOneInput") public func one(_ s: UnsafeRawPointer?, _ n: Int) -> CInt { 0 }' > "$folder/one.swift"
    swiftc -parse-as-library "${instrumented[@]}" -o "$folder/one" "$folder/one.swift" >/dev/null 2>&1 || status=1
    rm -rf "$folder"
    return $status
}

seconds=60 corpora=$scratch/corpus lanes=1 build_only=false
case ${1:-} in
    --available) available; exit ;;
    --build) build_only=true; shift ;;
    --smoke)
        seconds=5 corpora=$(mktemp -d) lanes=$(nproc)
        trap 'rm -rf "$corpora"' EXIT
        shift
        ;;
    '') ;;
    *[!0-9]*) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0"; exit 64 ;;
    *) seconds=$1; shift ;;
esac
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(lines events multipart text form form-data retry-after links cookies cookie-dates cache-fields cache-file websocket
    response request frames)

# The build is optimised, because a faster fuzzer finds more.
swift build --package-path "$here" --scratch-path "$scratch" -c release --disable-dead-strip \
    -Xswiftc -enable-testing -Xswiftc "${instrumented[0]}" -Xswiftc "${instrumented[1]}"
if $build_only; then exit 0; fi

# The runtime's crash report would be written instead of libFuzzer's, which saves the input.
export SWIFT_BACKTRACE=enable=no
found=() ended=()
mkdir -p "$scratch/crashes" "$scratch/logs"

# fuzz NAME: fuzzes.
fuzz() {
    mkdir -p "$corpora/$1"
    "$scratch/release/fuzz" "$1" -max_total_time="$seconds" -max_len=1024 -len_control=10 -timeout=10 -rss_limit_mb=1024 \
        -artifact_prefix="$scratch/crashes/$1-" -print_final_stats=1 \
        "$corpora/$1" "$here/Corpus/$1" >"$scratch/logs/$1.log" 2>&1
}

# report NAME STATUS: reports the result of a fuzzer. A status without an input has another reason: a signal from outside (for which
# libFuzzer has 72), or a finding of a sanitizer at the end of the process, which is in the log.
report() {
    local name=$1 log=$scratch/logs/$1.log status=$2 input
    echo "$name:"
    grep -aE '^(wrong|==[0-9]+==|SUMMARY|artifact_prefix|stat::)|[[:space:]](INITED|DONE)[[:space:]]' "$log" | cut -c1-1000 || true
    [ $status -ne 0 ] || return 0
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
    if [ -n "$input" ]; then
        found+=("$name (exit status $status, the input is in $input)")
    elif [ $status -eq 72 ] || [ $status -gt 128 ]; then
        ended+=("$name (exit status $status)")
    else
        found+=("$name (exit status $status without an input, the reason is in $log)")
    fi
}

for ((first = 0; first < ${#names[@]}; first += lanes)); do
    round=("${names[@]:first:lanes}") last=$((${#round[@]} - 1)) processes=() status=0
    echo "=== ${round[*]}, $seconds s"
    for name in "${round[@]:0:last}"; do
        fuzz "$name" &
        processes+=($!)
    done
    # In the foreground, where Ctrl-C ends it.
    fuzz "${round[last]}" || status=$?
    for index in "${!processes[@]}"; do
        other=0
        wait "${processes[index]}" || other=$?
        report "${round[index]}" "$other"
    done
    report "${round[last]}" "$status"
done
[ ${#ended[@]} -eq 0 ] || echo "Ended from outside: ${ended[*]}"
[ ${#found[@]} -eq 0 ] || { echo "Fuzzing failed: ${found[*]}"; exit 1; }
[ ${#ended[@]} -eq 0 ] || exit 2
echo "Fuzzing found nothing."
