import Testing
import TrellisTesting

/// A fault that its server never plays is an error, and not a test that passes.
struct FaultPlaceTests {
    @Test(
        arguments: [
            .reset(.requestBody(after: 3)), .silence(.requestBody(after: 0)),
            .latency(.seconds(1), .requestBody(after: 3)),
        ] as [Fault])
    func aServerOfHTTP2RefusesFaultsInTheBodiesOfRequests(_ fault: Fault) {
        let error = #expect(throws: UnplayableFault.self) { try LoopbackServer.http2(faults: [.always(fault)]) }
        #expect(error?.fault == fault)
        #expect(error?.reason == "the server does not count the bytes of its requests")
    }

    @Test func aServerOfHTTP1PlaysThem() throws {
        let server = try LoopbackServer.http(faults: [.always(.reset(.requestBody(after: 3)))]) { _ in .init(204) }
        #expect(server.port > 0)
    }
}
