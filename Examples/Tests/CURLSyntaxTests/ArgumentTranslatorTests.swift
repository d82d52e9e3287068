import CURLSyntax
import Foundation
import Testing

/// The translation of curl's spelling.
@Suite struct ArgumentTranslatorTests {
    @Test(arguments: [
        (["u"], ["--", "u"]),
        (["-XPOST", "u"], ["--method=POST", "--", "u"]),
        (["-X", "POST", "u"], ["--method=POST", "--", "u"]),
        (["--request", "POST", "--url", "u"], ["--method=POST", "--", "u"]),
        (["-Hname:v", "u"], ["--header=name:v", "--", "u"]),
        (["-sSL", "u"], ["--silent", "--show-error", "--", "u"]),
        (["-sXPUT", "u"], ["--silent", "--method=PUT", "--", "u"]),
        (["-uada:pw", "--digest", "u"], ["--user=ada:pw", "--auth=digest", "--", "u"]),
        (["--user", "-x", "u"], ["--user=-x", "--", "u"]),
        (["-kvi", "u"], ["--insecure", "--verbose", "--include", "--", "u"]),
        (["--proxy", "", "u"], ["--proxy", "", "--", "u"]),
        (["--proxy=", "u"], ["--proxy", "", "--", "u"]),
        (["-m", "5", "u"], ["--deadline=5", "--", "u"]), (["-m", "0", "u"], ["--", "u"]),
        (["-A", "", "u"], ["--header=User-Agent: ", "--", "u"]),
        (["-e", "http://a/;auto", "u"], ["--header=Referer: http://a/", "--", "u"]),
        (["-r", "0-9", "u"], ["--header=Range: bytes=0-9", "--", "u"]),
        (["-Y", "1", "u"], ["--idle-timeout=30", "--", "u"]), (["-y", "5", "u"], ["--idle-timeout=5", "--", "u"]),
        (["-s", "-Y1", "-y", "5", "u"], ["--idle-timeout=5", "--silent", "--", "u"]),
        (["-Y", "1", "--idle-timeout", "9", "u"], ["--idle-timeout=30", "--idle-timeout=9", "--", "u"]),
        (["-RO", "-z", "f", "http://h/f"], ["--remote-time", "--time-cond=f", "--output=./f", "--", "http://h/f"]),
        (["-0", "u"], ["--http=1.1", "--", "u"]), (["--http3", "u"], ["--http=3-preferred", "--", "u"]),
        (["-C", "-", "-o", "f", "u"], ["--resume", "--output=f", "--", "u"]),
        (["--", "-u", "u"], ["--", "-u", "u"]), (["-", "u"], ["--", "-", "u"]),
    ])
    func names(_ given: [String], _ wanted: [String]) throws {
        #expect(try ArgumentTranslator.translate(given) == wanted)
    }

    @Test(arguments: [
        (["-O", "http://h/a/b.iso?x=1"], "--output=./b.iso"), (["-O", "h/b"], "--output=./b"),
        (["-O", "http://h/"], "--output=./"), (["-O", "http://h"], "--output=./"),
        (["-O", "http://h/.."], "--output=./"),
        (["-OJ", "http://h/b"], "--output=./"), (["-O", "http://h/a", "http://h/b"], "--output=./"),
        (["-O", "--output-dir", "d", "http://h/a"], "--output=d/a"),
        (["-o", "f", "--output-dir", "d", "u"], "--output=d/f"),
        (["-o", "/f", "--output-dir", "d", "u"], "--output=/f"), (["-o", "-", "--output-dir", "d", "u"], "--output=-"),
        (["-O", "POST", "h/x"], "--output=./x"),
    ])
    func places(_ given: [String], _ wanted: String) throws {
        #expect(try ArgumentTranslator.translate(given).first { $0.hasPrefix("--output") } == wanted)
    }

    @Test func cookies() throws {
        let pairs = try ArgumentTranslator.translate(["-b", "a=1", "-b", "b=2", "u"])
        #expect(pairs == ["--header=Cookie: a=1; b=2", "--", "u"])
        let files = try ArgumentTranslator.translate(["-b", "jar", "-c", "jar", "u"])
        #expect(files == ["--cookie-jar=jar", "--cookie-file=jar", "--", "u"])
        #expect(try ArgumentTranslator.translate(["-b", "", "u"]) == ["--cookie-file", "", "--", "u"])
    }

    @Test(arguments: [
        ("a b", "a%20b"), ("=a=b", "a%3Db"), ("n=a&b", "n=a%26b"), ("n=ü~", "n=%C3%BC~"), ("n=", "n="),
        ("me@home=1&", "me@home=1%26"), ("@a=1", "@a=1"),
    ])
    func dataIsEncoded(_ given: String, _ wanted: String) throws {
        #expect(try ArgumentTranslator.translate(["--data-urlencode", given]) == ["--data=\u{0}\(wanted)"])
    }

    @Test func filesOfDataAreRead() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try Data("a b".utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try ArgumentTranslator.translate(["--data-urlencode", "n@\(path)"]) == ["--data=\u{0}n=a%20b"])
        #expect(try ArgumentTranslator.translate(["-F", "n=<\(path)"]) == ["--part=\u{0}n=a b"])
        #expect(
            try ArgumentTranslator.translate(["-F", "n=<\(path);type=text/x"]) == ["--part=\u{0}\u{0}n=a b;type=text/x"]
        )
    }

    @Test func partsAndRawData() throws {
        #expect(try ArgumentTranslator.translate(["-F", "a=@f;type=b"]) == ["--part=a=@f;type=b"])
        #expect(try ArgumentTranslator.translate(["-F", "a=x;type=b"]) == ["--part=\u{0}\u{0}a=x;type=b"])
        #expect(try ArgumentTranslator.translate(["-F", "a=x"]) == ["--part=\u{0}a=x"])
        #expect(try ArgumentTranslator.translate(["--form-string", "a=@x"]) == ["--part=\u{0}a=@x"])
        #expect(try ArgumentTranslator.translate(["--data-raw", "@x"]) == ["--data=\u{0}@x"])
        #expect(try ArgumentTranslator.translate(["--data-binary", "@x"]) == ["--data=@x"])
    }

    @Test(arguments: [
        (["--timeut", "5", "u"], "Unknown option '--timeut'."),
        (["--jsno", "u"], "Unknown option '--jsno'. Did you mean '--json'?"),
        (["--nope", "u"], "Unknown option '--nope'."),
        (["-a", "a:a", "u"], "Unknown option '-a'."), (["-sa", "u"], "Unknown option '-sa'."),
        (["-X"], "Missing value for '-X'."),
        (["-Y", "1000", "u"], "-Y takes 1 here: a transfer ends when -y seconds have brought no byte."),
        (["--json"], "Missing value for '--json'."),
        (["--include=x"], "'--include' takes no value."), (["--next"], "Unknown option '--next'."),
    ])
    func whatIsWrongIsNamed(_ given: [String], _ wanted: String) {
        #expect(throws: UsageFailure(wanted)) { try ArgumentTranslator.translate(given) }
    }

    @Test func aConfigurationFile() throws {
        let text = """
            # a comment
            url = "http://h/a\\tb"
            -X POST
            --header: "X-A: 1"
            silent # nothing

            user-agent = a b
            referer = http://h/#a # another comment
            header = "X-B: #" # and one more
            data = #1
            """
        #expect(
            ConfigurationFile.arguments(in: Data(text.utf8)) == [
                ["--url", "http://h/a\tb"], ["-X", "POST"], ["--header", "X-A: 1"], ["--silent"],
                ["--user-agent", "a b"], ["--referer", "http://h/#a"], ["--header", "X-B: #"], ["--data", "#1"],
            ])
    }

    @Test func aConfigurationFileIsPartOfTheArguments() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("-L\nmax-time 5\n".utf8).write(to: URL(filePath: path))
        #expect(try ArgumentTranslator.translate(["-K", path, "u"]) == ["--deadline=5", "--", "u"])
        // The next line is not the value.
        try Data("output\nsilent\n".utf8).write(to: URL(filePath: path))
        #expect(throws: UsageFailure("Missing value for '--output'.")) {
            try ArgumentTranslator.translate(["-K", path, "u"])
        }
        try Data("-K \(path)\n".utf8).write(to: URL(filePath: path))
        #expect(throws: UsageFailure("-K: the files contain each other.")) {
            try ArgumentTranslator.translate(["-K", path, "u"])
        }
        #expect(throws: UsageFailure("The file \(path)-none cannot be read: No such file or directory.")) {
            try ArgumentTranslator.translate(["-K", "\(path)-none", "u"])
        }
    }

    @Test(arguments: [
        ("http://h/", "http://h/"), ("h", "http://h"), ("localhost:80/a", "http://localhost:80/a"),
        (":80/a", "http://localhost:80/a"), ("[::1]:80", "http://[::1]:80"), ("ftp://h/", "ftp://h/"), ("", ""),
        ("a:s3cret@h/", "a:s3cret@h/"), ("h/?u=http://x", "http://h/?u=http://x"), ("GET", "GET"), ("/a", "/a"),
    ])
    func aURLIsCompleted(_ given: String, _ wanted: String) { #expect(CommandTarget.completed(given) == wanted) }

    @Test(
        arguments: [
            (["GET", "h.x"], "GET", ["h.x"]), (["h.x", "i.x"], nil, ["h.x", "i.x"]), (["h"], nil, ["h"]),
            (["localhost", ":80"], nil, ["localhost", ":80"]), (["post", "localhost"], "post", ["localhost"]),
        ] as [([String], String?, [String])])
    func aMethodIsAWord(_ given: [String], _ method: String?, _ urls: [String]) {
        let target = CommandTarget(given)
        #expect(target.method == method && target.urls == urls)
    }

    @Test(arguments: [
        (#"curl 'a b' "c \"d\" \x" e\ f"#, ["curl", "a b", #"c "d" \x"#, "e f"]),
        ("curl a \\\n  -H 'X: 1'", ["curl", "a", "-H", "X: 1"]),
        (#"curl $'it\'s \u0021\x21 \n'"#, ["curl", "it's !! \n"]), ("curl ''", ["curl", ""]), ("a''b", ["ab"]),
        (#"'a\b'"#, [#"a\b"#]), ("", []),
    ])
    func wordsOfAShell(_ command: String, _ words: [String]) throws { #expect(try ShellWords.words(command) == words) }

    @Test func aCopiedCommandIsPartOfTheArguments() throws {
        let command =
            "curl 'https://h/a?b=c' \\\n  -H 'X: it'\\''s' \\\n  --data-raw $'{\"a\":\"\\u0021\"}' --compressed"
        #expect(
            try ArgumentTranslator.translate(["--from-curl", command, "--swift"])
                == ["--no-stdin", "--header=X: it's", "--data=\u{0}{\"a\":\"!\"}", "--swift", "--", "https://h/a?b=c"])
        #expect(throws: UsageFailure("--from-curl: the command does not begin with curl.")) {
            try ArgumentTranslator.translate(["--from-curl", "wget x"])
        }
    }

    @Test func aQuoteNeedsItsEnd() { #expect(throws: UsageFailure.self) { try ShellWords.words("curl 'a") } }

    @Test(arguments: [("500", 500), ("200k", 204_800), ("1.5M", 1_572_864), ("1B", 1)])
    func bytes(_ text: String, _ count: Int) throws { #expect(try ByteCount.bytes(text, "-x") == count) }

    @Test(arguments: ["", "x", "-1", "1Q", "1e20"]) func noBytes(_ text: String) {
        #expect(throws: UsageFailure.self) { try ByteCount.bytes(text, "-x") }
    }
}
