import Testing
import Trellis
import TrellisTestTraits
import TrellisTesting

/// The code that is tested.
private enum Shop {
    static let session = Session()

    static func price(of item: String) async throws -> String {
        try await session.request("https://shop.example/prices/\(item)").validate().string()
    }
}

/// The complete example of the page about the product.
@Suite(.timeLimit(.minutes(3)), .trellis(.noNetwork))
struct TrellisTestTraitsPageTests {
    @Test(.trellis(.router { $0.route(.get, "/prices/tea").respond(with: .text("3 for a bag")) }))
    func aPriceIsRead() async throws {
        #expect(try await Shop.price(of: "tea") == "3 for a bag")
        #expect(MockRouter.current?.requests.count == 1)
    }

    @Test(.trellis(.mock { _ in MockResponse(status: 404) }), arguments: ["tea", "milk"])
    func aPriceThatIsNotThereIsAnError(_ item: String) async throws {
        let error = await #expect(throws: TrellisError.self) { try await Shop.price(of: item) }
        #expect(error?.kind == .unacceptableStatus)
    }

    @Test(.trellis(.mock { _ in .text("3 for a bag") }, .faults([.always(.reset(.responseHead))])))
    func aPriceOverABrokenConnectionIsAnError() async throws {
        let error = await #expect(throws: TrellisError.self) { try await Shop.price(of: "tea") }
        #expect(error?.kind == .receive)
    }

    @Test(.trellis(.https { request in .text("3 for \(request.path)") }, .proxy([.slicer(size: 10)])))
    func aPriceIsReadOverTLS() async throws {
        let session = try #require(Session.current)
        #expect(try await session.string("tea") == "3 for /tea")
        #expect(FaultProxy.current?.connections.count == 1)
    }

    @Test(.trellis(.mock { _ in .text("late") }, .faults([.always(.stall(after: 2))]), .clock))
    func aPriceThatNeverComesIsATimeout() async throws {
        let (session, clock) = (try #require(Session.current), try #require(TestClock.current))
        let call = Task { try await session.string("https://shop.example/prices/tea") }
        try await FaultTransport.current?.waitUntilFaults(count: 1)
        await clock.advance(by: .seconds(60))  // the default limit on idle time
        let error = await #expect(throws: TrellisError.self) { try await call.value }
        #expect(error?.isTimeout == true)
    }
}
