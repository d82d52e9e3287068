import Foundation
import Testing
import TrellisTesting

/// The downloader of a list of files, which is written from the pages alone.
@Suite(.timeLimit(.minutes(60))) struct FetchListTests {
    private let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 / 7) })

    /// A server with a list of the names, which stops in the middle of each file, and serves the rest.
    private func server(names: [String], digest: String, lineEnd: String = "\n") throws -> LoopbackServer {
        try LoopbackServer { [bytes] connection in
            while let request = try connection.nextRequest() {
                let name = String(request.path.dropFirst())
                if name == "SHA256SUMS" {
                    let list = names.map { "\(digest)  \($0)\(lineEnd)" }.joined()
                    try connection.write(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: \(list.utf8.count)\r\n\r\n\(list)"
                    )
                } else if name == "missing" {
                    try connection.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                } else if request["Range"] == "bytes=100000-" {
                    try connection.write(
                        """
                        HTTP/1.1 206 Partial Content\r\nETag: "1"\r\nContent-Length: 100000\r
                        Content-Range: bytes 100000-199999/200000\r\n\r\n
                        """)
                    try connection.write(bytes.suffix(100_000))
                } else {
                    try connection.write("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 200000\r\n\r\n")
                    try connection.write(bytes.prefix(100_000))
                    return connection.waitUntilPeerCloses()
                }
            }
        }
    }

    @Test func controlCKeepsWhatHasComeAndTheSameCommandContinues() async throws {
        let folder = try TemporaryFolder(), names = ["a.bin", "b.bin"]
        let server = try server(names: names, digest: try await sha256(bytes))
        let arguments = [server.url("/SHA256SUMS"), folder["files"]]
        let running = try RunningProgram("fetch-list", arguments, input: .nothing, environment: [:], in: nil)
        try await running.wait(until: "has half of each file") { _ in
            try names.allSatisfy { name in
                let path = folder["files/.\(name).trellis-part"]
                guard FileManager.default.fileExists(atPath: path) else { return false }
                return try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 100_000
            }
        }
        running.interrupt()
        let first = try await running.ended()
        #expect(first.status == 130 && first.lines == ["interrupted: the same command continues"], "\(first.errors)")

        let second = try await tool("fetch-list", arguments)
        let continued = names.map { "\($0): 200000 bytes, 100000 of them from before" }
        #expect(second.status == 0 && second.lines.sorted() == continued, "\(second.errors)")
        for name in names { #expect(try folder.data(of: "files/\(name)") == bytes) }

        let third = try await tool("fetch-list", arguments)
        #expect(third.status == 0 && third.lines.sorted() == names.map { "\($0): kept" }, "\(third.errors)")
    }

    @Test func aFileThatIsMissingIsTheOnlyOneThatFails() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder["files"], withIntermediateDirectories: true)
        _ = try folder.write(bytes, to: "files/there")
        let server = try server(names: ["missing", "there"], digest: try await sha256(bytes))
        let run = try await tool("fetch-list", [server.url("/SHA256SUMS"), folder["files"]])
        #expect(run.status == 1 && run.lines.contains("there: kept"), "\(run.text)\(run.errors)")
        #expect(run.lines.contains { $0.hasPrefix("missing: GET http://") && $0.contains("404") })
    }

    @Test func aListMayHaveOtherLineEndsAndIsNotEmpty() async throws {
        let folder = try TemporaryFolder(), digest = try await sha256(bytes)
        try FileManager.default.createDirectory(atPath: folder["files"], withIntermediateDirectories: true)
        for name in ["a", "b"] { _ = try folder.write(bytes, to: "files/\(name)") }
        let server = try server(names: ["a", "b"], digest: digest, lineEnd: "\r\n")
        let run = try await tool("fetch-list", [server.url("/SHA256SUMS"), folder["files"]])
        #expect(run.status == 0 && run.lines.sorted() == ["a: kept", "b: kept"], "\(run.text)\(run.errors)")
        let empty = try self.server(names: [], digest: digest)
        let nothing = try await tool("fetch-list", [empty.url("/SHA256SUMS"), folder["files"]])
        #expect(nothing.status == 1 && nothing.lines == ["the list names no file"], "\(nothing.errors)")
    }
}
