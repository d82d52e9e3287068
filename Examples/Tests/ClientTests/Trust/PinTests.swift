import Testing

/// Pins of a server whose certificate is its own issuer.
@Suite(.timeLimit(.minutes(60))) struct PinTests {
    static let other = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    /// The URL of the server and the option that trusts it.
    private func trusted() async throws -> [String] {
        [try await target(), "--cacert", try await Secure.file("pinned.pem")]
    }

    private func target() async throws -> String { "https://127.0.0.1:\(try await Secure.port("pinned"))/" }

    /// In each list of pins, PIN stands for the right one.
    @Test(arguments: [
        ["sha256//PIN"], ["sha256/PIN"], ["sha256//\(other);sha256//PIN"], ["sha256//\(other)", "sha256//PIN"],
    ])
    func theRightPinIsOneOfThose(_ pins: [String]) async throws {
        let pin = try await Secure.pin("pinned").dropFirst("sha256/".count)
        let options = pins.flatMap { ["--pin", $0.replacing("PIN", with: pin)] }
        let run = try await client(try await trusted() + options)
        #expect(run.text == "secure" && run.status == 0, "\(run.errors)")
    }

    @Test func aWrongPinNamesTheRightOne() async throws {
        let run = try await report(try await trusted() + ["--pin", "sha256//\(Self.other)"], status: 1)
        #expect(run.report.values("error.kind", "error.retryable", "status") == ["pin_mismatch", false, .null])
        let pin = try await Secure.pin("pinned")
        #expect(run.errors.lines(with: "\(pin) of O=Example, CN=pinned").count == 1)
    }

    @Test func aPinDoesNotReplaceTheVerification() async throws {
        let run = try await report([try await target(), "--pin", try await Secure.pin("pinned")], status: 1)
        #expect(run.report["error"]["kind"] == "untrusted")
    }

    @Test func aPinIsComparedWithoutVerification() async throws {
        let run = try await client([try await target(), "--insecure", "--pin", try await Secure.pin("pinned")])
        #expect(run.text == "secure" && run.status == 0, "\(run.errors)")
    }

    @Test(arguments: ["", "sha256", "sha256//", "sha256//AAAA", "sha1//AAAA", "sha256//\(other);"])
    func aMalformedPinIsAUsageError(_ pin: String) async throws {
        let reason = pin == "sha256//AAAA" ? "it does not have 32 bytes in Base64" : nil
        try await expectUsageError(["\(url)/", "--pin", pin], saying: reason)
    }

    @Test func aPinGoesWithHTTPS() async throws {
        let pin = "sha256//\(Self.other)"
        try await expectUsageError(["\(url)/", "--pin", pin], saying: "--pin goes with https URLs")
    }

    /// A host that has not asked for https is not asked in clear, whether it is the first one or that of a redirect.
    @Test func nothingIsSentInClear() async throws {
        let folder = try TemporaryFolder(), pin = "sha256//\(Self.other)"
        for more in [[], ["-o", "file"], ["--stream", "sse"], ["--stream", "lines"], ["--har", "all.har"]] {
            let run = try await report(["\(url)/", "--pin", pin, "--hsts", "hsts.txt"] + more, status: 1, in: folder)
            #expect(run.report.values("error.kind", "status") == ["pin_mismatch", .null], "\(more)")
            #expect(run.errors.lines(with: "without TLS").count == 1, "\(run.errors)")
        }
        let socket = url.replacing("http:", with: "ws:")
        let run = try await client(
            ["ws", "\(socket)/", "--pin", pin, "--hsts", "hsts.txt", "--report", "json"], in: folder)
        #expect(run.status == 1)
        #expect(run.report.values("error.kind", "status") == ["pin_mismatch", .null])
    }

    /// The pin is compared once the URL is one of https.
    @Test func aKnownHostIsAskedWithThePin() async throws {
        let folder = try TemporaryFolder(), host = "localhost:\(try await Secure.port("strict"))"
        let options = ["-4", "--cacert", try await Secure.file("strict.pem"), "--hsts", "hsts.txt"]
        let first = try await client(options + ["https://\(host)/"], in: folder)
        #expect(first.text == "secure" && first.status == 0)
        let pin = try await Secure.pin("strict")
        let next = try await report(options + ["http://\(host)/x", "--pin", pin], in: folder)
        #expect(next.report["url"] == .string("https://\(host)/x"))
    }
}
