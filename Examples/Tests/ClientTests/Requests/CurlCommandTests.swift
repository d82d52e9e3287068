import Foundation
import Testing

/// `--curl`: a curl command that does the same.
@Suite(.timeLimit(.minutes(60))) struct CurlCommandTests {
    /// The arguments of most commands.
    private static let usual = [
        "--compressed", "--connect-timeout", "10", "--speed-limit", "1", "--speed-time", "60", "--location",
        "--max-redirs", "20",
    ]

    /// Returns what the client prints, and the arguments that a shell passes to curl for it, without the client's name.
    private static func command(
        _ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> (text: String, arguments: [String]) {
        let run = try await client(["--curl"] + arguments, sourceLocation: sourceLocation)
        #expect(run.status == 0, "\(run.errors)", sourceLocation: sourceLocation)
        let shell = try await tool("sh", ["-c", #"curl() { printf '%s\0' "$@"; }; "# + run.text])
        let given = shell.text.split(separator: "\0", omittingEmptySubsequences: false).dropLast()
        return (run.text, given.map { $0.hasPrefix("User-Agent: ") ? "User-Agent" : String($0) })
    }

    /// Returns the options with some names, each with the argument after it if it has one. The URL is last.
    private static func options(_ names: String..., of arguments: [String]) -> [String] {
        zip(arguments, arguments.dropFirst()).enumerated().flatMap { index, pair -> [String] in
            guard names.contains(pair.0) else { return [] }
            return pair.1.hasPrefix("--") || index == arguments.count - 2 ? [pair.0] : [pair.0, pair.1]
        }
    }

    @Test(arguments: ["\(url)/", "http://127.0.0.1:1/"])
    func aCommandSendsNothing(_ url: String) async throws {
        let arguments = try await Self.command([url]).arguments
        #expect(arguments == ["--header", "User-Agent"] + Self.usual + [url])
    }

    @Test func argumentsAreQuoted() async throws {
        let arguments = try await Self.command([
            "PUT", "\(url)/", "-H", "X-A: it's \"$HOME\"", "-d", "a 'b'", "--query", "q=a b",
        ]).arguments
        let fields = [
            "X-A: it's \"$HOME\"", "User-Agent", "Content-Type: application/x-www-form-urlencoded",
        ].flatMap { ["--header", $0] }
        let body = ["--data-binary", "a 'b'"]
        #expect(arguments == ["--request", "PUT"] + fields + Self.usual + body + ["\(url)/?q=a%20b"])
    }

    @Test func partsAreOptions() async throws {
        let file = try TemporaryFolder().write("piped", to: "file")
        let arguments = try await Self.command(["\(url)/", "--part", "a=b c", "--part", "f=@\(file)"]).arguments
        #expect(Self.options("--form-string", of: arguments) == ["--form-string", "a=b c"])
        #expect(arguments.filter { $0.hasPrefix("f=@\"\(file)\"") }.count == 1)
    }

    @Test func secretsAreLeftOut() async throws {
        let secret = ["\(url)/", "-H", "Authorization: Bearer s3cret"]
        #expect(try await !Self.command(secret).text.contains("s3cret"))
        let arguments = try await Self.command(secret + ["--show-secrets"]).arguments
        #expect(arguments.filter { $0.contains("s3cret") }.count == 1)
    }

    @Test func credentialsAreOptions() async throws {
        for (scheme, option) in [("digest", "--digest"), ("any", "--anyauth")] {
            let arguments = try await Self.command(["\(url)/", "--user", "ann:s3cret", "--auth", scheme]).arguments
            #expect(Self.options(option, "--user", of: arguments) == [option, "--user", "ann:REDACTED"])
        }
        let token = ["\(url)/", "--user", "s3cret", "--auth", "bearer", "--show-secrets"]
        let arguments = try await Self.command(token).arguments
        #expect(Self.options("--oauth2-bearer", of: arguments) == ["--oauth2-bearer", "s3cret"])
    }

    @Test func optionsOfTheSession() async throws {
        let arguments = try await Self.command(["\(url)/", "--unix-socket", "/tmp/a-socket"]).arguments
        #expect(Self.options("--unix-socket", of: arguments) == ["--unix-socket", "/tmp/a-socket"])
    }

    @Test func storesAndPins() async throws {
        let pin = "sha256//\(String(repeating: "A", count: 43))="
        let text = try await Self.command([
            "https://127.0.0.1/", "--pin", pin, "--hsts", "/tmp/an-hsts", "--alt-svc", "/tmp/an-alt-svc",
        ]).text
        #expect(text.lines(with: "--hsts /tmp/an-hsts --alt-svc /tmp/an-alt-svc").count == 1)
        #expect(text.lines(with: "curl does not ask the evaluator of 127.0.0.1, such as pins").count == 1)
    }

    @Test func jsonIsShownWithoutItsSecrets() async throws {
        let json = ["\(url)/", "--json", #"{"user":"ann","password":"s3cret"}"#]
        let redacted = try await Self.command(json).text
        #expect(redacted.lines(with: #"{"user":"ann","password":"REDACTED"}"#).count == 1)
        let shown = try await Self.command(json + ["--show-secrets"]).text
        #expect(shown.lines(with: #"{"user":"ann","password":"s3cret"}"#).count == 1)
    }

    @Test(arguments: [
        ([], ["--location", "--max-redirs", "20"]), (["--redirects", "0"], ["--location", "--max-redirs", "0"]),
        (["--no-redirects"], []),
    ])
    func redirects(_ given: [String], _ wanted: [String]) async throws {
        let arguments = try await Self.command(["\(url)/"] + given).arguments
        #expect(Self.options("--location", "--max-redirs", of: arguments) == wanted)
    }

    @Test func cookiesRetriesAndLimits() async throws {
        let arguments = try await Self.command([
            "\(url)/", "--cookie-jar", "jar", "--retries", "2", "--validate", "--max-body", "7",
        ]).arguments
        #expect(
            Self.options("--max-filesize", "--retry", "--fail", "--cookie", "--cookie-jar", of: arguments)
                == ["--max-filesize", "7", "--retry", "2", "--fail", "--cookie", "jar", "--cookie-jar", "jar"])
    }

    @Test func schemesAreAnOption() async throws {
        let arguments = try await Self.command(["https://127.0.0.1/", "--proto", "-http"]).arguments
        #expect(Self.options("--proto", of: arguments) == ["--proto", "=https"])
    }

    @Test func cookiesThatArePrintedAreNoFile() async throws {
        let arguments = try await Self.command(["\(url)/", "-c", "-"]).arguments
        #expect(Self.options("--cookie", "--cookie-jar", of: arguments) == ["--cookie-jar", "-"])
    }

    @Test func aFileIsNotAskedForCoded() async throws {
        let (text, arguments) = try await Self.command(["\(url)/", "-o", "a b"])
        #expect(Self.options("--output", of: arguments) == ["--output", "a b"])
        #expect(text.lines(with: "'Accept-Encoding: identity'").count == 1)
        #expect(!arguments.contains("--compressed"))
    }

    @Test func aDeviceIsAskedForCoded() async throws {
        let text = try await Self.command(["\(url)/", "-o", "/dev/null"]).text
        #expect(text.lines.filter { $0.contains(/--compressed.*--output \/dev\/null/) }.count == 1)
    }

    @Test func aFolderIsAnOption() async throws {
        let folder = try TemporaryFolder()
        let arguments = try await Self.command(["\(url)/", "-o", "\(folder.path)/"]).arguments
        #expect(
            Self.options("--output-dir", "--create-dirs", "--remote-name", "--remote-header-name", of: arguments)
                == ["--output-dir", "\(folder.path)/", "--create-dirs", "--remote-name", "--remote-header-name"])
    }

    @Test func aCommentNamesWhatCurlDoesNotHave() async throws {
        let text = try await Self.command(
            ["\(url)/", "-o", "file", "--resume", "--connections", "2", "--cancel-after", "3"]
        ).text
        #expect(text.hasSuffix("\(url)/ # curl has nothing like --resume, --connections, --cancel-after\n"))
    }

    @Test func aJarThatCurlWouldTakeForACookieIsNoOption() async throws {
        let (text, arguments) = try await Self.command(["\(url)/", "--cookie-jar", "a=b"])
        #expect(text.lines(with: "nothing like --cookie-jar").count == 1)
        #expect(!arguments.contains("--cookie"))
    }

    @Test(.enabled(if: Programs.has("curl")))
    func curlFollowsRedirectsToAFile() async throws {
        let folder = try TemporaryFolder()
        let command = try await client(["--curl", "\(url)/redirect/3", "-o", folder["by-curl"]])
        _ = try await tool("sh", ["-c", command.text])
        #expect(try folder.text(of: "by-curl").lines.first == "GET /request")
    }

    @Test func thereIsNoCommandWithoutTheFile() async throws {
        let folder = try TemporaryFolder()
        let run = try await client(["--curl", "\(url)/", "-d", "@\(folder["missing"])"])
        #expect(run.status == 23)
        #expect(run.text == "")
    }
}
