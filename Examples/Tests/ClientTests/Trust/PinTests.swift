import Testing

/// Pins of a server whose certificate is its own issuer.
@Suite(.timeLimit(.minutes(5))) struct PinTests {
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
}
