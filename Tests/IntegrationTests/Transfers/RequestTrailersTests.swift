import CurlEngine
import Foundation
import HTTPTypes
import Testing
import Trellis
import TrellisTesting

/// Fields behind the body of a request (RFC 9110, section 6.5), as a server receives them.
@Suite(.timeLimit(.minutes(3)))
struct RequestTrailersTests {
    /// The body and the trailers that a server has received.
    private struct Received: Equatable {
        var body = ""
        var trailers: [String] = []
    }

    private static let sum = HTTPField.Name("X-Sum") ?? .server

    private let received = Locked<[Received]>([])

    /// Starts a server that answers 200 to a chunked request, or 307 with the path `/` if the path is `/redirect`.
    private func server() throws -> LoopbackServer {
        try LoopbackServer { [received] connection in
            while let request = try connection.readHead() {
                guard request["Transfer-Encoding"] == "chunked" else {
                    try connection.write("HTTP/1.1 411 Length\r\nContent-Length: 0\r\n\r\n")
                    continue
                }
                var result = Received()
                while case let size = try Self.line(connection), size != "0" {
                    let chunk = try connection.read(exactly: (Int(size, radix: 16) ?? 0) + 2).dropLast(2)
                    result.body += String(decoding: chunk, as: UTF8.self)
                }
                while case let line = try Self.line(connection), !line.isEmpty { result.trailers.append(line) }
                received.withLock { $0.append(result) }
                let head =
                    request.path == "/redirect"
                    ? "HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\n" : "HTTP/1.1 200 OK\r\n"
                try connection.write(head + "Content-Length: 0\r\n\r\n")
            }
        }
    }

    private static func line(_ connection: LoopbackServer.Connection) throws -> String {
        var line: [UInt8] = []
        while line.suffix(2) != [13, 10] { line += try connection.read(exactly: 1) }
        return String(decoding: line.dropLast(2), as: UTF8.self)
    }

    private static let bodies: [(String, RequestBody, String)] = [
        ("data", .data(Data("some bytes".utf8)), "some bytes"), ("nothing", .data(Data()), ""),
        (
            "stream",
            .stream(
                AsyncStream { source in
                    for text in ["one ", "two"] { source.yield(Data(text.utf8)) }
                    source.finish()
                }), "one two"
        ),
    ]

    @Test(arguments: ["data", "nothing", "stream"])
    func theyFollowEachKindOfBody(_ kind: String) async throws {
        let server = try server()
        let (_, body, text) = try #require(Self.bodies.first { $0.0 == kind })
        let session = Session()
        for sum in ["42", "43"] {
            // A stream can be sent once.
            guard sum == "42" || body.isReplayable else { continue }
            var request = Request(server.url(), method: .post, headers: [.trailer: "X-Sum"], body: body)
            request.trailers = { [Self.sum: sum] }
            #expect(try await session.data(request).1.status == .ok)
        }
        // The connection that has carried trailers sends none with the next body.
        let plain = try await session.data(Request(server.url(), method: .post, body: .data(Data("plain".utf8))))
        #expect(plain.1.status == .lengthRequired)
        let expected = ["42", "43"].prefix(body.isReplayable ? 2 : 1).map {
            Received(body: text, trailers: ["X-Sum: \($0)"])
        }
        #expect(received.withLock { $0 } == expected)
        await session.shutdown()
        try await server.waitUntilAllClosed()
    }

    @Test func aFileIsChunkedToo() async throws {
        let server = try server()
        let path = NSTemporaryDirectory() + "/trellis-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = String(repeating: "line\n", count: 100_000)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        let session = Session()
        let request = Request(server.url(), method: .put, body: .file(path)).withTrailers {
            [Self.sum: "7", .eTag: ""]
        }
        #expect(try await session.data(request).1.status == .ok)
        let result = try #require(received.withLock { $0.first })
        #expect(result.body == text && result.trailers.first == "X-Sum: 7")
        await session.shutdown()
    }

    @Test func theyAreAskedForAtTheEndOfEachSending() async throws {
        let server = try server()
        let session = Session()
        let count = Locked(0)
        let request = Request(server.url("/redirect"), method: .post, body: .string("text")).withTrailers {
            [Self.sum: "\(count.next())"]
        }
        #expect(try await session.data(request).1.redirects.count == 1)
        #expect(received.withLock { $0.map(\.trailers) } == [["X-Sum: 1"], ["X-Sum: 2"]])
        await session.shutdown()
    }

    private struct Failure: Error {}

    @Test func anErrorOfTheClosureEndsTheRequest() async throws {
        let server = try server()
        let session = Session()
        let request = Request(server.url(), method: .post, body: .string("text")).withTrailers { throw Failure() }
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .other && error?.underlying is Failure)
        #expect(received.withLock { $0 } == [])
        await session.shutdown()
    }

    @Test(arguments: ["Content-Length", "transfer-encoding", "Authorization", "Host", "TE"])
    func aFieldThatIsReadBeforeTheBodyIsNoTrailer(_ name: String) async throws {
        let server = try server()
        let session = Session()
        let fields = [try #require(HTTPField.Name(name)): "1"] as HTTPFields
        let request = Request(server.url(), method: .post, body: .string("text")).withTrailers { fields }
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .invalidRequest)
        #expect(received.withLock { $0 } == [])
        await session.shutdown()
    }

    @Test func theyAreAnErrorOverHTTP3() async throws {
        let session = Session()
        var request = Request("https://localhost:1/", method: .post, body: .string("text")).withTrailers { [:] }
        request.httpVersion = .http3Only
        let error = await #expect(throws: TrellisError.self) { try await session.data(request) }
        #expect(error?.kind == .unsupported)
        await session.shutdown()
    }

    @Test func aRequestWithoutABodyHasNone() async throws {
        let server = try server()
        let session = Session()
        let request = Request(server.url()).withTrailers { [Self.sum: "1"] }
        // The server demands chunks.
        #expect(try await session.data(request).1.status == .lengthRequired)
        await session.shutdown()
    }
}
