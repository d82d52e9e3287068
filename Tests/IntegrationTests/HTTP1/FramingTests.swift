import Testing
import Trellis
import TrellisTesting

/// The end of a body is determined by its length or its chunks, and malformed framing is refused.
@Suite(.timeLimit(.minutes(3)))
struct FramingTests {
    @Test(arguments: [
        Row("two different lengths", "Content-Length: 2\r\nContent-Length: 5"),
        Row("two different lengths in one line", "Content-Length: 2, 5"),
        Row("a negative length", "Content-Length: -2"),
        Row("an overflowing length", "Content-Length: 99999999999999999999999"),
        Row("a length just beyond 64 bits", "Content-Length: 18446744073709551618"),
        Row("a length with a sign", "Content-Length: +2"),
        Row("a length in hexadecimal", "Content-Length: 0x2"),
        Row("a length with a letter", "Content-Length: 2a"),
        Row("an empty length", "Content-Length:"),
    ])
    func lengthIsRefused(_ row: Row) async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\n\(row.answer)\r\n\r\nokokok")
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    @Test(arguments: [
        Row("a size that is no number", "zz\r\nhello\r\n0\r\n\r\n"),
        Row("a negative size", "-5\r\nhello\r\n0\r\n\r\n"),
        Row("an overflowing size", "fffffffffffffffff\r\nhello\r\n0\r\n\r\n"),
        Row("an empty size", "\r\nhello\r\n0\r\n\r\n"),
        Row("more data than the size", "5\r\nhello, world\r\n0\r\n\r\n"),
        Row("less data than the size", "a\r\nhello\r\n0\r\n\r\nXXXXXXXXXX"),
    ])
    func chunkIsRefused(_ row: Row) async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(row.answer)")
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A trailer that cannot be parsed is an error of the server.
    @Test(arguments: [
        Row("without a colon", "Nonsense"), Row("a fold", "X-T: 1\r\n fold"), Row("a fold first", " fold"),
        Row("no text", "\u{7F}\u{7F}"), Row("a head", "HTTP/1.1 200 OK"),
        Row("of 110 KB", "X: \(String(repeating: "y", count: 110 << 10))"),
    ])
    func trailerIsRefused(_ row: Row) async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\(row.answer)\r\n\r\n")
        await server.fails(with: .malformedResponse)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A malformed chunk is refused even after a refused connection: the first address of `localhost` may refuse the connection.
    @Test func aChunkIsRefusedAfterAnAddressThatRefused() async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello")
        let request = Request("http://localhost:\(server.server.port)/bad")
        await server.fails(with: .malformedResponse, sending: request)
        try await server.isHealthyAndLeavesNothing()
    }

    /// A response with a transfer coding and a length is an error, or its chunks are used and the connection is not reused. Both fields
    /// together are a sign of request smuggling; RFC 9112, section 6.3, recommends to treat the response as an error.
    @Test func transferEncodingWithContentLength() async throws {
        let server = try Misbehaviour(
            answering:
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        do {
            let (data, _) = try await server.session.data(server.request)
            #expect(String(decoding: data, as: UTF8.self) == "hello")
        } catch let error as TrellisError {
            #expect(error.kind == .malformedResponse)
        }
        try await server.isHealthyAndLeavesNothing()
        #expect(server.server.acceptedCount == 2)
    }

    @Test func unknownTransferEncodingIsRefused() async throws {
        let server = try Misbehaviour(
            answering: "HTTP/1.1 200 OK\r\nTransfer-Encoding: banana\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
        await server.fails(with: .malformedResponse, .unsupported, .contentCoding)
        try await server.isHealthyAndLeavesNothing()
    }

    /// Bytes after a complete body are part neither of that body nor of the next response.
    @Test func bodyLongerThanItsLengthIsCutOff() async throws {
        let server = try Misbehaviour(
            answering:
                "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        let (data, _) = try await server.session.data(server.request)
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func bodyWithoutFramingEndsWithTheConnection() async throws {
        let server = try Misbehaviour(answering: "HTTP/1.1 200 OK\r\n\r\nhello", then: .close)
        let (data, _) = try await server.session.data(server.request)
        #expect(String(decoding: data, as: UTF8.self) == "hello")
        try await server.isHealthyAndLeavesNothing()
    }

    @Test func chunkedTrailersArrive() async throws {
        let server = try Misbehaviour(
            answering:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Checksum: 1234\r\n\r\n")
        let (data, response) = try await server.session.data(server.request)
        #expect(data.count == 5)
        #expect(response.trailers.map { "\($0.name): \($0.value)" } == ["X-Checksum: 1234"])
        try await server.isHealthyAndLeavesNothing()
    }
}
