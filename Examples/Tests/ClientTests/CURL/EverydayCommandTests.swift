import CURLSyntax
import Foundation
import Testing

/// Commands that were written for curl, as people type them.
@Suite(.timeLimit(.minutes(60))) struct EverydayCommandTests {
    /// The arguments, in which U is the URL of the server and F a file that contains `a b`, and lines that the output has.
    private static let commands: [(String, [String])] = [
        ("-s U/request", ["GET /request"]), ("-sS U/request", ["GET /request"]), ("-L U/redirect/1", ["GET /request"]),
        ("-k U/request", ["GET /request"]), ("-i U/request", ["HTTP/1.1 200 OK\r"]),
        ("-I U/request", ["HTTP/1.1 200 OK\r"]),
        ("-XPOST U/request", ["POST /request"]), ("-X DELETE U/request", ["DELETE /request"]),
        ("--request PUT --url U/request", ["PUT /request"]), ("-Hx-a:1 U/request", ["x-a: 1"]),
        ("-H X-A;  U/request", ["X-A: "]), ("-A me U/request", ["User-Agent: me"]),
        ("--user-agent me U/request", ["User-Agent: me"]), ("-e http://a/ U/request", ["Referer: http://a/"]),
        ("-b a=1 U/request", ["Cookie: a=1"]), ("--cookie a=1 -b b=2 U/request", ["Cookie: a=1; b=2"]),
        ("-u ada:pw U/request", ["Authorization: Basic YWRhOnB3"]),
        ("-uada:pw U/request", ["Authorization: Basic YWRhOnB3"]),
        ("--oauth2-bearer t U/request", ["Authorization: Bearer t"]), ("-d a=1 -d b=2 U/echo", ["a=1&b=2"]),
        ("-d a=1 U/request", ["POST /request", "Content-Type: application/x-www-form-urlencoded", "body: 3"]),
        ("-G -d a=1 -d b=2 U/request?c=3", ["GET /request?c=3&a=1&b=2"]),
        ("--get -da=1 U/request", ["GET /request?a=1"]),
        ("--data-raw @x U/echo", ["@x"]), ("--data-binary @F U/echo", ["a b"]), ("-d @F -d c U/echo", ["a b&c"]),
        ("--data-urlencode n@F U/echo", ["n=a%20b"]), ("--data-urlencode n=ü U/echo", ["n=%C3%BC"]),
        ("-F a=1 U/echo", ["Content-Disposition: form-data; name=\"a\"\r", "1\r"]),
        ("-F a=@F;type=x/y U/echo", ["Content-Type: x/y\r"]),
        ("-F a=1;type=x/y U/echo", ["Content-Type: x/y\r", "1\r"]), ("--form-string a=@F U/echo", ["@F\r"]),
        ("-T F U/request", ["PUT /request", "body: 3"]), ("-T F U/request/", ["PUT /request/file"]),
        ("--compressed U/request", ["GET /request"]), ("-m 60 U/request", ["GET /request"]),
        ("--max-time 60 --retry 2 U/request", ["GET /request"]), ("-f U/request", ["GET /request"]),
        ("--fail-with-body U/request", ["GET /request"]), ("-N -g -# -q -Z U/request", ["GET /request"]),
        ("-0 U/request", ["GET /request"]), ("--http1.1 U/request", ["GET /request"]),
        ("--http2 U/request", ["GET /request"]),
        ("--path-as-is U/request/../x#f", ["GET /request/../x"]),
        ("--url-query a=b&c U/request", ["GET /request?a=b%26c"]),
        ("--url-query x&y U/request?q=1#f", ["GET /request?q=1&x%26y"]),
        ("--url-query +a=%20&b U/request", ["GET /request?a=%20&b"]),
        ("--url-query a@F --query z=1 U/request", ["GET /request?a=a%20b&z=1"]),
        ("-Y 1 -y 60 --fail-early U/request", ["GET /request"]), ("-r 0-3 U/request", ["Range: bytes=0-3"]),
        ("-x http://127.0.0.1:1 --noproxy * U/request", ["GET /request"]),
        ("--limit-rate 1M U/request", ["GET /request"]), ("--max-redirs 5 U/redirect/2", ["GET /request"]),
        ("-w %{http_code}\\n U/", ["hello world200"]), ("-w \\n%{size_upload}\\n -d a=1 U/", ["3"]),
        ("-D - U/request", ["HTTP/1.1 200 OK\r"]),
        ("-sSLf -o - U/request", ["GET /request"]), ("--tlsv1.2 U/request", ["GET /request"]),
    ]

    @Test(arguments: commands) func aCommandOfCurlWorks(_ command: String, _ wanted: [String]) async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("a b", to: "file")
        let arguments = command.split(separator: " ").map { word in
            if word.hasPrefix("U/") { return url + word.dropFirst() }
            return word.replacingOccurrences(of: "@F", with: "@\(file)").replacingOccurrences(
                of: "^F$", with: file, options: .regularExpression)
        }
        let run = try await client(arguments)
        #expect(run.status == 0, "\(arguments): \(run.errors)")
        for line in wanted.map({ $0.replacingOccurrences(of: "@F", with: "@\(file)") }) {
            #expect(run.lines.contains(line), "\(arguments): no '\(line)' in \(run.text)")
        }
    }

    @Test func theTableKnowsTheOptionsOfTheParser() async throws {
        let help = try JSON(parsing: try await client(["--experimental-dump-help"]).output)
        let names = help["command"]["arguments"].elements.flatMap { argument in
            argument["names"].elements.filter { $0["kind"] == "long" }.map { $0["name"].text }
        }
        #expect(names.count > 60)
        for name in names {
            // Whatever else is wrong with it, the option is known.
            let failure = #expect(throws: UsageFailure.self) {
                _ = try ArgumentTranslator.translate(["--\(name)=x", "--no-such-option"])
            }
            #expect(failure?.description.contains("Unknown option '--\(name)'") == false)
        }
    }

    @Test func theRemoteNameIsThatOfTheURL() async throws {
        let folder = try TemporaryFolder()
        #expect(try await client(["-sO", "\(url)/bytes/10"], in: folder).status == 0)
        let nested = try await client(["-O", "--output-dir", "a/b", "--create-dirs", "\(url)/bytes/11"], in: folder)
        #expect(nested.status == 0, "\(nested.errors)")
        #expect(try folder.names() == ["10", "a"])
        #expect(try folder.data(of: "a/b/11").count == 11)
    }

    @Test func cookiesOfAFileAreReadAlone() async throws {
        let folder = try TemporaryFolder()
        let text = "# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\n"
        try folder.write(text, to: "read")
        let run = try await client(["\(url)/cookies", "-b", "read"], in: folder)
        #expect(run.status == 0)
        #expect(try folder.text(of: "read") == text)
        let shown = try await client(["\(url)/request", "-b", "read", "-c", "kept"], in: folder)
        #expect(shown.lines.starting(with: "Cookie") == ["Cookie: a=1"], "\(shown.text)")
    }

    @Test func cookiesArePrintedAtTheEnd() async throws {
        let run = try await client(["-s", "\(url)/cookies", "-c", "-"])
        #expect(run.status == 0 && run.lines.first == "GET /cookies")
        #expect(run.lines.contains("#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t1"), "\(run.text)")
    }

    /// No file of the user's takes the place of the one that is printed and removed.
    @Test func cookiesThatCannotBePrintedAreAFailure() async throws {
        let folder = try TemporaryFolder()
        try folder.write("mine", to: "cookies")
        let run = try await client(
            ["\(url)/cookies", "-c", "-"], environment: ["TMPDIR": folder["missing"]], in: folder)
        #expect(run.status == 23 && run.errors.contains("TMPDIR"), "\(run.errors)")
        #expect(try folder.text(of: "cookies") == "mine" && folder.names() == ["cookies"])
    }

    /// As in `curl --proto '=https' --tlsv1.2 -sSf https://… | sh`.
    @Test func aSchemeMayBeRefused() async throws {
        for schemes in ["=https", "-http", "=https,ftp", "-all,https"] {
            let run = try await client(["--proto", schemes, "-sSf", "\(url)/"])
            #expect(run.status == 1 && run.text == "" && run.errors.contains("--proto"), "\(schemes): \(run.errors)")
        }
        for schemes in ["=http", "http", "=http,https", "-https", "+ftp"] {
            #expect(try await client(["--proto", schemes, "\(url)/"]).text == "hello world", "\(schemes)")
        }
        try await expectUsageError(["--proto", "=ftp", "\(url)/"], saying: "it leaves no scheme")
        for schemes in [" =https", "=", "http, -https"] {
            try await expectUsageError(["--proto", schemes, "\(url)/"], saying: "is no scheme behind =, + or -")
        }
    }

    @Test func messagesGoToAFile() async throws {
        let folder = try TemporaryFolder()
        let run = try await client(["--stderr", "messages", "-v", "\(url)/"], in: folder)
        #expect(run.text == "hello world" && run.errors == "")
        #expect(try folder.text(of: "messages").contains("> GET / HTTP/1.1"))
        let missing = try await client(["--stderr", "no/such/file", "\(url)/"])
        #expect(missing.text == "hello world" && missing.errors == "trellis: no/such/file: No such file or directory\n")
        #expect(try await client(["--stderr", "-", "-v", "\(url)/"]).text.contains("> GET / HTTP/1.1"))
    }

    @Test func theNetrcHasThePassword() async throws {
        let folder = try TemporaryFolder()
        try folder.write("machine 127.0.0.1 login ada password pw\n", to: ".netrc")
        let given = try await client(["\(url)/request", "--netrc-file", ".netrc"], in: folder)
        #expect(given.lines.contains("Authorization: Basic YWRhOnB3"))
        for own in ["eve:own", "eve:"] {
            let run = try await client(["\(url)/request", "--netrc-file", ".netrc", "-u", own], in: folder)
            let sent = "Authorization: Basic \(Data(own.utf8).base64EncodedString())"
            #expect(run.lines.starting(with: "Authorization") == [sent], "that of the command line is the first")
        }
        let usual = try await client(["\(url)/request", "-n"], environment: ["HOME": folder.path], in: folder)
        #expect(usual.lines.contains("Authorization: Basic YWRhOnB3"))
    }

    @Test func anOptionsFileIsRead() async throws {
        let folder = try TemporaryFolder()
        try folder.write("url = \"\(url)/request\"\nheader = \"X-A: 1\"\n-XPUT\n", to: "options")
        let run = try await client(["-K", "options"], in: folder)
        #expect(run.lines.starting(with: "PUT", "X-A") == ["PUT /request", "X-A: 1"])
    }

    @Test func aFieldIsLeftOut() async throws {
        let run = try await client([
            "\(url)/request", "-H", "User-Agent:", "-H", "Accept:", "-H", "Accept-Encoding:", "-A", "",
        ])
        #expect(run.lines.starting(with: "User-Agent", "Accept") == [])
        let typed = try await client(["\(url)/request", "-H", "Content-Type:", "-d", "x"])
        #expect(typed.lines.starting(with: "Content-Type") == [])
    }

    @Test func fieldsComeFromAFile() async throws {
        let folder = try TemporaryFolder()
        try folder.write("X-A: 1\n\nX-B: 2\n", to: "fields")
        let run = try await client(["\(url)/request", "-H", "@fields"], in: folder)
        #expect(run.lines.starting(with: "X-") == ["X-A: 1", "X-B: 2"])
    }

    @Test func aHostWithoutASchemeIsHTTP() async throws {
        let port = url.split(separator: ":").last ?? ""
        for host in ["127.0.0.1:\(port)/request", "localhost:\(port)/request", ":\(port)/request"] {
            #expect(try await client([host, "-4"]).lines.first == "GET /request", "\(host)")
        }
        #expect(try await client(["post", ":\(port)/request", "-4"]).lines.first == "POST /request")
    }

    @Test func aPipeIsTheBodyOfAMethodThatNeedsOne() async throws {
        for method in [["POST"], ["PUT"], ["patch"], ["-X", "POST"], ["-XPUT"], ["--request", "PATCH"]] {
            #expect(try await client(method + ["\(url)/echo"], input: "piped").text == "piped", "\(method)")
        }
        for arguments in [
            ["\(url)/request"], ["GET", "\(url)/request"], ["DELETE", "\(url)/request"],
            ["-XDELETE", "\(url)/request"],
            ["POST", "\(url)/request", "--no-stdin"], ["-XPOST", "\(url)/request", "--no-stdin"],
            ["--from-curl", "curl -X POST \(url)/request"],
        ] {
            #expect(try await client(arguments, input: "piped").lines.contains("body: 0"), "\(arguments)")
        }
        #expect(try await client(["POST", "\(url)/echo", "-d", "own"], input: "piped").text == "own")
    }

    @Test func anEmptyPipeIsNoBody() async throws {
        let run = try await client(["POST", "\(url)/request"], input: "")
        #expect(run.lines.starting(with: "Content-Length", "Transfer-Encoding") == ["Content-Length: 0"], "\(run.text)")
    }

    @Test func aPipeCannotBeSentTwice() async throws {
        let arguments = ["-X", "POST", "\(url)/request", "--repeat", "2"]
        let run = try await client(arguments, input: "piped")
        #expect(run.status == 1 && run.errors.contains("(--no-stdin sends none)"), "\(run.errors)")
        #expect(try await client(arguments + ["--no-stdin"], input: "piped").text.contains("2 × 200"))
    }

    @Test func aBodyThatDoesNotComeIsNamed() async throws {
        let run = try start(["-X", "POST", "\(url)/echo"], input: .open)
        try await run.says("waiting for the body on standard input (--no-stdin sends none)")
        run.write("late")
        run.closeInput()
        #expect(try await run.ended().text == "late")
    }

    /// The URLs are the input of the loop, and no request takes them away.
    @Test func aLoopKeepsItsInput() async throws {
        let run = try await shell(
            #"printf '%s\n' "$1" "$1" | while read -r url; do "$trellis" -s "$url"; done"#, ["\(url)/"])
        #expect(run.text == "hello worldhello world")
        let posts = try await shell(
            #"printf '%s\n' a b | while read -r name; do "$trellis" -s --no-stdin -X POST "$1/request?$name"; done"#,
            [url])
        #expect(posts.lines.starting(with: "POST") == ["POST /request?a", "POST /request?b"])
    }

    @Test func closedDescriptorsDoNoHarm() async throws {
        for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
            let run = try await shell(#""$trellis" "$1" \#(closed); echo "status $?""#, ["\(url)/"])
            #expect(run.lines.last?.hasSuffix("status 0") == true, "\(closed): \(run.text) \(run.errors)")
        }
    }

    @Test func aTerminalIsAskedForThePassword() async throws {
        let command = [Programs.trellis, "\(url)/request", "-u", "ada"]
        for keys in [#"pw\n"#, #"px\x7fw\n"#, #"other\x15pw\r"#] {
            let run = try await python("password_terminal.py", [keys] + command)
            #expect(run.report["shown"].text.contains("Authorization: Basic YWRhOnB3"), "\(keys): \(run.text)")
            #expect(!run.report["shown"].text.contains("pw") && run.report["status"] == 0)
        }
        // Ctrl-C is no character of the password.
        let ended = try await python("password_terminal.py", [#"pw\x03"#] + command)
        #expect(ended.report["status"] == 130 && !ended.report["shown"].text.contains("GET"), "\(ended.text)")
        let asked = try await client(["\(url)/request", "-u", "ada"])
        #expect(asked.lines.contains("Authorization: Basic YWRhOg=="), "nobody is there to answer")
        #expect(asked.errors.lines(with: "--user has no colon").count == 1)
    }

    @Test func aTerminalShowsTextInItsCharset() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(Data([0x68, 0xE9, 0x6C, 0x6C, 0x6F]), to: "latin")
        let type = "Content-Type: text/plain; charset=iso-8859-1"
        let run = try await python(
            "body_terminal.py", [Programs.trellis, "\(url)/typed", "-H", type, "-d", "@\(file)"])
        #expect(run.report.text.contains("héllo"), "\(run.text)")
        #expect(
            try await client(["\(url)/typed", "-H", type, "-d", "@\(file)"]).output
                == Data([0x68, 0xE9, 0x6C, 0x6C, 0x6F]))
    }

    /// The sentence is said once, about text that needs it.
    @Test(arguments: [("hé\nhé", "x-none", 1), ("hello", "x-none", 0), ("hé", "UTF-8", 0)])
    func aTerminalIsToldOfAnUnknownCharset(_ text: String, _ charset: String, _ count: Int) async throws {
        let type = "Content-Type: text/plain; charset=\(charset)"
        let command = [Programs.trellis, "\(url)/typed", "-H", type, "-d", text]
        let run = try await python("body_terminal.py", command)
        #expect(run.report.text.contains(text.prefix(2)), "\(run.text)")
        #expect(run.report.text.lines(with: "the charset 'x-none' is not known").count == count, "\(run.text)")
        let silent = try await python("body_terminal.py", command + ["-s"])
        #expect(silent.report.text.lines(with: "is not known") == [], "\(silent.text)")
    }
}
