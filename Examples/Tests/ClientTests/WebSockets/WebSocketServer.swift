import Testing

/// The server of WebSockets that the suites about `trellis ws` share. `Peers/websockets.py` tells what its paths mean.
struct WebSocketServer: Sendable {
    static let shared = Task { try await WebSocketServer() }

    /// The URLs without a path.
    let url, secure: String
    let port, securePort: String
    /// The file of the certificate, which nobody else has signed.
    let certificate: String
    /// The pin of the certificate, in Base64.
    let pin: String
    /// The path of a Unix socket on which it listens too.
    let socket: String
    /// The files that it makes.
    let folder: TemporaryFolder
    private let server: Server

    private init() async throws {
        folder = try TemporaryFolder()
        server = try await Server.python("websockets.py", [folder.path])
        let facts = try server.json
        (url, secure, certificate) = (facts["url"].text, facts["secure"].text, facts["certificate"].text)
        (pin, socket) = (facts["pin"].text, facts["socket"].text)
        (port, securePort) = (facts["port"].description, facts["securePort"].description)
    }

    /// The pin of no certificate.
    static let otherPin = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
}

/// Runs `trellis ws` with a standard input to its end.
///
///     let run = try await talk("one\n", ["\(server.url)/echo", "--limit", "1"])
///     #expect(run.text == "one\n" && run.status == 0)
func talk(
    _ input: Input, _ arguments: [String], in folder: TemporaryFolder? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Run {
    try await client(["ws"] + arguments, input: input, in: folder, sourceLocation: sourceLocation)
}

/// Runs `trellis ws` for a report, and compares its exit status.
func talkReport(
    _ input: Input, _ arguments: [String], status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> JSON {
    let run = try await talk(input, arguments + ["--report", "json"], sourceLocation: sourceLocation)
    #expect(run.status == status, "\(arguments): \(run.errors)", sourceLocation: sourceLocation)
    return run.report
}
