import Foundation
import TestSupport
import Testing
import Trellis
import TrellisTesting

/// Compressed bodies are decoded, and malformed ones are errors.
@Suite(.timeLimit(.minutes(3)), .requiresPeers)
struct ContentCodingTests {
    static let codings = ["gzip", "deflate", "br", "zstd"]

    @Test(arguments: codings)
    func validBodyIsDecoded(_ coding: String) async throws {
        let server = try await answering("valid", coding)
        guard try await isAskedFor(coding, server) else {
            await server.fails(with: .contentCoding, .unsupported)
            return try await server.isHealthyAndLeavesNothing()
        }
        let (data, _) = try await server.session.data(server.request)
        #expect(data == (try await CompressedBodies.load("plain")))
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: codings)
    func bodyIsLeftAloneOnRequest(_ coding: String) async throws {
        let server = try await answering("valid", coding)
        var request = server.request
        request.decodesContent = false
        let (data, _) = try await server.session.data(request)
        #expect(data == (try await CompressedBodies.load("\(coding).valid")))
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: codings)
    func corruptBodyIsAnError(_ coding: String) async throws {
        let server = try await answering("corrupt", coding)
        await server.fails(with: .contentCoding)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A coded body that ends early is an error, although the message is complete.
    @Test(arguments: codings)
    func bodyThatEndsEarlyIsAnError(_ coding: String) async throws {
        let server = try await answering("truncated", coding)
        guard try await isAskedFor(coding, server) else { return try await server.isHealthyAndLeavesNothing() }
        await server.fails(with: .contentCoding)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: codings)
    func bodyThatIsNotCompressedIsAnError(_ coding: String) async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: 16\r\n\r\nthis is no stream")
        await server.fails(with: .contentCoding)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A body of up to a megabyte on the wire, and of a gibibyte when decoded, ends at the limit, in memory and in a stream.
    @Test(arguments: codings)
    func bombEndsAtTheLimit(_ coding: String) async throws {
        let server = try await answering("bomb", coding)
        guard try await isAskedFor(coding, server) else { return try await server.isHealthyAndLeavesNothing() }
        var request = server.request
        request.maximumBodySize = .bytes(1 << 20)
        await server.fails(with: .bodyTooLarge, sending: request)

        let stream = try await server.session.stream(request)
        var count = 0
        await expectFailure([.bodyTooLarge]) { for try await chunk in stream.chunks { count += chunk.count } }
        #expect(count <= 1 << 20)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A reader that pauses gets a complete coded body, however little it reads at a time, although the last byte has arrived long before.
    @Test(arguments: codings)
    func slowReaderGetsAllOfACodedBody(_ coding: String) async throws {
        let server = try await answering("bomb", coding)
        guard try await isAskedFor(coding, server) else { return try await server.isHealthyAndLeavesNothing() }
        let stream = try await server.session.stream(server.request)
        var count = 0
        for try await chunk in stream.chunks {
            // The transfer is paused above 1 MiB; the bytes that are stored beyond that are bounded.
            #expect(chunk.count < 4 << 20)
            count += chunk.count
            await Task.yield()
        }
        #expect(count == (Scale.isFull ? 1 << 30 : 64 << 20))
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func unknownCodingIsNotTakenForPlain() async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\nContent-Encoding: banana\r\nContent-Length: 2\r\n\r\nok")
        // Either an error is thrown, or the bytes arrive with the field that names their coding.
        do {
            let (_, response) = try await server.session.data(server.request)
            #expect(response.headers[.contentEncoding] == "banana")
        } catch let error as TrellisError {
            #expect([.contentCoding, .unsupported].contains(error.kind))
        }
        try await server.isHealthyAndLeavesNothing()
    }

    /// Returns whether the framework requests a coding, which it does if the coding's library is there.
    private func isAskedFor(_ coding: String, _ server: Misbehaviour) async throws -> Bool {
        _ = try await server.session.data(server.server.url("/good"))
        let asked = server.server.requests.first?["Accept-Encoding"]?.split(separator: ",") ?? []
        let codings = asked.map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(codings.contains("gzip"), "every libcurl in use has gzip")
        return codings.contains(coding)
    }

    private func answering(_ state: String, _ coding: String) async throws -> Misbehaviour {
        let body = try await CompressedBodies.load("\(coding).\(state)")
        return try Misbehaviour { connection, _ in
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n")
            try connection.write(body)
        }
    }
}

/// The files that `Tests/Peers/bodies.py` creates, once per process.
enum CompressedBodies {
    static func load(_ name: String) async throws -> Data {
        let path = try #require(try await paths.value[name])
        return try Data(contentsOf: URL(filePath: path))
    }

    private static let paths = Task {
        let line = try await Peer.output(of: "bodies.py", [try temporaryFolder("bodies")])
        return try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
    }
}
