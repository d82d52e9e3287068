#!/usr/bin/env bash
# Tests the command-line client against a loopback server. Builds both unless TRELLIS_EXAMPLES_BIN names a folder that
# has them. Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

bin=${TRELLIS_EXAMPLES_BIN:-}
if [ -z "$bin" ]; then
    for product in trellis fixture-server; do
        swift build --package-path "$here" --product "$product" </dev/null >&2 || exit 1
    done
    bin="$here/.build/debug"
fi
command -v python3 >/dev/null || { echo "python3 is needed to read the reports" >&2; exit 1; }

folder=$(mktemp -d "${TMPDIR:-/tmp}/trellis-client.XXXXXX")
clean_up() {
    exec 8>&- 9>&-
    rm -rf "$folder"
}
trap clean_up EXIT

# Servers end with their standard input, which is this script's.
start_server() { # DESCRIPTOR FILE [SOCKET]
    mkfifo "$2.in"
    "$bin/fixture-server" ${3:+"$3"} <"$2.in" >"$2" &
    eval "exec $1>'$2.in'"
    until [ -s "$2" ]; do sleep 0.05; done
}
start_server 8 "$folder/server"
start_server 9 "$folder/unix" "$folder/socket"
url=$(cat "$folder/server")

passed=0 failed=0
check() { # NAME WANTED GOT
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  wanted: %q\n  got:    %q\n' "$1" "$2" "$3"
    fi
}

# Runs the client: $out, $err, $status.
client() {
    "$bin/trellis" "$@" >"$folder/out" 2>"$folder/err"
    status=$?
    out=$(cat "$folder/out" | tr -d '\0')
    err=$(cat "$folder/err")
}

# The value of a Python expression over the report r.
report() { python3 -c 'import base64, json, sys
r = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$folder/out" "$1" 2>&1; }

# Runs the client for a report, and compares an expression over it and the exit status.
expect_report() { # NAME EXPRESSION WANTED STATUS ARGUMENT…
    local name=$1 expression=$2 wanted=$3 wanted_status=$4
    shift 4
    client --report json "$@"
    check "$name" "$wanted" "$(report "$expression")"
    check "$name: exit status" "$wanted_status" "$status"
}

expect_usage_error() {
    client "$@"
    check "usage error: $*" 64 "$status"
    check "usage error: $*: nothing on stdout" '' "$out"
}

# --- Bodies and reports

client "$url/"
check "a body" 'hello world 0' "$out $status"
expect_report "the report of 200" \
    "[r['ok'], r['status'], r['http_version'], r['error'], r['items'], r['redirects'], r['attempts'], r['from_cache']]" \
    "[True, 200, '1.1', None, None, [], 1, False]" 0 "$url/"
check "its URL" "$url/" "$(report "r['url']")"
check "its body" "{'bytes': 11, 'base64': 'aGVsbG8gd29ybGQ='}" "$(report "r['body']")"
check "its metrics" "True" "$(report "sorted(r['metrics']) == sorted('queued_s dns_s connect_s tls_s first_byte_s total_s \
bytes_sent bytes_received reused_connection'.split()) and 0 < r['metrics']['first_byte_s'] <= r['metrics']['total_s']")"
expect_report "the report of 404" "[r['ok'], r['status'], r['error']]" "[True, 404, None]" 0 "$url/nowhere"
client "$url/status/500"
check "a body of status 500" 'so be it 0' "$out $status"
expect_report "repeated fields" "[h for h in r['headers'] if h[0] != 'Content-Length']" \
    "[['X-One', '1'], ['Set-Cookie', 'a=1'], ['X-Two', '2'], ['Set-Cookie', 'b=2']]" 0 "$url/repeated"
expect_report "103 and trailers" "[r['informational'], r['trailers']]" \
    "[[{'status': 103, 'headers': [['Link', '</style.css>']]}], [['X-Sum', '7']]]" 0 "$url/hints"
expect_report "HEAD" "[r['status'], r['body']['bytes']]" "[200, 0]" 0 HEAD "$url/"
expect_report "a large body" "r['body']" "{'bytes': 3000000, 'base64': None}" 0 "$url/bytes/3000000"
expect_report "every byte" "base64.b64decode(r['body']['base64']) == bytes(range(256))" True 0 "$url/binary"
"$bin/trellis" "$url/binary" | python3 -c 'import sys; sys.exit(sys.stdin.buffer.read() != bytes(range(256)))'
check "a binary body in a pipe" 0 $?
client "$url/json"
check "JSON in a pipe" '{"b": 1.0, "a": ["ü", true, null, {}], "big": 12345678901234567890}' "$out"

# --- Requests

request() { client "$@"; }
request "$url/request/gr%C3%BCn?q=1"
check "GET" 'GET /request/gr%C3%BCn?q=1' "$(head -1 "$folder/out")"
request "$url/request/grün und blau"
check "a path that is not ASCII" 'GET /request/gr%C3%BCn%20und%20blau' "$(head -1 "$folder/out")"
request delete "$url/request"
check "a method before the URL" 'DELETE /request' "$(head -1 "$folder/out")"
request -X PURGE "$url/request"
check "a method of one's own" 'PURGE /request' "$(head -1 "$folder/out")"
request "$url/request" -H 'X-A: 1' -H 'x-b:2' -H 'X-A: 3' -H 'User-Agent: me'
check "fields in order" 'X-A: 1 x-b: 2 X-A: 3 User-Agent: me' "$(grep -iE '^(x-|user)' "$folder/out" | xargs)"
request "$url/request" -d 'a=1'
check "a body makes a POST" 'POST /request' "$(head -1 "$folder/out")"
check "no Content-Type of its own" '' "$(grep -i '^content-type' "$folder/out")"
check "its length" 'Content-Length: 3' "$(grep -i '^content-length' "$folder/out")"
request PUT "$url/request" -d '-x'
check "a body with a method" 'PUT /request' "$(head -1 "$folder/out")"
head -c 300000 /dev/urandom >"$folder/file"
"$bin/trellis" "$url/echo" -d "@$folder/file" | cmp - "$folder/file"
check "a file" 0 $?
"$bin/trellis" "$url/echo" -d @- <"$folder/file" | cmp - "$folder/file"
check "a file on standard input" 0 $?
cat "$folder/file" | "$bin/trellis" "$url/echo" -d @- | cmp - "$folder/file"
check "a pipe on standard input" 0 $?
"$bin/trellis" "$url/echo" -d @<(cat "$folder/file") | cmp - "$folder/file"
check "a pipe with a name" 0 $?
client "$(cat "$folder/unix")/" --unix-socket "$folder/socket"
check "a Unix socket" 'hello world' "$out"

# --- Streams

client "$url/slow-lines" --stream lines --limit 3
check "three lines" 'line 1 line 2 line 3 0' "$(xargs <"$folder/out") $status"
expect_report "lines in a report" "[r['items'], r['ok']]" "[['line 1', 'line 2'], True]" 0 \
    "$url/slow-lines" --stream lines --limit 2
expect_report "no lines" "r['items']" "[]" 0 "$url/bytes/0" --stream lines
expect_report "a chunk" "[r['items'], r['body']['bytes']]" "[None, 8]" 0 "$url/slow-lines" --stream chunks --limit 1
check "a reader that leaves" 'x 0' "$("$bin/trellis" "$url/bytes/50000000" 2>"$folder/err" | head -c1) $(wc -c <"$folder/err")"
"$bin/trellis" "$url/bytes/50000000" | head -c1 >/dev/null
check "its exit status" 0 "${PIPESTATUS[0]}"
check "50 MB" 50000000 "$("$bin/trellis" "$url/bytes/50000000" | wc -c)"

# --- Failures

expect_report "refused" "[r['ok'], r['status'], r['error']['kind'], r['error']['retryable'], r['error']['attempts']]" \
    "[False, None, 'connect', True, 1]" 1 http://127.0.0.1:1/
check "one line on stderr" 1 "$(wc -l <"$folder/err")"
expect_report "no URL" "r['error']['kind']" invalid_url 1 nonsense
expect_report "an empty URL" "r['error']['kind']" invalid_url 1 ''
expect_report "another scheme" "r['error']['kind']" invalid_url 1 ftp://127.0.0.1/
expect_report "a method that is none" "r['error']['kind']" invalid_request 1 -X 'A B' "$url/"
expect_report "a field with a line end" "r['error']['kind']" invalid_request 1 "$url/" -H $'X: a\r\nY: b'
expect_report "a deadline" "r['error']['kind']" timeout_deadline 1 "$url/silence" --deadline 0.3
expect_report "an idle server" "r['error']['kind']" timeout_idle 1 "$url/silence" --idle-timeout 0.3
expect_report "a body that is too large" "r['error']['kind']" body_too_large 1 "$url/bytes/3000000" --max-body 1000
expect_report "a body cut short" \
    "[r['error']['kind'], r['status'], base64.b64decode(r['body']['base64'])]" "['truncated_body', 200, b'only this']" 1 "$url/cut"
expect_report "a body that stops" \
    "[r['error']['kind'], r['body']['bytes']]" "['timeout_deadline', 9]" 1 "$url/stuck" --deadline 0.3
expect_report "cancelled before the head" "[r['error']['kind'], r['status']]" "['cancelled', None]" 1 \
    "$url/silence" --cancel-after 0.2
expect_report "cancelled in the body" "[r['error']['kind'], r['status'], r['body']['bytes']]" "['cancelled', 200, 9]" 1 \
    "$url/stuck" --cancel-after 0.3
expect_report "a file that is missing" "r['error']['kind']" file 1 "$url/echo" -d "@$folder/missing"
expect_report "a folder" "r['error']['kind']" file 1 "$url/echo" -d "@$folder"
client "$url/cut"
check "what came before the failure" 'only this 1' "$out $status"
"$bin/trellis" "$url/" >/dev/full 2>"$folder/err"
check "a full disk: exit status" 1 $?
check "a full disk: one line" 1 "$(wc -l <"$folder/err")"

# --- Ctrl-C

"$bin/trellis" "$url/stuck" --report json >"$folder/out" 2>"$folder/err" &
sleep 0.5
kill -INT $!
wait $!
check "Ctrl-C: exit status" 130 $?
check "Ctrl-C: report" "['cancelled', 9]" "$(report "[r['error']['kind'], r['body']['bytes']]")"
sleep 60 | "$bin/trellis" "$url/echo" -d @- >"$folder/out" 2>"$folder/err" &
client_pid=$!
sleep 0.5
kill -INT $client_pid
wait $client_pid
check "Ctrl-C while standard input is awaited" 130 $?

# --- Usage

expect_usage_error
expect_usage_error "$url/" --nonsense
expect_usage_error "$url/" --http 4
expect_usage_error "$url/" -H 'no colon'
expect_usage_error "$url/" --limit 2
expect_usage_error "$url/" --stream lines --limit 0
expect_usage_error "$url/" --deadline soon
expect_usage_error "$url/" --deadline -1
expect_usage_error GET "$url/" "$url/"
expect_usage_error GET "$url/" -X PUT
# Options of later days are not ignored.
for option in '--user a:b' '--json {}' '--form a=b' '--retries 3' '-o file' '--redirects 3' '--no-redirects' --validate \
    '--proxy http://127.0.0.1:1' '--cookie-jar jar' --curl '--stream sse' '--part a=b' '--query a=b' --compress; do
    expect_usage_error "$url/" $option
done
client --help
check "--help" 0 "$status"
check "--help names the options" 1 "$(grep -c -- '--unix-socket' "$folder/out")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
