import Testing

/// Which version of HTTP the spellings of `--http` ask for, as servers answer them in the TLS handshake.
@Suite(.timeLimit(.minutes(60))) struct VersionTests {
    static let servers = Task { try await Server.python("\(Programs.sharedPeers)/http2.py") }

    @Test func aServerWithHTTP2() async throws {
        let servers = try await Self.servers.value.json
        let arguments = ["https://127.0.0.1:\(servers["ports"]["tls"])/", "--cacert", servers["ca"].text]
        for spelling in [["--http", "2-only"], ["--http2-prior-knowledge"]] {
            let run = try await report(arguments + spelling)
            #expect(run.report["http_version"] == "2", "\(spelling)")
            let metrics = run.report["metrics"]
            #expect(metrics.values("alpn", "tls_version") == ["h2", "1.3"] && !metrics["tls_cipher"].text.isEmpty)
        }
        let usual = "2"
        for spelling in [[], ["--http", "2"], ["--http2"]] {
            let run = try await report(arguments + spelling)
            #expect(run.report["http_version"].text == usual, "\(spelling)")
        }
        #expect(try await report(arguments + ["--http", "1.1"]).report["http_version"] == "1.1")
    }

    /// `--http 2` falls back as curl's `--http2` does, and `2-only` is an error before anything is sent.
    @Test func aServerWithoutHTTP2() async throws {
        let arguments = [
            "https://localhost:\(try await Secure.port("strict"))/", "--cacert", try await Secure.file("strict.pem"),
            "-4",
        ]
        for spelling in [[], ["--http", "2"], ["--http2"]] {
            let run = try await report(arguments + spelling)
            #expect(run.report["http_version"] == "1.1", "\(spelling)")
        }
        for spelling in [["--http", "2-only"], ["--http2-prior-knowledge"]] {
            let refused = try await report(arguments + spelling, status: 1)
            #expect(refused.report.values("error.kind", "error.retryable", "status") == ["http2", false, .null])
        }
    }

    /// No request asks to be upgraded to HTTP/2 (RFC 9113, section 3.1).
    @Test func aServerWithoutTLS() async throws {
        for spelling in [["--http", "2"], ["--http2"]] {
            let run = try await client(["\(url)/request"] + spelling)
            #expect(run.status == 0 && run.lines.first == "GET /request", "\(spelling): \(run.errors)")
            #expect(run.lines.starting(with: "Upgrade", "HTTP2-Settings") == [])
        }
        let refused = try await report(["\(url)/", "--http", "2-only"], status: 1)
        #expect(refused.report["error"]["kind"] == "unsupported")
        let servers = try await Self.servers.value.json
        let known = try await report([
            "http://127.0.0.1:\(servers["ports"]["cleartext"])/", "--http2-prior-knowledge",
        ])
        #expect(known.report["http_version"] == "2")
    }
}
