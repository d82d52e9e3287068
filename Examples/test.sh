#!/usr/bin/env bash
# Tests the command-line client against a loopback server. Builds both unless TRELLIS_EXAMPLES_BIN names a folder that
# has them. Ends with "N passed, N failed". With arguments, runs only the sections whose titles begin so: test.sh 'The gateway'
set -uo pipefail
here=${TRELLIS_EXAMPLES:-$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)}

# Prints this script with the chosen sections between its beginning and its end.
chosen_sections() { # TITLE…
    awk 'BEGIN { for (i = 2; i < ARGC; i++) titles[i] = tolower(ARGV[i]); ARGC = 2; chosen = 1 }
        /^# --- / { chosen = 0; for (i in titles) if (index(tolower(substr($0, 7)), titles[i]) == 1) chosen = 1 }
        /^# ---$/ { chosen = 1 }
        chosen' "$here/test.sh" "$@"
}
for title in "$@"; do
    grep -qi "^# --- $title" "$here/test.sh" || { echo "no section begins with '$title'" >&2; exit 64; }
done
if [ $# -gt 0 ]; then TRELLIS_EXAMPLES=$here exec bash -c "$(chosen_sections "$@")"; fi

bin=${TRELLIS_EXAMPLES_BIN:-}
if [ -z "$bin" ]; then
    for product in trellis fixture-server service-example in-process-example otlp-exporter; do
        swift build --package-path "$here" --product "$product" </dev/null >&2 || exit 1
    done
    bin="$here/.build/debug"
fi
command -v python3 >/dev/null || { echo "python3 is needed to read the reports" >&2; exit 1; }
command -v microsocks >/dev/null || "$here/../.scripts/install.sh" microsocks >&2 || exit 1
command -v openssl >/dev/null || "$here/../.scripts/install.sh" openssl >&2 || exit 1

folder=$(mktemp -d "${TMPDIR:-/tmp}/trellis-client.XXXXXX")
evaluator=
clean_up() {
    exec 5>&- 6>&- 7>&- 8>&- 9>&-
    [ -z "$evaluator" ] || { kill "$evaluator"; wait "$evaluator"; } 2>/dev/null
    rm -rf "$folder"
}
trap clean_up EXIT

# One process evaluates the expressions over all reports, because a process for each would take most of the time. It reads the name of a
# report and an expression, each of which ends with a NUL, and writes the value in the same way.
mkfifo "$folder/questions" "$folder/values"
python3 -c 'import base64, json, sys, traceback
def field():
    text = bytearray()
    while (byte := sys.stdin.buffer.read(1)) != b"\0":
        if not byte: sys.exit()
        text += byte
    return text.decode(errors="surrogateescape")
while True:
    name, expression = field(), field()
    try:
        with open(name) as file: value = str(eval(expression, {"base64": base64, "json": json, "sys": sys, "r": json.load(file)}))
    except Exception: value = traceback.format_exc().rstrip()
    sys.stdout.buffer.write(value.encode(errors="surrogateescape") + b"\0")
    sys.stdout.buffer.flush()' <"$folder/questions" >"$folder/values" &
evaluator=$!
exec {questions}>"$folder/questions" {values}<"$folder/values"

# A server ends with its standard input, which this script holds open.
start_server() { # DESCRIPTOR FILE [SOCKET | @NAME | ::1]
    mkfifo "$2.in"
    "$bin/fixture-server" ${3:+"$3"} <"$2.in" >"$2" &
    eval "exec $1>'$2.in'"
    until [ -s "$2" ]; do sleep 0.05; done
}
start_server 8 "$folder/server"
start_server 9 "$folder/unix" "$folder/socket"
url=$(cat "$folder/server")

# Lists the files of this folder, to which nothing may be added.
tree() { (cd "$here" && find . -name '.build*' -prune -o -print | sort); }
tree_before=$(tree)

passed=0 failed=0
check() { # NAME WANTED GOT
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED %s\n  wanted: %q\n  got:    %q\n' "$1" "$2" "$3"
    fi
}

# Removes the loader's remark about a libcurl other than the system's.
without_remark() { sed '/no version information available/d'; }
# Prints what the client has said on standard error.
said() { without_remark <"$folder/err"; }

# Runs the client, and sets $out, $err and $status.
client() {
    "$bin/trellis" "$@" >"$folder/out" 2>"$folder/all-errors"
    status=$?
    without_remark <"$folder/all-errors" >"$folder/err"
    out=$(cat "$folder/out" | tr -d '\0')
    err=$(cat "$folder/err")
}

# Prints the value of a Python expression over the report r.
report() {
    local value=
    printf '%s\0%s\0' "$folder/out" "$1" >&"$questions" && IFS= read -r -d '' value <&"$values"
    printf '%s\n' "$value"
}

# Runs the client for a report, and compares the value of an expression over the report, and the exit status.
expect_report() { # NAME EXPRESSION WANTED STATUS ARGUMENT…
    local name=$1 expression=$2 wanted=$3 wanted_status=$4
    shift 4
    client --report json "$@"
    check "$name" "$wanted" "$(report "$expression")"
    check "$name: exit status" "$wanted_status" "$status"
}

# Runs the client with arguments that are a usage error, whose message contains a text.
expect_usage_reason() { # TEXT ARGUMENT…
    local text=$1
    shift
    client "$@"
    check "why it is a usage error: $*" '64 1' "$status $(grep -cF -- "$text" "$folder/err")"
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

# A mark that is joined with an accent to one character is still a mark.
accent=$'\u0301'
request "$url/request" -H "X-A:${accent}a" --query "q=${accent}b"
check "marks before an accent" "GET /request?q=%CC%81b X-A: ${accent}a" "$(grep -E '^(GET|X-A)' "$folder/out" | xargs)"
client "$url/echo" -d "@${accent}missing"
check "a file whose name begins with an accent" "1 1" "$status $(grep -c 'missing' <<<"$err")"
printf piped >"$folder/${accent}x"
expect_report "a part whose file's name begins with an accent" \
    "'filename=\"${accent}x\"' in base64.b64decode(r['body']['base64']).decode()" True 0 "$url/mirror" --part "f=@$folder/${accent}x"
client --curl "$url/" -H "X-A: a'$accent; echo injected #"
check "no shell takes an accent's quote for its own" 0 "$(sh -c 'curl() { :; }; '"$out" 2>&1 | grep -c injected)"

# --- Queries, forms, JSON

request "$url/request" --query 'q=a b&c=d' --query 'größe=1' --query 'q=' --query 'x=-y=z'
check "a query" 'GET /request?q=a%20b%26c%3Dd&gr%C3%B6%C3%9Fe=1&q=&x=-y%3Dz' "$(head -1 "$folder/out")"
request "$url/request?a=1#there" --query b=2
check "more of a query" 'GET /request?a=1&b=2' "$(head -1 "$folder/out")"
# The body that the server received, and its Content-Type.
got="[base64.b64decode(r['body']['base64']).decode(), dict(r['headers']).get('X-Content-Type')]"
form_type=application/x-www-form-urlencoded
expect_report "a form, in order" "$got" "['z=1&a=x%20y/z&z=%26%3D%2B', '$form_type']" 0 "$url/mirror" \
    --form z=1 --form 'a=x y/z' --form 'z=&=+'
check "a form read back" "[('z', '1'), ('a', 'x y/z'), ('z', '&=+')]" \
    "$(report "__import__('urllib.parse').parse.parse_qsl(base64.b64decode(r['body']['base64']).decode())")"
request "$url/request" --form a=1
check "a form makes a POST" 'POST /request' "$(head -1 "$folder/out")"
request "$url/request" -X QUERY --form a=
check "a form with a method" 'QUERY /request body: 2' "$(sed -n '1p;$p' "$folder/out" | xargs)"
expect_report "JSON" "$got" "['{\"a\": \"ü\"}', 'application/json']" 0 "$url/mirror" --json '{"a": "ü"}'
request "$url/request" --json -1
check "JSON's fields" 'POST /request Accept: application/json, */*;q=0.5 Content-Type: application/json' \
    "$(grep -iE '^(POST|accept:|content-type)' "$folder/out" | xargs)"
request "$url/request" --json '{}' -H 'Accept: a/b' -H 'Content-Type: c/d'
check "JSON with fields of one's own" 'Accept: a/b Content-Type: c/d' \
    "$(grep -iE '^(accept:|content-type)' "$folder/out" | xargs)"
printf '[1, 2]' >"$folder/numbers.json"
expect_report "JSON in a file" "$got" "['[1, 2]', 'application/json']" 0 "$url/mirror" --json "@$folder/numbers.json"
"$bin/trellis" "$url/mirror" --json @- <"$folder/numbers.json" | cmp - "$folder/numbers.json"
check "JSON on standard input" 0 $?

# The parts that the server received: name, file name, type, content.
got_parts="[(p.get_param('name', header='content-disposition'), p.get_filename(), p['content-type'], p.get_payload(decode=True)) \
for p in __import__('email').message_from_bytes(b'Content-Type: ' + dict(r['headers'])['X-Content-Type'].encode() + \
b'\\r\\n\\r\\n' + base64.b64decode(r['body']['base64'])).get_payload()]"
printf 'some text' >"$folder/note;1.txt"
expect_report "parts" "$got_parts" "[('a', None, None, b'1=2;type=x/y'), ('a', None, None, b''), \
('file', 'note;1.txt', 'text/plain', b'some text'), \
('other', 'x;y.md', 'text/x-note;charset=utf-8', b'some text'), ('json', 'numbers.json', 'application/json', b'[1, 2]')]" 0 \
    "$url/mirror" --part 'a=1=2;type=x/y' --part a= --part "file=@$folder/note;1.txt" \
    --part "other=@$folder/note;1.txt;type=text/x-note;charset=utf-8;filename=x;y.md" --part "json=@$folder/numbers.json"
check "the type of parts" True \
    "$(report "dict(r['headers'])['X-Content-Type'].startswith('multipart/form-data; boundary=')")"
expect_report "a name with quotes" \
    "'name=\"f\"; filename=\"ä %22q%22.txt\"' in base64.b64decode(r['body']['base64']).decode()" True 0 \
    "$url/mirror" --part "f=@$folder/numbers.json;filename=ä \"q\".txt"
client "$url/mirror" --report json --part f=@- --part "p=@"<(printf piped) <"$folder/numbers.json"
check "parts from standard input and a pipe" "[b'[1, 2]', b'piped']" "$(report "[p[3] for p in $got_parts]")"
request "$url/request" --part "f=@$folder/file" --part a=b
check "parts have a length" 1 "$(grep -c '^Content-Length: 300[0-9]*$' "$folder/out")"
expect_report "a part that is missing" "[r['error']['kind'], r['status']]" "['file', None]" 1 \
    "$url/mirror" --part "f=@$folder/missing"
expect_report "a part that is a folder" "r['error']['kind']" file 1 "$url/mirror" --part "f=@$folder"

# --- Heads and warnings

for option in -i --include; do
    client $option "$url/"
    check "$option" "0 HTTP/1.1 200 1  hello world" \
        "$status $(head -c 12 "$folder/out") $(grep -c '^Content-Length: 11$' "$folder/out") $(tail -n 2 "$folder/out" | head -n 1) $(tail -n 1 "$folder/out")"
done
client -i "$url/repeated"
check "-i: every field" "X-One: 1 Set-Cookie: a=1 X-Two: 2 Set-Cookie: b=2" "$(grep -E '^(X-|Set-)' "$folder/out" | xargs)"
for option in -I --head; do
    client $option "$url/"
    check "$option" "0 HTTP/1.1 200 " "$status $(head -c 12 "$folder/out") $(tail -n 1 "$folder/out")"
done
expect_usage_error "$url/" -I -X PUT
expect_usage_error PUT "$url/" -I
expect_usage_error "$url/" -I -d a
expect_usage_error "$url/" -i -o "$folder/with-head"
expect_usage_error "$url/" -i --report json
expect_usage_error "$url/" -i --stream sse
client "$url/" --user foo
check "--user without a colon" "hello world 0 1" "$out $status $(grep -c -- '--user has no colon' "$folder/err")"
client "$url/" --user foo: -H 'X-Content-Length: 1'
check "no warning" "hello world 0 " "$out $status $err"
client "$url/" -H 'content-length: 5' -H 'Transfer-Encoding: chunked'
check "fields that are ignored" "hello world 0 1 1" \
    "$out $status $(grep -c 'Content-Length of -H is ignored' "$folder/err") $(grep -c 'Transfer-Encoding of -H is ignored' "$folder/err")"
: >"$folder/no-folder"
for place in /proc/x "$folder/no-folder" "$folder/no-folder/below"; do
    client "$url/" --cache "$place"
    check "a cache that cannot be used: $place" "hello world 0 1 1" \
        "$out $status $(wc -l <"$folder/err") $(grep -cF "the cache in $place cannot be used: " "$folder/err")"
done
client "$url/" --cache "$folder/a-cache/of/its/own"
check "a cache that can be used" "hello world 0 " "$out $status $err"

# --- Compression

unzipped="[dict(r['headers'])['X-Content-Encoding'], __import__('gzip').decompress(base64.b64decode(r['body']['base64']))]"
expect_report "a compressed body" "$unzipped" "['gzip', b'aaaaaaaaaa']" 0 "$url/mirror" --compress -d aaaaaaaaaa
expect_report "a compressed file" "$unzipped" "['gzip', b'[1, 2]']" 0 "$url/mirror" --compress -d "@$folder/numbers.json"
expect_report "a compressed form" "$unzipped" "['gzip', b'a=b']" 0 "$url/mirror" --compress --form a=b
expect_report "nothing to compress" "dict(r['headers']).get('X-Content-Encoding')" None 0 "$url/mirror" --compress
expect_report "compressed already" "r['error']['kind']" invalid_request 1 "$url/mirror" --compress -d a -H 'Content-Encoding: br'

# --- Validation

refused="[r['ok'], r['status'], r['error']['kind'], r['error']['retryable'], r['error']['attempts']]"
expect_report "an acceptable answer" "[r['ok'], r['body']['bytes'], r['error']]" "[True, 11, None]" 0 "$url/" --validate
expect_report "status 404" "$refused" "[False, 404, 'unacceptable_status', False, 1]" 1 "$url/nowhere" --validate
check "its body" "b'nothing here\\n'" "$(report "base64.b64decode(r['body']['base64'])")"
check "its fields" 1 "$(report "sum(h[0] == 'Content-Type' for h in r['headers'])")"
check "its time" True "$(report "r['metrics']['total_s'] > 0")"
expect_report "status 503" "$refused" "[False, 503, 'unacceptable_status', True, 1]" 1 "$url/status/503" --validate
expect_report "a type that is not accepted" "$refused" "[False, 200, 'unacceptable_content_type', False, 1]" 1 \
    "$url/binary" --validate -H 'Accept: text/*'
expect_report "a type that is accepted" "[r['ok'], r['body']['bytes']]" "[True, 256]" 0 \
    "$url/binary" --validate -H 'Accept: text/plain, image/*;q=0.1'
expect_report "lines that are not accepted" "[r['items'], r['error']['kind']]" "[[], 'unacceptable_status']" 1 \
    "$url/nowhere" --validate --stream lines
expect_report "a refused body that stops" "[r['error']['kind'], r['body']['bytes']]" "['unacceptable_content_type', 9]" 1 \
    "$url/stuck" --validate -H 'Accept: text/html'
client "$url/nowhere" --validate
check "nothing of it on stdout" '1 ' "$status $out"
check "its beginning on stderr" 1 "$(grep -c '404.*nothing here' "$folder/err")"

# --- The curl command

# Prints the arguments that a shell passes to curl, one a line.
curl_arguments() { # ARGUMENT…
    client --curl "$@"
    check "--curl: exit status" 0 "$status"
    sh -c 'curl() { printf "%s\n" "$@"; }; '"$out" | grep -vE '^(--(connect-timeout|speed-limit|speed-time|compressed|location|max-redirs)|10|1|60|20)$' |
        grep -v '^User-Agent'
}
check "a curl command" "$url/" "$(curl_arguments "$url/" | grep -v '^--header')"
check "a curl command sends nothing" "http://127.0.0.1:1/" "$(curl_arguments http://127.0.0.1:1/ | grep -v '^--header')"
check "arguments of a curl command" "--request PUT --header X-A: it's \"\$HOME\" Content-Type: --data-binary a 'b' $url/?q=a%20b" \
    "$(curl_arguments PUT "$url/" -H "X-A: it's \"\$HOME\"" -d "a 'b'" --query 'q=a b' | uniq |
        awk '$0 != "--header" || !seen++' | tr '\n' ' ' | sed 's/ $//')"
check "parts of a curl command" "--form-string a=b c" "$(curl_arguments "$url/" --part 'a=b c' --part "f=@$folder/file" |
    grep -A1 form-string | xargs)"
check "a file in a curl command" 1 "$(curl_arguments "$url/" --part "f=@$folder/file" | grep -c "^f=@\"$folder/file\"")"
check "secrets are left out" 0 "$(curl_arguments "$url/" -H 'Authorization: Bearer s3cret' | grep -c s3cret)"
check "secrets are shown" 1 "$(curl_arguments "$url/" -H 'Authorization: Bearer s3cret' --show-secrets | grep -c s3cret)"
check "options of the session" 1 "$(curl_arguments "$url/" --unix-socket "$folder/socket" | grep -c "^$folder/socket$")"
check "credentials without their secret" "--digest --user ann:REDACTED" \
    "$(curl_arguments "$url/" --user ann:s3cret --auth digest | grep -E '^(--digest|--user|ann:.*)$' | xargs)"
check "credentials for any scheme" "--anyauth --user ann:REDACTED" \
    "$(curl_arguments "$url/" --user ann:s3cret --auth any | grep -E '^(--anyauth|--user|ann:.*)$' | xargs)"
pin="sha256//$(printf 'A%.0s' {1..43})="
client --curl https://127.0.0.1/ --pin "$pin" --hsts "$folder/hsts-of-curl" --alt-svc "$folder/alt-svc-of-curl"
check "stores in a curl command" 1 "$(grep -c -- "--hsts $folder/hsts-of-curl --alt-svc $folder/alt-svc-of-curl" <<<"$out")"
check "pins in a curl command" 1 "$(grep -c 'curl does not ask the evaluator of 127.0.0.1, such as pins' <<<"$out")"
check "a token" "--oauth2-bearer s3cret" \
    "$(curl_arguments "$url/" --user s3cret --auth bearer --show-secrets | grep -A1 bearer | xargs)"
client --curl "$url/" --json '{"user":"ann","password":"s3cret"}'
check "JSON without its secrets" 1 "$(grep -cF '{"user":"ann","password":"REDACTED"}' <<<"$out")"
client --curl "$url/" --json '{"user":"ann","password":"s3cret"}' --show-secrets
check "JSON with its secrets" 1 "$(grep -cF '{"user":"ann","password":"s3cret"}' <<<"$out")"
# Prints some options, each with the argument after the option.
curl_options() { # PATTERN ARGUMENT…
    local pattern=$1
    shift
    client --curl "$@"
    sh -c 'curl() { printf "%s\n" "$@"; }; '"$out" | grep -A1 -xE -- "$pattern" | grep -vx -- -- | xargs
}
check "redirects in a curl command" "--location --max-redirs 20" "$(curl_options '--location|--max-redirs' "$url/")"
check "fewer of them" "--location --max-redirs 0" "$(curl_options '--location|--max-redirs' "$url/" --redirects 0)"
check "none of them" "" "$(curl_options '--location|--max-redirs' "$url/" --no-redirects)"
check "cookies, retries and limits in a curl command" \
    "--max-filesize 7 --retry 2 --fail --cookie jar --cookie-jar jar" \
    "$(curl_options '--(max-filesize|retry|fail|cookie|cookie-jar)' "$url/" --cookie-jar jar --retries 2 --validate --max-body 7)"
check "a file of a curl command" "--output a b" "$(curl_options '--output' "$url/" -o 'a b')"
client --curl "$url/" -o 'a b'
check "it is not asked for coded" 1 "$(grep -c "'Accept-Encoding: identity'" <<<"$out")"
check "nor decoded" 0 "$(grep -c -- --compressed <<<"$out")"
check "a folder of a curl command" "--output-dir $folder/ --create-dirs --remote-name --remote-header-name" \
    "$(curl_options '--(output-dir|create-dirs|remote.*)' "$url/" -o "$folder/" | sed 's/ --connect-timeout.*//;s| http.*||')"
client --curl "$url/" -o /dev/null
check "a device is asked for coded" 1 "$(grep -c -- '--compressed.*--output /dev/null' <<<"$out")"
client --curl "$url/" -o file --resume --connections 2 --cancel-after 3
check "what curl has nothing like" "# curl has nothing like --resume, --connections, --cancel-after" "${out#*/ }"
client --curl "$url/" --cookie-jar a=b
check "a jar that curl would take for a cookie" "1 0" "$(grep -c 'nothing like --cookie-jar' <<<"$out") $(grep -c -- '--cookie ' <<<"$out")"
if command -v curl >/dev/null; then
    client --curl "$url/redirect/3" -o "$folder/by-curl"
    sh -c "$out" 2>"$folder/err"
    check "curl follows redirects to a file" 'GET /request' "$(head -1 "$folder/by-curl")"
fi
client --curl "$url/" -d "@$folder/missing"
check "a curl command without its file" '1 ' "$status $out"

# --- Streams

client "$url/slow-lines" --stream lines --limit 3
check "three lines" 'line 1 line 2 line 3 0' "$(xargs <"$folder/out") $status"
expect_report "lines in a report" "[r['items'], r['ok']]" "[['line 1', 'line 2'], True]" 0 \
    "$url/slow-lines" --stream lines --limit 2
expect_report "no lines" "r['items']" "[]" 0 "$url/bytes/0" --stream lines
expect_report "a chunk" "[r['items'], r['body']['bytes']]" "[None, 8]" 0 "$url/slow-lines" --stream chunks --limit 1
check "a reader that leaves" 'x 0' "$("$bin/trellis" "$url/bytes/50000000" 2>"$folder/err" | head -c1) $(said | wc -c)"
"$bin/trellis" "$url/bytes/50000000" | head -c1 >/dev/null
check "its exit status" 0 "${PIPESTATUS[0]}"
check "50 MB" 50000000 "$("$bin/trellis" "$url/bytes/50000000" | wc -c)"

expect_report "NDJSON" "[r['ok'], r['items']]" "[True, [{'b': 1.0, 'a': 'ü'}, [12345678901234567890], 'x']]" 0 \
    "$url/ndjson" --stream ndjson
client "$url/ndjson" --stream ndjson --limit 2
check "NDJSON as it came" '{"b": 1.0, "a": "\u00fc"}|[12345678901234567890]|0' "$(tr '\n' '|' <"$folder/out")$status"
expect_report "a line that is no JSON" \
    "[r['ok'], len(r['items']), r['error']['kind'], 'line 5 of the response is no JSON: ' in r['error']['message']]" \
    "[False, 3, 'serialization', True]" 1 \
    "$url/ndjson/bad" --stream ndjson
check "its attempt" "[1, 1, True]" "$(report "[r['attempts'], r['error']['attempts'], r['metrics']['first_byte_s'] > 0]")"
# Texts that JSONDecoder accepts as JSON, and others; a report that held one of them would not be JSON either.
for line in '{"a":1,}' '[1,]' '[1,,2]' '{"a":1 "b":2}' '{a:1}' "{'a':1}" '01' '+1' '.5' '1.' '1e' 'NaN' '[1] 2' '"a' \
    $'"\t"' '"\x"' '"\u12g4"' 'nul' '{"a"}' '[' '// x' '[1] // x' ',' '{,}' '{"a":}' '-' '[1}'; do
    expect_report "no JSON: $line" "[r['ok'], r['items'], r['error']['kind']]" "[False, [], 'serialization']" 1 \
        "$url/echo" --stream ndjson -d "$line"
done
printf '"\xff"' >"$folder/latin"
expect_report "no JSON: not UTF-8" "[r['ok'], r['items'], r['error']['kind']]" "[False, [], 'serialization']" 1 \
    "$url/echo" --stream ndjson -d "@$folder/latin"
for line in '{}' '[]' '[[], {"a": [{}]}]' '-0.5e+10' '"\u00e9\ud83d\ude00\\\"\/\b\f\n\r\t"' 'true' 'null' '  1  ' \
    '{"a":1,"a":2}' '123456789012345678901234567890' "$(printf '[%.0s' {1..500})$(printf ']%.0s' {1..500})"; do
    expect_report "JSON: $line" "[r['ok'], len(r['items']), r['error']]" "[True, 1, None]" 0 \
        "$url/echo" --stream ndjson -d "$line"
done
for kind in line event ndjson; do
    stream=${kind/line/lines} stream=${stream/event/sse}
    expect_report "a long $kind" "[r['ok'], len(r['items']), len(str(r['items'][0])) >= 16000000]" "[True, 1, True]" 0 \
        "$url/long/16000000/$kind" --stream "$stream" --limit 1
    expect_report "too long a $kind" "[r['items'], r['error']['kind']]" "[[], 'body_too_large']" 1 \
        "$url/long/17000000/$kind" --stream "$stream" --limit 1
done
event() { printf "{'event': 'tick', 'data': '\"ü\"\\\\n%s', 'id': '%s', 'retry': %s}" "$1" "$1" "$2"; }
expect_report "events until 204" "[r['ok'], r['items'], r['error'], r['status']]" \
    "[True, [$(event 1 20), $(event 2 None), $(event 3 None)], None, 204]" 0 "$url/events" --stream sse
expect_report "events up to a limit" "[r['ok'], r['items'], r['status'], len(r['headers']) > 0]" "[True, [$(event 1 20), $(event 2 None)], 200, True]" 0 \
    "$url/events/100" --stream sse --limit 2
expect_report "events from an ID on" "r['items']" "[$(event 3 None)]" 0 "$url/events" --stream sse -H 'Last-Event-ID: 2'
expect_report "no events" "[r['ok'], r['items']]" "[True, []]" 0 "$url/events/0" --stream sse
client "$url/events" --stream sse
check "events in a pipe" "[(1, 20), (2, None), (3, None)]" "$(python3 -c 'import json, sys
print([(int(e["id"]), e["retry"]) for e in map(json.loads, sys.stdin)])' <"$folder/out")"
expect_report "events before a failure" "[r['ok'], r['items'], r['error']['kind'], r['status']]" \
    "[False, [$(event 1 20)], 'unacceptable_status', 404]" 1 "$url/events/1/404" --stream sse
expect_report "no events at all" "[r['items'], r['error']['kind']]" "[[], 'unacceptable_content_type']" 1 "$url/" --stream sse
expect_report "events and a deadline" "[[i['data'] for i in r['items']], r['error']['kind']]" "[['one'], 'timeout_deadline']" 1 \
    "$url/events-stuck" --stream sse --deadline 0.5
expect_report "a deadline for all attempts" "[r['items'], r['error']['kind']]" "[[], 'timeout_deadline']" 1 \
    http://127.0.0.1:1/ --stream sse --deadline 0.5
expect_report "events and a cancelled task" "[[i['data'] for i in r['items']], r['error']['kind']]" "[['one'], 'cancelled']" 1 \
    "$url/events-stuck" --stream sse --cancel-after 0.5 --deadline 60
expect_report "events and a body that is read once" "r['error']['kind']" body_not_replayable 1 \
    "$url/events" --stream sse -d @-
check "a reader of events that leaves" '{"event": "tick" 0' \
    "$("$bin/trellis" "$url/events/100" --stream sse 2>"$folder/err" | head -c16) $(said | wc -c)"

# --- Redirects, retries, credentials, cookies

client "$url/request" -o "$folder/asked"
check "a file is not asked for coded" 'Accept-Encoding: identity' "$(grep -i '^accept-encoding' "$folder/asked")"

hops="[[h['status'], h['from'].replace('$url', ''), h['to'].replace('$url', '')] for h in r['redirects']]"
expect_report "redirects" "[r['url'], r['status'], $hops, r['attempts']]" \
    "['$url/request', 200, [[302, '/redirect/2', '/redirect/1'], [302, '/redirect/1', '/request']], 1]" 0 "$url/redirect/2"
expect_report "a redirect after a POST" "base64.b64decode(r['body']['base64'])[:12]" "b'GET /request'" 0 "$url/redirect/1" -d a
expect_report "as many redirects as allowed" "[r['status'], len(r['redirects'])]" "[200, 3]" 0 "$url/redirect/3" --redirects 3
expect_report "more redirects than allowed" "[r['ok'], r['error']['kind'], len(r['redirects'])]" \
    "[False, 'too_many_redirects', 2]" 1 "$url/redirect/3" --redirects 2
expect_report "no redirect allowed" "[r['error']['kind'], r['redirects']]" "['too_many_redirects', []]" 1 \
    "$url/redirect/1" --redirects 0
check "its answer" "[302, True]" "$(report "[r['status'], ['Location', '/request'] in r['headers']]")"
expect_report "redirects as answers" "[r['status'], r['redirects'], r['url']]" "[302, [], '$url/redirect/1']" 0 \
    "$url/redirect/1" --no-redirects
# The fragment of a redirect replaces the previous one; a redirect without one inherits it (RFC 9110, section 10.2.2).
fragment_of() { # NAME WANTED URL
    expect_report "the fragment: $1" "[r['url'].replace('$url', ''), r['status']]" "['$2', 200]" 0 "$3"
}
fragment_of "inherited" /request#old "$url/redirect/2#old"
fragment_of "replaced" /request#new "$url/fragment/new#old"
fragment_of "of the redirect" /request#new "$url/fragment/new"
fragment_of "inherited from a redirect" /request#new "$url/fragment/new/none#old"
fragment_of "replaced twice" /request#two "$url/fragment/one/two"
fragment_of "none" /request "$url/redirect/1"
fragment_of "without a redirect" "/request?a#o%C3%A9%20ld" "$url/request?a#oé ld"
fragment_of "whatever follows its mark" '/request#%CC%81x' "$url/request#"$'\u0301x'
expect_report "the fragment of a file" "r['url'].replace('$url', '')" /request#new 0 "$url/fragment/new#old" -o "$folder/asked"
expect_report "a redirect to a file" "r['error']['kind']" redirect_refused 1 "$url/leave"

expect_report "a retry" "[r['status'], r['attempts'], r['body']['bytes']]" "[200, 3, 8]" 0 "$url/flaky/2?a" --retries 2
expect_report "too few retries" "[r['status'], r['attempts']]" "[503, 2]" 0 "$url/flaky/2?b" --retries 1
expect_report "no retries" "[r['status'], r['attempts']]" "[503, 1]" 0 "$url/flaky/1?c"
expect_report "what may have done something" "[r['status'], r['attempts']]" "[503, 1]" 0 "$url/flaky/1?d" --retries 2 -d a

sent_credentials() { grep -i '^authorization' "$folder/out"; }
client "$url/protected/Basic" --user 'Aladdin:open sesame'
check "basic" 'Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==' "$(sent_credentials)"
client "$url/protected/Bearer" --user some-token --auth bearer
check "bearer" 'Authorization: Bearer some-token' "$(sent_credentials)"
client "$url/protected/Digest" --user 'Mufasa:Circle of Life' --auth digest
check "digest" True "$(sent_credentials | python3 -c 'import hashlib, re, sys
f = dict(re.findall(r"(\w+)=\"?([^\",]*)", sys.stdin.read()))
h = lambda *parts: hashlib.sha256(":".join(parts).encode()).hexdigest()
print(f["response"] == h(h("Mufasa", "test", "Circle of Life"), "abc", f["nc"], f["cnonce"], "auth", h("GET", "/protected/Digest")))')"
client "$url/protected/Basic" --user 'Aladdin:open sesame' --auth any
check "any scheme: basic" 'Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==' "$(sent_credentials)"
client "$url/protected/Digest" --user 'Mufasa:Circle of Life' --auth any
check "any scheme: digest" 1 "$(sent_credentials | grep -c '^Authorization: Digest ')"
expect_report "no credentials" "r['status']" 401 0 "$url/protected/Basic"
client "$url/cut" --user 'name:s3cret'
check "no password in an error" 0 "$(cat "$folder/out" "$folder/err" | grep -c s3cret)"

sent_cookies() { grep -i '^cookie' "$folder/out"; }
client "$url/cookies" --cookie-jar "$folder/jar"
check "no cookies at first" '0' "$status$(sent_cookies)"
client "$url/cookies/more" --cookie-jar "$folder/jar"
check "the cookies kept" 'Cookie: kept=2; session=1' "$(sent_cookies)"
check "the jar" 'kept:True session:0' "$(grep -v '^# ' "$folder/jar" | sort -k6 | awk 'NF > 5 { print $6 ":" ($5 > 0 ? "True" : $5) }' | xargs)"
if command -v curl >/dev/null; then
    check "curl reads the jar" 'Cookie: kept=2; session=1' "$(curl -s -b "$folder/jar" "$url/cookies/x" | tr -d '\r' | grep -i '^cookie')"
fi
printf '# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tby-hand\tyes\n' >"$folder/jar"
client "$url/request" --cookie-jar "$folder/jar"
check "a jar written by hand" 'Cookie: by-hand=yes' "$(sent_cookies)"
expect_report "a jar that is a folder" "[r['error']['kind'], r['status'], r['body']['bytes'] > 0]" "['file', 200, True]" 1 \
    "$url/cookies" --cookie-jar "$folder"
expect_report "and events" "[r['error']['kind'], len(r['items'])]" "['file', 2]" 1 \
    "$url/events" --stream sse --limit 2 --cookie-jar "$folder"
expect_report "and a worse failure" "r['error']['kind']" unacceptable_status 1 "$url/nowhere" --validate --cookie-jar "$folder"
expect_report "and a file" "[r['error']['kind'], r['body']['bytes']]" "['file', 11]" 1 "$url/" -o "$folder/asked" --cookie-jar "$folder"
check "one word about it" "1 1" "$(grep -c . "$folder/err") $(grep -c 'cookie file' "$folder/err")"

# --- Files

rm -rf "$folder/files" && mkdir "$folder/files" && file="$folder/files/a"
left() { (cd "$folder/files" && ls -A | xargs); }
sha256() { sha256sum "$1" | cut -d' ' -f1; }
client "$url/" -o "$file"
check "a file" 'hello world 0  a' "$(cat "$file") $status $out $(left)"
expect_report "the report of a file" "[r['ok'], r['status'], r['body']]" \
    "[True, 200, {'bytes': 11, 'base64': 'aGVsbG8gd29ybGQ='}]" 0 "$url/" --output "$file"
client "$url/bytes/3000000" -o "$file" --checksum "sha256:$(head -c 3000000 /dev/zero | tr '\0' x | sha256sum | cut -d' ' -f1)"
check "a large file and its checksum" "0 3000000 a" "$status $(wc -c <"$file") $(left)"
expect_report "another checksum" "[r['ok'], r['error']['kind']]" "[False, 'other']" 1 \
    "$url/" -o "$file" --checksum "sha256:$(printf 'x' | sha256sum | cut -d' ' -f1)"
check "the old file stays" "3000000 a" "$(wc -c <"$file") $(left)"
client "$url/status/404" -o "$file" --validate
check "a page that is no file" "1 3000000 a" "$status $(wc -c <"$file") $(left)"
client "$url/status/404" -o "$file"
check "a page as a file" "0 so be it a" "$status $(cat "$file") $(left)"
expect_report "no such folder" "[r['error']['kind'], r['error']['attempts']]" "['file', 0]" 1 "$url/" -o "$folder/none/a"
client "$url/bytes/100000" -o /dev/null
check "a device" "0 c" "$status $(stat -c %F /dev/null | cut -c1)"
client "$url/" -o -
check "standard output" 'hello world' "$out"
expect_report "the report on a device" "[r['ok'], r['body']]" "[True, {'bytes': 11, 'base64': 'aGVsbG8gd29ybGQ='}]" 0 \
    "$url/" -o /dev/null
mkfifo "$folder/pipe"
cat "$folder/pipe" >"$folder/piped" &
reader=$!
expect_report "the report on a pipe" "[r['ok'], r['body']['bytes']]" "[True, 11]" 0 "$url/" -o "$folder/pipe"
wait $reader
check "what came through the pipe" 'hello world' "$(cat "$folder/piped")"
expect_report "a pipe without a reader" "r['error']['kind']" timeout_deadline 1 "$url/" -o "$folder/pipe" --deadline 0.3
expect_report "a pipe without a writer" "r['error']['kind']" timeout_deadline 1 "$url/echo" -d "@$folder/pipe" --deadline 0.3
client "$url/echo" --curl -d "@$folder/pipe"
check "a pipe of a curl command" 0 "$status"
expect_report "a pipe without a reader, cancelled" "r['error']['kind']" cancelled 1 "$url/" -o "$folder/pipe" --cancel-after 0.3
rm "$folder/pipe"

wanted=$(python3 -c 'import sys; sys.stdout.buffer.write(bytes(i * 7 % 251 for i in range(1000000)))' | sha256sum | cut -d' ' -f1)
rm -f "$file"
client "$url/ranges/1000000/cut-4" -o "$file" --checksum "sha256:$wanted"
check "interruptions" "0 $wanted a" "$status $(sha256 "$file") $(left)"
rm -f "$file"
expect_report "a server that cuts every time and serves no ranges" "[r['error']['kind'], r['error']['attempts']]" \
    "['truncated_body', 3]" 1 "$url/cut" -o "$file"
for retries in 0 1 3; do
    expect_report "--retries $retries with it" "r['error']['attempts']" $((retries + 1)) 1 "$url/cut" -o "$file" --retries $retries
done
expect_report "--retries with a server that serves ranges" "[r['error']['kind'], r['error']['attempts']]" "['truncated_body', 3]" 1 \
    "$url/ranges/1000000/cut-9" -o "$file" --retries 2
expect_report "a file in pieces that is too large" "[r['error']['kind'], r['error']['attempts']]" "['body_too_large', 1]" 1 \
    "$url/ranges/1000000/cut-4" -o "$file-large" --max-body 600000
expect_report "a file in pieces that is just as large" "r['ok']" True 0 "$url/ranges/1000002/cut-2" -o "$file" --max-body 1000002
expect_report "enough --retries" "r['ok']" True 0 "$url/ranges/1000001/cut-3" -o "$file" --retries 3
rm -f "$folder/files/"* "$folder/files/".a.*
"$bin/trellis" "$url/ranges/1000000/stuck" -o "$file" 2>"$folder/err" &
until [ -n "$(find "$folder/files" -name '*-part' -size +0)" ]; do sleep 0.05; done
kill -INT $!
wait $!
check "Ctrl-C: exit status of a download" 130 $?
check "Ctrl-C leaves a part" ".a.trellis-note .a.trellis-part" "$(left)"
check "Ctrl-C says how to go on" 1 "$(grep -c 'kept: the same command with --resume goes on' "$folder/err")"
client "$url/ranges/1000000" -o "$file" --resume --checksum "sha256:$wanted"
check "going on needs the same URL" "0 $wanted a" "$status $(sha256 "$file") $(left)"
rm -f "$file"
"$bin/trellis" "$url/ranges/1000000/once-stuck" -o "$file" 2>"$folder/err" &
until [ -n "$(find "$folder/files" -name '*-part' -size +0)" ]; do sleep 0.05; done
kill -KILL $!
wait $! 2>/dev/null
expect_report "going on after a kill" "[r['ok'], r['status'], r['body']['bytes']]" "[True, 206, 1000000]" 0 \
    "$url/ranges/1000000/once-stuck" -o "$file" --resume
check "the file after a kill" "$wanted a" "$(sha256 "$file") $(left)"
client "$url/ranges/1000000" -o "$file" --connections 4 --checksum "sha256:$wanted"
check "several connections" "0 $wanted a" "$status $(sha256 "$file") $(left)"
# A limit on the size of files has the same effect as a full disk.
rm -f "$file"
(ulimit -f 100; trap '' XFSZ; exec "$bin/trellis" "$url/bytes/3000000" -o "$file") 2>"$folder/err"
check "no room" "1 1" "$? $(grep -c 'cannot be written: File too large' "$folder/err")"
check "nothing half-made" "" "$(left)"

# Several files at a time, into a folder, under the names that the server gives them.
rm -rf "$folder/files"
client "$url/bytes/100000" "$url/ranges/1000000" -o "$folder/files/"
check "several files" "0 100000 1000000 100000 1000000" "$status $(left) $(wc -c <"$folder/files/100000") $(wc -c <"$folder/files/1000000")"
check "several files: silence" "" "$out$err"
client "$url/bytes/100000" -o "$folder/files"
check "a file of the same name stays" "1 1" "$status $(grep -c 'files/100000 already' <<<"$err")"
rm -f "$folder/files/"*
client "$url/bytes/1000" "$url/status/404" "$url/bytes/2000" -o "$folder/files" --validate
check "one of several fails" "1 1000 2000 1" "$status $(left) $(grep -c '^trellis: 404: ' <<<"$err")"
rm -f "$folder/files/"*
client "$url/bytes/1000" "$url/status/404" -o "$folder/files" --validate --report json
check "a report on each of several" "[('/bytes/1000', True), ('/status/404', False)]" "$(python3 -c 'import json, sys
print(sorted((r["url"][len(sys.argv[2]):], r["ok"]) for r in map(json.loads, open(sys.argv[1]))))' "$folder/out" "$url")"
rm -f "$folder/files/"*
"$bin/trellis" "$url/ranges/1000000/stuck" "$url/ranges/2000000/once-stuck" -o "$folder/files" 2>"$folder/err" &
until [ "$(find "$folder/files" -name '*-part' -size +0 | wc -l)" = 2 ]; do sleep 0.05; done
kill -INT $!
wait $!
check "Ctrl-C ends all of several" "130 2" "$? $(grep -c 'kept: the same command with --resume goes on' "$folder/err")"

# Each download has a line on a terminal, and the lines stay below the messages.
rm -f "$folder/files/".*part "$folder/files/".*note "$folder/files/"*
lines=$(timeout 30 python3 - "$bin/trellis" "$url/ranges/1000000/stuck" "$url/bytes/1000" "$url/ranges/2000000/once-stuck-2" \
    -o "$folder/files" <<'PYTHON'
import fcntl, os, pty, re, signal, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[1], sys.argv[1:])
shown = ""
def screen():
    """Returns the lines that a terminal shows after the output so far."""
    lines, row, text = [""], 0, re.sub("[^\n]*no version information available[^\n]*\n", "", shown)
    for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r\n|\r|[^\x1b\r]+", text):
        if part == "\r\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            lines[row] = ""
        elif part.endswith("F"):
            row -= int(part[2:-1])
            lines[row] = ""
        elif part.endswith("J"):
            del lines[row + 1:]
        elif not part.startswith("\x1b"):
            lines[row] += part
    return lines
while not (len(screen()) == 2 and all("50 %" in line for line in screen())):
    shown += os.read(terminal, 65536).decode(errors="replace")
print([(line.split()[0], "50 %" in line) for line in screen()])
os.kill(pid, signal.SIGINT)
try:
    while more := os.read(terminal, 65536): shown += more.decode(errors="replace")
except OSError: pass
print(sum("kept" in line for line in screen()), any("50 %" in line for line in screen()))
PYTHON
)
check "a line for each of several" "[('stuck', True), ('once-stuck-2', True)] 2 False" "$(xargs -d '\n' <<<"$lines")"

# A progress line never ends the process, however large the size that a server states, and however narrow the terminal.
cat >"$folder/terminal.py" <<'PYTHON'
import fcntl, os, pty, signal, struct, sys, termios
columns, wanted = int(sys.argv[1]), sys.argv[2]
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.environ["TERM"] = "xterm"
    os.execv(sys.argv[3], sys.argv[3:])
shown = ""
try:
    while wanted not in shown: shown += os.read(terminal, 65536).decode(errors="replace")
    os.kill(pid, signal.SIGINT)
    while os.read(terminal, 65536): pass
except OSError: pass
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
check "a total beyond all bounds" 130 \
    "$(timeout 30 python3 "$folder/terminal.py" 80 "52560000:00 min left" "$bin/trellis" "$url/huge" -o "$folder/huge-file")"
for columns in 1 8 9 10; do
    rm -f "$folder/files/"*
    check "$columns columns" 130 "$(timeout 30 python3 "$folder/terminal.py" $columns … \
        "$bin/trellis" "$url/ranges/2000000/stuck" -o "$folder/files/a-long-name")"
done

# --- Proxies

# A proxy that answers every request itself with its target and its credentials.
python3 - 9>&- >"$folder/proxy" <<'PYTHON' &
import http.server, os
class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = f"{self.path} {self.headers.get('Proxy-Authorization', '-')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_CONNECT(self): self.send_error(403)
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
proxy_process=$!
until [ -s "$folder/proxy" ]; do sleep 0.05; done
proxy="127.0.0.1:$(cat "$folder/proxy")"
basic=$(printf 'ada:s3:cret' | base64)
unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY no_proxy NO_PROXY

through() { # ENVIRONMENT… -- ARGUMENT…
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    shift
    env "${variables[@]}" "$bin/trellis" "$@" 2>&1 | without_remark
}
check "--proxy" "http://far.invalid/a -" "$(through -- http://far.invalid/a --proxy "http://$proxy")"
check "--proxy without a scheme" "http://far.invalid/a -" "$(through -- http://far.invalid/a --proxy "$proxy")"
check "--proxy with credentials" "http://far.invalid/a Basic $basic" \
    "$(through -- http://far.invalid/a --proxy "http://ada:s3%3Acret@$proxy")"
check "http_proxy" "http://far.invalid/a -" "$(through http_proxy=$proxy -- http://far.invalid/a)"
check "all_proxy" "http://far.invalid/a -" "$(through all_proxy=http://$proxy -- http://far.invalid/a)"
check "HTTP_PROXY is not read" 1 "$(through HTTP_PROXY=$proxy -- http://far.invalid/a | grep -c 'could not be resolved')"
check "no_proxy" 1 "$(through http_proxy=$proxy no_proxy=.invalid -- http://far.invalid/a | grep -c 'could not be resolved')"
check "--no-proxy replaces no_proxy" "http://far.invalid/a -" \
    "$(through http_proxy=$proxy no_proxy=.invalid -- http://far.invalid/a --no-proxy other.invalid)"
check "--no-proxy goes with --proxy" 1 \
    "$(through -- http://far.invalid/a --proxy "$proxy" --no-proxy '*' | grep -c 'could not be resolved')"
check "--proxy '' is none" 1 "$(through http_proxy=$proxy -- http://far.invalid/a --proxy '' | grep -c 'could not be resolved')"
check "this machine is reached directly" "$(through -- "$url/bytes/10" | wc -c)" "$(through http_proxy=127.0.0.1:1 -- "$url/bytes/10" | wc -c)"
expect_report "the proxy in the report" "[r['ok'], r['proxy']]" "[True, 'http://$proxy']" 0 http://far.invalid/ --proxy "http://a:b@$proxy"
expect_report "no proxy in the report" "r['proxy']" None 0 "$url/"
expect_report "a refused tunnel" "[r['error']['kind'], r['proxy']]" "['proxy', 'http://$proxy']" 1 https://far.invalid/ --proxy "$proxy"
expect_report "a proxy that is gone" "r['error']['kind']" proxy 1 https://far.invalid/ --proxy socks5h://127.0.0.1:1
check "--proxy is named" 1 "$(grep -c '(--proxy names it)$' "$folder/err")"
check "the variables are named" 1 "$(through http_proxy=127.0.0.1:1 -- http://far.invalid/ | grep -c '(the environment names it: http_proxy, ')"
export http_proxy=foo://x
expect_report "a variable that names none" "r['error']['kind']" invalid_request 1 http://far.invalid/
unset http_proxy
for value in ftp://x http:// 'http://a b' http://x:99999 socks6://x; do
    expect_usage_error "$url/" --proxy "$value"
done
for value in ftp://ada:hunter2@h 'http://ada:hunter2 @h' http://ada:hunter2@h:99999; do
    check "no password in the error of --proxy ${value%%:*}" 0 "$(through -- "$url/" --proxy "$value" | grep -c hunter2)"
done
kill "$proxy_process"
wait "$proxy_process" 2>/dev/null

# --- Proxies with TLS, and SOCKS 4

secure_proxies=${TRELLIS_TEST_PYTHON:-$("$here/../.scripts/python-peers.sh" | tail -1)}
mkfifo "$folder/proxies.in"
PYTHONDONTWRITEBYTECODE=1 "$secure_proxies" "$here/../Tests/Peers/https_proxy.py" <"$folder/proxies.in" >"$folder/proxies" 2>/dev/null &
exec 5>"$folder/proxies.in"
until [ -s "$folder/proxies" ]; do sleep 0.05; done
# Prints a value of what the proxies have said.
proxy_value() { python3 -c 'import json, sys; print(eval("p" + sys.argv[2], {"p": json.load(open(sys.argv[1]))}))' "$folder/proxies" "$1"; }
tls_proxy=127.0.0.1:$(proxy_value '["ports"]["proxy"]')
tls_origin=https://127.0.0.1:$(proxy_value '["ports"]["server"]')/
proxy_ca=(--cacert "$(proxy_value '["ca"]')")
text="base64.b64decode(r['body']['base64']).decode()"
expect_report "--proxy https" "[r['proxy'], $text]" "['https://$tls_proxy', 'proxy http://far.invalid/a']" 0 \
    http://far.invalid/a "${proxy_ca[@]}" --proxy "https://$tls_proxy"
expect_report "--proxy https: a tunnel" "[r['proxy'], $text]" "['https://$tls_proxy', 'server -']" 0 \
    "$tls_origin" "${proxy_ca[@]}" --proxy "https://ada:s3cret@$tls_proxy"
check "no password in what is said about a proxy with TLS" 0 "$(cat "$folder/out" "$folder/err" | grep -c s3cret)"
for name in unknown-ca wrong-host expired; do
    expect_report "--proxy https: $name" "[r['error']['kind'], r['error']['retryable']]" "['untrusted', False]" 1 \
        "$tls_origin" "${proxy_ca[@]}" --proxy "https://127.0.0.1:$(proxy_value "['ports']['$name']")"
    check "--proxy https: $name: the proxy's certificate" 1 "$(grep -c "the proxy's certificate is not trusted" "$folder/err")"
done
expect_report "--proxy https without its authority" "r['error']['kind']" untrusted 1 "$tls_origin" --proxy "https://$tls_proxy"

# tinyproxy and squid, which want a name and a password. What clients send to them is kept.
if [ "${CI:-}" = true ] || { command -v tinyproxy && command -v squid; } >/dev/null; then
    mkfifo "$folder/real-proxies.in"
    PYTHONDONTWRITEBYTECODE=1 "$secure_proxies" "$here/../Tests/Peers/real_proxies.py" tinyproxy squid \
        <"$folder/real-proxies.in" >>"$folder/real-proxies" 2>/dev/null &
    real_proxies=$!
    exec 6>"$folder/real-proxies.in"
    until [ -s "$folder/real-proxies" ] || ! kill -0 "$real_proxies" 2>/dev/null; do sleep 0.05; done
    cp "$folder/real-proxies" "$folder/real-ports"
    for name in tinyproxy squid; do
        real=127.0.0.1:$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["ports"][sys.argv[2] + "-recorded"])' \
            "$folder/real-ports" $name)
        real_url=http://zelda:pr0xySecret@$real
        expect_report "--proxy with $name" "[r['status'], r['proxy'], $text]" "[200, 'http://$real', 'hello world']" 0 "$url/" --proxy "$real_url"
        client "$url/request" --proxy "$real_url"
        check "--proxy with $name: the server sees the proxy and not its password" "1 0" \
            "$(grep -ci "^via: .*$name" "$folder/out") $(grep -ci -e '^proxy-auth' -e ZWNyZXQ= "$folder/out")"
        expect_report "--proxy with $name: a tunnel" "[r['status'], r['proxy'], $text]" "[200, 'http://$real', 'server -']" 0 \
            "$tls_origin" "${proxy_ca[@]}" -H 'Authorization: Bearer s3rverSecret' --proxy "$real_url"
        : >"$folder/real-proxies"
        echo "sent $name" >&6
        until grep -q '}$' "$folder/real-proxies" || ! kill -0 "$real_proxies" 2>/dev/null; do sleep 0.05; done
        check "--proxy with $name: the proxy gets its own password and not the server's" "1 0" \
            "$(grep -c 'CONNECT 127.*Proxy-Authorization: Basic emVsZGE6cHIweHlTZWNyZXQ=' "$folder/real-proxies") $(
                grep -c s3rverSecret "$folder/real-proxies")"
        expect_report "--proxy with $name: a wrong password" "[r['error']['kind'], r['error']['retryable'], r['proxy']]" \
            "['proxy', False, 'http://$real']" 1 "$tls_origin" "${proxy_ca[@]}" --proxy "http://zelda:wr0ngSecret@$real"
        check "--proxy with $name: no password in the error" 0 "$(cat "$folder/out" "$folder/err" | grep -c wr0ngSecret)"
        client --curl "$tls_origin" --proxy "$real_url"
        check "--proxy with $name: no password in the curl command" "1 0" \
            "$(grep -c -- "--proxy .*$real" "$folder/out") $(grep -c -e pr0xySecret -e zelda "$folder/out")"
    done
    exec 6>&-
else
    echo "Nothing is checked with tinyproxy and squid, because they are not installed."
fi
exec 5>&-

# A proxy for SOCKS 4 and 4a that answers every request itself with the destination and the name of the user, and refuses port 9.
python3 - 9>&- >"$folder/socks4" <<'PYTHON' &
import socketserver
class Proxy(socketserver.StreamRequestHandler):
    def text(self):
        text = b""
        while (byte := self.rfile.read(1)) not in (b"\0", b""):
            text += byte
        return text.decode()
    def handle(self):
        head = self.rfile.read(8)
        if len(head) < 8 or head[:2] != b"\x04\x01":
            return
        port, address, user = int.from_bytes(head[2:4]), head[4:], self.text()
        form, host = "4", ".".join(map(str, address))
        if host.startswith("0.0.0."):
            form, host = "4a", self.text()
        self.wfile.write(b"\0" + (b"\x5b" if port == 9 else b"\x5a") + bytes(6))
        if port == 9:
            return
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            pass
        body = f"{form} {host}:{port} {user or '-'}".encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Proxy)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
PYTHON
socks4_process=$!
until [ -s "$folder/socks4" ]; do sleep 0.05; done
socks4=127.0.0.1:$(cat "$folder/socks4")
expect_report "--proxy socks4a" "[r['proxy'], $text]" "['socks4a://$socks4', '4a far.invalid:81 -']" 0 \
    http://far.invalid:81/ --proxy "socks4a://$socks4"
expect_report "--proxy socks4a with a name" "$text" "4a far.invalid:80 ada" 0 http://far.invalid/ --proxy "socks4a://ada@$socks4"
expect_report "--proxy socks4" "[r['proxy'], $text]" "['socks4://$socks4', '4 192.0.2.7:81 ada']" 0 \
    http://192.0.2.7:81/ --proxy "socks4://ada@$socks4"
expect_report "--proxy socks4: a fixed address" "$text" "4 192.0.2.8:80 -" 0 \
    http://far.invalid/ --resolve far.invalid:80:192.0.2.8 --proxy "socks4://$socks4"
expect_report "--proxy socks4: the name is looked up here" "r['error']['kind']" dns 1 http://far.invalid/ --proxy "socks4://$socks4"
for scheme in socks4 socks4a; do
    expect_report "--proxy $scheme: a refusal" "r['error']['kind']" proxy 1 http://192.0.2.7:9/ --proxy "$scheme://$socks4"
done
kill "$socks4_process"
wait "$socks4_process" 2>/dev/null

# --- Failures

expect_report "refused" "[r['ok'], r['status'], r['error']['kind'], r['error']['retryable'], r['error']['attempts']]" \
    "[False, None, 'connect', True, 1]" 1 http://127.0.0.1:1/
check "one line on stderr" 1 "$(wc -l <"$folder/err")"
for what in status field name fold line size chunk trailer trailer-fold; do
    expect_report "malformed: $what" "r['error']['kind']" malformed_response 1 "$url/malformed/$what"
done
for length in 256 70000; do
    expect_report "a host of $length bytes" "r['error']['kind']" invalid_url 1 "http://$(printf "%0${length}d" 0 | tr 0 a)/"
done
expect_report "no URL" "r['error']['kind']" invalid_url 1 nonsense
expect_report "an empty URL" "r['error']['kind']" invalid_url 1 ''
expect_report "another scheme" "r['error']['kind']" invalid_url 1 ftp://127.0.0.1/
for wrong in 'https://ann:s3cret#2@host/' 'ann:s3cret@host/x?next=https://y' 'host/x?token=s3cret&next=https://y'; do
    expect_report "a wrong URL with a secret" "r['error']['kind']" invalid_url 1 "$wrong"
    check "no secret of $wrong on stderr" 0 "$(grep -c s3cret "$folder/err")"
done
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
check "a full disk: one line" 1 "$(said | wc -l)"

# --- Ctrl-C

"$bin/trellis" "$url/stuck" --report json >"$folder/out" 2>"$folder/err" &
sleep 0.5
kill -INT $!
wait $!
check "Ctrl-C: exit status" 130 $?
check "Ctrl-C: report" "['cancelled', 9]" "$(report "[r['error']['kind'], r['body']['bytes']]")"
# Not a pipe from `sleep`, for whose end bash would wait too.
mkfifo "$folder/awaited"
exec {awaited}<>"$folder/awaited"
"$bin/trellis" "$url/echo" -d @- <"$folder/awaited" >"$folder/out" 2>"$folder/err" &
client_pid=$!
sleep 0.5
kill -INT $client_pid
wait $client_pid
check "Ctrl-C while standard input is awaited" 130 $?
exec {awaited}>&-
rm "$folder/awaited"

# --- Usage

expect_usage_error
expect_usage_error "$url/" --nonsense
expect_usage_error "$url/" --http 4
expect_usage_error "$url/" -H 'no colon'
expect_usage_error "$url/" --limit 2
expect_usage_error "$url/" --stream lines --limit 0
expect_usage_error "$url/" --limit 3 --stream
expect_usage_error "$url/" --form a
expect_usage_error "$url/" --form =a
expect_usage_error "$url/" --query a
expect_usage_error "$url/" --part a
expect_usage_error "$url/" --part a=@
expect_usage_error "$url/" --part 'a=@f;type='
expect_usage_error "$url/" --part 'a=@f;type=a/b;filename=f;type=c/d'
expect_usage_error "$url/" --part a=@- --part b=@-
expect_usage_error "$url/" -d a --json '{}'
expect_usage_error "$url/" --form a=b --part a=b
expect_usage_error "$url/" --show-secrets
expect_usage_error "$url/" --redirects -1
expect_usage_error "$url/" --redirects 1 --no-redirects
expect_usage_error "$url/" --retries -1
expect_usage_error "$url/" --auth basic
expect_usage_error "$url/" --auth any
expect_usage_error "$url/" --user a:b --auth ntlm
expect_usage_error "$url/" --deadline soon
expect_usage_error "$url/" --deadline -1
expect_usage_reason "--deadline cannot be negative" "$url/" --deadline -1
expect_usage_reason "--deadline must be more than 0" "$url/" --deadline 0
expect_usage_reason "--retries cannot be negative" "$url/" --retries -1
expect_usage_reason "there is no colon in it" "$url/" -H nocolon
expect_usage_reason "'Bad Name' cannot be the name of a header field" "$url/" -H 'Bad Name: x'
expect_usage_reason "it is not sha256: with 64 hexadecimal digits" "$url/" -o a --checksum sha256:zz
expect_usage_reason "it does not have the form NAME=VALUE" "$url/" --part foo
expect_usage_reason "no file is named after the @" "$url/" --part a=@
expect_usage_reason "'type=' has no value, or is given twice" "$url/" --part 'a=@f;type='
expect_usage_reason "--method cannot be empty" -X '' "$url/"
expect_usage_reason "'extra' is no URL" "$url/" extra
expect_usage_reason "'BAR' is no URL" FOO BAR "$url/"
expect_usage_reason "Several URLs go with --output FOLDER" "$url/" "$url/"
expect_usage_reason "--doh: " "$url/" --doh nope
expect_usage_reason "Unknown option '--jsno'. Did you mean '--json'?" "$url/" --jsno
expect_usage_reason "Unknown option '--nope'" "$url/" --nope
check "no suggestion of an option that is too different" '0 1' \
    "$(grep -c 'Did you mean' "$folder/err") $(grep -cF "See 'trellis --help'" "$folder/err")"
client GET
check "a method alone" "1 1" "$status $(grep -c '(a method needs a URL: trellis -X GET URL)$' "$folder/err")"
client ws://127.0.0.1:1/
check "the URL of a WebSocket" "1 1" "$status $(grep -c '(a WebSocket: trellis ws URL)$' "$folder/err")"
expect_usage_error "$url/" --resume
expect_usage_error "$url/" --checksum sha256:00
expect_usage_error "$url/" -o a --checksum sha256:00
expect_usage_error "$url/" --connections 2
for place in - /dev/null; do
    expect_usage_error "$url/" -o $place --resume
    expect_usage_error "$url/" -o $place --connections 2
    expect_usage_error "$url/" -o $place --checksum "sha256:$(printf x | sha256sum | cut -d' ' -f1)"
done
expect_usage_error "$url/" -o a --connections 0
expect_usage_error "$url/" "$url/"
expect_usage_error "$url/" "$url/" -o "$folder/one-file"
expect_usage_error "$url/" "$url/" -o "$folder/" -d x
expect_usage_error "$url/" "$url/" -o "$folder/" --curl
expect_usage_error "$url/" -o a --stream lines
expect_usage_error GET "$url/" "$url/"
expect_usage_error GET "$url/" -X PUT
# Options of later versions are usage errors, and are not ignored.
for option in '--stream xml' '--cache-mode reload' '--cache . --cache-mode none'; do
    expect_usage_error "$url/" $option
done
client --version
check "--version" "0 1" "$status $(grep -cE '^trellis [0-9.]+ libcurl/[0-9.]+$' <<<"$out")"
client --help
check "--help names --version" 1 "$(grep -c -- '--version' <<<"$out")"
check "--help" 0 "$status"
check "--help names the options" 1 "$(grep -c -- '--unix-socket' "$folder/out")"

# --- Hosts that ask for https, and alternative services

openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout "$folder/key.pem" -out "$folder/cert.pem" 2>/dev/null
python3 - "$folder" >"$folder/strict" <<'PYTHON' &
import http.server, ssl, sys
class Strict(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Strict-Transport-Security", "max-age=1000; includeSubDomains")
        self.send_header("Alt-Svc", 'h2="alt.example:8443"; persist=1')
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"secure")
    def log_message(self, *_): pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strict)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
strict_process=$!
until [ -s "$folder/strict" ]; do sleep 0.05; done
strict="localhost:$(cat "$folder/strict")"
stores=(--hsts "$folder/hsts.txt" --alt-svc "$folder/alt-svc.txt")
client --insecure "${stores[@]}" "https://$strict/"
check "nothing is learned without verification" 'secure 0' "$out $status"
check "no file is made" no "$([ -e "$folder/hsts.txt" ] || [ -e "$folder/alt-svc.txt" ] || echo no)"
client --cacert "$folder/cert.pem" "${stores[@]}" "https://$strict/"
check "the files are written" 'secure 0 1 1' \
    "$out $status $(grep -c '^.localhost "2' "$folder/hsts.txt") $(grep -c '^h1 localhost .* h2 alt.example 8443 ".*" 1 0$' "$folder/alt-svc.txt")"
expect_report "http becomes https" "[r['url'], r['redirects'] if 'redirects' in r else []]" "['https://$strict/x', []]" 0 \
    --cacert "$folder/cert.pem" "${stores[@]}" "http://$strict/x"
printf 'something else\n' >"$folder/other.txt"
for option in --hsts --alt-svc; do
    expect_report "$option: a file of another kind" "r['error']['kind']" file 1 \
        --cacert "$folder/cert.pem" $option "$folder/other.txt" "https://$strict/"
    check "$option: the file stays" 'something else' "$(cat "$folder/other.txt")"
done
kill "$strict_process"
wait "$strict_process" 2>/dev/null

# caddy names its HTTP/3 in Alt-Svc. The next process uses it, if libcurl has HTTP/3.
if [ "${CI:-}" = true ] || command -v caddy >/dev/null; then
    caddy_port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$folder/Caddyfile" <<CADDYFILE
{
    admin off
    auto_https off
}
https://localhost:$caddy_port {
    bind 127.0.0.1
    tls $folder/cert.pem $folder/key.pem
    respond "{http.request.proto}"
}
CADDYFILE
    HOME=$folder XDG_DATA_HOME=$folder XDG_CONFIG_HOME=$folder caddy run --adapter caddyfile --config "$folder/Caddyfile" \
        >"$folder/caddy.log" 2>&1 &
    caddy=$!
    until (: </dev/tcp/127.0.0.1/"$caddy_port") 2>/dev/null || ! kill -0 "$caddy" 2>/dev/null; do sleep 0.05; done
    from_caddy=("https://localhost:$caddy_port/" --cacert "$folder/cert.pem" -4)
    client "${from_caddy[@]}" --http 3 --report json
    later=HTTP/3.0
    [ "$(report "r['error'] and r['error']['kind']")" != unsupported ] || later=HTTP/2.0
    for wanted in HTTP/2.0 $later $later; do
        client "${from_caddy[@]}" --alt-svc "$folder/caddy-alt-svc.txt"
        check "--alt-svc: $wanted" "$wanted 0" "$out $status"
    done
    check "--alt-svc: the file" 1 \
        "$(grep -c "^h1 localhost $caddy_port h3 localhost $caddy_port \".*\" 0 0$" "$folder/caddy-alt-svc.txt")"
    client "${from_caddy[@]}"
    check "without --alt-svc" "HTTP/2.0 0" "$out $status"
    client "${from_caddy[@]}" --alt-svc "$folder/caddy-alt-svc.txt" --http 1.1
    check "--alt-svc: another version is asked for" "HTTP/1.1 0" "$out $status"
    kill "$caddy"
    wait "$caddy" 2>/dev/null
else
    echo "Nothing is checked with caddy, because it is not installed."
fi
# --- The cache

# A server whose responses begin with the digest of their rest, and change with each request that is not a validation.
cat >"$folder/cached.py" <<'PYTHON'
import hashlib, http.server, random, socketserver, subprocess, sys, threading

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count, lock = 0, threading.Lock()
    def log_message(self, *_): pass
    def do_GET(self):
        name, _, age = self.path.partition("?")
        with Handler.lock: Handler.count += name != "/count"
        fields = {"Cache-Control": "max-age=" + (age or "60"), "ETag": '"%s"' % name}
        body = b"%d" % Handler.count
        if name == "/count":
            fields = {"Cache-Control": "no-store"}
        elif self.headers["If-None-Match"] and random.random() < 0.7:
            self.send_response(304)
            for item in fields.items(): self.send_header(*item)
            self.end_headers()
            return
        else:
            size = {"/0": 0, "/1": 10, "/2": 70_000, "/3": 2_500_000}.get(name, 3_000)
            body = (b"%s %d " % (name.encode(), Handler.count)) * (size // 10)
            body = hashlib.sha256(body).hexdigest().encode() + body
        self.send_response(200)
        for item in fields.items(): self.send_header(*item)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try: self.wfile.write(body)
        except OSError: pass

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128
    def handle_error(self, *_): pass

server = Server(("127.0.0.1", 0), Handler)
url = "http://127.0.0.1:%d" % server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
if len(sys.argv) == 1:
    print(url, flush=True)
    sys.stdin.read()
    sys.exit()

# Runs ten clients at a time on one folder, kills 500 of them at random, and compares each body with its digest.
client, folder = sys.argv[1:]
kills = wrong = completed = 0
def run(path, *options):
    return subprocess.Popen(
        [client, url + path, "--cache", folder, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
def check(output):
    global wrong, completed
    completed += 1
    wrong += hashlib.sha256(output[64:]).hexdigest().encode() != output[:64]
def worker(seed):
    global kills
    chance = random.Random(seed)
    while kills < 500:
        process = run("/%d?%d" % (chance.randrange(6), chance.randrange(3)))
        outputs = []
        reader = threading.Thread(target=lambda: outputs.append(process.stdout.read()))
        reader.start()
        if chance.random() < 0.9:
            try: process.wait(chance.random() * 0.3)
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
        reader.join()
        if process.wait() == 0: check(outputs[0])
workers = [threading.Thread(target=worker, args=(seed,)) for seed in range(10)]
for thread in workers: thread.start()
for thread in workers: thread.join()
concurrent = completed
# Afterwards every response is stored, and is used again.
for _ in range(2):
    start = Handler.count
    for path in range(6):
        for age in range(3): check(run("/%d?%d" % (path, age), "--cache-mode", "force-cache").communicate()[0])
print("wrong %d, requests %d%s" % (wrong, Handler.count - start, "" if concurrent > 30 else ", completed %d" % concurrent))
print("%d kills, %d responses" % (kills, completed), file=sys.stderr)
PYTHON
mkfifo "$folder/cached.in"
python3 "$folder/cached.py" <"$folder/cached.in" >"$folder/cached" &
exec 5>"$folder/cached.in"
until [ -s "$folder/cached" ]; do sleep 0.05; done
cached=$(cat "$folder/cached")
cache=$folder/cache

expect_report 'a response is stored' 'r["from_cache"], r["cache_status"], r["status"]' \
    "(False, 'trellis; fwd=uri-miss; ttl=60; stored', 200)" 0 "$cached/1" --cache "$cache"
expect_report 'a response is used again' 'r["from_cache"], r["cache_status"][:17], r["status"]' "(True, 'trellis; hit; ttl', 200)" 0 \
    "$cached/1" --cache "$cache"
client "$cached/count"
check "a stored response is used without a request" 1 "$out"
# Runs the client with a mode of the cache, and compares whether the response is from the cache, the beginning of the cache status and the
# number of requests that were sent. Paths with ?0 are stale from the beginning.
expect_mode() { # MODE PATH FROM-CACHE STATUS REQUESTS
    local name="--cache-mode $1 $2" before
    client "$cached/count"
    before=$out
    client --report json "$cached$2" --cache "$cache" --cache-mode "$1"
    check "$name: exit status" 0 "$status"
    check "$name" "$3 True" "$(report "r['from_cache'], (r['cache_status'] or '').startswith('$4')" | tr -d '(),')"
    client "$cached/count"
    check "$name: requests" "$5" "$((out - before))"
}
client "$cached/stale?0" --cache "$cache"
expect_mode default /1 True 'trellis; hit; ttl=' 0
expect_mode default '/other?60' False 'trellis; fwd=uri-miss; ttl=60; stored' 1
expect_mode reload /1 False 'trellis; fwd=bypass; ttl=60; stored' 1
expect_mode default /1 True 'trellis; hit; ttl=' 0
expect_mode no-store /1 False 'trellis; fwd=bypass; detail=mode-no-store' 1
expect_mode no-store '/never?60' False 'trellis; fwd=bypass; detail=mode-no-store' 1
expect_mode default '/never?60' False 'trellis; fwd=uri-miss' 1
expect_mode force-cache '/stale?0' True 'trellis; hit; ttl=' 0
expect_mode force-cache '/forced?60' False 'trellis; fwd=uri-miss; ttl=60; stored' 1
expect_mode only-if-cached '/stale?0' True 'trellis; hit; ttl=' 0
expect_mode only-if-cached '/4?60' False 'trellis; detail=only-if-cached' 0
# The server confirms most responses and sends others again.
for mode in default no-cache; do
    path=/1 reason=request
    [ $mode = no-cache ] || path='/stale?0' reason=stale
    client "$cached/count"
    before=$out
    client --report json "$cached$path" --cache "$cache" --cache-mode $mode
    check "--cache-mode $mode $path" True "$(report "r['cache_status'].startswith('trellis; fwd=$reason')")"
    client "$cached/count"
    check "--cache-mode $mode $path: requests" 1 "$((out - before))"
done
expect_report 'another folder' 'r["from_cache"]' False 0 "$cached/1" --cache "$folder/other-cache"
expect_report '--cache-mode only-if-cached' 'r["from_cache"], r["status"]' "(False, 504)" 0 "$cached/4" --cache "$cache" --cache-mode only-if-cached
check "the reason why there is no body" 1 "$(grep -cxF 'trellis: no stored response can be used, and nothing was sent (only-if-cached)' "$folder/err")"
client "$cached/4" --cache "$cache" --cache-mode only-if-cached
check "the reason in a pipe" '1  0' "$(grep -cF '(only-if-cached)' "$folder/err") $out $status"
client "$cached/stale?0" --cache "$cache" --cache-mode only-if-cached
check "no reason for a stored response" '0 0' "$(grep -cF '(only-if-cached)' "$folder/err") $status"
check "the folder is its user's alone" 700 "$(stat -c %a "$cache")"
client "$cached/1" --cache "$folder/cached"
check "a folder that is a file is no obstacle" 0 "$status"
exec 5>&-
check "no kill leaves a wrong byte" "wrong 0, requests 0" \
    "$(python3 "$folder/cached.py" "$bin/trellis" "$folder/shared-cache")"

# --- Certificates and pins

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$folder/tls.key" \
    -out "$folder/tls.pem" -subj '/O=Example/CN=pinned' -addext 'subjectAltName=IP:127.0.0.1' -days 2 2>/dev/null
pin=$(openssl x509 -in "$folder/tls.pem" -pubkey -noout | openssl pkey -pubin -outform der |
    openssl dgst -sha256 -binary | base64)
mkfifo "$folder/tls.in"
python3 -c 'import http.server, ssl, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "6")
        self.end_headers()
        self.wfile.write(b"secure")
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/tls.pem", sys.argv[1] + "/tls.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("https://127.0.0.1:%d/" % server.server_port, flush=True)
sys.stdin.read()' "$folder" <"$folder/tls.in" >"$folder/tls" 2>/dev/null &
exec 7>"$folder/tls.in"
until [ -s "$folder/tls" ]; do sleep 0.05; done
tls=$(cat "$folder/tls")
other=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
for form in "--pin sha256//$pin" "--pin sha256/$pin" "--pin sha256//$other;sha256//$pin" \
    "--pin sha256//$other --pin sha256//$pin"; do
    client "$tls" --cacert "$folder/tls.pem" $form
    check "a pin: $form" 'secure 0' "$out $status"
done
expect_report "a wrong pin" "[r['error']['kind'], r['error']['retryable'], r['status']]" \
    "['pin_mismatch', False, None]" 1 "$tls" --cacert "$folder/tls.pem" --pin "sha256//$other"
check "a wrong pin names the right one" 1 "$(grep -c "sha256/$pin of O=Example, CN=pinned" "$folder/err")"
expect_report "a pin does not replace the verification" "r['error']['kind']" untrusted 1 "$tls" --pin "sha256//$pin"
client "$tls" --insecure --pin "sha256//$pin"
check "a pin without verification" 'secure 0' "$out $status"
client "$tls" --cacert "$folder/tls.pem" --show-certificates
check "the body beside the certificates" 'secure 0' "$out $status"
check "the subject" 1 "$(grep -c '^0  subject  O=Example, CN=pinned$' "$folder/err")"
check "the pin" 1 "$(grep -c "^   pin      sha256/$pin$" "$folder/err")"
check "the names" 1 "$(grep -c '^   names    127.0.0.1$' "$folder/err")"
check "one certificate" 1 "$(grep -c '   serial   ' "$folder/err")"
client "$tls" --cacert "$folder/tls.pem" --show-certificates --pin "sha256//$other"
check "the certificates of a refused server" 1 "$(grep -c "^   pin      sha256/$pin$" "$folder/err")"
client "$tls" --show-certificates
check "the certificates of a server that is not trusted" "1 1 1" \
    "$status $(grep -c '(NOT TRUSTED; as the server has sent them):$' "$folder/err") $(grep -c "^   pin      sha256/$pin$" "$folder/err")"
client "$tls" --cacert "$folder/tls.pem" --show-certificates -o "$folder/tls-file"
check "the certificates of a download" "1 secure" \
    "$(grep -c "^   pin      sha256/$pin$" "$folder/err") $(cat "$folder/tls-file")"
exec 7>&-
client "$url/" --show-certificates
check "no certificates" 'hello world 0' "$out $status"
check "no certificates: a sentence" 1 "$(grep -c 'no certificates to show' "$folder/err")"
for pin in '' sha256 sha256// sha256//AAAA sha1//AAAA 'sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=;'; do
    expect_usage_error "$url/" --pin "$pin"
done
expect_usage_reason "it does not have 32 bytes in Base64" "$url/" --pin sha256//AAAA
expect_usage_reason "--pin goes with https URLs" "$url/" --pin "sha256//$other"
# --- Trust

trust=$folder/trust
mkdir "$trust"
issue() { # NAME SUBJECT ISSUER EXTENSION
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$trust/$1.key" -subj "/CN=$2" 2>/dev/null |
        openssl x509 -req -CA "$trust/$3.pem" -CAkey "$trust/$3.key" -days 2 -extfile <(echo "$4") -out "$trust/$1.pem" 2>/dev/null
}
for name in ca other; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$trust/$name.key" -out "$trust/$name.pem" \
        -subj "/CN=$name" -days 2 2>/dev/null
done
issue server server ca 'subjectAltName=IP:127.0.0.1'
issue ada ada ca 'extendedKeyUsage=clientAuth'
issue berta berta other 'extendedKeyUsage=clientAuth'
cat "$trust/ada.pem" "$trust/ada.key" >"$trust/both.pem"
openssl pkcs12 -export -in "$trust/ada.pem" -inkey "$trust/ada.key" -out "$trust/ada.p12" -passout 'pass:p@ss wörd'
openssl pkey -in "$trust/ada.key" -aes256 -passout 'pass:p@ss wörd' -out "$trust/locked.key"
echo 'p@ss wörd' >"$trust/phrase"
tls_processes=()
start_tls_server() { # FILE ARGUMENT…: sets $port
    local file=$1
    shift
    : >"$file"
    openssl s_server -accept 127.0.0.1:0 -cert "$trust/server.pem" -key "$trust/server.key" -CAfile "$trust/ca.pem" -www "$@" \
        >"$file" 2>/dev/null </dev/null &
    tls_processes+=($!)
    until grep -q ^ACCEPT "$file"; do sleep 0.05; done
    port=$(sed -n 's/^ACCEPT .*://p' "$file")
}
start_tls_server "$trust/strict.out" -Verify 2 -verify_return_error
strict=https://127.0.0.1:$port
start_tls_server "$trust/tls12.out" -tls1_2
tls12=https://127.0.0.1:$port
with_ca=(--cacert "$trust/ca.pem")
subject="'CN=ada' in base64.b64decode(r['body']['base64']).decode().replace(' ', '')"
expect_report "--cert with both" "$subject" True 0 "$strict" "${with_ca[@]}" --cert "$trust/both.pem"
expect_report "--cert and --key" "$subject" True 0 "$strict" "${with_ca[@]}" --cert "$trust/ada.pem" --key "$trust/ada.key"
expect_report "--pass" "$subject" True 0 "$strict" "${with_ca[@]}" --cert "$trust/ada.pem" --key "$trust/locked.key" --pass 'p@ss wörd'
expect_report "--pass @FILE with PKCS#12" "$subject" True 0 "$strict" "${with_ca[@]}" --cert "$trust/ada.p12" --pass "@$trust/phrase"
expect_report "a server that is not trusted" "[r['error']['kind'], r['error']['retryable']]" "['untrusted', False]" 1 "$strict"
expect_report "a server that requires a certificate" "[r['error']['kind'], r['error']['retryable']]" "['tls', False]" 1 "$strict" "${with_ca[@]}"
check "the reason" 1 "$(grep -c 'requires a client certificate' "$folder/err")"
expect_report "a certificate that is not accepted" "[r['error']['kind'], r['error']['retryable']]" "['tls', False]" 1 \
    "$strict" "${with_ca[@]}" --cert "$trust/berta.pem" --key "$trust/berta.key"
expect_report "a key of another certificate" "r['error']['kind']" tls 1 "$strict" "${with_ca[@]}" --cert "$trust/ada.pem" --key "$trust/berta.key"
expect_report "a wrong passphrase" "r['error']['kind']" tls 1 "$strict" "${with_ca[@]}" --cert "$trust/ada.p12" --pass wrong
expect_report "no passphrase" "r['error']['kind']" tls 1 "$strict" "${with_ca[@]}" --cert "$trust/ada.p12"
expect_report "a file of a passphrase that is missing" "r['error']['kind']" file 1 "$strict" "${with_ca[@]}" \
    --cert "$trust/ada.p12" --pass "@$trust/missing"
expect_report "a missing certificate" "r['error']['kind']" file 1 "$strict" "${with_ca[@]}" --cert "$trust/missing"
expect_report "a missing key" "r['error']['kind']" file 1 "$strict" "${with_ca[@]}" --cert "$trust/ada.pem" --key "$trust/missing"
expect_report "a certificate without a key" "r['error']['kind']" file 1 "$strict" "${with_ca[@]}" --cert "$trust/ada.pem"
expect_report "a missing --cacert" "r['error']['kind']" file 1 "$strict" --cacert "$trust/missing"
expect_report "TLS 1.2" "r['status']" 200 0 "$tls12" "${with_ca[@]}"
client "$tls12" --cacert "$trust/other.pem"
check "--cacert with the authority of another server" 1 "$status"
SSL_CERT_FILE="$trust/ca.pem" client "$tls12" --cacert "$trust/other.pem"
check "--cacert in addition to SSL_CERT_FILE" 0 "$status"
check "no secrets of connections are written unasked" no "$([ -e "$trust/keys" ] || echo no)"
SSLKEYLOGFILE="$trust/keys" client "$tls12" "${with_ca[@]}"
check "SSLKEYLOGFILE names a file for the secrets of connections" "0 1" "$status $(grep -c '^CLIENT_RANDOM ' "$trust/keys")"
client "$tls12" "${with_ca[@]}"
check "SSLKEYLOGFILE is not remembered" "0 1" "$status $(grep -c '^CLIENT_RANDOM ' "$trust/keys")"
expect_report "--tlsv1.3" "[r['error']['kind'], r['error']['retryable']]" "['tls', False]" 1 "$tls12" "${with_ca[@]}" --tlsv1.3
expect_usage_error "$url/" --key a
expect_usage_error "$url/" --pass a
client "$strict" --cert a.pem --key a.key --pass s3cret --tlsv1.3 --curl
check "--curl with a certificate" '1 0' "$(grep -c -- '--tlsv1.3 --cert a.pem --key a.key' "$folder/out") $(grep -c s3cret "$folder/out")"
kill "${tls_processes[@]}"
wait "${tls_processes[@]}" 2>/dev/null
# --- Names and addresses

port=${url##*:}
client "http://far.invalid:$port/" --resolve "far.invalid:$port:127.0.0.1"
check "--resolve" 'hello world 0' "$out $status"
client "http://far.invalid:$port/" --resolve "*:*:127.0.0.9,127.0.0.1" -4
check "--resolve: any host and port, two addresses" 'hello world 0' "$out $status"
client "http://far.invalid/" --connect-to "far.invalid:80:127.0.0.1:$port"
check "--connect-to" 'hello world 0' "$out $status"
client "$url/" --interface 127.0.0.2 --ipv4
check "--interface" 'hello world 0' "$out $status"
expect_report "an address of the other version" "r['error']['kind']" invalid_request 1 "$url/" -6
expect_report "an interface that is not there" "[r['error']['kind'], r['error']['retryable']]" "['connect', False]" 1 \
    "$url/" --interface nosuch
check "an interface that is not there: its name" 1 "$(grep -c 'no connection can be made from nosuch: ' "$folder/err")"
expect_usage_reason "'a:80' does not have the form HOST:PORT:ADDRESS" "$url/" --resolve a:80
expect_usage_reason "'b' is not an IP address" "$url/" --resolve a:80:b
expect_usage_reason "0 is not a port" "$url/" --resolve a:0:127.0.0.1
expect_usage_reason "'a:80:b' does not have the form HOST:PORT:HOST:PORT" "$url/" --connect-to a:80:b
expect_usage_reason "'x' is not a port" "$url/" --connect-to a:80:b:x
expect_usage_reason "no network interface can have the name 'eth 0'" "$url/" --interface 'eth 0'
client "http://far.invalid:$port/" --doh "$url/dns-query"
check "--doh" 'hello world 0' "$out $status"
# A DNS server whose own name is known to nobody else, and which answers only clients at 127.0.0.2.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=dns.invalid \
    -addext subjectAltName=DNS:dns.invalid -keyout "$folder/dns.key" -out "$folder/dns.pem" 2>/dev/null
python3 - "$folder" >"$folder/dns" <<'PYTHON' &
import http.server, ssl, sys
class Resolver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        question = self.rfile.read(int(self.headers["Content-Length"]))
        if self.client_address[0] != "127.0.0.2": return self.send_error(403)
        # The type of the records, which is 1 for IPv4 addresses, is before the class at the end.
        is_ipv4 = question[-3] == 1
        head = bytes([0, 0, 0x81, 0x80, 0, 1, 0, is_ipv4, 0, 0, 0, 0])
        record = bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
        body = head + question[12:] + (record if is_ipv4 else b"")
        self.send_response(200)
        self.send_header("Content-Type", "application/dns-message")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/dns.pem", sys.argv[1] + "/dns.key")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Resolver)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
dns_process=$!
until [ -s "$folder/dns" ]; do sleep 0.05; done
dns="dns.invalid:$(cat "$folder/dns")"
client "http://far.invalid:$port/" --doh "https://$dns/dns-query" --cacert "$folder/dns.pem" --resolve "$dns:127.0.0.1" \
    --interface 127.0.0.2 -4
check "--doh with a server from --resolve and an own address" 'hello world 0' "$out $status"
kill "$dns_process"
wait "$dns_process" 2>/dev/null
client "$url/" --interface lo
check "--interface with a name" 'hello world 0' "$out $status"
socks_port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
microsocks -i 127.0.0.1 -p "$socks_port" -u ada -P s3cret 2>/dev/null &
socks=$!
until (: </dev/tcp/127.0.0.1/"$socks_port") 2>/dev/null; do sleep 0.05; done
for scheme in socks5 socks5h; do
    proxy="$scheme://ada:s3cret@127.0.0.1:$socks_port"
    expect_report "--proxy $scheme" "[r['status'], r['proxy']]" "[200, '$scheme://127.0.0.1:$socks_port']" 0 "$url/" --proxy "$proxy"
done
expect_report "--proxy with a wrong password" "r['error']['kind']" proxy 1 "$url/" --proxy "socks5://ada:wrong@127.0.0.1:$socks_port"
kill "$socks"
wait "$socks" 2>/dev/null
start_server 7 "$folder/abstract" "@trellis-test-$$"
client "http://localhost/" --abstract-unix-socket "trellis-test-$$"
check "--abstract-unix-socket" 'hello world 0' "$out $status"
start_server 6 "$folder/six" ::1
six=$(cat "$folder/six")
client "http://far.invalid:${six##*:}/" --resolve '*:*:127.0.0.9,::1' -6
check "-6" 'hello world 0' "$out $status"
expect_report "an abstract socket that is not there" "r['error']['kind']" connect 1 \
    "http://localhost/" --abstract-unix-socket "trellis-$$"
expect_report "a DNS server that is none" "r['error']['kind']" dns 1 "http://far.invalid:$port/" --doh "$url/echo"
client "http://far.invalid/a" --curl -4 --interface lo --connect-to :80:b: --resolve '*:*:::1' \
    --doh https://127.0.0.1/q
for argument in --ipv4 '--interface lo' '--connect-to :80:b:' "--resolve '\*:80:\[::1\]'" '--doh-url https://127.0.0.1/q'; do
    check "--curl names $argument" 1 "$(grep -c -- "$argument" "$folder/out")"
done
expect_usage_error "$url/" -4 -6
expect_usage_error "$url/" --resolve a:80
expect_usage_error "$url/" --resolve a:80:b
expect_usage_error "$url/" --connect-to a:80
expect_usage_error "$url/" --interface 'a b'
expect_usage_error "$url/" --doh http://dns.example/
expect_usage_error "$url/" --unix-socket a --abstract-unix-socket b
expect_usage_error "$url/" --abstract-unix-socket ''

# --- WebSockets

# A server of WebSockets: /echo sends messages back; /close/CODE sends "first" and closes with the code, or with none for "none", and
# /answer/CODE answers the client's Close frame so; /both and /three send one and two messages and a Close frame at once;
# /bytes sends two bytes; /masked breaks the protocol; /cut ends without a Close frame; /deny refuses; /pinged sends "pinged" after a ping;
# /flood sends many messages, and creates the file of its first argument when it has received the Close frame; /deflate agrees to
# compression; /fields sends two fields of the request. /noted, /deaf and /silent note in files that they were asked, and the code of the
# Close frame; /deaf does not answer that frame, and /silent not even the handshake. It prints its ports, without and with TLS, and listens
# on the socket of its last argument.
cat >"$folder/ws.py" <<'PYTHON'
import base64, hashlib, socketserver, ssl, sys, threading

class Handler(socketserver.StreamRequestHandler):
    def frame(self, first, payload):
        self.wfile.write(bytes([first, len(payload)]) + payload)

    def close(self, code):
        self.frame(0x88, b"" if code == "none" else int(code).to_bytes(2, "big") + b"why")

    def handle(self):
        path = self.rfile.readline().split()[1].decode()
        fields = {}
        while (line := self.rfile.readline().decode().strip()):
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        if path == "/deny":
            return self.wfile.write(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
        if path in ("/noted", "/deaf", "/silent"):
            open(sys.argv[1] + ".asked", "w").close()
        if path == "/silent":
            return self.rfile.read()
        key = fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        chosen = fields.get("sec-websocket-protocol", "").split(",")[0]
        deflates = path == "/deflate" and "sec-websocket-extensions" in fields
        extensions = "Sec-WebSocket-Extensions: permessage-deflate; server_no_context_takeover\r\n" if deflates else ""
        self.wfile.write((
            "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nStrict-Transport-Security: max-age=9\r\n"
            f"{extensions}Sec-WebSocket-Accept: {accept}\r\n" + (f"Sec-WebSocket-Protocol: {chosen}\r\n" if chosen else "") + "\r\n").encode())
        if path.startswith("/close/"):
            self.frame(0x81, b"first")
            self.close(path.split("/")[2])
        elif path == "/both":
            self.wfile.write(b"\x81\x05first\x88\x02\x03\xe8")
        elif path == "/three":
            self.wfile.write(b"\x81\x05first\x81\x06second\x88\x02\x03\xe8")
        elif path == "/bytes":
            self.frame(0x82, b"\x00\xff")
        elif path == "/ask":
            self.frame(0x81, b"a question")
        elif path == "/fields":
            self.frame(0x81, f"{fields.get('x-test')} {fields.get('x-other')}".encode())
        elif path == "/masked":
            self.wfile.write(bytes([0x81, 0x80, 0, 0, 0, 0]))
        elif path == "/cut":
            return
        elif path == "/flood":
            for _ in range(50000):
                self.frame(0x81, b"x" * 100)
        while (head := self.rfile.read(2)):
            count = head[1] & 0x7F
            if count == 126:
                count = int.from_bytes(self.rfile.read(2), "big")
            mask = self.rfile.read(4)
            payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(count)))
            if head[0] & 15 == 8:
                if path == "/flood":
                    open(sys.argv[1], "w").close()
                if path in ("/noted", "/deaf"):
                    with open(sys.argv[1] + ".code", "w") as file: file.write(str(int.from_bytes(payload[:2], "big")))
                if path == "/deaf":
                    continue
                if path == "/ended":
                    return
                if path == "/garbled":
                    self.frame(0x81, b"\xff\xfe")
                if path.startswith("/answer/"):
                    return self.close(path.split("/")[2])
                if not path.startswith("/close/"):
                    self.frame(0x88, payload[:2])
                return
            if path == "/ask":
                self.frame(0x88, b"\x03\xe8" + payload[:100])
            elif count < 126:
                self.frame(0x8A if head[0] & 15 == 9 else head[0], payload)
                if path == "/pinged":
                    self.frame(0x81, b"pinged")

class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

class SecureServer(Server):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2])

    # The handshake is made by the thread of the connection.
    def finish_request(self, connection, address):
        super().finish_request(self.context.wrap_socket(connection, server_side=True), address)

class LocalServer(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

servers = [Server(("127.0.0.1", 0), Handler), SecureServer(("127.0.0.1", 0), Handler), LocalServer(sys.argv[3], Handler)]
for server in servers[1:]:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(servers[0].server_address[1], servers[1].server_address[1], flush=True)
servers[0].serve_forever()
PYTHON
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$folder/ws.key" -out "$folder/ws.pem" \
    -subj '/CN=talker' -addext 'subjectAltName=IP:127.0.0.1,DNS:localhost' -days 2 2>/dev/null
cat "$folder/ws.pem" "$folder/ws.key" >"$folder/ws.both"
python3 "$folder/ws.py" "$folder/flooded" "$folder/ws.both" "$folder/ws.socket" >"$folder/ws.port" 2>/dev/null &
ws_server=$!
until [ -s "$folder/ws.port" ]; do sleep 0.05; done
read -r ws_port wss_port <"$folder/ws.port"
ws="ws://127.0.0.1:$ws_port"
wss="wss://127.0.0.1:$wss_port"

# Runs `trellis ws` with a standard input, and sets $out, $err and $status.
talk() { # INPUT ARGUMENT…
    printf '%b' "$1" | "$bin/trellis" ws "${@:2}" >"$folder/out" 2>"$folder/err"
    status=$?
    out=$(cat "$folder/out")
    err=$(cat "$folder/err")
}
talk 'one\ntwo\nthree' "$ws/echo"
check "ws: lines are messages" $'one\ntwo\nthree 0' "$out $status"
talk 'one\r\ntwo\n' "$ws/echo" --limit 2
check "ws: --limit" $'one\ntwo 0' "$out $status"
talk 'AP8=\n' "$ws/echo" --binary --limit 1
check "ws: --binary" 'AP8= 0' "$out $status"
talk '' "$ws/bytes" --limit 1
check "ws: bytes without --binary" 'AP8= 0' "$out $status"
talk 'not base64!\n' "$ws/echo" --binary --report json
check "ws: a line that is not Base64" "invalid_request 1" "$(report "r['error']['kind']") $status"
for code in 1000 1001 3000 1011; do
    talk '' "$ws/close/$code" --limit 9 --report json
    check "ws: closed with $code" "['first'] $code why True" \
        "$(report "[m['text'] for m in r['messages']]") $(report "r['close']['code']") $(report "r['close']['reason']") $(report "r['close']['clean']")"
    case $code in 1000 | 1001) wanted=0 ;; *) wanted=1 ;; esac
    check "ws: the status after $code" "$wanted" "$status"
done
talk '' "$ws/close/none" --limit 9 --report json
check "ws: closed without a code" "0 True ['first'] {'code': 1005, 'reason': '', 'clean': True} None" \
    "$status $(report "r['ok']") $(report "[m['text'] for m in r['messages']]") $(report "r['close']") $(report "r['error']")"
talk '' "$ws/close/none" --limit 9
check "ws: closed without a code: the messages" 'first 0' "$out $status"
# The server's Close frame, or its end, comes after the client's Close frame.
for code in 1000 1001 1008; do
    talk 'x\n' "$ws/answer/$code" --report json
    case $code in 1008) wanted="1 False websocket" ;; *) wanted="0 True None" ;; esac
    check "ws: $code is the answer to its own Close frame" "$wanted $code" \
        "$status $(report "r['ok']") $(report "r['error'] and r['error']['kind']") $(report "r['close']['code']")"
done
talk 'x\n' "$ws/answer/none" --report json
check "ws: the answer to its own Close frame has no code" "0 True None 1005" \
    "$status $(report "r['ok']") $(report "r['error']") $(report "r['close']['code']")"
for path in garbled ended; do
    talk 'x\n' "$ws/$path" --report json
    check "ws: $path after its own Close frame" "1 False websocket" "$status $(report "r['ok']") $(report "r['error'] and r['error']['kind']")"
done
talk '' "$ws/masked" --limit 1 --report json
check "ws: a broken frame" 'websocket 1' "$(report "r['error']['kind']") $status"
talk '' "$ws/cut" --limit 1 --report json
check "ws: a cut connection" "websocket 1006 False 1" \
    "$(report "r['error']['kind']") $(report "r['close']['code']") $(report "r['close']['clean']") $status"
# Nothing reads the messages before the server has received the Close frame.
"$bin/trellis" ws "$ws/flood" </dev/null 2>"$folder/err" | {
    until [ -e "$folder/flooded" ]; do sleep 0.05; done
    cat >/dev/null
}
status=${PIPESTATUS[0]}
check "ws: dropped messages" "1 1" "$(grep -c 'messages were dropped' "$folder/err") $status"
talk '' "$ws/deny" --report json
check "ws: a refusal" "unacceptable_status 403 $ws/deny 1" \
    "$(report "r['error']['kind']") $(report "r['status']") $(report "r['url']") $status"
talk 'x\n' "$ws/echo" --subprotocol a --subprotocol b --limit 1 --report json
check "ws: the report" "True $ws/echo 101 a 1 1" "$(report "r['ok']") $(report "r['url']") \
$(report "r['status']") $(report "r['subprotocol']") $(report "r['sent']") $(report "r['received']")"
talk '' "$ws/ask" --echo --report json
check "ws: --echo" "a question True 1" "$(report "r['close']['reason']") $(report "r['ok']") $(report "r['sent']")"
# The message cannot be sent back any more.
talk '' "$ws/both" --echo --report json
check "ws: --echo to a server that has closed" "0 1000 1 0" \
    "$status $(report "r['close']['code']") $(report "r['received']") $(report "r['sent']")"
talk '' "$ws/three" --echo --limit 1 --report json
check "ws: --echo counts a message that cannot be sent back" "0 1" "$status $(report "r['received']")"
talk '' "$ws/pinged" --ping 0.02 --limit 1
check "ws: --ping" 'pinged 0' "$out $status"
talk '0123456789\n' "$ws/echo" --max-message 10 --limit 1
check "ws: a message of --max-message" '0123456789 0' "$out $status"
talk '0123456789\n' "$ws/echo" --max-message 9 --limit 1 --report json
check "ws: a message above --max-message" "websocket 1 0 1" \
    "$(report "r['error']['kind']") $(report "r['error']['message'].count('9 bytes')") $(report "r['received']") $status"
talk 'x\n' "$wss/echo" --limit 1 --report json
check "ws: a server that is not trusted" 'untrusted 1' "$(report "r['error']['kind']") $status"
ws_pin=$(openssl x509 -in "$folder/ws.pem" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)
other_pin=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
for trusting in "--cacert $folder/ws.pem" "--insecure" "--insecure --tlsv1.3" "--cacert $folder/ws.pem --pin sha256//$ws_pin" \
    "--insecure --pin sha256//$ws_pin"; do
    # shellcheck disable=SC2086
    talk 'x\n' "$wss/echo" --limit 1 $trusting
    check "ws: ${trusting//$folder/…}" 'x 0' "$out $status"
done
talk 'x\n' "$wss/echo" --limit 1 --cacert "$folder/ws.pem" --pin "sha256//$other_pin" --report json
check "ws: a wrong pin" 'pin_mismatch 1' "$(report "r['error']['kind']") $status"
talk 'x\n' "$wss/echo" --limit 1 --cacert "$folder/ws.pem" --show-certificates
check "ws: --show-certificates" "x 0 1 1" \
    "$out $status $(grep -c '^0  subject  CN=talker$' "$folder/err") $(grep -cF "pin      sha256/$ws_pin" "$folder/err")"
talk '' "$wss/echo" --show-certificates
check "ws: the certificates of a server that is not trusted" "1 1" \
    "$status $(grep -c '(NOT TRUSTED; as the server has sent them):$' "$folder/err")"
talk 'x\n' "wss://localhost:$wss_port/echo" --limit 1 --cacert "$folder/ws.pem" --hsts "$folder/ws.hsts"
check "ws: --hsts is written" 'x 0 1' "$out $status $(grep -c '^localhost "2' "$folder/ws.hsts")"
talk 'x\n' "ws://localhost:$wss_port/echo" --limit 1 --cacert "$folder/ws.pem" --hsts "$folder/ws.hsts"
check "ws: --hsts turns ws into wss" 'x 0' "$out $status"
printf 'something else\n' >"$folder/ws.other"
talk 'x\n' "$ws/echo" --limit 1 --hsts "$folder/ws.other" --report json
check "ws: --hsts with a file of another kind" 'file 1 something else' "$(report "r['error']['kind']") $status $(cat "$folder/ws.other")"
for route in "--resolve far.invalid:$ws_port:127.0.0.1" "--connect-to far.invalid:$ws_port:127.0.0.1:$ws_port" \
    "--unix-socket $folder/ws.socket"; do
    # shellcheck disable=SC2086
    talk 'x\n' "ws://far.invalid:$ws_port/echo" --limit 1 $route
    check "ws: ${route%% *}" 'x 0' "$out $status"
done
talk 'x\n' "$ws/echo" --limit 1 --interface 127.0.0.1 -4
check "ws: --interface and -4" 'x 0' "$out $status"
talk 'x\n' "$ws/echo" --limit 1 -6 --report json
check "ws: -6" 1 "$status"
talk 'x\n' "$ws/echo" --limit 1 --proxy http://127.0.0.1:1 --report json
check "ws: --proxy" 'proxy 1' "$(report "r['error']['kind']") $status"
talk 'x\n' "$ws/echo" --limit 1 --proxy http://127.0.0.1:1 --no-proxy 127.0.0.1
check "ws: --no-proxy" 'x 0' "$out $status"
client ws "$ws/echo" --echo --deadline 0.3 --report json
check "ws: --deadline" "timeout_deadline 1" "$(report "r['error']['kind']") $status"
talk 'h\303\251llo\n' "$ws/echo" --text --limit 1
check "ws: --text" 'héllo 0' "$out $status"
talk 'h\303\251llo\n' "$ws/echo" --text --limit 1 --report json
check "ws: --text sends text" "[{'text': 'héllo'}]" "$(report "r['messages']")"
talk '' "$ws/bytes" --text --limit 1
check "ws: bytes with --text" 'AP8= 0' "$out $status"
talk '\377\n' "$ws/echo" --text --report json
check "ws: a line that is not UTF-8" "invalid_request 0 1" "$(report "r['error']['kind']") $(report "r['sent']") $status"
talk '' "$ws/ask" --binary --limit 1
check "ws: text with --binary" 'YSBxdWVzdGlvbg== 0' "$out $status"
talk 'AP8=\n' "$ws/echo" --binary --limit 1 --report json
check "ws: --binary sends bytes" "[{'base64': 'AP8='}]" "$(report "r['messages']")"
talk 'x\n' "$ws/deflate" --limit 1 --report json
check "ws: compression" "permessage-deflate; server_no_context_takeover [{'text': 'x'}]" "$(report "r['extensions']") $(report "r['messages']")"
talk 'x\n' "$ws/deflate" --limit 1 --no-compression --report json
check "ws: --no-compression" " [{'text': 'x'}]" "$(report "r['extensions']") $(report "r['messages']")"
talk '' "$ws/fields" --limit 1 -H 'X-Test: one' --header 'X-Other:  two '
check "ws: -H" 'one two 0' "$out $status"
talk '' "$ws/pinged" --ping 0.02 --limit 1 --report json
check "ws: the latency" True "$(report "0 < r['latency_s'] < 60")"
check "ws: the metrics" True "$(report "sorted(r['metrics']) == sorted('queued_s dns_s connect_s tls_s first_byte_s total_s \
bytes_sent bytes_received reused_connection'.split()) and 0 < r['metrics']['first_byte_s'] <= r['metrics']['total_s']")"
check "ws: the names of the report" True "$(report "sorted(r) == sorted('ok url status subprotocol extensions messages received sent \
close latency_s error metrics'.split())")"
talk '' "$ws/ask" --limit 1 --report json
check "ws: no latency without a ping" None "$(report "r['latency_s']")"
# Ctrl-C, while standard input is open.
mkfifo "$folder/ws.input"
exec {ws_input}<>"$folder/ws.input"
interrupt_talk() { # ARGUMENT…
    rm -f "$folder/flooded.asked" "$folder/flooded.code"
    "$bin/trellis" ws "$@" <"$folder/ws.input" >"$folder/out" 2>"$folder/err" &
    local talker=$!
    until [ -e "$folder/flooded.asked" ]; do sleep 0.05; done
    if [ -n "${wanted_line:-}" ]; then
        echo "$wanted_line" >&"$ws_input"
        until grep -q "$wanted_line" "$folder/out"; do sleep 0.05; done
    fi
    kill -INT "$talker"
    wait "$talker"
    status=$?
    code=$(cat "$folder/flooded.code" 2>/dev/null)
}
wanted_line=before interrupt_talk "$ws/noted"
check "ws: Ctrl-C closes" '130 1000 before' "$status $code $(cat "$folder/out")"
wanted_line=before interrupt_talk "$ws/deaf"
check "ws: Ctrl-C and a server that does not answer" '130 1000' "$status $code"
interrupt_talk "$ws/silent" --report json
check "ws: Ctrl-C in the handshake" 130 "$status"
exec {ws_input}>&-
# On a terminal: lines are messages as they are entered, Ctrl-D ends the input, and Ctrl-C closes. The terminal does not echo, so that it
# shows only the messages.
cat >"$folder/ws-terminal.py" <<'PYTHON'
import os, pty, sys, termios
end, program = sys.argv[1], sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0: os.execv(program[0], program)
settings = termios.tcgetattr(terminal)
settings[3] &= ~termios.ECHO
termios.tcsetattr(terminal, termios.TCSANOW, settings)
shown = b""
def lines(): return [line for line in shown.split(b"\r\n") if line and b"no version information available" not in line]
try:
    for line in (b"one", "zwei ü".encode()):
        os.write(terminal, line + b"\n")
        while line not in lines(): shown += os.read(terminal, 65536)
    os.write(terminal, end.encode())
    while more := os.read(terminal, 65536): shown += more
except OSError: pass
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), [line.decode() for line in lines()])
PYTHON
# Runs `trellis ws` on a terminal, and prints the exit status and the lines that the terminal shows.
on_terminal() { # LAST-KEY ARGUMENT…
    timeout 30 python3 "$folder/ws-terminal.py" "$1" "$bin/trellis" ws "${@:2}"
}
check "ws: a terminal and Ctrl-D" "0 ['one', 'zwei ü']" "$(on_terminal $'\x04' "$ws/echo")"
rm -f "$folder/flooded.code"
check "ws: a terminal and Ctrl-C" "130 ['one', 'zwei ü']" "$(on_terminal $'\x03' "$ws/noted")"
check "ws: the code after Ctrl-C on a terminal" 1000 "$(cat "$folder/flooded.code" 2>/dev/null)"
expect_usage_error ws
expect_usage_error ws "$ws/echo" --text --binary
expect_usage_error ws "$ws/echo" --json x
expect_usage_error ws "$ws/echo" --limit 0
expect_usage_error ws "$ws/echo" -H 'No colon'
expect_usage_error ws "$ws/echo" --ping 1e300
expect_usage_error ws "$ws/echo" --ping -1
expect_usage_error ws "$ws/echo" --deadline 1e300
expect_usage_error ws "$ws/echo" --deadline 0
expect_usage_error ws "$ws/echo" --max-message 0
expect_usage_error ws "$ws/echo" --pin sha256//AAAA
expect_usage_reason "--pin goes with wss URLs" ws "$ws/echo" --pin "sha256//$other_pin"
expect_usage_reason "--deadline must be more than 0" ws "$ws/echo" --deadline 0
expect_usage_reason "--ping cannot be negative" ws "$ws/echo" --ping -1
expect_usage_reason "--proxy: " ws "$ws/echo" --proxy ftp://x
expect_usage_reason "See 'trellis ws --help'" ws "$ws/echo" --nope
expect_usage_error ws "$ws/echo" --key a
expect_usage_error ws "$ws/echo" --resolve a:80
expect_usage_error ws "$ws/echo" --alt-svc a
kill "$ws_server"
wait "$ws_server" 2>/dev/null

# --- Recordings

har=$folder/run.har
# Prints the value of a Python expression over the entries e of the recording, or the reason why the file is not HAR 1.2.
recorded() { PYTHONDONTWRITEBYTECODE=1 python3 "$here/Tests/har.py" "$har" "$1" 2>&1; }
# Runs the client with a recording, and compares the value of an expression over its entries, and the exit status.
expect_recording() { # NAME EXPRESSION WANTED STATUS ARGUMENT…
    local name=$1 expression=$2 wanted=$3 wanted_status=$4
    shift 4
    rm -f "$har"
    client "$@" --har "$har"
    check "$name" "$wanted" "$(recorded "$expression")"
    check "$name: exit status" "$wanted_status" "$status"
}

expect_recording "a recording" \
    "[(x['request']['method'], x['request']['url'].replace('$url', ''), x['response']['status'], x['_attempt'], x['serverIPAddress']) for x in e]" \
    "[('GET', '/', 200, 1, '127.0.0.1')]" 0 "$url/"
check "its body" "['hello world', 11, 'text/plain; charset=utf-8']" \
    "$(recorded "[e[0]['response']['content'][name] for name in ('text', 'size', 'mimeType')]")"
check "the client's output is as without it" 'hello world' "$out"
check "only its user may read it" 600 "$(stat -c %a "$har")"
expect_recording "a redirect, hop by hop" \
    "[(x['request']['url'].replace('$url', ''), x['response']['status'], x['response']['redirectURL']) for x in e]" \
    "[('/redirect/2', 302, '../redirect/1'), ('/redirect/1', 302, '/request'), ('/request', 200, '')]" 0 "$url/redirect/2"
check "a connection that is kept" "[True, -1, True]" \
    "$(recorded "[e[0]['connection'] == e[2]['connection'], e[2]['timings']['connect'], e[0]['timings']['connect'] >= 0]")"
expect_recording "retries" "[(x['_attempt'], x['response']['status'], x['_callID'] == e[0]['_callID']) for x in e]" \
    "[(1, 503, True), (2, 503, True), (3, 200, True)]" 0 "$url/flaky/2?recorded" --retries 2
expect_recording "a response that is cut short" \
    "[(x['response']['status'], 'cut short' in x['response']['_error'], x['response']['content']['text']) for x in e]" \
    "[(200, True, 'only this')]" 1 "$url/cut"
expect_recording "a server that is not there" "[(x['response']['status'], 'no connection' in x['response']['_error']) for x in e]" \
    "[(0, True)]" 1 http://127.0.0.1:1/
secret_options=(-H 'Authorization: Bearer s3cret' -H 'Cookie: a=s3cret' --form user=ann --form password=s3cret)
expect_recording "no secrets" \
    "['s3cret' in json.dumps(e), e[0]['request']['postData']['text'], e[0]['request']['cookies'], e[0]['request']['queryString']]" \
    "[False, 'user=ann&password=REDACTED', [{'name': 'a', 'value': 'REDACTED'}], [{'name': 'token', 'value': 'REDACTED'}]]" 0 \
    "$url/status/200?token=s3cret" "${secret_options[@]}" --user ann:s3cret
expect_recording "no secret parts of a form" "['s3cret' in json.dumps(e), e[0]['request']['postData']['text'].count('REDACTED')]" \
    "[False, 1]" 0 "$url/status/200" --part user=ann --part password=s3cret
expect_recording "no secrets of a compressed body" "[e[0]['request']['postData']['text']]" "['{\"password\":\"REDACTED\"}']" 0 \
    "$url/status/200" --compress --json '{"password":"s3cret"}'
expect_recording "secrets that are asked for" "json.dumps(e).count('s3cret') > 4" True 0 \
    "$url/status/200?token=s3cret" "${secret_options[@]}" --show-secrets
expect_recording "bytes" "[e[0]['response']['content']['encoding'], __import__('base64').b64decode(e[0]['response']['content']['text']) == bytes(range(256))]" \
    "['base64', True]" 0 "$url/binary"
expect_recording "a long body" "[e[0]['response']['content']['size'], len(e[0]['response']['content']['text'])]" "[3000000, 1048576]" 0 \
    "$url/bytes/3000000"
expect_recording "events" "[x['response']['status'] for x in e]" "[200, 200]" 0 "$url/events" --stream sse --limit 2
rm -f "$folder/recorded"
expect_recording "a file" "[(x['response']['status'], x['response']['content']['size']) for x in e]" "[(200, 11)]" 0 "$url/" -o "$folder/recorded"
expect_recording "a file in pieces" "[e[0]['response']['status'], {x['response']['status'] for x in e[1:]}]" "[200, {206}]" 0 \
    "$url/ranges/1000000/cut-3" -o "$folder/recorded"
expect_recording "several files" "sorted(x['response']['content']['size'] for x in e)" "[1000, 2000]" 0 \
    "$url/bytes/1000" "$url/bytes/2000" -o "$folder/recorded-files/"
"$bin/trellis" "$url/stuck" --har "$har" >"$folder/out" 2>"$folder/err" &
sleep 0.5
kill -INT $!
wait $!
check "a recording after Ctrl-C" "130 [(200, 'cancelled', 'only this')]" \
    "$? $(recorded "[(x['response']['status'], x['response']['_error'], x['response']['content']['text']) for x in e]")"
"$bin/trellis" "$url/slow-lines/900" "$url/bytes/1000" -o "$folder/recorded-more/" --har "$har" 2>"$folder/err" &
until [ -e "$folder/recorded-more/1000" ]; do sleep 0.05; done
until [ "$(recorded 'len(e)')" = 1 ]; do sleep 0.05; done
kill -KILL $!
wait $! 2>/dev/null
check "a recording after a kill" "[1000]" "$(recorded "[x['response']['content']['size'] for x in e]")"
expect_report "a recording that cannot be written" "[r['error']['kind'], r['status']]" "['file', None]" 1 "$url/" --har "$folder/none/run.har"
check "a recording that cannot be written: its name" 1 "$(grep -cF "the recording $folder/none/run.har cannot be written: " "$folder/err")"
expect_usage_error "$url/" --har ''
expect_usage_error "$url/" --har "$har" --curl

# --- The gateway

# Runs the checks of a program that prints a line for each: the name, the wanted and the actual value.
while IFS=$'\t' read -r name wanted got; do
    check "$name" "$wanted" "$got"
done < <(PYTHONDONTWRITEBYTECODE=1 python3 "$here/Tests/gateway.py" "$bin/trellis" "$folder" || printf 'gateway: its checks run to their end\tyes\tno\n')
at=(gateway --listen 127.0.0.1:0)
for arguments in "--listen 127.0.0.1:0" "--origin $url" "--listen 1 --origin $url" "--listen a:b --origin $url" "--listen :80 --origin $url" \
    "--listen ::1:80 --origin $url" "--listen a:70000 --origin $url"; do
    # shellcheck disable=SC2086
    expect_usage_error gateway $arguments
done
for argument in '' a.example //a.example ftp://a.example http:// http://a.example/b http://a.example? http://a.example# http://u@a.example \
    http://a.example:b; do
    expect_usage_error "${at[@]}" --origin "$argument"
done
for arguments in --private '--targeted A' '--cache=' '--cache memory --targeted A(' '--cache memory --targeted A,,B' '--drain 0' \
    '--idle-timeout -1' '--connect-timeout x' '--client-timeout 0' '--keep-alive 0' extra; do
    # shellcheck disable=SC2086
    expect_usage_error "${at[@]}" --origin "$url" $arguments
done
expect_usage_reason "it does not have the form HOST:PORT" gateway --listen 1 --origin "$url"
expect_usage_reason "its port is not a number from 0 to 65535" gateway --listen a:b --origin "$url"
expect_usage_reason "an IPv6 address is put in brackets" gateway --listen ::1:80 --origin "$url"
expect_usage_reason "with a host, and perhaps a port, alone" "${at[@]}" --origin a.example
expect_usage_reason "'A(' cannot be the name of a field" "${at[@]}" --origin "$url" --cache memory --targeted 'A('
expect_usage_reason "--idle-timeout must be more than 0" "${at[@]}" --origin "$url" --idle-timeout -1
expect_usage_reason "See 'trellis gateway --help'" gateway --listen 127.0.0.1:0 --origin http://localhost:1 --nope
client gateway --listen "127.0.0.1:${url##*:}" --origin "$url"
check "gateway: a port in use" "1 trellis: cannot listen on 127.0.0.1:${url##*:}: address already in use" "$status $err"
: >"$folder/no-folder"
"$bin/trellis" gateway --listen 127.0.0.1:0 --origin "$url" --verbose --cache "$folder/no-folder" 2>"$folder/gateway.err" &
gateway=$!
until grep -q '^listening on ' "$folder/gateway.err"; do sleep 0.05; done
client "http://127.0.0.1:$(sed -n 's/^listening on .*://p' "$folder/gateway.err")/status/404?a"
kill "$gateway"
wait "$gateway"
check "gateway: --verbose" "0 1" "$? $(grep -cE '^GET /status/404\?a 404 [0-9]+ ms$' "$folder/gateway.err")"
check "gateway: a cache that cannot be used" 1 "$(grep -cF "the cache in $folder/no-folder cannot be used: " "$folder/gateway.err")"
client gateway --help
check "gateway --help" "0 1" "$status $(grep -c '^USAGE: trellis gateway --listen' <<<"$out")"
client --help
check "--help names the gateway" 1 "$(grep -c 'trellis gateway --listen' <<<"$out")"

# --- The services

while IFS=$'\t' read -r name wanted got; do
    check "$name" "$wanted" "$got"
done < <(PYTHONDONTWRITEBYTECODE=1 python3 "$here/Tests/services.py" "$bin" || printf 'services: their checks run to their end\tyes\tno\n')

# --- The gateway and HTTP/2

peers=${TRELLIS_TEST_PYTHON:-$("$here/../.scripts/python-peers.sh" | tail -1)}
while IFS=$'\t' read -r name wanted got; do
    check "$name" "$wanted" "$got"
done < <(PYTHONDONTWRITEBYTECODE=1 "$peers" "$here/Tests/gateway_http2.py" "$bin/trellis" || printf 'gateway: its checks run to their end\tyes\tno\n')
expect_usage_error gateway --listen 127.0.0.1:0 --origin "$url" --http 4

# --- A chain of three certificates

# The root has signed the intermediate, and the intermediate the leaf. The server also sends a certificate that has nothing to do with them.
chain=$folder/chain
mkdir "$chain"
for name in root stranger; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$chain/$name.key" -out "$chain/$name.pem" \
        -subj "/CN=$name" -days 2 2>/dev/null
done
sign() { # NAME ISSUER EXTENSION
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$chain/$1.key" -subj "/CN=$1" 2>/dev/null |
        openssl x509 -req -CA "$chain/$2.pem" -CAkey "$chain/$2.key" -days 2 -extfile <(echo "$3") -out "$chain/$1.pem" 2>/dev/null
}
sign intermediate root 'basicConstraints=critical,CA:TRUE,pathlen:0'
sign leaf intermediate 'subjectAltName=IP:127.0.0.1'
pin_of() { # NAME
    openssl x509 -in "$chain/$1.pem" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
}
cat "$chain/intermediate.pem" "$chain/stranger.pem" >"$chain/sent.pem"
: >"$chain/out"
openssl s_server -accept 127.0.0.1:0 -cert "$chain/leaf.pem" -key "$chain/leaf.key" -cert_chain "$chain/sent.pem" -www \
    >"$chain/out" 2>/dev/null </dev/null &
chain_server=$!
until grep -q ^ACCEPT "$chain/out"; do sleep 0.05; done
chained=https://127.0.0.1:$(sed -n 's/^ACCEPT .*://p' "$chain/out")
with_root=(--cacert "$chain/root.pem")
# Prints the subjects and the pins of the certificates on standard error, in order.
shown() { sed -nE 's/^[0-9]+  subject  CN=//p; s/^   pin      //p' "$folder/err" | xargs; }
three=$(for name in leaf intermediate root; do echo "$name sha256/$(pin_of $name)"; done | xargs)

for name in leaf intermediate root; do
    client "$chained" "${with_root[@]}" --pin "sha256//$(pin_of $name)"
    check "the pin of the $name" 0 "$status"
done
expect_report "the pin of a certificate that was merely sent" "[r['error']['kind'], r['error']['retryable'], r['status']]" \
    "['pin_mismatch', False, None]" 1 "$chained" "${with_root[@]}" --pin "sha256//$(pin_of stranger)"
check "the error names the three pins of the chain, and not that one" "3 1" \
    "$(for name in leaf intermediate root; do grep -oF "sha256/$(pin_of $name)" "$folder/err"; done | sort -u | wc -l) $(
        grep -oF "sha256/$(pin_of stranger)" "$folder/err" | wc -l)"
client "$chained" "${with_root[@]}" --pin "sha256//$(pin_of stranger);sha256//$(pin_of root)"
check "one good pin is enough" 0 "$status"
client "$chained" "${with_root[@]}" --show-certificates
check "three certificates with their pins, in order" "0 $three" "$status $(shown)"
check "they are validated" 1 "$(grep -c '^Certificates of 127.0.0.1 (validated):$' "$folder/err")"
client "$chained" "${with_root[@]}" --show-certificates --pin "sha256//$(pin_of stranger)"
check "three certificates of a server whose pins are others" "1 $three" "$status $(shown)"
client "$chained" --show-certificates
check "as the server has sent them" "1 leaf sha256/$(pin_of leaf) intermediate sha256/$(pin_of intermediate) stranger sha256/$(pin_of stranger)" \
    "$status $(shown)"
# Without verification, there is no chain, and only the server has shown that it has a key.
for name in leaf:0 intermediate:1 root:1 stranger:1; do
    client "$chained" --insecure --pin "sha256//$(pin_of ${name%:*})"
    check "the pin of the ${name%:*} without verification" "${name#*:}" "$status"
done
# A chain may end with a trusted intermediate.
expect_report "the pin of a root that is not in the chain" "r['error']['kind']" pin_mismatch 1 \
    "$chained" --cacert "$chain/intermediate.pem" --pin "sha256//$(pin_of root)"
client "$chained" --cacert "$chain/intermediate.pem" --show-certificates
check "its two certificates" "0 leaf sha256/$(pin_of leaf) intermediate sha256/$(pin_of intermediate)" "$status $(shown)"
kill "$chain_server"
wait "$chain_server" 2>/dev/null

# ---

check "nothing is written here" "$tree_before" "$(tree)"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
