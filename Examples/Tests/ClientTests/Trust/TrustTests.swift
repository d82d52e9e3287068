import Testing

/// Whom the client trusts, and which versions of TLS it speaks.
@Suite(.timeLimit(.minutes(60))) struct TrustTests {
    @Test func aServerThatIsNotTrusted() async throws {
        let run = try await Trust.report(on: "mtls", [], trusting: nil, status: 1)
        #expect(run.report.values("error.kind", "error.retryable") == ["untrusted", false])
    }

    @Test func anAuthorityWhoseFileIsMissing() async throws {
        let run = try await Trust.report(on: "mtls", [], trusting: "missing", status: 1)
        #expect(run.report["error"]["kind"] == "file")
    }

    @Test func anAuthorityIsAddedToThoseOfTheEnvironment() async throws {
        let arguments = [try await Trust.url("tls1.2"), "--cacert", try await Trust.file("second.pem")]
        let alone = try await client(arguments)
        #expect(alone.status == 60)
        let both = try await client(arguments, environment: ["SSL_CERT_FILE": try await Trust.file("ca.pem")])
        #expect(both.status == 0, "\(both.errors)")
    }

    @Test func tls12IsSpokenUnlessTLS13IsDemanded() async throws {
        let run = try await Trust.report(on: "tls1.2", [])
        #expect(run.report["status"] == 200)
        let refused = try await Trust.report(on: "tls1.2", ["--tlsv1.3"], status: 1)
        #expect(refused.report.values("error.kind", "error.retryable") == ["tls", false])
    }

    @Test func secretsOfConnectionsAreWrittenOnlyToTheFileOfTheEnvironment() async throws {
        let folder = try TemporaryFolder()
        let arguments = [try await Trust.url("tls1.2"), "--cacert", try await Trust.file("ca.pem")]
        let before = try await client(arguments, in: folder)
        #expect(before.status == 0)
        #expect(try folder.names() == [])
        for environment in [["SSLKEYLOGFILE": folder["keys"]], [:]] {
            let run = try await client(arguments, environment: environment)
            #expect(run.status == 0, "\(run.errors)")
            #expect(try folder.text(of: "keys").lines.starting(with: "CLIENT_RANDOM ").count == 1, "\(environment)")
        }
    }
}
