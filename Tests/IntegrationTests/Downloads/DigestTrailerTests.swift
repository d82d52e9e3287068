import CurlEngine
import Foundation
import Testing
import Trellis
import TrellisTesting

/// Digests in trailer fields are verified (RFC 9530, sections 2 and 3).
@Suite(.timeLimit(.minutes(3)))
struct DigestTrailerTests {
    private static let content = noise(300_000)
    private let folder: Folder
    private let session = Session()

    init() throws { folder = try Folder() }

    /// Returns a server whose response has a digest in its trailer.
    ///
    /// - Parameter digest: The digest; if `nil`, the correct one.
    private func server(_ name: String, digest: Data? = nil) throws -> LoopbackServer {
        let function = try #require(MessageDigest(.sha256))
        function.update(Self.content)
        let digits = try #require(function.finish())
        let bytes = stride(from: 0, to: 64, by: 2).map { UInt8(digits.dropFirst($0).prefix(2), radix: 16) ?? 0 }
        let value = (digest ?? Data(bytes)).base64EncodedString()
        let head =
            "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\nTrailer: \(name)\r\n"
            + "\r\n"
        return try LoopbackServer.http { _ in
            .init(
                body: .raw { connection in
                    try connection.write(head)
                    for start in stride(from: 0, to: Self.content.count, by: 100_000) {
                        try connection.write("186a0\r\n")
                        try connection.write(Self.content.dropFirst(start).prefix(100_000))
                        try connection.write("\r\n")
                    }
                    try connection.write("0\r\n\(name): sha-256=:\(value):\r\n\r\n")
                })
        }
    }

    @Test(arguments: ["Repr-Digest", "Content-Digest"]) func theRightOne(_ name: String) async throws {
        let server = try server(name)
        let file = try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin"))).value
        #expect(file.response.trailers.count == 1 && folder.data("a.bin") == Self.content)
    }

    @Test(arguments: ["Repr-Digest", "Content-Digest"]) func anotherOne(_ name: String) async throws {
        let server = try server(name, digest: Data(repeating: 7, count: 32))
        let error = await fails(.checksumMismatch) {
            try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin"))).value
        }
        #expect(error?.description.contains("its sha256 is ") == true && folder.names == [])
        var options = DownloadOptions()
        options.verifiesDigestFields = false
        _ = try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin")), options: options).value
        #expect(folder.data("a.bin") == Self.content)
    }

    /// The digest of the caller is used, and that of the response is ignored.
    @Test func theCallersDigestComesFirst() async throws {
        let server = try server("Repr-Digest", digest: Data(repeating: 7, count: 32))
        let function = try #require(MessageDigest(.sha256))
        function.update(Self.content)
        let checksum = Checksum.sha256(try #require(function.finish()))
        _ = try await session.downloadRequest(server.url("/a"), to: .file(folder("a.bin")), checksum: checksum).value
        #expect(folder.data("a.bin") == Self.content)
    }
}
