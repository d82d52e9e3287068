import Foundation
import Testing
import Trellis
import TrellisTesting

/// Cookies are stored as real servers write them.
@Suite(.timeLimit(.minutes(3)))
struct CookieTests {
    /// Returns the cookies that a request sends after a response has set a cookie with these bytes and a correct one.
    private func sent(after bytes: [UInt8], in jar: any CookieStorage) async throws -> [UInt8]? {
        let server = try LoopbackServer { connection in
            while let request = try connection.readHead() {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
                if request.path == "/set" {
                    try connection.write("Set-Cookie: good=1\r\nSet-Cookie: ")
                    try connection.write(bytes)
                    try connection.write("\r\n")
                }
                try connection.write("\r\n")
            }
        }
        var configuration = SessionConfiguration()
        configuration.steps.cookies = jar
        let session = Session(configuration: configuration)
        _ = try await session.data(server.url("/set"))
        _ = try await session.data(server.url("/"))
        await session.shutdown()
        let lines = server.requests.last.map { [UInt8]($0.headBytes).split(separator: 10) } ?? []
        return lines.first { $0.starts(with: Array("Cookie: ".utf8)) }.map { Array($0.dropFirst(8).dropLast()) }
    }

    @Test(
        arguments: [
            (Array("a=b".utf8), "good=1; a=b"), (Array("a=b\tc".utf8), "good=1; a=b\tc"),
            (Array("a=ü".utf8), "good=1; a=ü"),
            // A control character makes the complete cookie invalid, and is not replaced by a space (RFC 6265bis, section 5.6, step 1).
            (Array("a=b\u{1}c".utf8), "good=1"), (Array("a\u{b}=b".utf8), "good=1"),
            (Array("a=b; x=\u{1f}".utf8), "good=1"),
            (Array("a=b\u{7f}".utf8), "good=1"),
        ] as [([UInt8], String)])
    func comesBack(_ bytes: [UInt8], _ expected: String) async throws {
        #expect(try await sent(after: bytes, in: CookieJar()) == Array(expected.utf8))
    }

    /// Octets that are not text are sent back unchanged: a value consists of octets of any meaning (RFC 6265bis, section 5.6), and so does
    /// a name.
    @Test(
        arguments: [[0xfc], [0x62, 0xff, 0x63], [0xc0, 0x80], [0xc3, 0xbc, 0xfc], [0xee, 0xbf, 0xbc], [0xc3]],
        [false, true])
    func octetsThatAreNoTextComeBack(_ octets: [UInt8], _ isInFile: Bool) async throws {
        let path = NSTemporaryDirectory() + "/trellis-\(UUID().uuidString)"
        defer { for end in ["", ".lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
        let jar: any CookieStorage = isInFile ? CookieFile(path: path) : CookieJar()
        let pair = Array("a".utf8) + octets + Array("=v".utf8) + octets
        let all = Array("good=1; ".utf8) + pair
        #expect(try await sent(after: pair + Array("; Path=/".utf8), in: jar) == all)
        guard isInFile else { return }
        // The second session represents the next run of the program.
        #expect(try await sent(after: Array("good=1".utf8), in: CookieFile(path: path)) == all)
    }
}
