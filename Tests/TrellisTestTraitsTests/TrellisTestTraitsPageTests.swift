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
@Suite(.timeLimit(.minutes(1)), .trellis(.noNetwork))
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
}
