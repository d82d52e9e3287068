import Testing

@testable import CurlEngine

/// The queues of a route to an origin.
struct QueueOfRouteTests {
    private static let origin = "https://a.example:443"

    @Test(arguments: ["", " HTTP/1.1", " HTTP/2", "|trust-7", "|system-1 HTTP/1.1"])
    func aQueueIsOfItsRouteWhateverItsRulesAndProtocol(_ rest: String) {
        let route = TransferRoute(TransferRoute.Parts())
        let queue = route.limitName(of: Self.origin) + rest
        #expect(TransferRoute.isQueue(queue, of: Self.origin, by: route.number))
        #expect(!TransferRoute.isQueue(queue, of: "https://b.example:443", by: route.number))
        #expect(!TransferRoute.isQueue(queue, of: Self.origin, by: route.number + 1))
    }

    @Test func aLongerNumberIsAnotherRoutes() {
        #expect(!TransferRoute.isQueue("\(Self.origin)|route-12", of: Self.origin, by: 1))
        #expect(!TransferRoute.isQueue(Self.origin, of: Self.origin, by: 0))
    }
}
