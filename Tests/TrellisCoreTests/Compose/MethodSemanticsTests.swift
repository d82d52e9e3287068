import HTTPTypes
import Testing

@testable import TrellisCore

/// The safe and idempotent methods (RFC 9110, section 9.2.2).
struct MethodSemanticsTests {
    @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "QUERY"])
    func theseAreIdempotent(_ name: String) throws {
        #expect(try #require(HTTPRequest.Method(name)).isIdempotent)
    }

    @Test(arguments: ["POST", "PATCH", "CONNECT", "LOCK", "get"])
    func theseAreNot(_ name: String) throws {
        #expect(try !#require(HTTPRequest.Method(name)).isIdempotent)
    }

    @Test(arguments: [
        ("POST", true), ("PUT", true), ("PATCH", true), ("GET", false), ("DELETE", false), ("post", false),
    ])
    func whoExpectsContent(_ name: String, _ expects: Bool) throws {
        #expect(try #require(HTTPRequest.Method(name)).expectsContent == expects)
    }
}
