import Testing

/// Certificates of the client, with `--cert`, `--key` and `--pass`. The servers respond with the common name in a certificate.
@Suite(.timeLimit(.minutes(60))) struct ClientCertificateTests {
    private static let passphrase = "pa:ss wörd"

    @Test(arguments: [
        ["--cert", "FOLDER/combined.pem"], ["--cert", "FOLDER/client.pem", "--key", "FOLDER/client.key"],
        ["--cert", "FOLDER/client.pem", "--key", "FOLDER/encrypted.key", "--pass", passphrase],
    ])
    func theServerSeesTheCertificate(_ arguments: [String]) async throws {
        let run = try await Trust.report(on: "mtls", arguments)
        #expect(run.bodyText.hasPrefix("ada "))
    }

    @Test func thePassphraseOfAPKCS12FileIsInAFile() async throws {
        let file = try TemporaryFolder().write("\(Self.passphrase)\n", to: "phrase")
        let run = try await Trust.report(
            on: "mtls", ["--cert", "FOLDER/encrypted.p12", "--pass", "@\(file)"])
        #expect(run.bodyText.hasPrefix("ada "))
    }

    @Test func aServerThatRequiresACertificate() async throws {
        let run = try await Trust.report(on: "mtls", [], status: 1)
        #expect(run.report.values("error.kind", "error.retryable") == ["tls", false])
        #expect(run.errors.lines(with: "requires a client certificate").count == 1)
    }

    @Test func aCertificateThatTheServerDoesNotAccept() async throws {
        let run = try await Trust.report(on: "mtls-other", ["--cert", "FOLDER/combined.pem"], status: 1)
        #expect(run.report.values("error.kind", "error.retryable") == ["tls", false])
    }

    @Test(arguments: [
        ["--cert", "FOLDER/client.pem", "--key", "FOLDER/renewed.key"],
        ["--cert", "FOLDER/encrypted.p12", "--pass", "wrong"],
        ["--cert", "FOLDER/encrypted.p12"],
    ])
    func aKeyThatCannotBeUsed(_ arguments: [String]) async throws {
        let run = try await Trust.report(on: "mtls", arguments, status: 1)
        #expect(run.report["error"]["kind"] == "tls")
    }

    @Test(arguments: [
        ["--cert", "FOLDER/encrypted.p12", "--pass", "@FOLDER/missing"], ["--cert", "FOLDER/missing"],
        ["--cert", "FOLDER/client.pem", "--key", "FOLDER/missing"], ["--cert", "FOLDER/client.pem"],
    ])
    func aFileThatIsMissingOrWithoutAKey(_ arguments: [String]) async throws {
        let run = try await Trust.report(on: "mtls", arguments, status: 1)
        #expect(run.report["error"]["kind"] == "file")
    }

    @Test(arguments: ["--key", "--pass"])
    func aKeyAndAPassphraseGoWithACertificate(_ option: String) async throws {
        try await expectUsageError(["\(url)/", option, "a"])
    }

    @Test func theCurlCommandHasTheFilesAndNotThePassphrase() async throws {
        let run = try await client([
            "https://127.0.0.1:1/", "--cert", "a.pem", "--key", "a.key", "--pass", "s3cret", "--tlsv1.3", "--curl",
        ])
        #expect(run.text.lines(with: "--tlsv1.3 --cert a.pem --key a.key").count == 1)
        #expect(!run.text.contains("s3cret"))
    }
}
