import Testing

/// What `--show-certificates` shows of the same server.
@Suite(.timeLimit(.minutes(60))) struct ShownCertificateTests {
    /// Runs the client for the server, and returns how often it has shown the server's pin, too.
    private func show(_ options: [String], isTrusted: Bool = true) async throws -> (run: Run, pins: Int) {
        let trust = isTrusted ? ["--cacert", try await Secure.file("pinned.pem")] : []
        let target = "https://127.0.0.1:\(try await Secure.port("pinned"))/"
        let run = try await client([target, "--show-certificates"] + trust + options)
        let line = "   pin      \(try await Secure.pin("pinned"))"
        return (run, run.errors.lines.count { $0 == line })
    }

    @Test func theCertificateIsShownBesideTheBody() async throws {
        let (run, pins) = try await show([])
        #expect(run.text == "secure" && run.status == 0)
        #expect(pins == 1)
        #expect(run.errors.lines.count { $0 == "0  subject  O=Example, CN=pinned" } == 1)
        #expect(run.errors.lines.count { $0 == "   names    127.0.0.1" } == 1)
        #expect(run.errors.lines(with: "   serial   ").count == 1)
    }

    @Test func theCertificateOfAServerWithAnotherPin() async throws {
        #expect(try await show(["--pin", "sha256//\(PinTests.other)"]).pins == 1)
    }

    @Test func theCertificateOfAServerThatIsNotTrusted() async throws {
        let (run, pins) = try await show([], isTrusted: false)
        #expect(run.status == 60)
        #expect(pins == 1)
        #expect(run.errors.lines.count { $0.hasSuffix("(NOT TRUSTED; as the server has sent them):") } == 1)
    }

    @Test func theCertificateOfADownload() async throws {
        let folder = try TemporaryFolder()
        #expect(try await show(["-o", folder["file"]]).pins == 1)
        #expect(try folder.text(of: "file") == "secure")
    }

    @Test func aServerWithoutTLSHasNone() async throws {
        let run = try await client(["\(url)/", "--show-certificates"])
        #expect(run.text == "hello world" && run.status == 0)
        #expect(run.errors.lines(with: "no certificates to show").count == 1)
    }
}
