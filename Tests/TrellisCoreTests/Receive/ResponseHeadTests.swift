import HTTPTypes
import Testing

@testable import CurlEngine
@testable import TrellisCore

/// The initializers of heads and responses, for transports and tests.
struct ResponseHeadTests {
    @Test func fieldsKeepTheirOrderAndRepeatedNamesStayRepeated() throws {
        var fields = HTTPFields()
        fields.append(HTTPField(name: .setCookie, value: "a=1"))
        fields.append(HTTPField(name: .server, value: "x"))
        fields.append(HTTPField(name: .setCookie, value: "b=2"))
        let head = ResponseHead(status: .ok, headers: fields, version: .http2)
        #expect(head.headers.map(\.value) == ["a=1", "x", "b=2"])
        #expect(head.headers[values: .setCookie] == ["a=1", "b=2"])
        #expect(head.version.description == "2")
    }

    @Test func aResponseIsItsHead() {
        let response = Response(head: ResponseHead(status: .init(code: 418)), url: "http://localhost/")
        #expect(response.status.code == 418)
        #expect(response.head.status.code == 418)
        #expect(response.version == .http1_1)
        #expect(response.trailers.isEmpty)
        #expect(response.metrics == Metrics())
    }

    /// Fields are made once for equal lines, in the order and with the spelling of every head.
    @Test func fieldsFromTheWireAreThoseOfTheirHead() {
        let lines = [
            ["Date: Sun, 22 Nov 2026 21:15:20 GMT", "Server: nginx", "Set-Cookie: a=1", "Set-Cookie: b=2", "X-A: 1"],
            [
                "server: nginx", "Server: nginx", "Date: now", "X-A:1", "X-A: 1", "X-A: 2",
                "X-Long: \(String(repeating: "y", count: 900))",
            ],
            ["X-Empty:", "X-A: \u{e9}", "Set-Cookie: a=1", "X-A: 1\u{1}2"],
        ]
        for head in lines + lines {
            let text = head.map { $0 + "\n" }.joined()
            let fields = HTTPFields(WireFields(bytes: Array(text.utf8), count: head.count))
            let expected = head.map { line in
                let name = line.prefix { $0 != ":" }
                let value = line.dropFirst(name.count + 1).drop { $0 == " " }.map { $0 == "\u{1}" ? " " : $0 }
                return "\(name): \(String(value))"
            }
            #expect(fields.map { "\($0.name.rawName): \($0.value)" } == expected)
        }
    }

    @Test func octetsOfAFieldAreThoseOfTheWire() {
        let wire = WireFields(
            bytes: Array("A: 1\nSet-Cookie: x\nSet-Cookies: no\nset-cookie:\ty \nSET-COOKIE: \nSet-Cooki: n\n".utf8),
            count: 6)
        let head = ResponseHead(WireHead(version: .http1_1, status: 200, reason: "OK", fields: wire))
        #expect(head.octets(of: .setCookie).map { String(decoding: $0, as: UTF8.self) } == ["x", "y ", ""])
        #expect(head.octets(of: .server).isEmpty)
    }
}
