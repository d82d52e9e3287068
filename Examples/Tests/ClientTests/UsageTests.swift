import Foundation
import Testing

/// Wrong arguments, and what is said about them; the help and the version.
@Suite(.timeLimit(.minutes(60))) struct UsageTests {
    @Test func noArgumentsAreAUsageError() async throws { try await expectUsageError([]) }

    @Test(arguments: [
        ["--form", "a"], ["--form", "=a"], ["--query", "a"], ["--part", "a"],
        ["--part", "a=@f;type=a/b;filename=f;type=c/d"], ["--part", "a=@-", "--part", "b=@-"],
        ["-d", "a", "--json", "{}"], ["--form", "a=b", "--part", "a=b"], ["-H", "no colon"],
    ])
    func aWrongBodyOrFieldIsAUsageError(options: [String]) async throws {
        try await expectUsageError(["\(url)/"] + options)
    }

    @Test(arguments: [
        ["--http", "4"], ["--redirects", "-1"], ["--redirects", "1", "--no-redirects"], ["--deadline", "soon"],
        ["--auth", "basic"], ["--auth", "any"], ["--user", "a:b", "--auth", "ntlm"], ["--show-secrets"],
    ])
    func aWrongOptionOfTheRequestIsAUsageError(options: [String]) async throws {
        try await expectUsageError(["\(url)/"] + options)
    }

    @Test(arguments: [
        ["--limit", "2"], ["--stream", "lines", "--limit", "0"], ["--limit", "3", "--stream"],
        ["-o", "a", "--stream", "lines"],
    ])
    func aWrongOptionOfAStreamIsAUsageError(options: [String]) async throws {
        try await expectUsageError(["\(url)/"] + options)
    }

    /// The digest of the letter x.
    private static let digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"

    @Test(arguments: [
        ["--resume"], ["--connections", "2"], ["--checksum", "sha256:00"], ["--checksum", digest],
        ["-o", "a", "--checksum", "sha256:00"], ["-o", "a", "--connections", "0"],
    ])
    func aWrongOptionOfADownloadIsAUsageError(options: [String]) async throws {
        try await expectUsageError(["\(url)/"] + options)
    }

    @Test(arguments: ["-", "/dev/null"], [["--resume"], ["--connections", "2"], ["--checksum", digest]])
    func aDownloadToWhatIsNoFileIsAUsageError(place: String, options: [String]) async throws {
        try await expectUsageError(["\(url)/", "-o", place] + options)
    }

    @Test(arguments: [["-o", "FOLDER/one-file"], ["-o", "FOLDER/", "-d", "x"], ["-o", "FOLDER/", "--curl"]])
    func whatDoesNotGoWithSeveralURLsIsAUsageError(options: [String]) async throws {
        let folder = try TemporaryFolder()
        let options = options.map { $0.replacingOccurrences(of: "FOLDER", with: folder.path) }
        try await expectUsageError(["\(url)/", "\(url)/"] + options)
        #expect(try folder.names() == [])
    }

    @Test func aMethodIsGivenOnceAndForOneURL() async throws {
        try await expectUsageError(["GET", "\(url)/", "\(url)/"])
        try await expectUsageError(["GET", "\(url)/", "-X", "PUT"])
    }

    /// Options of later versions are not ignored.
    @Test(arguments: [
        ["--nonsense"], ["--stream", "xml"], ["--cache-mode", "reload"], ["--cache", ".", "--cache-mode", "none"],
    ])
    func anUnknownOptionIsAUsageError(options: [String]) async throws {
        try await expectUsageError(["\(url)/"] + options)
    }

    @Test(arguments: [
        ("--deadline cannot be negative", ["URL", "--deadline", "-1"]),
        ("--deadline must be more than 0", ["URL", "--deadline", "0"]),
        ("--retries cannot be negative", ["URL", "--retries", "-1"]),
        ("there is no colon in it", ["URL", "-H", "nocolon"]),
        ("'Bad Name' cannot be the name of a header field", ["URL", "-H", "Bad Name: x"]),
        ("it is not sha256: with 64 hexadecimal digits", ["URL", "-o", "a", "--checksum", "sha256:zz"]),
        ("it does not have the form NAME=VALUE", ["URL", "--part", "foo"]),
        ("no file is named after the @", ["URL", "--part", "a=@"]),
        ("'type=' has no value, or is given twice", ["URL", "--part", "a=@f;type="]),
        ("--method cannot be empty", ["-X", "", "URL"]),
        ("'extra' is no URL", ["URL", "extra"]),
        ("'BAR' is no URL", ["FOO", "BAR", "URL"]),
        ("Several URLs go with --output FOLDER", ["URL", "URL"]),
        ("--doh: ", ["URL", "--doh", "nope"]),
        ("Unknown option '--jsno'. Did you mean '--json'?", ["URL", "--jsno"]),
    ])
    func aUsageErrorTellsTheReason(reason: String, arguments: [String]) async throws {
        try await expectUsageError(arguments.map { $0 == "URL" ? "\(url)/" : $0 }, saying: reason)
    }

    @Test(arguments: [["-H", "Authorization Bearer s3cret"], ["-H", "@fields"], ["ws", "-H", "Token s3cret"]])
    func noFieldIsShownThatIsNone(options: [String]) async throws {
        let folder = try TemporaryFolder()
        try folder.write("Bearer s3cret\n", to: "fields")
        let run = try await client(options + ["\(url)/"], in: folder)
        #expect(run.status == 64 && run.errors.lines(with: "there is no colon in it").count == 1, "\(run.errors)")
        #expect(!run.errors.contains("s3cret"))
    }

    @Test func noOptionIsSuggestedThatIsTooDifferent() async throws {
        let run = try await client(["\(url)/", "--nope"])
        #expect(run.status == 64 && run.text == "")
        #expect(run.errors.lines(with: "Unknown option '--nope'").count == 1, "\(run.errors)")
        #expect(run.errors.lines(with: "Did you mean") == [])
        #expect(run.errors.lines(with: "See 'trellis --help'").count == 1, "\(run.errors)")
    }

    @Test(arguments: [
        ("GET", "(a method needs a URL: trellis -X GET URL)"), ("ws://127.0.0.1:1/", "(a WebSocket: trellis ws URL)"),
    ])
    func theErrorAboutALikelyMistakeTellsWhatToWrite(argument: String, advice: String) async throws {
        let run = try await client([argument])
        #expect(run.status == 1)
        #expect(run.errors.lines.filter { $0.hasSuffix(advice) }.count == 1, "\(run.errors)")
    }

    @Test func theVersionNamesTheLibraryToo() async throws {
        let run = try await client(["--version"])
        #expect(run.status == 0)
        #expect(run.lines.filter { $0.contains(#/^trellis [0-9.]+ libcurl/[0-9.]+$/#) }.count == 1, "\(run.text)")
    }

    @Test func theHelpNamesTheOptions() async throws {
        let run = try await client(["--help"])
        #expect(run.status == 0)
        for option in ["--version", "--unix-socket"] { #expect(run.text.lines(with: option).count == 1) }
    }
}
