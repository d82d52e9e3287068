import Testing

/// The servers of the shared peer `trust.py`, with the files beside their certificates.
enum Trust {
    static let server = Task { try await Server.python("\(Programs.sharedPeers)/trust.py") }

    /// The URL of a server.
    static func url(_ server: String) async throws -> String {
        "https://127.0.0.1:\(try await self.server.value.json["ports"][server])"
    }

    /// The path of a file.
    static func file(_ name: String) async throws -> String {
        "\(try await self.server.value.json["folder"].text)/\(name)"
    }

    /// Runs the client for a report on a server. `FOLDER` in the options stands for the folder of the files.
    static func report(
        on server: String, _ options: [String], trusting authority: String? = "ca.pem", status: Int32 = 0
    ) async throws -> Run {
        let folder = try await self.server.value.json["folder"].text
        let trust = authority.map { ["--cacert", "\(folder)/\($0)"] } ?? []
        return try await ClientTests.report(
            [try await url(server)] + trust + options.map { $0.replacing("FOLDER", with: folder) }, status: status)
    }
}
