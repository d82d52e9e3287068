import Testing

/// The servers of `secure.py`, which several suites share.
enum Secure {
    static let server = Task { try await Server.python("secure.py") }

    /// The port of a server.
    static func port(_ name: String) async throws -> JSON { try await server.value.json["ports"][name] }

    /// The path of a file beside the certificates.
    static func file(_ name: String) async throws -> String { "\(try await server.value.json["folder"].text)/\(name)" }

    /// The pin of a certificate, as `sha256/BASE64`.
    static func pin(_ name: String) async throws -> String { try await server.value.json["pins"][name].text }
}
