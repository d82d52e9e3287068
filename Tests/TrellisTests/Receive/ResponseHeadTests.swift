import HTTPTypes
import Testing
import Trellis

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
}
