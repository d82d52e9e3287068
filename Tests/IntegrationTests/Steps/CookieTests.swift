import Foundation
import Testing
import Trellis
import TrellisTesting

/// Cookies as servers really write them.
@Suite(.timeLimit(.minutes(1)))
struct CookieTests {
    /// What comes back of a cookie that was set with these bytes, beside one that is as it should be.
    private func sent(after bytes: [UInt8]) async throws -> String? {
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
        configuration.steps.cookies = CookieJar()
        let session = Session(configuration: configuration)
        _ = try await session.data(server.url("/set"))
        _ = try await session.data(server.url("/"))
        await session.shutdown()
        return server.requests.last?["Cookie"]
    }

    @Test(
        arguments: [
            (Array("a=b".utf8), "good=1; a=b"), (Array("a=b\tc".utf8), "good=1; a=b\tc"),
            (Array("a=ü".utf8), "good=1; a=ü"),
            // A control character is the end of all of it, and no blank is put in its place (RFC 6265bis, section 5.6, step 1).
            (Array("a=b\u{1}c".utf8), "good=1"), (Array("a\u{b}=b".utf8), "good=1"),
            (Array("a=b; x=\u{1f}".utf8), "good=1"),
            (Array("a=b\u{7f}".utf8), "good=1"),
            // What is no text could not be sent back as it came.
            ([0x61, 0x3d, 0xfc], "good=1"), ([0x61, 0x3d, 0x62, 0x3b, 0xff], "good=1"),
            ([0x61, 0x3d, 0xc0, 0x80], "good=1"),
        ] as [([UInt8], String)])
    func comesBack(_ bytes: [UInt8], _ expected: String) async throws {
        #expect(try await sent(after: bytes) == expected)
    }
}
