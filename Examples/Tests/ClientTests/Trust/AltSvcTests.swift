import Testing

/// caddy names its HTTP/3 in Alt-Svc. The next client uses it, if libcurl has HTTP/3.
@Suite(.timeLimit(.minutes(60)), .enabled(if: Programs.has("caddy"))) struct AltSvcTests {
    static let caddy = Task { try await Server.python("caddy.py") }

    /// The arguments of a request to caddy.
    private func request(to server: Server) throws -> [String] {
        let caddy = try server.json
        return ["https://localhost:\(caddy["port"])/", "--cacert", caddy["ca"].text, "-4"]
    }

    /// Runs the client with the file of alternative services. A service has two seconds for the connection, which are not enough on a
    /// machine that is very slow just now: then the client asks the origin in vain, and is run again.
    private func clientOfService(_ request: [String], in folder: TemporaryFolder) async throws -> Run {
        for _ in 1...5 {
            let run = try await client(request + ["--alt-svc", "alt-svc.txt"], in: folder)
            if run.status != ExitStatus.of("timeout_connect") { return run }
        }
        throw Failure("the alternative service is never reached in time")
    }

    @Test func theNextClientUsesTheAlternativeService() async throws {
        let caddy = try await Server.python("caddy.py")
        let folder = try TemporaryFolder(), request = try request(to: caddy)
        let direct = try await client(request + ["--http", "3", "--report", "json"])
        let hasHTTP3 = direct.report["error"]["kind"] != "unsupported"
        let run = try await client(request + ["--alt-svc", "alt-svc.txt"], in: folder)
        #expect(run.text == "HTTP/2.0" && run.status == 0, "\(run.errors)")
        let other = try await client(request + ["--alt-svc", "alt-svc.txt", "--http", "1.1"], in: folder)
        #expect(other.text == "HTTP/1.1" && other.status == 0, "a version that is asked for: \(other.errors)")

        // HTTP/3 has a head start of 100 ms. On a slow machine it would lose to a server that also speaks over TCP.
        if hasHTTP3 { _ = try await caddy.ask("http3") }
        for _ in 1...2 {
            let later = try await clientOfService(request, in: folder)
            #expect(later.text == (hasHTTP3 ? "HTTP/3.0" : "HTTP/2.0") && later.status == 0, "\(later.errors)")
        }
        let port = try caddy.json["port"]
        let services = try folder.text(of: "alt-svc.txt").lines
            .starting(with: "h1 localhost \(port) h3 localhost \(port) \"")
        #expect(services.count { $0.hasSuffix("\" 0 0") } == 1)
        try await caddy.end()
    }

    @Test func aClientWithoutTheFileDoesNotKnowTheAlternativeService() async throws {
        let request = try request(to: await Self.caddy.value)
        let version = "HTTP/2.0"
        for _ in 1...2 {
            let run = try await client(request)
            #expect(run.text == version && run.status == 0, "\(run.errors)")
        }
    }
}
