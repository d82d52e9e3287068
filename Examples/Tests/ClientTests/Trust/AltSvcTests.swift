import Testing

/// caddy names its HTTP/3 in Alt-Svc. The next client uses it, if libcurl has HTTP/3.
@Suite(.timeLimit(.minutes(15)), .enabled(if: Programs.has("caddy"))) struct AltSvcTests {
    static let caddy = Task { try await Server.python("caddy.py") }

    /// The arguments of a request to caddy.
    private func request() async throws -> [String] {
        let caddy = try await Self.caddy.value.json
        return ["https://localhost:\(caddy["port"])/", "--cacert", caddy["ca"].text, "-4"]
    }

    @Test func theNextClientUsesTheAlternativeService() async throws {
        let folder = try TemporaryFolder(), request = try await request()
        let direct = try await client(request + ["--http", "3", "--report", "json"])
        let hasHTTP3 = direct.report["error"]["kind"] != "unsupported"
        let first = "HTTP/2.0"
        let later = hasHTTP3 ? "HTTP/3.0" : first
        for wanted in [first, later, later] {
            let run = try await client(request + ["--alt-svc", "alt-svc.txt"], in: folder)
            #expect(run.text == wanted && run.status == 0, "\(run.errors)")
        }
        let port = try await Self.caddy.value.json["port"]
        let services = try folder.text(of: "alt-svc.txt").lines
            .starting(with: "h1 localhost \(port) h3 localhost \(port) \"")
        #expect(services.count { $0.hasSuffix("\" 0 0") } == 1)

        let other = try await client(request + ["--alt-svc", "alt-svc.txt", "--http", "1.1"], in: folder)
        #expect(other.text == "HTTP/1.1" && other.status == 0, "a version that is asked for: \(other.errors)")
    }

    @Test func aClientWithoutTheFileDoesNotKnowTheAlternativeService() async throws {
        let request = try await request()
        let version = "HTTP/2.0"
        for _ in 1...2 {
            let run = try await client(request)
            #expect(run.text == version && run.status == 0, "\(run.errors)")
        }
    }
}
